"""F11, small: histories of a trial, against a plain session (``tests/trial/machine.py``)."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from trial.machine import TrialMachine

HISTORIES, STEPS = 15, 12


@pytest.mark.slow
def test_a_trial_says_what_a_session_says_whatever_happens_to_it() -> None:
    small = settings(
        max_examples=HISTORIES, stateful_step_count=STEPS, deadline=None, suppress_health_check=list(HealthCheck)
    )

    run_state_machine_as_test(TrialMachine, settings=small)
