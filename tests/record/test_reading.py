"""What forms of records need of the reader."""

from __future__ import annotations

from dtrbandit.record.codec import document, encode
from dtrbandit.record.reading import Reader, plain_document
from small_session import some_session


def test_the_orders_are_those_of_the_design() -> None:
    session, reader = some_session(), Reader()

    reader.event(document(encode(session.log[0]).encode()))

    for stage, columns in zip(session.design.stages, session.design.columns, strict=True):
        assert reader.columns[stage.name].labels == tuple(columns)
        assert reader.arms[stage.name].as_text == tuple(sorted(stage.arms))
    assert reader.first == reader.columns[session.design.stages[0].name]


def test_a_text_that_orjson_writes_otherwise_is_none() -> None:
    assert plain_document(b'{"a":1}') == {"a": 1}
    assert plain_document(b'{"a":1,"a":1}') is plain_document(b"{") is plain_document(b"[]") is None
