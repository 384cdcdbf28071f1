"""`python -m shallows` is `shallows`."""

import sys

from shallows.cli import main

if __name__ == "__main__":
    sys.exit(main())
