"""What a database tells of the statements that it refuses."""

import traceback

import pytest
from sqlalchemy import insert
from sqlalchemy.exc import IntegrityError

from app.store.database import open_database
from app.store.schema import token
from store.conftest import Place


def test_what_was_to_be_stored_is_in_no_error(place: Place) -> None:
    with place.open():
        engine = open_database(place.database_file)
        row = {"key": "k", "label": "secret model", "scopes": "read", "created": 1.0}
        with engine.begin() as connection:
            connection.execute(insert(token).values(**row))
        with pytest.raises(IntegrityError) as caught, engine.begin() as connection:
            connection.execute(insert(token).values(**row))
        engine.dispose()
    assert "secret model" not in "".join(traceback.format_exception(caught.value))
