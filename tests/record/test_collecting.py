"""The garbage collector rests only while much is read, and whatever happens it goes on afterwards."""

from __future__ import annotations

import gc

import pytest

from dtrbandit.record.collecting import without_collecting


def test_the_collector_rests_only_while_much_is_read() -> None:
    for events, resting in ((10, True), (1_000_000, False)):
        with without_collecting(events):
            assert gc.isenabled() is resting
        assert gc.isenabled()
    with pytest.raises(ZeroDivisionError), without_collecting(1_000_000):
        raise ZeroDivisionError
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with without_collecting(1_000_000):
            assert not gc.isenabled()

        assert not gc.isenabled()
    finally:
        gc.enable()
