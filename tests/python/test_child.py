"""Child processes that run functions for this one: their signals and their end."""

import subprocess
import sys

HEAD = """
import os, signal
from shallows.runs.child import serve
there, here = os.pipe()
os.close(here)
"""


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", HEAD + code], capture_output=True, text=True, timeout=60)


def test_a_child_that_has_ended_ignores_sigterm_without_a_change_of_its_handler() -> None:
    # Python prints "Signal 15 ignored due to race condition" if a signal arrives just before its handler
    # becomes `SIG_IGN`, so the handler must stay a function.
    done = run("serve(there); os.kill(os.getpid(), 15); print(callable(signal.getsignal(15)))")
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")


def test_only_the_first_sigterm_makes_a_child_clean_up_and_exit() -> None:
    code = """
from multiprocessing.connection import Connection
def receive(pipe):
    try:
        os.kill(os.getpid(), 15)
    finally:
        os.kill(os.getpid(), 15)
        print("cleaned up")
Connection.recv = receive
serve(there)
"""
    done = run(code)
    assert (done.returncode, done.stdout, done.stderr) == (143, "cleaned up\n", "")
