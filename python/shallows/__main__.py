"""Entry point of the commands `shallows` and `python -m shallows`."""

import signal
import sys

# Until `main` installs its handlers, an interrupt ends the program at once, without Python's traceback.
signal.signal(signal.SIGINT, signal.SIG_DFL)

from shallows.cli import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
