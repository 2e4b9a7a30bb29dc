"""Which assumptions of the theory hold for a problem, and which fail: a finding each, in words."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Literal, NamedTuple

import numpy as np

from dtrbandit.environments.arrivals import ArrivalProcess
from dtrbandit.theory.bounds import c_tilde_1, c_tilde_2, c_tilde_3, peeling_depth, smallest_q
from dtrbandit.theory.constants import Constants
from dtrbandit.theory.delay import delay_of, delay_penalty
from dtrbandit.theory.instance import Instance

Verdict = Literal["holds", "fails", "note"]


class Finding(NamedTuple):
    """A statement about a problem: whether it holds, by which label of the paper, in words."""

    verdict: Verdict
    subject: str
    label: str
    words: str

    def __str__(self) -> str:
        return f"[{self.verdict:<5}] {self.subject}: {self.words}"


def findings(instance: Instance, *, q: int, arrivals: ArrivalProcess | None = None) -> tuple[Finding, ...]:
    """Judge every assumption of Theorem 1, and of the theorem on delay if there is one."""
    found = [_scope(instance), *_leavers(instance), _linear(instance), _bounded(instance), _noise(instance)]
    found += [*_margin(instance), *_diversity(instance), *_constants(instance, q)]
    return tuple(found if arrivals is None else [*found, _delay(instance, arrivals)])


def _scope(instance: Instance) -> Finding:
    design = instance.evidence.design
    arms = "×".join(map(str, design.arm_counts))
    if instance.two_by_two:
        return Finding("holds", "scope", "thm: regret upper bound", "two stages of two arms, each plan feasible")
    if len(design.stages) == 2 and design.every_combination:
        words = f"two stages with {arms} arms: the paper extends the order of regret to them, without constants"
        return Finding("note", "scope", "section: k arms", words)
    if len(design.stages) == 1:
        words = f"one stage with {arms} arms: the bandit that section 4 embeds, for which no constants are stated"
        return Finding("note", "scope", "section: theory", words)
    if design.every_combination:
        words = (
            f"{len(design.stages)} stages with {arms} arms: the paper extends the algorithm to them, and proves nothing"
        )
        return Finding("fails", "scope", "section: conclusion", words)
    words = f"{len(design.arm_plans)} of {prod(design.arm_counts)} plans are feasible: no theorem allows for that"
    return Finding("fails", "scope", "thm: regret upper bound", words)


def _leavers(instance: Instance) -> Iterator[Finding]:
    if any(stage.condition is not None for stage in instance.evidence.design.parsed):
        words = "units may leave early, of which no theorem speaks; the later stages are judged on those who enter"
        yield Finding("note", "leavers", "section: stard", words)


def _linear(instance: Instance) -> Finding:
    if instance.linear:
        return Finding("holds", "linear Q", "assumption: bounded", "Q-functions are linear in the features")
    worst = int(np.argmax(instance.misfit))
    stage = instance.evidence.design.stages[worst].name
    words = f"at stage {stage} Q is off its best linear fit by up to {instance.misfit[worst]:.2g} of its size"
    return Finding("fails", "linear Q", "assumption: bounded", words)


def _bounded(instance: Instance) -> Finding:
    reach = f"‖ψ‖ up to {instance.x_max:.3g} among {instance.evidence.units:,} units"
    if instance.bounded:
        words = f"{reach}, less than 5 % farther than in a tenth of them"
        return Finding("holds", "bounded features", "assumption: bounded", words)
    words = f"{reach}, {instance.growth - 1:.0%} farther than in a tenth of them: features look unbounded"
    return Finding("fails", "bounded features", "assumption: bounded", words)


def _noise(instance: Instance) -> Finding:
    words = f"σ is about {instance.sigma:.3g}; a sample cannot show that the tails stay sub-Gaussian"
    return Finding("note", "residues", "def: subgaussian", words)


def _margin(instance: Instance) -> Iterator[Finding]:
    for stage in instance.margin.stages:
        verdict: Verdict = "note" if np.isnan(stage.alpha) else "holds"  # too few units to tell
        yield Finding(verdict, "margin", "assumption: margin", str(stage))
    if _has_constant_feature(instance):
        words = "not usable for this α: features with a constant among them have no density, so γ is estimated instead"
        yield Finding("note", "lemma on α = 1", "lemma: alpha is one", words)
    powers = [stage.power for stage in instance.margin.stages]
    if instance.two_by_two and len(set(powers)) > 1:
        d = max(instance.evidence.design.dimensions)
        depth = " and ".join(str(peeling_depth(power, d)) if power < np.inf else "none" for power in powers)
        least = f"{min(powers):.3g}: {peeling_depth(min(powers), d)}"
        words = f"Theorem 1's M takes the smaller α, {least}; its proof needs each stage's own: {depth}"
        yield Finding("note", "M", "thm: regret upper bound", words)


def _has_constant_feature(instance: Instance) -> bool:
    first = instance.evidence.visits[0]
    return bool((np.ptp(first.psi[first.reached], axis=0) == 0).any())


def _diversity(instance: Instance) -> Iterator[Finding]:
    label, diversity = "assumption: diversity", instance.diversity
    for m, (stage, regions) in enumerate(zip(instance.evidence.design.stages, diversity.regions, strict=True)):
        nowhere = [region.arm for region in regions if not region.suboptimal and region.probability == 0]
        excused = [region.arm for region in regions if region.suboptimal]
        if nowhere:
            words = f"at stage {stage.name} with Δ = {diversity.delta[m]:.3g} no history has {_arms(nowhere)} best by Δ"
            yield Finding("fails", "diversity", label, f"{words}, so nothing is learnt there without forcing")
        elif not diversity.holds[m]:
            words = f"at stage {stage.name} φ = {diversity.phi[m]:.2g} cannot be told from 0"
            yield Finding("fails", "diversity", label, words)
        else:
            words = f"at stage {stage.name} φ = {diversity.phi[m]:.3g} and p = {diversity.p[m]:.3g}"
            yield Finding("holds", "diversity", label, f"{words} with Δ = {diversity.delta[m]:.3g}")
        if excused:
            words = f"at stage {stage.name} {_arms(excused)} is worse by Δ everywhere, which appendix K arms allows"
            yield Finding("note", "suboptimal arms", "assumption: diversity k arms (with suboptimal arms)", words)


def _arms(labels: list[str]) -> str:
    return f"arm{'s' if len(labels) > 1 else ''} {', '.join(labels)}"


def _constants(instance: Instance, q: int) -> Iterator[Finding]:
    if instance.constants is None:
        return
    yield _enough_pulls(instance.constants, q)
    if c_tilde_3(instance.constants) > max(c_tilde_1(instance.constants), c_tilde_2(instance.constants)):
        needed = c_tilde_3(instance.constants)
        words = f"the proof needs q ≥ {needed:.3g} as well, for stage 1's design matrices; the theorem leaves it out"
        verdict: Verdict = "note" if q >= needed else "fails"
        yield Finding(verdict, "C̃₁ ∨ C̃₂", "lemma: positive defnite 1", words)


def _enough_pulls(constants: Constants, q: int) -> Finding:
    asked = smallest_q(constants)
    both = f"C̃₁ = {c_tilde_1(constants):.2g}, C̃₂ = {c_tilde_2(constants):.2g}"
    if q >= asked:
        return Finding("holds", "forced pulls", "thm: regret upper bound", f"q = {q:,} is at least {both}")
    words = f"q = {q:,} is below {both}, so the theorem promises nothing for it"
    return Finding("fails", "forced pulls", "thm: regret upper bound", words)


def _delay(instance: Instance, arrivals: ArrivalProcess) -> Finding:
    stages = len(instance.evidence.design.stages)
    mean = f"{arrivals.mean_delay(stages):.3g} units enrol between a unit's enrolment and its outcome"
    if not arrivals.sub_exponential:
        words = (
            f"{mean}, but some time is not sub-exponential (its tail is too heavy): the theorem on delay says nothing"
        )
        return Finding("fails", "delay", "thm: delay", words)
    penalty = delay_penalty(delay_of(arrivals, stages))
    words = f"{mean}; its times are sub-exponential and add {penalty:.3g} to the order of regret, times a constant"
    return Finding("holds", "delay", "thm: delay", words)
