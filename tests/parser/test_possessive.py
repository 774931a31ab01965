"""Groups repeated possessively, on Pythons that read them wrong, too (3.11.0 to 3.11.4)."""

import ast
import re
from pathlib import Path

import pytest

from hlo_parser import possessive
from hlo_parser.possessive import compile_guarded, compile_pattern

ROOT = Path(__file__).resolve().parents[2]
REPEATED_GROUP = re.compile(r"\)(?:[*+?]|\{\d*,?\d*\})\+")
SHARED_PIECES = {"hlo_parser.patterns", "hlo_parser.value_forms"}
TEXTS = ("", "a", "ab", "aa", "abca", "abcabcaxcab", "abacab", "{a{b}c}{a{b}", "{a{b}{d", "[2,]")


@pytest.mark.parametrize(
    ("greedy", "flags"),
    [
        (r"(?:ab?c)*", 0),
        (r"(?:ab?c)+", 0),
        (r"(?:ab?c)?", 0),
        (r"(?:ab?c){1,2}", 0),
        (r"(?:abx|a[bc]c|ab)*", 0),
        (r"(?:A(?P<one>b|c)+(c)?)*", re.I),
        (r"(?:\{(?:[^{}]++|\{[^{}]*+\})*\})*", 0),
        (r"\[(?:\d++(?:,\d++)*)?", 0),
    ],
)
def test_a_repeated_group_ends_where_its_last_whole_iteration_ends(greedy: str, flags: int) -> None:
    # Atomic groups are right in every release: they say what is meant.
    meant = re.compile(re.sub(r"(\(\?:.*\)(?:[*+?]|\{1,2\}))", r"(?>\1)", greedy), flags)
    for compiled in (compile_pattern, compile_guarded):
        pattern = compiled(greedy + "+", flags)
        assert pattern.pattern == greedy + "+"
        assert pattern.groupindex == meant.groupindex
        for text in TEXTS:
            found, expected = pattern.match(text), meant.match(text)
            assert (found and found.span()) == (expected and expected.span()), (text, compiled)


def test_bytes_and_faults() -> None:
    found = compile_guarded(rb"(?:ab?c)*+").match(b"abca")
    assert found is not None
    assert found.end() == 3
    with pytest.raises(re.error):
        compile_pattern("(")


def _repeats_a_group(tree: ast.AST) -> bool:
    return any(
        isinstance(node, ast.Constant)
        and isinstance(node.value, str | bytes)
        and REPEATED_GROUP.search(
            node.value if isinstance(node.value, str) else node.value.decode("latin-1")
        )
        for node in ast.walk(tree)
    )


def _takes_pieces(tree: ast.Module) -> bool:
    return any(
        isinstance(node, ast.ImportFrom)
        and SHARED_PIECES & {node.module, *(f"{node.module}.{a.name}" for a in node.names)}
        for node in ast.walk(tree)
    )


def _bypasses(tree: ast.Module) -> bool:
    """`re` itself is asked to compile, or to search for a group repeated possessively."""
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "re"
        and (node.func.attr == "compile" or any(map(_repeats_a_group, node.args)))
        for node in ast.walk(tree)
    )


def test_modules_with_such_patterns_compile_them_here() -> None:
    own = Path(possessive.__file__)
    modules = [path for room in ("app", "hlo_parser") for path in (ROOT / room).rglob("*.py")]
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in modules if path != own}
    risky = {path for path, tree in trees.items() if _repeats_a_group(tree) or _takes_pieces(tree)}
    assert len(risky) > 20
    assert sorted(str(path) for path in risky if _bypasses(trees[path])) == []
