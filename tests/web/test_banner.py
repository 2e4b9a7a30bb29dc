"""The banner: one for each phase, and never another word than REHEARSAL where patients are simulated."""

from __future__ import annotations

from typing import get_args

from dtrbandit.trial.state import Phase
from dtrbandit.web.banner import BANNERS, banner_of


def test_every_phase_has_a_banner_of_its_own() -> None:
    assert set(BANNERS) == set(get_args(Phase))
    assert len({banner.word for banner in BANNERS.values()}) == 3
    assert {banner_of(phase, simulated=False).phase for phase in BANNERS} == set(BANNERS)


def test_simulated_patients_are_a_rehearsal_in_every_phase() -> None:
    assert {banner_of(phase, simulated=True).word for phase in BANNERS} == {"REHEARSAL"}
