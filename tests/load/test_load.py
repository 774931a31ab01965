"""The load script, smoked: that it measures, and not how fast this machine is."""

import re

import pytest

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
