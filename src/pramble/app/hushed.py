"""Errors in a log without what they say: messages of libraries may hold values of the data."""

import io
import re
from typing import TextIO

KEPT = re.compile(r"Traceback |  File ")
ERROR = re.compile(r"([A-Za-z_][\w.]*(Error|Exception|Warning|Interrupt|Exit))\b.*")

CLOSED = "CancelledError"


class Hushed(io.TextIOBase):
    r"""A stream that passes on where errors happened and of what kind they were, and nothing else.

    >>> import sys
    >>> log = Hushed(sys.stdout)
    >>> _ = log.write('  File "x.py", line 3, in f\n    f(age)\nValueError: Jane is 41\n')
      File "x.py", line 3, in f
    ValueError

    Work that ends because its page was closed is no error.

    >>> _ = log.write("Traceback (most recent call last):\nasyncio.exceptions.CancelledError\n")
    """

    def __init__(self, stream: TextIO) -> None:
        self.stream, self.begun = stream, ""
        self.held: list[str] = []

    def write(self, text: str) -> int:
        """Take a text; whole lines are judged."""
        *lines, self.begun = (self.begun + text).split("\n")
        for line in lines:
            error = ERROR.fullmatch(line.strip())
            if KEPT.match(line):
                self.held.append(line)
            elif error is not None and not line.startswith(" "):
                kind = error.group(1)
                if not kind.endswith(CLOSED):
                    self.stream.write("\n".join([*self.held, kind, ""]))
                self.held = []
        return len(text)

    def flush(self) -> None:
        """Pass on what was kept."""
        self.stream.flush()
