"""The server answers as its description says, to requests that fit it and to many that do not."""

import pytest

from web.schemathesis_run import main


@pytest.mark.long
@pytest.mark.timeout(2400)
def test_the_server_does_what_its_description_says() -> None:
    assert main(["--max-examples=2", "--no-color"]) == 0
