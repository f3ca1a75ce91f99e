"""What a policy is: a callable of a key and a state."""

from typing import Protocol, runtime_checkable

from jaxtyping import Array, Float, PRNGKeyArray

from daleth.envs.base import Action


@runtime_checkable
class Policy(Protocol):
    """Draws an action for one state; batched by `vmap`."""

    def __call__(self, key: PRNGKeyArray, state: Float[Array, "d"]) -> Action:
        """Draws an action."""
        ...
