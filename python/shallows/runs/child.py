"""Child process that runs functions one after another and reports through a pipe.

`multiprocessing` is not used because its children import the caller's main script again. That fails in
notebooks and in scripts without `if __name__ == "__main__"`.
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
    """Child process that runs functions in order, until a function raises or `end` or `stop` is called.

    Parameters
    ----------
    output
        File for the child's output; inherited from this process if not given.
    """

    def __init__(self, output: IO[bytes] | None = None) -> None:
        self.pipe, theirs = Pipe()
        code = f"from shallows.runs.child import serve; serve({theirs.fileno()})"
        # The child must find the same modules, including those on paths added to `sys.path`.
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
        """Whether the process is running."""
        return self.process.poll() is None

    def give(self, function: Callable[..., None], *arguments: object) -> None:
        """Queue a function, which runs after all functions queued before it.

        The function must be at the top level of a module. It is called with a function `send` and these
        arguments, which are pickled. `receive` yields the messages that the function passes to `send`.
        """
        with contextlib.suppress(BrokenPipeError):  # the process has ended: `receive` will raise
            self.pipe.send((function, arguments))

    def receive(self) -> Iterator[Any]:
        """Yield the messages sent since the last call; raise `EOFError` once the process has ended."""
        while self.pipe.poll():
            try:
                yield self.pipe.recv()
            except ConnectionResetError:
                raise EOFError from None

    def end(self) -> int:
        """Wait until the process ends, and return its exit code."""
        self.pipe.close()
        return self.process.wait()

    def stop(self, patience_s: float = 0.0) -> None:
        """Terminate the process; before it exits, it removes the run that it is writing.

        With `patience_s`, wait that long for the process to notice the closed pipe, then kill it.
        """
        self.pipe.close()
        if patience_s:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(patience_s)
            self.process.kill()
        else:
            self.process.terminate()
        self.process.wait()


def serve(pipe_number: int) -> None:
    """Run the functions received on this pipe; main loop of a `Child`."""
    ending = False

    def leave(number: int, _frame: object) -> None:
        # Only the first SIGTERM runs cleanup handlers; no SIGTERM interrupts the interpreter's shutdown.
        # Replacing this handler by `SIG_IGN` would print an error if a signal arrived just before.
        nonlocal ending
        if not ending:
            ending = True
            raise SystemExit(128 + number)

    # Ctrl-C reaches all processes of the terminal, but only the parent acts on it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, leave)
    pipe = Connection(pipe_number)
    try:
        while True:
            function, arguments = pipe.recv()
            function(pipe.send, *arguments)
    except (BrokenPipeError, ConnectionResetError, EOFError):
        pass  # the parent closed the pipe or has ended
    finally:
        ending = True
