"""Environments as Gymnasium knows them: an episode is a unit, a step is a stage, the reward is the outcome.

Importing this registers ``dtrbandit/Unit-v0``, for ``gymnasium.make(…, environment=)`` and ``gymnasium.make_vec``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dtrbandit.design.spec import Design
from dtrbandit.design.values import shown, whole
from dtrbandit.environments.episodes import Episodes
from dtrbandit.environments.potential_outcomes import Environment
from dtrbandit.errors import ProtocolError

try:
    import gymnasium
except ModuleNotFoundError as error:
    raise ImportError("dtrbandit.environments.gymnasium needs Gymnasium: pip install 'dtrbandit[gym]'") from error
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

NAME = "dtrbandit/Unit-v0"
LARGEST = np.finfo(np.float64).max / 2  # Gymnasium wants a bound, whose double it can represent

Observation = dict[str, Any]
Info = dict[str, Any]


class Arms(spaces.Discrete):
    """As many arms as the stage with most has; ``sample()`` draws one that is feasible now, unless given a mask."""

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.feasible = np.ones(count, dtype=np.int8)

    def sample(self, mask: Any = None, probability: Any = None) -> np.int64:
        """Draw an arm."""
        if mask is None and probability is None:
            mask = self.feasible
        arm: np.int64 = super().sample(mask, probability)
        return arm


class UnitEnv(gymnasium.Env):
    """One unit per episode, for agents that speak Gymnasium.

    An observation has the ``features`` of the stage and the ``stage``, counted from 0. Where another stage has more
    features, zeros follow. After the last arm, or when the unit has left early, ``stage`` is the number of stages. Then
    the episode has terminated and the reward is the outcome. Before that the reward is 0. No episode is truncated.
    ``info["action_mask"]`` has 1 for feasible arms. Any other arm is a ProtocolError.

    Parameters
    ----------
    batch
        How many units are drawn at once. The units depend on it, and on the seed of ``reset``.

    Examples
    --------
    >>> from dtrbandit.environments import Synthetic
    >>> env = UnitEnv(Synthetic())
    >>> observation, info = env.reset(seed=0)
    >>> observation["features"].shape, int(observation["stage"]), info["action_mask"].tolist()
    ((2,), 0, [1, 1])
    >>> env.step(0)[1:4], env.step(1)[2:4]
    ((0.0, False, False), (True, False))
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012  # Gymnasium's

    def __init__(self, environment: Environment, *, batch: int = 256) -> None:
        self._episodes = Episodes(environment, 1, batch=whole(batch, "UnitEnv: batch", low=1))
        self.observation_space = observation_space(environment.design)
        self.action_space = Arms(max(environment.design.arm_counts))

    def reset(self, *, seed: int | None = None, options: Mapping[str, Any] | None = None) -> tuple[Observation, Info]:
        """Go on to the next unit; with a seed, to the first of that seed's units."""
        super().reset(seed=seed, options=options)
        if seed is not None:
            self._episodes.drop_waiting()
        self._episodes.begin(np.ones(1, dtype=np.bool_), self.np_random)
        return self._observe()

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, Info]:
        """Give an arm."""
        if self._episodes.ended[0]:
            raise ProtocolError("UnitEnv: there is no unit to give an arm to; call reset()")
        self._episodes.assign(_arms(action, (), "UnitEnv")[None])
        observation, info = self._observe()
        return observation, float(self._episodes.outcome[0]), bool(self._episodes.ended[0]), False, info

    def _observe(self) -> tuple[Observation, Info]:
        features, stage, feasible = (values[0] for values in self._episodes.observe())
        self.action_space.feasible = feasible
        return {"features": features, "stage": stage}, {"action_mask": feasible.copy()}


class UnitVectorEnv(VectorEnv):
    """Many units at once, drawn and moved on together; otherwise as ``UnitEnv``.

    A slot whose unit has ended takes its next unit in the following step (``AutoresetMode.NEXT_STEP``). In that step
    its action is ignored and its reward is 0.

    Examples
    --------
    >>> from dtrbandit.environments import Synthetic
    >>> env = UnitVectorEnv(Synthetic(), num_envs=3)
    >>> observation, info = env.reset(seed=0)
    >>> observation["features"].shape, info["action_mask"].shape
    ((3, 2), (3, 2))
    """

    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012  # Gymnasium's

    def __init__(self, environment: Environment, num_envs: int = 1, *, batch: int = 256) -> None:
        self.num_envs = whole(num_envs, "UnitVectorEnv: num_envs", low=1)
        batch = max(self.num_envs, whole(batch, "UnitVectorEnv: batch", low=1))
        self._episodes = Episodes(environment, self.num_envs, batch=batch)
        self.single_observation_space = observation_space(environment.design)
        self.single_action_space = spaces.Discrete(max(environment.design.arm_counts))
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._began = False

    def reset(self, *, seed: int | None = None, options: Mapping[str, Any] | None = None) -> tuple[Observation, Info]:
        """Begin with new units everywhere; with a seed, with the first of that seed's units."""
        super().reset(seed=seed, options=options)
        if seed is not None:
            self._episodes.drop_waiting()
        self._episodes.begin(np.ones(self.num_envs, dtype=np.bool_), self.np_random)
        self._began = True
        return self._observe()

    def step(self, actions: Any) -> tuple[Observation, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], Info]:
        """Give each unit an arm; where it has ended, start the next unit instead."""
        if not self._began:
            raise ProtocolError("UnitVectorEnv: there are no units to give arms to; call reset()")
        episodes, ended = self._episodes, self._episodes.ended.copy()
        episodes.assign(_arms(actions, (self.num_envs,), "UnitVectorEnv"))
        episodes.begin(ended, self.np_random)
        observation, info = self._observe()
        return observation, episodes.outcome.copy(), episodes.ended.copy(), np.zeros(self.num_envs, np.bool_), info

    def _observe(self) -> tuple[Observation, Info]:
        features, stage, feasible = self._episodes.observe()
        mask = {"action_mask": feasible, "_action_mask": np.ones(self.num_envs, dtype=np.bool_)}
        return {"features": features, "stage": stage}, mask


def observation_space(design: Design) -> spaces.Dict:
    """Return the space of observations: as many features as the stage with most has, and the stage."""
    features = spaces.Box(-LARGEST, LARGEST, (max(design.dimensions),), np.float64)
    return spaces.Dict({"features": features, "stage": spaces.Discrete(len(design.stages) + 1)})


def _arms(actions: Any, shape: tuple[int, ...], where: str) -> NDArray[np.int64]:
    arms = np.asarray(actions)
    if arms.shape != shape or not np.issubdtype(arms.dtype, np.integer):
        raise ProtocolError(
            f"{where}: an action is an arm's number, in an array of shape {shape}, found {shown(actions)}"
        )
    return arms.astype(np.int64)


gymnasium.register(
    NAME, entry_point=f"{__name__}:UnitEnv", vector_entry_point=f"{__name__}:UnitVectorEnv", disable_env_checker=True
)
