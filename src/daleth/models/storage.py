"""Models on disk: one safetensors file that says how to rebuild the model, and never runs code.

A file holds a *recipe* in JSON and the arrays of the model by their path in it. There are three
recipes:

- learned: the name of the learner, its hyperparameters and the dimension of a state. The structure
  is that of `learner.model(learner.init(key, problem), problem)`, found without computing it, so a
  learned model needs no code for storage. What it takes: the learner stands in `LEARNERS`, its
  hyperparameters are numbers, strings, booleans, tuples of these or parts (`daleth.parts`), and
  every array of the model has a shape that follows from them and from the dimension of a state.
- `EmpiricalModel`: its static fields and the sizes of its data.
- `DiracAtMean`: the recipe of the model inside.

Names in a file are looked up in the tables here and nowhere else.
"""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from daleth._files import FileFormat, read_tensors, write_tensors
from daleth._version import __version__
from daleth.data import Normalisation, Problem
from daleth.models.base import Model, Origin
from daleth.models.empirical import EmpiricalModel
from daleth.models.learner import Learner
from daleth.models.mean import DiracAtMean
from daleth.parts import PARTS, Part

_FORMAT = FileFormat("model", 1)

LEARNERS = {
    "DeltaLearner": "daleth.models.delta",
    "PaperTransitionLearner": "daleth.models.paper_transition",
    "ResidualGaussianLearner": "daleth.models.residual_gaussian",
    "SuccessorFeaturesLearner": "daleth.models.successor_features",
}
"""Where the learners live that a file may name."""

_EMPIRICAL = ("gamma", "num_atoms", "num_steps", "state_dim")


def save(model: Model, path: str | os.PathLike[str]) -> None:
    """Writes a model to one file, atomically.

    Example:
        >>> from daleth.data import Trajectories
        >>> walks = Trajectories.from_arrays(np.zeros((3, 50, 1)), ends="terminated")
        >>> save(EmpiricalModel(walks, gamma=0.5, num_atoms=2), "model.safetensors")
        >>> load("model.safetensors").gamma
        0.5
    """
    recipe = _recipe(model)
    arrays = {name: np.asarray(leaf) for name, leaf in _named_leaves(model).items()}
    origin = _origin(model)
    metadata = {
        "recipe": recipe,
        "gamma": model.gamma,
        "data_fingerprint": None if origin is None else origin.data_fingerprint,
        "daleth": __version__,
        "checksum": checksum(recipe, arrays),
    }
    write_tensors(path, arrays, _FORMAT, metadata)


def load(path: str | os.PathLike[str], *, learners: Sequence[type[Learner]] = ()) -> Model:
    """Opens a model that `model.save` wrote; nothing in the file is ever run.

    Args:
        path: the file.
        learners: classes of your own that the file may name, besides those of daleth.

    Returns:
        The model, with answers equal to those of the saved one bit for bit.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: with one sentence if the file is cut, damaged, foreign or too new.
    """
    arrays, metadata = read_tensors(path, _FORMAT)
    try:
        recipe, expected = metadata["recipe"], metadata["checksum"]
        intact = checksum(recipe, arrays) == expected
    except (KeyError, TypeError) as error:
        raise ValueError(f"{str(path)!r} is damaged: its metadata makes no sense") from error
    if not intact:
        raise ValueError(f"{str(path)!r} is damaged: its contents do not match its checksum")
    try:
        skeleton = _skeleton(recipe, {one.__name__: one for one in learners})
    except _UnknownLearner as error:
        raise ValueError(f"{str(path)!r} {error}") from error
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"{str(path)!r} does not fit this daleth ({__version__}; it was written by "
            f"{metadata.get('daleth')}): {error}"
        ) from error
    return _fill(skeleton, arrays, path)


def plain_config(learner: Learner) -> dict[str, Any]:
    """The hyperparameters of a learner as JSON holds them, if JSON can give them back."""
    config = learner.config()
    try:
        plain = json.loads(json.dumps(config, default=_plain_part))
        if type(learner)(**_as_values(plain)) == learner:
            return plain
    except (TypeError, ValueError):
        pass
    raise ValueError(
        f"a {type(learner).__name__} can be stored only if its hyperparameters are numbers, "
        f"strings, booleans or tuples of these, got {config}"
    )


def checksum(recipe: object, arrays: Mapping[str, np.ndarray]) -> str:
    """A hash of all that a file says."""
    digest = hashlib.blake2b(json.dumps(recipe, sort_keys=True).encode(), digest_size=16)
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


class _UnknownLearner(Exception):
    """The file names a learner that is in no table."""


def _recipe(model: Model) -> dict[str, Any]:
    if isinstance(model, DiracAtMean):
        return {"kind": "DiracAtMean", "model": _recipe(model.model)}
    if isinstance(model, EmpiricalModel):
        sizes = {"num_frames": len(model.states), "num_episodes": len(model.last)}
        return {
            "kind": "EmpiricalModel",
            **{name: getattr(model, name) for name in _EMPIRICAL},
            **sizes,
        }
    if model.origin is not None:
        learner = model.origin.learner
        return {
            "kind": "learned",
            "learner": type(learner).__name__,
            "config": plain_config(learner),
            "state_dim": model.state_dim,
        }
    raise ValueError(
        f"a {type(model).__name__} cannot be saved: only a model from daleth.fit, an "
        "EmpiricalModel and the DiracAtMean of one of these consist of arrays that daleth.load "
        "could rebuild; a simulator does not"
    )


def _origin(model: Model) -> Origin | None:
    return _origin(model.model) if isinstance(model, DiracAtMean) else model.origin


def _skeleton(recipe: dict[str, Any], own_learners: dict[str, type[Learner]]) -> Model:
    """A model whose arrays are shapes."""
    if recipe["kind"] == "DiracAtMean":
        return DiracAtMean(_skeleton(recipe["model"], own_learners))
    if recipe["kind"] == "EmpiricalModel":
        return _empirical_skeleton(recipe)
    if recipe["kind"] != "learned":
        raise ValueError(f"the kind of model {recipe['kind']!r} is not known")
    learner = _learner_class(recipe["learner"], own_learners)(**_as_values(recipe["config"]))
    if plain_config(learner) != recipe["config"]:
        raise ValueError("it does not name all the hyperparameters of its learner")
    return eqx.filter_eval_shape(_untrained, learner, recipe["state_dim"])


def _untrained(learner: Learner, state_dim: int) -> Model:
    problem = Problem.plain(state_dim)
    model = learner.model(learner.init(jax.random.key(0), problem), problem)
    return with_origin(model, Origin(learner, jnp.zeros(16, jnp.uint8)))


def with_origin(model: Model, origin: Origin) -> Model:
    """The model, with a note of where it comes from."""
    return eqx.tree_at(lambda m: m.origin, model, origin, is_leaf=lambda leaf: leaf is None)


def _empirical_skeleton(recipe: dict[str, Any]) -> EmpiricalModel:
    frames, episodes, dim = (
        int(recipe[name]) for name in ("num_frames", "num_episodes", "state_dim")
    )

    def shape(dtype: type, *sizes: int) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(sizes, jax.dtypes.canonicalize_dtype(dtype))

    row = shape(np.float32, dim)
    normalisation = jax.tree.map(lambda _: row, Normalisation(jnp.zeros(dim), jnp.ones(dim)))
    # Its constructor takes the data; here they have been taken in before.
    model = object.__new__(EmpiricalModel)
    fields = {
        **{name: recipe[name] for name in _EMPIRICAL},
        "normalisation": normalisation,
        "states": shape(np.float32, frames, dim),
        "episode": shape(np.int64, frames),
        "last": shape(np.int64, episodes),
        "terminated": shape(np.bool_, episodes),
        "usable": shape(np.bool_, frames),
    }
    for name, value in fields.items():
        object.__setattr__(model, name, value)
    return model


def _learner_class(name: str, own_learners: dict[str, type[Learner]]) -> type[Learner]:
    if name in own_learners:
        return own_learners[name]
    if name in LEARNERS:
        return getattr(import_module(LEARNERS[name]), name)
    raise _UnknownLearner(
        f"was learned by a {name}, which daleth does not know: "
        f"hand in its class, load(path, learners=[{name}])"
    )


def _fill(skeleton: Model, arrays: dict[str, np.ndarray], path: str | os.PathLike[str]) -> Model:
    expected = _named_leaves(skeleton)
    for name in sorted(set(expected) - set(arrays)):
        raise ValueError(f"{str(path)!r} has no {name}")
    for name in sorted(set(arrays) - set(expected)):
        raise ValueError(f"{str(path)!r} has an array {name} that its model has no place for")
    for name, leaf in expected.items():
        found = arrays[name]
        if (found.shape, found.dtype) != (leaf.shape, leaf.dtype):
            raise ValueError(
                f"{str(path)!r} does not fit: {name} must be {leaf.dtype} of shape {leaf.shape}, "
                f"got {found.dtype} of shape {found.shape}"
            )
    shapes, rest = eqx.partition(skeleton, _is_array)
    filled = [jnp.array(arrays[name]) for name in expected]
    return eqx.combine(jax.tree.unflatten(jax.tree.structure(shapes), filled), rest)


def _named_leaves(tree: PyTree) -> dict[str, Any]:
    leaves, _ = jax.tree_util.tree_flatten_with_path(eqx.filter(tree, _is_array))
    return {jax.tree_util.keystr(path, simple=True, separator="."): leaf for path, leaf in leaves}


def _is_array(leaf: object) -> bool:
    return eqx.is_array(leaf) or isinstance(leaf, jax.ShapeDtypeStruct)


def _plain_part(value: object) -> dict[str, Any]:
    if isinstance(value, Part) and type(value).__name__ in PARTS:
        return {"part": type(value).__name__, **value.config()}
    raise TypeError(f"{value!r} is not a part of daleth")


def _as_values(value: Any) -> Any:
    """JSON has lists where static fields are tuples, and names where there are parts."""
    if isinstance(value, dict):
        values = {name: _as_values(one) for name, one in value.items()}
        return PARTS[values.pop("part")](**values) if "part" in values else values
    return tuple(map(_as_values, value)) if isinstance(value, list) else value
