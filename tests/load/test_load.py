"""The scripts of load, smoked: that they measure, and not how fast this machine is."""

import re
from pathlib import Path

import pytest

from load import giant
from load.load import DUMP, main

PLAIN = DUMP.parents[1] / "pipeliner_crash_plain_dump" / "dump.tar.gz"


@pytest.mark.long
def test_every_figure_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seconds=3", "--readers=4", "--workers=1", f"--dump={PLAIN}"]) == 0
    printed = capsys.readouterr().out
    assert len(re.findall(r"^(?:JSON slice|page) +\d+(?: +[\d.]+){4}$", printed, re.MULTILINE)) == 4
    assert re.search(r"^ +1 +1 +12(?: +[\d.]+){6}$", printed, re.MULTILINE)
    streams = re.search(r"^(\d+) streams, (\d+) events$", printed, re.MULTILINE)
    assert streams is not None
    assert int(streams[2]) > int(streams[1]) > 0


@pytest.mark.long
@pytest.mark.browser
def test_a_giant_is_sent_both_ways(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # In parts of a size that leaves some to be sent after the break.
    words = [str(tmp_path / "giant"), "--size=12MiB", "--part-mib=4", f"--dump={PLAIN}"]
    assert giant.main(words) == 0
    printed = capsys.readouterr().out
    assert re.findall(r"^by (\w+): done", printed, re.MULTILINE) == ["api", "browser"]
    assert len(re.findall(r"^  idle \d+ MiB; above it: sent", printed, re.MULTILINE)) == 2
    assert len(re.findall(r"^  /r/ID +[\d.]+ MB +[\d.]+ s$", printed, re.MULTILINE)) == 2
    assert list((tmp_path / "giant").iterdir()) == []
