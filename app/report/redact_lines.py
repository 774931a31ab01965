"""A line that many texts share is looked at once.

A pass changes little, so that of the lines of a dump one in ten differs from all before. Where each
line of a text stands for itself, as in a computation, only those that are new are given on: joined,
for a pattern costs less in one long text than in many short ones, with a blank line between, over
which nothing goes that a pattern finds. Any other text is given on whole: a list that goes over
lines, a table, a log. Either way what is taken out of a line counts once, whatever holds the line.
"""

from collections import deque
from collections.abc import Callable, Iterable

from hlo_parser.possessive import compile_pattern

# An instruction, or the first or the last line of a computation. Of what patterns find, only a key
# goes on over blank lines.
_ON_ITS_OWN = compile_pattern(
    r" {1,4}(?:ROOT )?%?[\w.-]++ = .*+|(?:ENTRY )?%?[\w.-]++ [({].*+(?<=\{)|\}.*+"
)
_GOES_ON = "PRIVATE KEY"
_BETWEEN = "\n\n"
_MUCH = 1 << 17


class SharedLines:
    """Gives `learn` and `show` what they have not been given before, and much of it at once.

    `show` counts what it takes out; `again` does the same without counting.
    """

    def __init__(
        self,
        learn: Callable[[str], None],
        show: Callable[[str], str],
        again: Callable[[str], str],
    ) -> None:
        self._learn = learn
        self._show = show
        self._again = again
        # Hashes of the lines that were counted: whole texts may be large.
        self._counted: set[int] = set()
        self._learnt = {""}
        self._shown = {"": ""}
        # Lines that were shown as whole texts: within another they may mean something else.
        self._alone: dict[str, str] = {}
        # Lines that are to be learnt and to be shown, in the order in which they came.
        self._to_learn: deque[str] = deque()
        self._to_show: deque[str] = deque()
        self._waiting = 0

    def learn(self, text: str) -> None:
        """`learn` all of it that is new, now or before anything is shown."""
        new = [line for line in dict.fromkeys(text.split("\n")) if line not in self._learnt]
        if not _stand_alone(new):
            self._learn(text)
            return
        self._learnt.update(new)
        self._to_learn.extend(new)
        self._to_show.extend(new)
        self._waiting += sum(map(len, new))
        if self._waiting >= _MUCH:
            self._learn_waiting()

    def shown(self, text: str) -> str:
        """What `show` gives for it, and has given for the lines seen before."""
        self._learn_waiting()
        if "\n" not in text:
            if text not in self._alone:
                self._alone[text] = self._made(text, [text])
            return self._alone[text]
        lines = text.split("\n")
        new = [line for line in dict.fromkeys(lines) if line not in self._shown]
        if not _stand_alone(line for line in new if line not in self._learnt):
            return self._made(text, lines)
        if new:
            self._show_lines(new)
        return "\n".join([self._shown[line] for line in lines])

    def _learn_waiting(self) -> None:
        if self._to_learn:
            self._learn(_BETWEEN.join(self._to_learn))
            self._to_learn.clear()
            self._waiting = 0

    def _show_lines(self, lines: list[str]) -> None:
        """Show them, and so many that were learnt that it is worth while."""
        chosen = dict.fromkeys(lines)
        size = sum(map(len, lines))
        while self._to_show and size < _MUCH:
            line = self._to_show.popleft()
            if line not in self._shown:
                chosen[line] = None
                size += len(line)
        made = self._made(_BETWEEN.join(chosen), chosen).split(_BETWEEN)
        if len(made) != len(chosen):
            made = [self._again(line) for line in chosen]
        self._shown.update(zip(chosen, made, strict=True))

    def _made(self, text: str, lines: Iterable[str]) -> str:
        """What stands for a text of these lines, those counted that were not before."""
        told = [line for line in lines if line]
        new = [line for line in dict.fromkeys(told) if hash(line) not in self._counted]
        self._counted.update(map(hash, new))
        if len(new) == len(told):
            return self._show(text)
        if new:
            self._show("\n".join(new))
        return self._again(text)


def _stand_alone(lines: Iterable[str]) -> bool:
    return all(_ON_ITS_OWN.fullmatch(line) and _GOES_ON not in line for line in lines)
