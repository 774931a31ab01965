"""Sizes and times in words, as findings say them."""

_SIZES = ("bytes", "KiB", "MiB", "GiB", "TiB")


def bytes_in_words(number: int) -> str:
    """`14.0 MiB`."""
    size = float(number)
    for unit in _SIZES[:-1]:
        if size < 1024:
            return f"{number} {unit}" if unit == _SIZES[0] else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} {_SIZES[-1]}"


def time_in_words(seconds: float) -> str:
    """`360 us`, `1.2 ms`, `2.0 s`."""
    if seconds < 1e-3:
        return f"{seconds * 1e6:.0f} us"
    return f"{seconds * 1e3:.1f} ms" if seconds < 1 else f"{seconds:.1f} s"


def part_in_words(part: int, whole: int) -> str:
    """`52 %`."""
    return f"{100 * part / whole:.0f} %" if whole else "?"
