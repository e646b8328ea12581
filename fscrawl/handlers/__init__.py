"""What a worker does for each kind of task: one file for pages, refreshes, sitemaps, robots.txt and probes.

    outcome          the types of what comes of a task
    context          what all handlers of a worker share; asking a host
    exchange         what an answer says of its host
    fresh_links      which links of a page the machine does not know from this worker yet
    redirect_chains  how many redirects in a row have led to a page
    records          the records that are written
    writer           writes what an answer means into the tree, and gives the outcome

A handler is called from several threads at once, and has no state of its own.
"""
