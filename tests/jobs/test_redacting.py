"""What the child that makes a share learns of the logs."""

from dataclasses import asdict
from pathlib import Path

import pytest

from app.bundle import Bundle
from app.ingest import quiet
from app.jobs.analysis import analyse_upload
from app.jobs.redacting import redact_report
from app.jobs.upload import Upload
from web.asking import HLO

HOST = "quokka-node-17"
LOG = f"mirabelle@{HOST}:~$ python train.py\nall is well\n" + "one more line\n" * 200_000


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-be"])
def test_names_that_a_log_tells_go_from_the_texts(tmp_path: Path, encoding: str) -> None:
    text = tmp_path / "module_0000.jit_step.before_optimizations.txt"
    text.write_text(HLO.replace("HloModule", f"// made on {HOST}\nHloModule", 1))
    log = tmp_path / "run.log"
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    log.write_bytes((mark + LOG).encode(encoding))
    upload = Upload(str(text), text.name, logs=(("run.log", str(log)),))
    whole, copy = tmp_path / "whole", tmp_path / "copy"
    analyse_upload(quiet, upload=asdict(upload), bundle=str(whole))
    choice = {"redact": True, "op_names": False, "source": False}
    redact_report(quiet, source=str(whole), logs=[str(log)], redaction=choice, bundle=str(copy))
    with Bundle.open(whole) as kept, Bundle.open(copy) as shared:
        assert HOST in kept.dump_text(kept.modules()[0].id, 0)
        assert HOST not in shared.dump_text(shared.modules()[0].id, 0)
