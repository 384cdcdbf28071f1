"""A process of our own that does one thing after another and reports through a pipe.

Not `multiprocessing`'s: its children run the caller's main script once more, which a script without
`if __name__ == "__main__"` does not survive, nor a notebook.
"""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection, Pipe
from typing import IO, Any


class Child:
    """A process of its own that runs the functions it is given, until one raises or it is ended.

    Parameters
    ----------
    output
        A file for what it prints; where ours goes if not given.
    """

    def __init__(self, output: IO[bytes] | None = None) -> None:
        self.pipe, theirs = Pipe()
        code = f"from shallows.runs.child import serve; serve({theirs.fileno()})"
        # It imports what we can import, also where a path was added by hand.
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        self.process = subprocess.Popen(
            [sys.executable, "-c", code],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=environment,
        )
        theirs.close()

    @property
    def lives(self) -> bool:
        """Whether it has not ended."""
        return self.process.poll() is None

    def give(self, function: Callable[..., None], *arguments: object) -> None:
        """Have it run a function, once those before have returned.

        That is one at the top of a module; it gets `send` and then the arguments, pickled. What it hands to
        `send` is received here.
        """
        with contextlib.suppress(BrokenPipeError):  # it is gone already: `receive` will say so
            self.pipe.send((function, arguments))

    def receive(self) -> Iterator[Any]:
        """Return the messages sent since the last call; raise `EOFError` once the process has ended."""
        while self.pipe.poll():
            try:
                yield self.pipe.recv()
            except ConnectionResetError:
                raise EOFError from None

    def end(self) -> int:
        """Wait for its end and return its exit code."""
        self.pipe.close()
        return self.process.wait()

    def stop(self, patience_s: float = 0.0) -> None:
        """End it; what it was writing goes. With patience it has so long to find that nobody listens."""
        self.pipe.close()
        if patience_s:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(patience_s)
            self.process.kill()
        else:
            self.process.terminate()
        self.process.wait()


def serve(pipe_number: int) -> None:
    """Run the process."""
    # Ctrl-C reaches the whole group of processes; the parent decides. When it ends us, or dies, we tidy up.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _leave)
    pipe = Connection(pipe_number)
    try:
        while True:
            function, arguments = pipe.recv()
            function(pipe.send, *arguments)
    except (BrokenPipeError, ConnectionResetError, EOFError):
        pass  # the parent wants nothing more, or is gone
    finally:
        # Nothing is left to tidy up: whoever ends us now must not interrupt the interpreter's own ending.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)


def _leave(number: int, _frame: object) -> None:
    raise SystemExit(128 + number)
