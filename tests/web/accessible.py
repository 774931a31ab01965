"""What axe finds wrong with a page for those who read it by ear, by keys or with weak eyes."""

import functools
from pathlib import Path

from playwright.sync_api import Page

_AXE = Path(__file__).parent / "axe-core" / "axe.min.js"
_RUN = """async () => {
    const {violations} = await axe.run(document, {resultTypes: ["violations"]});
    return violations.flatMap(({id, help, nodes}) =>
        nodes.map(({target, failureSummary}) =>
            `${id} (${help}): ${target.join(" ")}: ${failureSummary}`));
}"""


@functools.cache
def _axe() -> str:
    return _AXE.read_text(encoding="utf-8")


def barriers(page: Page) -> list[str]:
    """All that axe complains of on the page as it stands, each with its element; best none."""
    # By the debugger's way in: the page's policy keeps out any script that is not the site's.
    page.evaluate(_axe())
    return page.evaluate(_RUN)
