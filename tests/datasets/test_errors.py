"""Errors are for the reader of the terminal."""

from __future__ import annotations

import pickle

from tootsie.datasets.errors import InputError, UserError


def test_the_message_names_file_field_value_and_remedy() -> None:
    error = InputError(
        "the date is not ISO-8601", file="posts.xml:12", field="CreationDate", value="13/5", remedy="Mend it"
    )
    assert str(error) == "posts.xml:12: CreationDate: the date is not ISO-8601 (found '13/5'). Mend it"


def test_errors_survive_the_way_between_processes() -> None:
    error = pickle.loads(pickle.dumps(InputError("bad", file="a", field="b", value=3, remedy="c")))
    assert isinstance(error, InputError)
    assert str(error) == "a: b: bad (found 3). c"


def test_long_values_are_cut() -> None:
    assert len(str(UserError("bad", value="x" * 10_000))) < 300


def test_a_password_in_a_url_is_never_repeated() -> None:
    error = InputError(
        "cannot read", file="https://me:s3cret@host/a@b", value="http://s3cret@host/v1", remedy="Ask me@host"
    )
    assert str(error) == "https://***@host/a@b: cannot read (found 'http://***@host/v1'). Ask me@host"
