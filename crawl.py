#!/usr/bin/env python3
"""`python crawl.py --root DIR …` is `fscrawl crawl --root DIR …`, from a checkout."""

import sys

from fscrawl.cli import main

if __name__ == "__main__":
    sys.exit(main(["crawl", *sys.argv[1:]]))
