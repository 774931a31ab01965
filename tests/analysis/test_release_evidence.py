"""Releases are narrowed by what a dump and a log show, and never to nothing."""

import pytest

from app import knowledge
from app.analysis.flag_refusals import unknown_flags
from app.analysis.release_evidence import Evidence, joined, releases_that_fit
from app.ingest import read_log
from app.model.dump import DumpContents, DumpName, LogFacts, ModuleHistory, PassDump
from app.model.report import Coverage, Input
from hlo_parser import parse_module

OLD = (
    "HloModule m, is_scheduled=true\n\nENTRY e {\n  p = f32[2]{0} parameter(0)\n"
    "  ROOT n = f32[2]{0} negate(p)\n}\n"
)
NEW = (
    "HloModule m, is_scheduled=true\n\n"
    "ENTRY %e (p: (f32[2])) -> f32[2] {\n  %p = (f32[2]{0}) parameter(0)\n"
    "  ROOT %n = f32[2]{0} negate(%p#0)\n}\n"
)
MIDDLE = (
    "HloModule m, is_scheduled=true\n\n"
    "ENTRY %e (p: (f32[2])) -> f32[2] {\n  %p = (f32[2]{0}) parameter(0)\n"
    "  %g = f32[2]{0} get-tuple-element(%p), index=0\n  ROOT %n = f32[2]{0} negate(%g), "
    'metadata={op_name="jit(f)/neg" source_file="f.py" source_line=3 source_end_line=3}\n}\n'
)
LONG = (
    "HloModule m, is_scheduled=true\n\n"
    "ENTRY %e (p: f32[2]) -> f32[2] {\n  %p = f32[2]{0} parameter(0)\n"
    "  ROOT %n = f32[2]{0} negate(f32[2]{0} %p)\n}\n"
)
REFUSED = (
    "F1130 06:05:26.435298   28830 parse_flags_from_env.cc:234] Unknown flags in XLA_FLAGS: "
    "--xla_gpu_graph_level=0 --xla_nope=1\n"
)
CHECK = (
    "F0718 09:12:03.123456   24654 collective_pipeliner.cc:675] Check failed: "
    "last_cloned != nullptr (0 vs. nullptr)\n"
)


def dump_of(
    text: str, flags: dict[str, str] | None = None, after: str | None = None
) -> DumpContents:
    name = DumpName(file="m.txt", kind="pass", after=after)
    passed = PassDump(0, name, parse_module(text), len(text))
    history = ModuleHistory("m", "m", "user", (passed,), complete=False)
    return DumpContents(
        input=Input(name="d", bytes=0),
        modules=(history,),
        flags=flags or {},
        flags_file="debug_options" if flags else None,
        buffer_assignments=(),
        memory_reports=(),
        coverage=Coverage(),
    )


def test_a_text_by_hand_says_nothing_of_a_release() -> None:
    by_hand = OLD.replace(", is_scheduled=true", "")
    assert releases_that_fit(dump_of(by_hand), LogFacts(), {}).releases == ()
    for shown in (
        by_hand.replace("negate(p)", 'negate(p), metadata={op_name="jit(f)/jit(main)/neg"}'),
        by_hand.replace("n = ", "n.7 = "),
    ):
        assert releases_that_fit(dump_of(shown), LogFacts(), {}).releases


def span(found: tuple[str, ...]) -> tuple[str, str]:
    return found[0], found[-1]


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [(OLD, "0.4.9", "0.5.0"), (NEW, "0.11.0", "0.12.0"), (MIDDLE, "0.7.1", "0.8.1")],
)
def test_the_form_of_the_text(text: str, first: str, last: str) -> None:
    found = releases_that_fit(dump_of(text), LogFacts(), {})
    assert span(found.releases) == (first, last)
    assert ("newer releases may fit" in found.how) == (last == knowledge.PUBLISHED[-1])


def test_long_text_says_nothing() -> None:
    assert releases_that_fit(dump_of(LONG), LogFacts(), {}).releases == ()
    assert releases_that_fit(None, LogFacts(), {}).releases == ()


def test_a_check_and_the_text_are_joined() -> None:
    log = read_log(CHECK, name="x")
    assert releases_that_fit(dump_of(OLD), log, {}).releases == ("0.4.29", "0.4.30")
    contradiction = releases_that_fit(dump_of(NEW), log, {})
    assert contradiction.releases == ("0.4.29", "0.4.30")
    assert "left out, for it contradicts this: tuple elements" in contradiction.how


def test_flags_that_were_refused() -> None:
    log = read_log(REFUSED, name="x")
    assert unknown_flags(log) == ("xla_gpu_graph_level", "xla_nope")
    assert log.flags == {}
    releases = releases_that_fit(None, log, {}).releases
    assert "0.4.30" not in releases
    assert "0.12.0" in releases


def test_flags_that_were_written_or_taken() -> None:
    flags = {"xla_gpu_enable_pipelined_p2p": "true"}
    known = knowledge.published_with_flag("xla_gpu_enable_pipelined_p2p")
    assert known is not None
    written = releases_that_fit(dump_of(LONG, flags), LogFacts(), {})
    assert set(written.releases) >= known
    given = releases_that_fit(dump_of(LONG), LogFacts(), flags)
    assert set(given.releases) == known
    refused = releases_that_fit(dump_of(LONG), read_log(REFUSED, name="x"), flags)
    assert "was not refused" not in refused.how


def test_passes_speak_only_by_presence() -> None:
    found = releases_that_fit(dump_of(LONG, after="reduce-window-rewriter"), LogFacts(), {})
    assert found.releases[-1] == knowledge.PUBLISHED[-1]
    assert "reduce-window-rewriter" in found.how


def test_the_weaker_gives_way() -> None:
    def of(weight: str, *releases: str) -> Evidence:
        return Evidence(frozenset(releases), weight, f"{weight} {releases}")

    found = joined([of("weak", "0.5.0"), of("strong", "0.6.0", "0.6.1"), of("fair", "0.6.1")])
    assert found.releases == ("0.6.1",)
    assert found.how.index("strong") < found.how.index("fair") < found.how.index("weak")


def test_releases_without_a_column_are_taken_in() -> None:
    known = knowledge.published_with_check("collective_pipeliner.cc", "last_cloned != nullptr", 675)
    assert known == {"0.4.29", "0.4.30"}
    columns = set(knowledge.ALL_RELEASES)
    assert columns < set(knowledge.PUBLISHED)
    for name in knowledge.release_signs():
        assert knowledge.release_signs()[name].releases
