"""memrec tells its recorder what a program does: phases, steps and marks, which `memana` shows.

    import memrec

    with memrec.phase("rollout"):
        generate()
    memrec.step()
    memrec.mark("checkpoint written")

Every call is optional. Without the recorder a call does nothing and costs some hundred nanoseconds. Phases that memana knows: init, rollout,
logprob, ref, critic, forward, backward, optimizer, weight-update. Phases nest and belong to the calling thread.
"""
import contextlib
import ctypes
import functools

__all__ = ["phase", "step", "mark", "recorded"]


def _entry(name, *arguments):
    """An entry point of the recorder in this process, or None."""
    try:
        call = getattr(ctypes.CDLL(None), name)
    except (AttributeError, OSError):
        return None
    call.argtypes = arguments
    call.restype = None
    return call


_push = _entry("memrec_agent_phase_push", ctypes.c_char_p)
_pop = _entry("memrec_agent_phase_pop")
_step = _entry("memrec_agent_step")
_mark = _entry("memrec_agent_mark", ctypes.c_char_p)


def recorded():
    """Whether memrec records this process."""
    return _push is not None


class phase(contextlib.ContextDecorator):  # a lower-case name: used as a statement
    """Memory that is allocated in the block, or in the decorated function, belongs to the phase `name` (255 bytes at most)."""

    def __init__(self, name):
        self._name = name.encode()

    def __enter__(self):
        if _push:
            _push(self._name)
        return self

    def __exit__(self, *_):
        if _pop:
            _pop()
        return False


def step(function=None):
    """A step ends here. As a decorator: a step ends with each call of the function."""
    if function is None:
        if _step:
            _step()
        return None

    @functools.wraps(function)
    def ends_a_step(*arguments, **named):
        try:
            return function(*arguments, **named)
        finally:
            step()

    return ends_a_step


def mark(name):
    """A mark with this name on the timeline (255 bytes at most)."""
    if _mark:
        _mark(name.encode())
