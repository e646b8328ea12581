"""What `import fscrawl` offers: a tree is read, and a crawl is run, from Python.

    crawl      `open` and `Crawl`: a tree, to be read; its `Failure`s, its `Link`s, its `Status`
    pages      `Pages`: the iterator of the wanted pages: filters, reading ahead, and what was left out
    page       `Page`: one page, whose parts are read when they are asked for
    tables     rows, Arrow and pandas: the columns of the dataset
    running    `crawl`: one machine, in a process of its own, and its `CrawlResult`
    child      the program of that process
    surface    where each of these names comes from
    paths      paths that the user gives

Promise: reading never writes into the tree, and is safe while machines work on it.
"""
