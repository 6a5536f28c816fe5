"""Locks between workers on one machine: what a worker makes, another leaves or waits for."""
import contextlib
import fcntl
import time

POLL_SECONDS = 1


@contextlib.contextmanager
def held(path, late=lambda: False, wait=True):
    """Whether this process has the lock file `path` to itself, for as long as the block lasts;
    another's is waited for until it is `late`. The system frees a lock however its holder ends, so
    that none is left behind."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if not wait or late():
                    yield False
                    return
            time.sleep(POLL_SECONDS)
        yield True
