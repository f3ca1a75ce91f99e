"""Models on disk: the same answers again, or one clear sentence."""

import json
import pickle
from importlib import import_module

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors.numpy import save_file
from tiny_learner import TinyLearner, TinyModel, tiny_data

import daleth
from daleth._files import FileFormat, read_tensors, write_tensors
from daleth.data import Normalisation, Trajectories
from daleth.envs import Corridor
from daleth.measures import StateMeasures
from daleth.models import DiracAtMean, EmpiricalModel, GymnasiumModel, Model, MonteCarloModel
from daleth.models.learner import Learner
from daleth.models.storage import LEARNERS, checksum
from daleth.policies import policy
from daleth.training import fingerprint, fit

FORMAT = FileFormat("model", 1)
NUM_ATOMS = 3


class Ensemble(Model):
    """Networks with a leading atom axis, and a function among its leaves."""

    networks: eqx.nn.MLP
    normalisation: Normalisation
    gamma: float = eqx.field(static=True)
    state_dim: int = eqx.field(static=True)

    def atoms(self, source_state, key):
        scaled = self.normalisation.apply(source_state)
        points = eqx.filter_vmap(lambda network: network(scaled))(self.networks)
        return StateMeasures(self.normalisation.invert(points)[:, None])


class EnsembleLearner(Learner):
    gamma: float = eqx.field(static=True, default=0.8)
    width: int = eqx.field(static=True, default=4)
    batch_size: int = eqx.field(static=True, default=2)
    num_bootstrap_steps: int = eqx.field(static=True, default=1)

    def init(self, key, problem):
        dim = problem.state_dim
        return eqx.filter_vmap(lambda k: eqx.nn.MLP(dim, dim, self.width, 1, key=k))(
            jax.random.split(key, NUM_ATOMS)
        )

    def step(self, key, state, windows):
        return state, {"loss": jnp.zeros(())}

    def model(self, state, problem):
        return Ensemble(
            networks=state,
            normalisation=problem.normalisation,
            gamma=self.gamma,
            state_dim=problem.state_dim,
        )


OWN = [TinyLearner, EnsembleLearner]


def walks(ends="terminated"):
    return Trajectories.from_arrays(np.random.default_rng(0).normal(size=(4, 30, 2)), ends=ends)


MODELS = {
    "empirical": lambda: EmpiricalModel(walks(), 0.5, NUM_ATOMS),
    "dirac": lambda: DiracAtMean(EmpiricalModel(walks(), 0.5, NUM_ATOMS)),
    "ensemble": lambda: fit(walks(), EnsembleLearner(), updates=0),
    "dirac of learned": lambda: DiracAtMean(fit(walks(), EnsembleLearner(), updates=0)),
}


@pytest.mark.parametrize("name", MODELS)
def test_the_same_model_again(name, tmp_path, key):
    model = MODELS[name]()
    model.save(tmp_path / "model")
    again = daleth.load(tmp_path / "model", learners=OWN)
    assert jax.tree.structure(again) == jax.tree.structure(model)
    assert (again.gamma, again.state_dim) == (model.gamma, model.state_dim)
    sources = np.array([[0.0, 1.0], [2.0, -1.0]])
    answers = (one.returns(lambda x: x[..., 0] * x[..., 1], sources) for one in (model, again))
    one, other = answers
    np.testing.assert_array_equal(one.atoms, other.atoms)
    np.testing.assert_array_equal(one.weights, other.weights)


def test_models_of_the_same_learner_share_compiled_functions(tmp_path, key):
    one, other = (fit(tiny_data(seed), TinyLearner(), updates=0) for seed in (0, 1))
    assert jax.tree.structure(one) == jax.tree.structure(other)


def test_metadata_tell_the_story_of_a_model(tmp_path):
    fit(tiny_data(), TinyLearner(gamma=0.7), updates=0).save(tmp_path / "model")
    arrays, metadata = read_tensors(tmp_path / "model", FORMAT)
    assert metadata["gamma"] == 0.7
    assert metadata["daleth"] == daleth.__version__
    assert metadata["data_fingerprint"] == fingerprint(tiny_data())
    assert metadata["recipe"]["learner"] == "TinyLearner"
    assert metadata["recipe"]["config"]["layers"] == [2, 3]
    np.testing.assert_allclose(arrays["normalisation.mean"], tiny_data().states.mean(0), rtol=1e-5)
    assert set(arrays) == {
        "mean",
        "normalisation.mean",
        "normalisation.scale",
        "origin.fingerprint",
    }


def test_the_origin_comes_back(tmp_path):
    model = fit(tiny_data(), TinyLearner(layers=(1, 4)), updates=0)
    model.save(tmp_path / "model")
    again = daleth.load(tmp_path / "model", learners=OWN)
    assert again.origin is not None
    assert again.origin.learner == TinyLearner(layers=(1, 4))
    assert again.origin.data_fingerprint == fingerprint(tiny_data())


def test_a_loaded_model_does_not_need_its_file(tmp_path):
    model = EmpiricalModel(walks(), 0.5, NUM_ATOMS)
    model.save(tmp_path / "model")
    again = daleth.load(tmp_path / "model")
    (tmp_path / "model").write_bytes(b"")
    assert isinstance(again, EmpiricalModel)
    np.testing.assert_array_equal(again.states, model.states)


def simulators():
    from daleth.envs.gym import GymEnv

    walk = policy("corridor/uniform")
    yield MonteCarloModel(Corridor(5), walk, 0.5, 2)
    yield GymnasiumModel(GymEnv(Corridor(5)), walk, 0.5, 2)
    yield DiracAtMean(MonteCarloModel(Corridor(5), walk, 0.5, 2))
    yield TinyModel(
        mean=jnp.zeros(1),
        normalisation=Normalisation(jnp.zeros(1), jnp.ones(1)),
        gamma=0.5,
        state_dim=1,
    )


def test_what_is_not_made_of_arrays_that_could_be_rebuilt_cannot_be_saved(tmp_path):
    for model in simulators():
        with pytest.raises(ValueError, match="Model cannot be saved: only a model from daleth.fit"):
            model.save(tmp_path / "model")
    with pytest.raises(ValueError, match="a TinyLearner can be stored only if its hyperparam"):
        fit(tiny_data(), TinyLearner(explode=max), updates=0).save(tmp_path / "model")  # pyright: ignore[reportArgumentType]
    assert not list(tmp_path.iterdir())


@pytest.fixture
def path(tmp_path):
    EmpiricalModel(walks(), 0.5, NUM_ATOMS).save(tmp_path / "model.safetensors")
    return tmp_path / "model.safetensors"


def _foreign(tmp_path):
    save_file({"x": np.zeros(3, np.float32)}, tmp_path / "foreign")
    return (tmp_path / "foreign").read_bytes()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda good, _: b"", "is not a safetensors file: it is empty"),
        (lambda good, _: good[:100], "is cut short: it ends inside its header"),
        (lambda good, _: good[:-1], r"is cut short: \d+ of \d+ bytes are there"),
        (lambda good, _: good[:20] + b"\xff" + good[21:], "is damaged: its header makes no sense"),
        (
            lambda good, _: good[:-5] + bytes([good[-5] ^ 1]) + good[-4:],
            "is damaged: its contents do not match its checksum",
        ),
        (
            lambda good, _: good.replace(b'"gamma\\": 0.5, \\"num_', b'"gamma\\": 0.6, \\"num_'),
            "is damaged: its contents do not match its checksum",
        ),
        (lambda good, _: pickle.dumps([1, 2]), "it is a pickle, which daleth never loads"),
        (lambda good, tmp: _foreign(tmp), "is not a daleth model file: a safetensors file that"),
    ],
)
def test_a_damaged_file_gets_one_sentence(path, tmp_path, damage, message):
    good = path.read_bytes()
    bad = damage(good, tmp_path)
    assert bad != good
    path.write_bytes(bad)
    with pytest.raises(ValueError, match=f"model.safetensors' .*{message}"):
        daleth.load(path)


def _without(name):
    return lambda arrays, recipe: arrays.pop(name)


def _set(**changes):
    return lambda arrays, recipe: recipe.update(changes)


def _put(name, array):
    return lambda arrays, recipe: arrays.update({name: array})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_without("states"), "has no states"),
        (_without("normalisation.scale"), "has no normalisation.scale"),
        (_put("more", np.zeros(2)), "has an array more that its model has no place for"),
        (
            _put("last", np.zeros(5, np.int32)),
            r"last must be int32 of shape \(4,\), got int32 of shape \(5,\)",
        ),
        (
            _put("terminated", np.zeros(4, np.float32)),
            r"terminated must be bool of shape \(4,\), got float32 of shape \(4,\)",
        ),
        (
            _set(num_frames=7),
            r"states must be float32 of shape \(7, 2\), got float32 of shape \(120, 2\)",
        ),
        (_set(num_frames=None), r"does not fit this daleth \(.*; it was written by .*\)"),
        (_set(kind="os.system"), "the kind of model 'os.system' is not known"),
        (
            _set(kind="learned", learner="Secret", config={}),
            r"was learned by a Secret, .* hand in its class, load\(path, learners=\[Secret\]\)",
        ),
        (
            _set(kind="learned", learner="EnsembleLearner", config={"depth": 3}),
            "does not fit this daleth .*unexpected keyword argument 'depth'",
        ),
        (
            _set(kind="learned", learner="EnsembleLearner", config=EnsembleLearner().config()),
            "has no networks.layers.0.bias",
        ),
        # What a default stands for may change: a model must not change with it.
        (
            _set(kind="learned", learner="EnsembleLearner", config={"gamma": 0.8}),
            "does not fit this daleth .*does not name all the hyperparameters of its learner",
        ),
    ],
)
def test_a_file_that_does_not_fit_gets_one_sentence(path, change, message):
    stored, metadata = read_tensors(path, FORMAT)
    arrays, recipe = dict(stored), metadata["recipe"]
    change(arrays, recipe)
    metadata["checksum"] = checksum(recipe, arrays)
    write_tensors(path, arrays, FORMAT, metadata)
    with pytest.raises(ValueError, match=f"model.safetensors' .*{message}"):
        daleth.load(path, learners=OWN)


def test_other_kinds_newer_versions_strange_metadata_and_missing_files(path, tmp_path):
    arrays, metadata = read_tensors(path, FORMAT)
    write_tensors(tmp_path / "newer", arrays, FileFormat("model", 2), metadata)
    with pytest.raises(ValueError, match=r"has version 2 .* reads up to 1: please update daleth"):
        daleth.load(tmp_path / "newer")
    walks().save(tmp_path / "data")
    with pytest.raises(ValueError, match="is not a daleth model file: it holds trajectories"):
        daleth.load(tmp_path / "data")
    write_tensors(tmp_path / "strange", arrays, FORMAT, {"recipe": 3})
    with pytest.raises(ValueError, match="is damaged: its metadata makes no sense"):
        daleth.load(tmp_path / "strange")
    with pytest.raises(FileNotFoundError, match="there is no file '.*absent'"):
        daleth.load(tmp_path / "absent")


def test_nothing_in_a_file_is_imported(path, monkeypatch):
    asked = []
    monkeypatch.setattr("daleth.models.storage.import_module", asked.append)
    stored, metadata = read_tensors(path, FORMAT)
    recipe = {"kind": "learned", "learner": "os.system", "config": {}, "state_dim": 1}
    metadata |= {"recipe": recipe, "checksum": checksum(recipe, stored)}
    write_tensors(path, stored, FORMAT, metadata)
    with pytest.raises(ValueError, match=r"was learned by a os.system, which daleth does not know"):
        daleth.load(path)
    assert not asked


def test_every_learner_in_the_table_is_there():
    for name, home in LEARNERS.items():
        assert issubclass(getattr(import_module(home), name), Learner)


def test_metadata_are_plain_json(path):
    with path.open("rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    assert json.loads(header["__metadata__"]["daleth"])["name"] == "model"
