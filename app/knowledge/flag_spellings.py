"""One flag under several names, and one value in several words, taken as one.

XLA renames flags and changes their types, and `debug_options` writes the words of an enumeration
otherwise than XLA_FLAGS takes them. Flags are compared and asked for in one spelling, that of the
oldest release; what is shown stays as it was written. Names have no dashes. Flags that are in no
row of the table pass as they are.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from app.knowledge.flags import flag_known_in, flag_releases
from app.knowledge.releases import release_key
from app.knowledge.tables import read_rows


@dataclass(frozen=True, slots=True)
class _Spelling:
    """The name `flag` for what was `older`, the `prefix` of its words, word to older value.

    `is_list`: the value is a set of words in any order, which XLA_FLAGS takes in either case.
    """

    flag: str
    older: str
    prefix: str
    values: Mapping[str, str]
    is_list: bool = False

    def word(self, value: str) -> str:
        """`COLLECTIVE_PIPELINING_MODE_ON` and `ON` as `on`; what is no word of the flag stays."""
        bare = value.upper().removeprefix(self.prefix).lower()
        return bare if bare in self.values else value

    def as_older(self, value: str) -> str:
        if self.is_list:
            words = (each.strip().upper() for each in value.split(","))
            return ",".join(
                sorted({each.removeprefix(self.prefix).lower() for each in words} - {""})
            )
        word = self.word(value)
        return self.values.get(word, word)

    def from_older(self, value: str) -> str:
        return next((word for word, old in self.values.items() if old == value), value)


def first_name(name: str) -> str:
    """The name under which `settings_of` has a flag."""
    spelling = _by_flag().get(name)
    return name if spelling is None else spelling.older or name


def setting(flags: Mapping[str, str], name: str) -> str | None:
    """The value of a flag in its first spelling, whichever stands in `flags`; None where none."""
    return settings_of(flags).get(first_name(name))


def settings_of(flags: Mapping[str, str]) -> dict[str, str]:
    """`flags` with each name and value in its first spelling; the later of two spellings counts."""
    found: dict[str, str] = {}
    for name, value in flags.items():
        spelling = _by_flag().get(name)
        found[first_name(name)] = value if spelling is None else spelling.as_older(value)
    return found


def flag_as_set(flags: Mapping[str, str], name: str) -> str | None:
    """`--name=value` under the name that `flags` has, as XLA_FLAGS takes it; None where not set."""
    first = first_name(name)
    names = [each for each in flags if first_name(each) == first]
    return f"--{names[-1]}={as_argument(names[-1], flags[names[-1]])}" if names else None


def written_name(name: str, sides: Iterable[Mapping[str, str]]) -> str | None:
    """The one name that a flag has in all `sides` that set it; None where they have several."""
    first = first_name(name)
    names = {each for flags in sides for each in flags if first_name(each) == first}
    return names.pop() if len(names) == 1 else None


def as_argument(name: str, value: str) -> str:
    """A value, perhaps of `debug_options`, in the word that XLA_FLAGS takes for it."""
    spelling = _by_flag().get(name)
    return value if spelling is None or not spelling.values else spelling.word(value)


def overlaid(flags: Mapping[str, str], more: Mapping[str, str]) -> dict[str, str]:
    """`flags` with `more` over them: each flag once, under the name that set it last."""
    found = {first_name(name): (name, value) for name, value in flags.items()}
    found.update((first_name(name), (name, value)) for name, value in more.items())
    return dict(found.values())


def spelt_for(release: str, name: str, value: str) -> tuple[str, str]:
    """Name and value as XLA_FLAGS of `release` takes them.

    Where the release is not in the tables, and where it has no such name or no such value, the
    name stays.
    """
    value = as_argument(name, value)
    if flag_known_in(name, release) is not False:
        return name, value
    for spelling in _rows():
        if name == spelling.flag and spelling.older and flag_known_in(spelling.older, release):
            older = spelling.as_older(value)
            # No boolean flag of an older release says `explicit`.
            is_lost = bool(spelling.values) and older not in ("true", "false")
            return (name, value) if is_lost else (spelling.older, older)
        if name == spelling.older and flag_known_in(spelling.flag, release):
            return spelling.flag, spelling.from_older(value)
    return name, value


def newest_spelling(flag: str, releases: Iterable[str]) -> str:
    """`name=value` in the newest spelling that all of `releases` have, unpublished ones too."""
    name, _, value = flag.partition("=")
    spelling = next((each for each in _rows() if each.older == name), None)
    span = flag_releases(spelling.flag) if spelling is not None else None
    keys = [release_key(release) for release in releases]
    if spelling is None or span is None or not keys or min(keys) < release_key(span.first):
        return flag
    return f"{spelling.flag}={spelling.from_older(value)}"


def other_names(name: str) -> tuple[str, ...]:
    """The other names of a flag."""
    pairs = [(each.flag, each.older) for each in _rows() if each.older]
    return tuple(dict.fromkeys(b if name == a else a for a, b in pairs if name in (a, b)))


def words_of(name: str) -> tuple[str, ...]:
    """The words that a flag takes, where they are known; else none."""
    spelling = _by_flag().get(name)
    return tuple(spelling.values) if spelling is not None else ()


@cache
def _by_flag() -> dict[str, _Spelling]:
    return {spelling.flag: spelling for spelling in _rows()}


@cache
def _rows() -> tuple[_Spelling, ...]:
    return tuple(
        _Spelling(flag, older, prefix, *_values(values))
        for flag, older, prefix, values, _ in read_rows("flag_spellings.tsv")
    )


def _values(written: str) -> tuple[dict[str, str], bool]:
    if written == "*":
        return {}, True
    return dict(word.split("=", 1) for word in written.split()), False
