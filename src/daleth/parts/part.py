"""What a part is: an algorithm as a value, all of whose fields are static hyperparameters."""

import dataclasses
from typing import Any

import equinox as eqx


class Part(eqx.Module):
    """Hyperparameters are numbers, strings, booleans or tuples of these: a file can hold them."""

    def config(self) -> dict[str, Any]:
        """The hyperparameters by name: `type(self)(**config)` is this part again."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
