"""A server below a path of its host: every link stays below it and leads somewhere."""

import html
import re
from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import urldefrag, urljoin, urlsplit

import pytest
from starlette.testclient import TestClient

from app.settings import Settings
from app.web import create_app
from samples import load_sample

ROOT = "/tools/hlo"
LINK = re.compile(r'\b(?:href|src|action|formaction|xlink:href)="([^"]*)"')
DATA = re.compile(r'<script type="application/json"[^>]*>(.*?)</script>', re.DOTALL)
OWN = re.compile(r'"(/(?:r|api|static|rules|compare|samples)(?:/[^"]*)?)"')
MOST_PAGES = 60


@pytest.fixture
def below(settings: Settings) -> Iterator[TestClient]:
    settings = replace(settings, base_url=f"http://localhost{ROOT}/")
    with TestClient(create_app(settings), base_url="http://localhost") as client:
        yield client


def links_of(text: str, page: str) -> set[str]:
    """Where a page's links lead on this server, as paths with their queries."""
    found: set[str] = set()
    for link in LINK.findall(text):
        whole = urldefrag(urljoin(f"http://localhost{page}", html.unescape(link)))[0]
        parts = urlsplit(whole)
        if parts.scheme == "http" and parts.netloc == "localhost":
            found.add(f"{parts.path}?{parts.query}" if parts.query else parts.path)
    return found


def test_every_link_stays_below_the_path_and_leads_somewhere(below: TestClient) -> None:
    sample = load_sample("pipeliner_crash")
    sent = below.put(
        f"{ROOT}/api/v1/reports", params={"wait": 120}, content=sample.archive.read_bytes()
    )
    made = sent.json()
    assert made["state"] == "done", made
    assert made["url"] == f"http://localhost{ROOT}/r/{made['id']}"
    start = f"{ROOT}/r/{made['id']}"
    waiting, known, pages = [f"{ROOT}/", f"{ROOT}/api", f"{ROOT}/compare", start], {start}, 0
    kinds: set[str] = set()
    while waiting and pages < MOST_PAGES:
        path = waiting.pop(0)
        answer = below.get(path, headers={"accept": "text/html"})
        assert answer.status_code == 200, path
        if not answer.headers["content-type"].startswith("text/html"):
            continue
        pages += 1
        for data in DATA.findall(answer.text):
            assert OWN.findall(data) == [], path
        for link in sorted(links_of(answer.text, path) - known):
            assert link.startswith(f"{ROOT}/"), (path, link)
            known.add(link)
            kind = re.sub(r"\d+|\?.*", "", link)
            # One of each kind is enough: pages of passes are alike.
            if kind not in kinds and not link.endswith("/delete"):
                kinds.add(kind)
                if "/samples/" not in link and not link.endswith(("/share", "/replay")):
                    waiting.append(link)
    assert pages > 10


def test_a_proxy_may_take_the_path_off(below: TestClient) -> None:
    for path in ("/api", f"{ROOT}/api"):
        text = below.get(path, headers={"accept": "text/html"}).text
        assert f'href="{ROOT}/static/css/base.css"' in text
    assert below.get("/toolsx/hlo/api").status_code == 404
    assert below.get(ROOT).status_code == 200


def test_redirects_cookies_and_uploads_stay_below_it(below: TestClient) -> None:
    sample = load_sample("pipeliner_crash")
    form = {"dump": ("a.tar.gz", sample.archive.read_bytes())}
    answer = below.post(f"{ROOT}/", files=form, follow_redirects=False)
    assert answer.status_code == 303
    assert answer.headers["location"].startswith(f"{ROOT}/r/")
    assert f"Path={answer.headers['location']};" in answer.headers["set-cookie"]
    headers = {"tus-resumable": "1.0.0", "upload-length": "10"}
    begun = below.post(f"{ROOT}/api/v1/uploads", headers=headers)
    assert begun.headers["location"].startswith(f"{ROOT}/api/v1/uploads/")
    assert below.head(begun.headers["location"], headers=headers).status_code == 200
    assert below.get(f"{ROOT}/static/css/base.css").status_code == 200


def test_at_the_top_links_are_as_they_were(client: TestClient) -> None:
    text = client.get("/", headers={"accept": "text/html"}).text
    assert 'href="/static/css/base.css"' in text
    assert ROOT not in text
