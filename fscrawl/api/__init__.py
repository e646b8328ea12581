"""What `import fscrawl` offers: a tree is read, and a crawl is run, from Python.

`fscrawl.__all__` names the supported surface, and loads it from here when it is asked for.

    reader      `open` and `Crawl`: a tree, to be read
    filters     which pages are wanted
    walk        the records of the wanted pages, read ahead where the file system is slow
    pages       `Pages`: the iterator of the wanted pages, and what it left out
    page        `Page`: one page, whose parts are read when they are asked for
    values      the values in a record, checked
    failures    `Failure`: URLs that could not be fetched
    tables      rows, Arrow and pandas
    shards      how pages are divided among readers
    status      `Status`
    running     `crawl`: one machine, in a process of its own
    result      `CrawlResult`
    child       the program of that process

Promise: reading never writes into the tree, and is safe while machines work on it.
"""
