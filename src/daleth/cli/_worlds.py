"""Environments and policies as a user types them, with settings behind a colon."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx

from daleth import _checks, policies
from daleth._optional import require
from daleth.cli._questions import key_of
from daleth.data import Trajectories
from daleth.envs import registry
from daleth.rewards.python_file import in_one_sentence, load_function

Settings = Mapping[str, Any]


def with_settings(text: str) -> tuple[str, dict[str, Any]]:
    """`pendulum:max_start_speed=8` as a name and its settings.

    A colon without an equals sign belongs to the name: Gymnasium ids may have one.
    """
    name, colon, listed = text.rpartition(":")
    if not colon or "=" not in listed:
        return text, {}
    pairs = [pair.partition("=") for pair in listed.split(",")]
    return name, {setting.strip(): _number(setting, value) for setting, _, value in pairs}


def from_registry(
    name: str,
    settings: Settings,
    policy: str,
    num_steps: int,
    seed: int,
    max_episode_steps: int | None,
) -> Trajectories:
    """Trajectories in an environment of daleth."""
    env = _made(registry.environment, name, settings)
    chosen = _own(policy)
    if chosen is None:
        short, policy_settings = with_settings(policy)
        full = short if "/" in short else f"{name}/{short}"
        _checks.one_of("--policy", full, policies.policy_names(name))
        chosen = _made(policies.policy, full, policy_settings)
    return Trajectories.from_environment(
        env, chosen, num_steps, key_of(seed), max_episode_steps=max_episode_steps
    )


def from_gymnasium(
    env_id: str,
    settings: Settings,
    policy: str,
    num_steps: int,
    seed: int,
    max_episode_steps: int | None,
) -> Trajectories:
    """Trajectories in an environment of Gymnasium."""
    if "-v" not in env_id and "/" not in env_id:
        known = ", ".join(registry.environment_names())
        raise ValueError(f"ENV must be {known}, or a Gymnasium id as CartPole-v1, got {env_id!r}")
    gymnasium, key = require("gymnasium", "gym"), key_of(seed)
    limit = {} if max_episode_steps is None else {"max_episode_steps": max_episode_steps}
    try:
        env = gymnasium.make(env_id, **limit, **settings)
    except (gymnasium.error.Error, ImportError, TypeError) as error:
        raise ValueError(f"Gymnasium cannot make {env_id!r}: {error}") from error
    chosen = _own(policy)
    if policy == "uniform":
        env.action_space.seed(seed)
        chosen = policies.from_numpy(lambda _: env.action_space.sample())
    elif chosen is None:
        full, policy_settings = with_settings(policy)
        if full not in policies.policy_names():
            raise ValueError(
                f"--policy must be uniform, my_policies.py:function or a named one such as "
                f"pendulum/sac in a Gymnasium environment, got {policy!r}"
            )
        chosen = eqx.filter_jit(_made(policies.policy, full, policy_settings))
    with env:
        return Trajectories.from_gymnasium(env, chosen, num_steps, key)


def _own(policy: str) -> Callable[..., Any] | None:
    """A policy in a Python file of the user, if this is the name of one."""
    path, _, function = policy.rpartition(":")
    if not path.endswith(".py"):
        return None
    found = load_function(path, function)
    guarded = in_one_sentence(found, f"policy {function}")
    parameters = inspect.signature(found).parameters.values()
    needed = [
        one
        for one in parameters
        if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD) and one.default is one.empty
    ]
    has_key = len(needed) > 1
    return guarded if has_key else policies.from_numpy(guarded)


def _made(make: Callable[..., Any], name: str, settings: Settings) -> Any:
    try:
        return make(name, **settings)
    except TypeError as error:
        listed = ", ".join(settings)
        raise ValueError(
            f"{name} does not take the settings {listed}: see daleth collect --help"
        ) from error


def _number(setting: str, value: str) -> Any:
    try:
        return int(value)
    except ValueError:
        pass
    try:
        return float(value)
    except ValueError as error:
        raise ValueError(f"setting {setting.strip()} must be a number, got {value!r}") from error
