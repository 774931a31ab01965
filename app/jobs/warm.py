"""Called in the process that forks children, so that no child builds what all of them need."""

import tempfile
from dataclasses import asdict
from pathlib import Path

from app.ingest import quiet
from app.jobs.analysis import analyse_upload
from app.jobs.upload import Upload

_A_LITTLE = """\
HloModule a_little, entry_computation_layout={(f32[4]{0})->f32[4]{0}}

ENTRY %main (p: f32[4]) -> f32[4] {
  %p = f32[4]{0} parameter(0)
  ROOT %a = f32[4]{0} add(%p, %p), metadata={op_name="a" source_file="a.py" source_line=1}
}
"""


def analyse_a_little() -> None:
    """Analyse one small text: grammars, patterns and tables of facts are then there."""
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder, "module_0000.a_little.before_optimizations.txt")
        text.write_text(_A_LITTLE, encoding="utf-8")
        upload = Upload(str(text), text.name)
        analyse_upload(quiet, upload=asdict(upload), bundle=str(Path(folder, "bundle")))
