"""Which of the source files that came with a dump is the one that the dump names."""

from collections.abc import Sequence


def matching_file(file: str, names: Sequence[str]) -> int | None:
    """The position in `names` that agrees with the path `file` in most of its last parts.

    The last part, the file's own name, must agree; None where no name does, or several do alike.
    """
    wanted = _parts(file)
    agreed = [(_common_end(wanted, _parts(name)), position) for position, name in enumerate(names)]
    most = max((count for count, _ in agreed), default=0)
    best = [position for count, position in agreed if count == most]
    return best[0] if most and len(best) == 1 else None


def _parts(path: str) -> list[str]:
    return path.replace("\\", "/").split("/")


def _common_end(one: list[str], other: list[str]) -> int:
    count = 0
    for a, b in zip(reversed(one), reversed(other), strict=False):
        if a != b:
            break
        count += 1
    return count
