"""What a worker does for each kind of task: one file for pages, refreshes, sitemaps, robots.txt and probes.

    outcome          the types of what comes of a task
    crawl_config     what a worker must know of the crawl
    context          what all handlers of a worker share; asking a host, and understanding what it sends
    sessions         the sessions of sites that a site file describes
    circles          redirects that lead back to a page, such as those of a log-in
    meaning          what an answer means for its page and its host; what a redirected request becomes
    reading          what is read of a page, and by whom
    rendering        lets a browser render pages: `page_network` has their requests
    writer           writes what an answer means into the tree, and gives the outcome
    records          the records that are written
    fresh_links      which links of a page the machine does not know from this worker yet

A handler is called from several threads at once, and has no state of its own.
"""
