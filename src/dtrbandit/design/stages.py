"""A stage: the arms that may be given there, and the features that describe a unit that arrives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dtrbandit.design.features import FeatureFunction, describe
from dtrbandit.design.identity import identity
from dtrbandit.design.parameters import positive
from dtrbandit.design.values import shown
from dtrbandit.errors import DesignError

MOST_ARMS = 64


@dataclass(frozen=True)
class Stage:
    """One stage of a design (paper, section 2.1).

    Parameters
    ----------
    name
        What people call the stage; ``C(name)`` in the formula of a later stage.
    arms
        The labels of the arms.
    features
        The features ψ as a formula, or a function from a mapping of arrays to an (n, d) array.
    columns
        With a function: the columns that it adds to the context. With a formula: further columns to record.
    enter_if
        The condition under which a unit enters; the others leave early, with their outcome.
    expected_days
        The days usually needed until the response, for planning only.

    Examples
    --------
    >>> Stage("second", arms=("ssri", "other"), features="1 + qids_start2", enter_if="qids_end1 > 5").arms
    ('ssri', 'other')
    """

    name: str
    arms: tuple[str, ...]
    features: str | FeatureFunction
    columns: tuple[str, ...] | None = field(default=None, kw_only=True)
    enter_if: str | None = field(default=None, kw_only=True)
    expected_days: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", label(self.name, "a stage's name"))
        where = f"stage {self.name!r}"
        object.__setattr__(self, "arms", labels(self.arms, f"{where}: arms", most=MOST_ARMS))
        if self.columns is not None:
            object.__setattr__(self, "columns", labels(self.columns, f"{where}: columns", least=0))
        if callable(self.features) and self.columns is None:
            raise DesignError(f"{where}: features given as a function need columns=, the columns it reads")
        if not callable(self.features) and not isinstance(self.features, str):
            raise DesignError(f"{where}: features must be a formula or a function, found {shown(self.features)}")
        if self.expected_days is not None:
            object.__setattr__(self, "expected_days", positive(self.expected_days, f"{where}: expected_days"))

    def to_dict(self) -> dict[str, object]:
        """Return the stage as plain values; a feature function is given by its name and what identifies it."""
        formula = self.features
        known = formula if isinstance(formula, str) else {"function": describe(formula), "identity": identity(formula)}
        entries = {
            "name": self.name,
            "arms": list(self.arms),
            "features": known,
            "columns": None if self.columns is None else list(self.columns),
            "enter_if": self.enter_if,
            "expected_days": self.expected_days,
        }
        return {key: entry for key, entry in entries.items() if entry is not None}

    @classmethod
    def from_dict(cls, entries: Mapping[str, object], *, number: int) -> Stage:
        """Return the stage that ``to_dict`` describes; ``number``, from 1, is for messages."""
        where = f"stage {number}"
        require_keys(entries, required=("name", "arms", "features"), optional=OPTIONAL, where=where)
        if isinstance(entries["features"], Mapping):
            raise DesignError(
                f"{where}: its features were a Python function ({shown(entries['features'].get('function'))}); "
                "pass the design itself as design="
            )
        return cls(**entries)  # type: ignore[arg-type]  # checked by __post_init__


OPTIONAL = ("columns", "enter_if", "expected_days")


def require_keys(entries: object, *, required: Sequence[str], optional: Sequence[str], where: str) -> None:
    """Refuse anything but a table with exactly these keys."""
    if not isinstance(entries, Mapping):
        raise DesignError(f"{where} must be a table, found {shown(entries)}")
    for key in entries:
        if key not in required and key not in optional:
            raise DesignError(f"{where}: unknown key {shown(key)}; allowed are {', '.join((*required, *optional))}")
    for key in required:
        if key not in entries:
            raise DesignError(f"{where}: {key!r} is missing; needed are {', '.join(required)}")


def label(text: object, what: str) -> str:
    """Return a short printable text as a plain str, or say what was found instead."""
    if not isinstance(text, str) or not text.strip() or not text.isprintable() or len(text) > 200:
        raise DesignError(f"{what} must be a printable text of 1 to 200 characters, found {shown(text)}")
    if text != text.strip():  # two labels that look the same would be two
        raise DesignError(f"{what} must not begin or end with a space, found {shown(text)}; write {text.strip()!r}")
    return str(text)


def labels(texts: object, what: str, *, least: int = 1, most: int | None = None) -> tuple[str, ...]:
    """Return a tuple of distinct labels, or say what is wrong with them."""
    if isinstance(texts, str) or not isinstance(texts, Sequence):
        raise DesignError(f"{what} must be a list of texts, found {shown(texts)}")
    if most is not None and len(texts) > most:
        raise DesignError(f"{what} may be {most} at most, found {len(texts)}")
    plain = tuple(label(text, f"{what}: each") for text in texts)
    if len(set(plain)) < len(plain) or len(plain) < least:
        raise DesignError(f"{what} must be at least {least} and all different, found {shown(list(plain))}")
    return plain
