"""`python -m fscrawl` is the `fscrawl` command."""

import os
import sys

from fscrawl.util.safe_path import forget_working_directory

if __name__ == "__main__":
    forget_working_directory(os.path.dirname(__file__))  # noqa: PTH120 - pathlib loads modules
    from fscrawl.cli import main  # not before: it loads modules

    sys.exit(main())
