"""What a model is asked: rewards, source states, risk measures, as a user types them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from jaxtyping import PRNGKeyArray

    from daleth._typing import Reward
    from daleth.ranking import Criterion


class Questions(NamedTuple):
    """Rewards and source states, each beside what the user typed.

    Attributes:
        rewards: functions of states by their text.
        sources: states `[d]` by their text.
    """

    rewards: "dict[str, Reward]"
    sources: "dict[str, np.ndarray]"


def read_questions(
    rewards: Sequence[str],
    sources: Sequence[str],
    state_dim: int,
    env: str | None,
    names: str | None,
) -> Questions:
    """Reads rewards and sources, and tries every reward on the sources."""
    import numpy as np

    if not rewards:
        raise ValueError("a --reward is needed, such as --reward pendulum/stay-left")
    found = read_sources(sources, state_dim)
    if not found:
        raise ValueError(f"a --source is needed: {_form(state_dim)}")
    return Questions(read_rewards(rewards, np.stack(list(found.values())), env, names), found)


def read_rewards(
    texts: Sequence[str], states: "np.ndarray", env: str | None, names: str | None
) -> "dict[str, Reward]":
    """Rewards by their text, each tried on some states `[n, d]`: what is wrong shows at once."""
    import jax.numpy as jnp

    from daleth.rewards import parse, reward_values

    listed = [] if names is None else [name.strip() for name in names.split(",")]
    if len(listed) > states.shape[1]:
        raise ValueError(f"--names must name at most {states.shape[1]} components, got {names!r}")
    functions = {text: parse(text, names=listed, env=env) for text in texts}
    for function in functions.values():
        reward_values(function, jnp.asarray(states, jnp.float32))
    return functions


def read_sources(texts: Sequence[str], state_dim: int) -> "dict[str, np.ndarray]":
    """Source states `[d]` by their text: numbers with commas, or those of an environment."""
    import numpy as np

    from daleth.envs import registry
    from daleth.rewards.components import ANY_DIMENSION

    found: dict[str, np.ndarray] = {}
    for text in texts:
        if text in registry.environment_names():
            settings = {"dimension": state_dim} if text in ANY_DIMENSION else {}
            states = np.asarray(registry.sources(text, **settings))
        else:
            states = _numbers(text, state_dim)[None]
        if states.shape[1] != state_dim:
            raise ValueError(
                f"source states of {text} have {states.shape[1]} components, "
                f"here they must have {state_dim}"
            )
        for state in states:
            short = ",".join(f"{value + 0.0:.6g}" for value in state)
            is_new = short not in found or np.array_equal(found[short], state)
            found[short if is_new else ",".join(map(str, state))] = state
    return found


def read_criterion(option: str, text: str) -> "Criterion":
    """Reads a criterion such as `cvar:0.1`, and tries it: a wrong level shows at once."""
    from daleth.ranking import criterion
    from daleth.returns import ReturnDistribution

    try:
        chosen = criterion(text)
        chosen.function(ReturnDistribution([0.0]))
    except ValueError as error:
        raise ValueError(f"{option} {text}: {error}") from error
    return chosen


def key_of(seed: int) -> "PRNGKeyArray":
    """The key behind `--seed`."""
    import jax

    if not 0 <= seed < 2**32:
        raise ValueError(f"seed must lie in [0, 2^32), got {seed}")
    return jax.random.key(seed)


def _numbers(text: str, state_dim: int) -> "np.ndarray":
    import numpy as np

    try:
        state = np.array([float(part) for part in text.split(",")])
    except ValueError as error:
        raise ValueError(f"--source must be {_form(state_dim)}, got {text!r}") from error
    if not (np.abs(state) < 1e30).all():  # single precision ends at 3e38
        raise ValueError(f"--source must have finite numbers below 1e30, got {text!r}")
    if len(state) != state_dim:
        raise ValueError(
            f"--source must have {state_dim} components, {_form(state_dim)}, got {text!r}"
        )
    return state


def _form(state_dim: int) -> str:
    example = ",".join(["0"] * min(state_dim, 4)) + (",..." if state_dim > 4 else "")
    return f"{state_dim} number(s) with commas such as {example}, or the name of an environment"
