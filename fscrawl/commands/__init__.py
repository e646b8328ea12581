"""The commands. A module declares the options of some in `add`, each with the function that does it.

Only the module of the command that is asked for is loaded, and what only one command needs is imported when it runs. So
each of them starts without delay.
"""

from __future__ import annotations

# command → its module and its line in --help, in the order of --help
COMMANDS = {
    "crawl": ("crawl", "start a crawl; or continue or join the crawl in a tree"),
    "status": ("status", "print what the machines do: pages/s, errors, pending URLs"),
    "pause": ("steer", "make all machines stop fetching, from all hosts or from one, until resumed"),
    "resume": ("steer", "undo pause and stop"),
    "stop": ("steer", "stop all machines; they first finish the fetches under way, and nothing is lost"),
    "retry": ("steer", "try failed URLs once more, in a running or a finished crawl"),
    "merge": ("merge", "export a tree as a dataset: Parquet, WARC, JSON lines, CSV"),
    "import": ("importing", "make a tree of the archives of other programs, or add them to one: WARC, WACZ"),
    "search": ("search", "find stored pages by words of their titles and texts"),
    "dashboard": ("dashboard", "serve a web page that shows a crawl while it runs"),
    "report": ("dashboard", "write what the dashboard shows into one HTML file"),
    "pack": ("packing", "put the pages of a tree into few files"),
    "unpack": ("packing", "give each page of a tree files of its own again"),
    "compact": ("packing", "rewrite packs: fewer of them, without what is not needed any more"),
    "audit": ("checks", "check every file of a tree, and repair it"),
    "doctor": ("checks", "check this machine, the share and the crawl on it"),
    "show": ("page", "print what the tree knows about a URL, and why it is missing"),
    "try": ("page", "fetch one page, store nothing, and show what a crawl would make of it"),
    "completion": ("completion", "print a script that completes commands and options in your shell"),
}
ALIASES = {"export": "merge"}
