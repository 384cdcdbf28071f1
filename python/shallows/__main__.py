"""The program `shallows`, which is also `python -m shallows`."""

import signal
import sys

# Until `main` has its handlers an interrupt ends the program at once; Python would print a traceback.
signal.signal(signal.SIGINT, signal.SIG_DFL)

from shallows.cli import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
