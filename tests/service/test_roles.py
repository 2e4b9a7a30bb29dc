"""Who may do what (F16)."""

from __future__ import annotations

import pytest

from dtrbandit.service.problems import Refused
from dtrbandit.service.roles import MAY, Role, require


def test_an_administrator_may_do_everything() -> None:
    for endpoint in MAY:
        require(Role.ADMINISTRATOR, endpoint)


@pytest.mark.parametrize("endpoint", ["explain_decisions", "read_log", "read_head", "summarise_trial", "read_metrics"])
def test_a_site_sees_no_counts_estimates_or_rounds(endpoint: str) -> None:
    with pytest.raises(Refused, match="site may not") as refused:
        require(Role.SITE, endpoint)

    assert refused.value.status == 403


@pytest.mark.parametrize("role", [Role.STATISTICIAN, Role.AUDITOR])
def test_who_reads_changes_nothing(role: Role) -> None:
    changing = [endpoint for endpoint in MAY if endpoint.split("_")[0] not in ("list", "show", "read")]
    changing = [endpoint for endpoint in changing if endpoint not in ("explain_decisions", "summarise_trial")]

    assert len(changing) == 16
    for endpoint in changing:
        with pytest.raises(Refused):
            require(role, endpoint)
