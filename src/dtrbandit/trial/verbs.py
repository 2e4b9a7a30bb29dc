"""The verbs of a live trial: those of a session, each with the actor who is on record with it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping

from dtrbandit.record import commands
from dtrbandit.record.commands import Command
from dtrbandit.record.events import Decision
from dtrbandit.trial.units import UnitStory


class Verbs(ABC):
    """Whoever takes commands from people, and answers when they are stored for good."""

    @abstractmethod
    def _tell(self, command: Command, actor: str | None) -> Decision | None:
        """Take one command and return its decision, or raise."""

    @abstractmethod
    def unit(self, unit: str, *, site: str | None = None) -> UnitStory:
        """Return the whole story of a unit."""

    def enroll(
        self,
        unit: str,
        context: Mapping[str, float],
        *,
        exclude: Mapping[str, Iterable[str]] | None = None,
        reason: str | None = None,
        site: str | None = None,
        actor: str | None = None,
    ) -> Decision:
        """Enrol a unit with its first context and decide its first arm; ``exclude`` and ``site`` as for a session."""
        command = commands.Enroll(unit, context, exclude, reason, site)
        return self._tell(command, actor)  # type: ignore[return-value]  # an arrival at the first stage has one

    def respond(
        self,
        unit: str,
        context: Mapping[str, float],
        *,
        stage: str | None = None,
        exclude: Mapping[str, Iterable[str]] | None = None,
        reason: str | None = None,
        actor: str | None = None,
    ) -> Decision | None:
        """Record the response of a unit and decide its next arm; None if the unit leaves early."""
        return self._tell(commands.Respond(unit, context, stage, exclude, reason), actor)

    def complete(self, unit: str, outcome: float, *, actor: str | None = None) -> None:
        """Record the outcome of a unit that has been through all its stages, or has left early."""
        self._tell(commands.Complete(unit, outcome), actor)

    def withdraw(self, unit: str, *, reason: str, actor: str | None = None) -> None:
        """Record that a unit is lost."""
        self._tell(commands.Withdraw(unit, reason), actor)

    def override(
        self, unit: str, arm: str, *, reason: str, stage: str | None = None, actor: str | None = None
    ) -> Decision:
        """Record that another arm than the one decided was really given, at the latest stage or at ``stage``."""
        return self._tell(commands.Override(unit, arm, reason, stage), actor)  # type: ignore[return-value]  # one that was overridden

    def correct(
        self,
        unit: str,
        *,
        reason: str,
        outcome: float | None = None,
        stage: str | None = None,
        context: Mapping[str, float] | None = None,
        actor: str | None = None,
    ) -> None:
        """Correct a recorded outcome, or columns of the context recorded at ``stage``."""
        self._tell(commands.Correct(unit, reason, outcome, stage, context), actor)

    def hold(self, *, reason: str, site: str | None = None, actor: str | None = None) -> None:
        """Hold accrual, everywhere or at a site: no unit enrols until ``release``. Units under way go on."""
        self._tell(commands.Hold(reason, site), actor)

    def release(self, *, reason: str, site: str | None = None, actor: str | None = None) -> None:
        """Let units enrol again, everywhere or at a site."""
        self._tell(commands.Release(reason, site), actor)

    def close_arm(self, stage: str, arm: str, *, reason: str, actor: str | None = None) -> None:
        """Close an arm of a stage: no decision from now on gives it, and no later max runs over it."""
        self._tell(commands.CloseArm(stage, arm, reason), actor)

    def void(self, unit: str, *, reason: str, actor: str | None = None) -> None:
        """Record that a unit should never have been enrolled: it teaches nothing, and its round stays used."""
        self._tell(commands.Void(unit, reason), actor)

    def unblind(self, unit: str, *, reason: str, actor: str | None = None) -> UnitStory:
        """Record that somebody looks behind the arms of a unit, then return its whole story, decisions included."""
        self._tell(commands.Unblind(unit, reason), actor)
        return self.unit(unit)

    def end(self, *, actor: str | None, reason: str) -> None:
        """End the trial: nothing more is decided. Late outcomes and amendments are still recorded."""
        self._tell(commands.End(reason), actor)

    def upgrade(self, *, actor: str | None, reason: str) -> None:
        """Go on, by the numerics of this release, with a trial that another release began."""
        self._tell(commands.Upgrade(reason), actor)
