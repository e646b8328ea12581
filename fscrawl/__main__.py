"""`python -m fscrawl` is the `fscrawl` command."""

import sys

from fscrawl.cli import main

sys.exit(main())
