"""Ground truth: Monte Carlo returns in the simulator, precise enough to judge a model by."""

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from types import CodeType
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from daleth import _checks
from daleth._files import FileFormat, read_tensors, write_tensors
from daleth._progress import track
from daleth._typing import ArrayLike, Count, Real, Reward
from daleth._version import __version__
from daleth.envs.base import Environment
from daleth.models.monte_carlo import MonteCarloModel
from daleth.policies.base import Policy
from daleth.policies.rollout import rollout
from daleth.returns import ReturnDistribution
from daleth.rewards import reward_values

_FORMAT = FileFormat("true returns", 1)
_CHUNK_NUMBERS = 2**22  # so many numbers of states are held per source state at once


def true_returns(
    env: Any,
    policy: Policy,
    rewards: Any,
    source_states: ArrayLike,
    gamma: Real,
    *,
    num_rollouts: Count = 20_000,
    key: PRNGKeyArray | None = None,
    cache: str | os.PathLike | None = None,
) -> dict[str, ReturnDistribution]:
    r"""Returns of real rollouts, $x_0$ included, without time limit, until $\gamma^T \le 10^{-6}$.

    Args:
        env: an environment with JAX dynamics.
        policy: the policy that is judged.
        rewards: functions of states by name.
        source_states: `[S, d]`.
        gamma: the discount factor.
        num_rollouts: per source state.
        key: for the rollouts; the same rollouts serve every reward.
        cache: a folder. What was computed before for the same environment, policy, rewards,
            sources, discount, count, key and version is read from there; anything damaged is
            computed again.

    Returns:
        For each reward the returns, batch shape `[S]`, `num_rollouts` equal atoms.
    """
    if not isinstance(rewards, Mapping) or not rewards:
        raise ValueError("rewards must be a non-empty mapping from name to reward")
    hint = "a daleth Environment; for one of Gymnasium there is GymnasiumModel"
    _checks.instance("env", env, Environment, hint)
    sources = jnp.asarray(_checks.finite("source_states", source_states, rank=2))
    gamma = _checks.discount(gamma)
    num_rollouts = _checks.count("num_rollouts", num_rollouts)
    key = jax.random.key(0) if key is None else key
    if cache is None:
        returns = _simulate(env, policy, rewards, sources, gamma, num_rollouts, key)
    else:
        parts = (env, policy, sources, gamma, num_rollouts, key, __version__)
        name = _fingerprint(*parts, *_reward_probes(env, policy, rewards, sources))
        path = Path(cache) / f"{name}.safetensors"
        returns = _read(path, set(rewards))
        if returns is None:
            returns = _simulate(env, policy, rewards, sources, gamma, num_rollouts, key)
            _write(path, returns)
    return {reward: ReturnDistribution(returns[reward]) for reward in rewards}


def _simulate(
    env: Environment,
    policy: Policy,
    rewards: Mapping[str, Reward],
    sources: Float[Array, "s d"],
    gamma: float,
    num_rollouts: int,
    key: PRNGKeyArray,
) -> dict[str, np.ndarray]:
    one = MonteCarloModel(env, policy, gamma, num_atoms=1)
    size = max(1, min(num_rollouts, _CHUNK_NUMBERS // one.numbers_per_source()))
    model = MonteCarloModel(env, policy, gamma, size)
    chunks = jax.random.split(key, -(-num_rollouts // size))
    parts = [
        np.asarray(model.returns(list(rewards.values()), sources, key=key_chunk).atoms)
        for key_chunk in track(chunks, "simulating the truth", len(chunks))
    ]
    atoms = np.concatenate(parts, axis=-1)[..., :num_rollouts]
    return dict(zip(rewards, atoms, strict=True))


def _fingerprint(*parts: object) -> str:
    """A name made of everything that the answer depends on."""
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        arrays, static = eqx.partition(part, eqx.is_array)
        if callable(part) and not isinstance(part, eqx.Module):
            raise ValueError(
                f"a cached truth needs a policy that is an Equinox module, got {part!r}: "
                "a plain function does not tell when it has changed"
            )
        digest.update(repr((type(part).__qualname__, static)).encode())
        for leaf in jax.tree.leaves(arrays):
            values = jax.random.key_data(leaf) if _is_key(leaf) else leaf
            digest.update(repr((values.shape, values.dtype)).encode())
            digest.update(np.ascontiguousarray(values).tobytes())
    return digest.hexdigest()


def _is_key(leaf: Array) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _reward_probes(
    env: Environment, policy: Policy, rewards: Mapping[str, Reward], sources: Float[Array, "s d"]
) -> list[object]:
    """Each reward's name, its program, and what it gives on states of the world."""
    keys = jax.random.split(jax.random.key(0), len(sources))
    follow = jax.vmap(lambda key, source: rollout(env, policy, key, source, 64)[0])
    states = follow(keys, sources)
    return [
        (name, _program(reward), reward_values(reward, states)) for name, reward in rewards.items()
    ]


def _program(function: Any) -> str:
    """What a function is made of: its code, constants, defaults and what it closes over."""
    if not hasattr(function, "__code__"):
        return repr(function)
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    return repr((_code(function.__code__), function.__defaults__, cells))


def _code(code: CodeType) -> tuple:
    constants = [_code(one) if isinstance(one, CodeType) else one for one in code.co_consts]
    return code.co_code, code.co_names, repr(constants)


def _checksum(returns: Mapping[str, np.ndarray]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for name in sorted(returns):
        digest.update(np.ascontiguousarray(returns[name]).tobytes())
    return digest.hexdigest()


def _write(path: Path, returns: Mapping[str, np.ndarray]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_tensors(path, returns, _FORMAT, {"checksum": _checksum(returns)})


def _read(path: Path, names: set[str]) -> dict[str, np.ndarray] | None:
    """The cached returns, or nothing if they are missing or damaged in any way."""
    if not path.exists():
        return None
    try:
        returns, metadata = read_tensors(path, _FORMAT)
    except ValueError:
        return None
    whole = set(returns) == names and metadata.get("checksum") == _checksum(returns)
    return returns if whole else None
