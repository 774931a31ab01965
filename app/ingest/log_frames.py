"""Reads the lines that Python prints of its stacks: of a traceback, and of the thread that died.

A line goes in, a frame comes out, or None. Which thread a frame is of is told by the line above.
"""

import re

from app.model.dump import PythonFrame

_OF_TRACEBACK = re.compile(
    r'  File "(?P<file>[^"\n]{1,1000})", line (?P<line>\d{1,9})(?:, in (?P<name>[^\n]{1,300}))?$'
)
# cpython/Python/traceback.c, write_thread_id.
_THREAD = re.compile(r"(?P<current>Current thread|Thread) 0x[0-9a-f]{1,16}\b")


def frame_of_traceback(text: str, number: int) -> PythonFrame | None:
    """The frame that line `number` (1-based) of a log prints within a traceback."""
    found = _OF_TRACEBACK.match(text)
    if found is None:
        return None
    return PythonFrame(found["file"], int(found["line"]), found["name"] or "", number)


def begins_thread(text: str) -> bool:
    """Whether the frames of a thread follow, in a stack that Python prints when it dies."""
    return _THREAD.match(text) is not None


def is_current(text: str) -> bool:
    """Whether that thread is the one that died."""
    found = _THREAD.match(text)
    return found is not None and found["current"] == "Current thread"
