"""How pages write texts, numbers, times and addresses."""

from __future__ import annotations

from datetime import UTC, datetime
from urllib.parse import unquote

import pytest

from extras import needed

for module in ("starlette", "jinja2", "uvicorn"):
    needed(module)

from dtrbandit.web.templates import STATIC, day, environment, lines, number, part, plain, static, when  # noqa: E402


def test_whatever_is_put_into_a_template_is_escaped() -> None:
    text = environment().from_string("<p>{{ unit }}</p>").render(unit="<script>alert(1)</script>")

    assert text == "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>"


def test_marks_that_hide_or_turn_others_are_written_out() -> None:
    assert plain("a\u202eb\x00c\u200b") == "a\\u202eb\\u0000c\\u200b"
    assert plain("Größe =cmd 漢") == "Größe =cmd 漢"
    assert lines("a\n\tb") == "a\n\\u0009b"


def test_numbers_and_times_are_short() -> None:
    assert [number(each) for each in (None, float("nan"), -8.64412)] == ["–", "–", "-8.644"]
    assert str(when(None)) == "–"
    assert "2026-11-17 09:30<" in when(datetime(2026, 11, 17, 9, 30, 5, tzinfo=UTC))
    assert "2026-11-17 09:30<" in when("2026-11-17T09:30:05.000001Z")
    assert "<script>" not in when("<script>")
    assert "2026-11-17<" in day("2026-11-17T09:30:05.000001Z")
    assert day(None) == "–"


@pytest.mark.parametrize("text", ["a/b?c#d&e=%20", "../x", "\u202e\x00", "ü"])
def test_any_text_can_be_a_part_of_an_address(text: str) -> None:
    assert unquote(part(text)) == text
    assert not set(part(text)) & set("/?#&= ")


def test_files_come_with_the_package_and_load_nothing_from_elsewhere() -> None:
    for name in STATIC:
        text = static(name).decode()
        assert text
        assert "http" not in text.replace("http://www.w3.org/2000/svg", "")


def test_templates_hold_nothing_inline() -> None:
    """The Content-Security-Policy would refuse it."""
    loader = environment().loader
    assert loader is not None
    for name in loader.list_templates():
        source = loader.get_source(environment(), name)[0]
        assert "style=" not in source
        assert " on" not in {
            f" {attribute[:2]}" for attribute in source.split() if "=" in attribute and "(" in attribute
        }
        assert "<style" not in source
        assert source.count("<script") == source.count('<script src="/ui/static/')
        assert "|safe" not in source
