#!/usr/bin/env python3
"""`python crawl.py --root DIR …` is `fscrawl crawl --root DIR …`, from a checkout; `--version` prints the version."""

import sys

from fscrawl.__main__ import main

if __name__ == "__main__":
    arguments = sys.argv[1:]
    sys.exit(main(arguments if arguments == ["--version"] else ["crawl", *arguments]))
