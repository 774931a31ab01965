"""The server answers as its description says, to requests that fit it and to many that do not."""

from collections.abc import Iterator

import pytest

from web.schemathesis_run import Asker, asker, cases_in, operations


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asker]:
    with asker(tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.mark.long
@pytest.mark.timeout(400)
@pytest.mark.parametrize("operation", operations())
def test_the_server_does_what_its_description_says(server: Asker, operation: str) -> None:
    code, said = server.ask(operation)
    assert code == 0, said
    assert cases_in(said) > 0, said
