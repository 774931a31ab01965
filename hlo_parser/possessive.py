"""`re.compile` for patterns that repeat a group possessively, right on every Python from 3.11 on.

Python 3.11.0 to 3.11.4 (Debian 12 ships 3.11.2) forget to go back to where an iteration began when
the last one fails half-way (python/cpython#106052): `(?:ab?c)*+` ends behind the first "a" of "aa".
There the iteration is given a second alternative that never matches, and the step to it puts the
position right. Everywhere else this is `re.compile` and nothing more. What those five releases
keep in `re._parser` and `re._compiler` will not change any more.
"""

# pyright: reportPrivateUsage=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingModuleSource=false

import re
import sys
from functools import cache
from typing import Any, Final, overload

FORGETFUL: Final = sys.version_info < (3, 11, 5)


@overload
def compile_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]: ...


@overload
def compile_pattern(pattern: bytes, flags: int = 0) -> re.Pattern[bytes]: ...


def compile_pattern(pattern: Any, flags: int = 0) -> re.Pattern[Any]:
    """What `re.compile` gives, free of the fault above.

    Raises:
        re.error: the pattern is malformed.
    """
    return compile_guarded(pattern, int(flags)) if FORGETFUL else re.compile(pattern, flags)


@cache
def compile_guarded(pattern: Any, flags: int = 0) -> re.Pattern[Any]:
    """The same for the releases with the fault; it works on any."""
    from re import _compiler, _parser  # type: ignore[attr-defined]

    tree: Any = _parser.parse(pattern, flags)
    _guard(tree)
    named: dict[str, int] = tree.state.groupdict
    by_number: list[str | None] = [None] * tree.state.groups
    for name, number in named.items():
        by_number[number] = name
    code: list[int] = _compiler._code(tree, flags)
    return _compiler._sre.compile(
        pattern, flags | tree.state.flags, code, tree.state.groups - 1, named, tuple(by_number)
    )


def _guard(tree: Any) -> None:
    """Give every group repeated possessively in `tree` its second alternative."""
    from re import _constants, _parser  # type: ignore[attr-defined]

    for position, (code, argument) in enumerate(tree):
        for inner in _trees_of(argument):
            _guard(inner)
        if code is not _constants.POSSESSIVE_REPEAT:
            continue
        least, most, body = argument
        if _steps_once(body):
            continue
        never = _parser.SubPattern(tree.state, [(_constants.FAILURE, None)])
        either = (_constants.BRANCH, (None, [body, never]))
        tree[position] = (code, (least, most, _parser.SubPattern(tree.state, [either])))


def _trees_of(argument: Any) -> list[Any]:
    """The parts of one node that are patterns themselves."""
    from re import _parser  # type: ignore[attr-defined]

    if isinstance(argument, _parser.SubPattern):
        return [argument]
    if isinstance(argument, list | tuple):
        return [inner for part in argument for inner in _trees_of(part)]
    return []


def _steps_once(body: Any) -> bool:
    """The body takes one character or none, so it cannot fail half-way."""
    from re import _constants  # type: ignore[attr-defined]

    single = {_constants.LITERAL, _constants.NOT_LITERAL, _constants.ANY, _constants.IN}
    return len(body) == 1 and body[0][0] in single
