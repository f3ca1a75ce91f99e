"""What `fit` promises: how many updates, which ones, and that nothing else matters."""

import itertools
import os
import signal
import threading
from types import SimpleNamespace

import jax
import numpy as np
import pytest
from tiny_learner import TinyLearner, TinyModel, tiny_data

import daleth
from daleth.data import Trajectories
from daleth.training import NonFiniteLossError, TrainingInterrupted, fingerprint, fit, run
from daleth.training.engine import advance, prepare
from daleth.training.presets import PRESETS

LEARNER = TinyLearner()


def leaves(tree):
    return [np.asarray(leaf) for leaf in jax.tree.leaves(tree)]


def mean_of(model):
    assert isinstance(model, TinyModel)
    return np.asarray(model.mean)


def assert_identical(one, other):
    for left, right in zip(leaves(one), leaves(other), strict=True):
        np.testing.assert_array_equal(left, right)


@pytest.fixture(scope="module")
def undisturbed():
    return fit(tiny_data(), LEARNER, updates=50)


def updates_of(**arguments):
    """The number of updates that were done, as the callback hears of it."""
    heard = []
    fit(tiny_data(), LEARNER, callback=lambda update, model: heard.append(update), **arguments)
    return heard


@pytest.mark.parametrize("updates", [0, 1, 7, 50])
def test_exactly_so_many_updates(updates, tmp_path):
    heard = updates_of(updates=updates, chunk_updates=7, checkpoint=tmp_path)
    assert heard == ([updates] if updates else [])
    assert [path.name for path in (tmp_path / "checkpoints").iterdir()] == [str(updates)]


def test_no_update_is_the_initial_model_and_one_is_a_step_of_adam():
    start, after = (fit(tiny_data(), LEARNER, updates=updates) for updates in (0, 1))
    # The first step of Adam has the length of the learning rate in every component.
    step = np.abs(mean_of(after) - mean_of(start))
    np.testing.assert_allclose(step, LEARNER.learning_rate, rtol=1e-3)


def test_learns_in_normalised_units_and_answers_in_those_of_the_user():
    data = tiny_data()
    model = fit(data, LEARNER, updates=1000)
    following = data.states.reshape(5, 20, 2)[:, 1:].reshape(-1, 2)
    returns = model.returns([lambda x: x[..., 0], lambda x: x[..., 1]], [0.0, 0.0])
    # Adam's jitter about the mean of the next state is well below a fifth of a deviation of 2.
    np.testing.assert_allclose(returns.atoms[:, 0] * 0.1, following.mean(0), atol=0.4)


@pytest.mark.parametrize("chunk_updates", [1, 3, 50])
def test_chunks_change_no_bit(undisturbed, chunk_updates):
    assert_identical(
        fit(tiny_data(), LEARNER, updates=50, chunk_updates=chunk_updates), undisturbed
    )


def test_seed_starts_and_data_change_the_result(undisturbed):
    others = {
        "seed": fit(tiny_data(), LEARNER, updates=50, seed=1),
        "starts": fit(tiny_data(), LEARNER, updates=50, starts="uniform"),
        "data": fit(tiny_data(1), LEARNER, updates=50),
    }
    for other in others.values():
        assert not np.array_equal(mean_of(other), mean_of(undisturbed))


def test_every_update_draws_windows_and_noise_of_its_own():
    engine, state = prepare(tiny_data(), LEARNER, seed=0, starts="uniform")
    losses = [advance(engine, state, u, u + 1).info["loss"].item() for u in range(4)]
    assert len(set(losses)) == 4


def test_nothing_is_traced_again_for_other_lengths_or_another_call():
    traced = []

    class Counting(TinyLearner):
        def step(self, key, state, windows):
            traced.append(1)
            return super().step(key, state, windows)

    fit(tiny_data(), Counting(), updates=3, chunk_updates=2)
    once = len(traced)
    fit(tiny_data(1), Counting(), updates=11, seed=4, callback=lambda *_: None, callback_every=5)
    assert len(traced) == once


def test_minutes_are_looked_at_between_chunks(monkeypatch):
    """A clock that is asked once at the start, then before and after every chunk."""
    ticks = itertools.count(0.0)
    monkeypatch.setattr(run, "time", SimpleNamespace(monotonic=lambda: next(ticks)))
    # Chunks of 10 updates end at 2, 4 and 6 seconds: the third is the first beyond 5.
    assert updates_of(minutes=5 / 60, chunk_updates=10) == [30]


def test_callback_comes_at_multiples_and_at_the_end():
    assert updates_of(updates=25, callback_every=10) == [10, 20, 25]
    assert updates_of(updates=20, callback_every=10) == [10, 20]


def test_callback_sees_the_model_of_its_update():
    seen = {}
    fit(tiny_data(), LEARNER, updates=20, callback=seen.__setitem__, callback_every=10)
    assert_identical(seen[10], fit(tiny_data(), LEARNER, updates=10))


def test_pairs_of_state_and_action():
    states, actions = np.zeros((3, 6, 2)), np.ones((3, 5, 1))
    data = Trajectories.from_arrays(states, actions)
    assert fit(data, LEARNER, updates=0, occupancy_of="state-action").state_dim == 3


def test_presets_by_name_take_gamma(monkeypatch):
    monkeypatch.setitem(PRESETS, "tiny", lambda gamma: TinyLearner(gamma=gamma))
    assert fit(tiny_data(), "tiny", updates=0).gamma == 0.95
    assert daleth.fit(tiny_data(), "tiny", 0.5, updates=0).gamma == 0.5


def test_the_model_says_where_it_comes_from(undisturbed):
    assert undisturbed.origin.learner == LEARNER
    assert undisturbed.origin.data_fingerprint == fingerprint(tiny_data())


def test_fingerprints_tell_data_apart():
    data = tiny_data()
    states = np.array(data.states)
    states[7, 1] += 1e-3
    others = [
        Trajectories(states, data.offsets),
        Trajectories(data.states, [0, 30, 100]),
        Trajectories(data.states, data.offsets, "terminated"),
    ]
    assert len({fingerprint(one) for one in [data, *others]}) == 4
    same = Trajectories(np.array(data.states), data.offsets, rewards=np.zeros(100))
    assert fingerprint(same) == fingerprint(data)


def test_fingerprints_of_large_data_look_at_some_rows(monkeypatch):
    monkeypatch.setattr("daleth.training.fingerprints._MAX_ROWS_BYTES", 400)
    data = tiny_data()  # 800 bytes of states: every second row is looked at
    for row, seen in {0: True, 1: False, 98: True}.items():
        states = np.array(data.states)
        states[row] += 1
        changed = fingerprint(Trajectories(states, data.offsets)) != fingerprint(data)
        assert changed == seen


@pytest.mark.parametrize("what", ["loss", "parameters"])
def test_a_non_finite_number_stops_the_run_and_keeps_the_last_checkpoint(what, tmp_path):
    # At 15 a checkpoint is due, and the loss is the last one that is still finite.
    update = {"loss": 13, "parameters": 15}[what]
    learner = TinyLearner(explode_at=update, explode=what)
    arguments = {"checkpoint": tmp_path, "checkpoint_every": 5, "chunk_updates": 4}
    with pytest.raises(NonFiniteLossError) as error:
        fit(tiny_data(), learner, updates=50, **arguments)
    subject = {"loss": "the loss is", "parameters": "the parameters are"}[what]
    assert error.value.update == update
    assert str(error.value) == (
        f"{subject} no longer finite at update {update}; the last checkpoint is that of update 10 "
        f"in '{tmp_path}', it was left as it is; try a smaller learning rate, and look at the data "
        "with data.describe()"
    )
    assert sorted(path.name for path in (tmp_path / "checkpoints").iterdir()) == ["10", "5"]
    kept = fit(tiny_data(), learner, updates=10, resume=True, **arguments)
    assert_identical(kept, fit(tiny_data(), learner, updates=10))


def test_a_non_finite_loss_without_a_folder_says_so():
    with pytest.raises(FloatingPointError, match="no checkpoint was kept, since no folder was"):
        fit(tiny_data(), TinyLearner(explode_at=13), updates=15)


@pytest.fixture
def ctrl_c_heard():
    """A shell has its background jobs ignore Ctrl-C."""
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, previous)


def test_ctrl_c_ends_after_the_chunk_and_leaves_handlers_as_they_were(ctrl_c_heard):
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]

    def press(update, model):
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(
        TrainingInterrupted, match="ended by Ctrl-C after 10 updates; no check"
    ) as e:
        fit(tiny_data(), LEARNER, updates=50, callback=press, callback_every=10)
    assert e.value.update == 10
    assert_identical(e.value.model, fit(tiny_data(), LEARNER, updates=10))
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_a_second_ctrl_c_acts_at_once(ctrl_c_heard):
    def press_twice(update, model):
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt) as error:
        fit(tiny_data(), LEARNER, updates=50, callback=press_twice, callback_every=10)
    assert not isinstance(error.value, TrainingInterrupted)


def test_a_signal_that_is_ignored_stays_ignored():
    previous = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        heard = []

        def terminate(update, model):
            heard.append(update)
            os.kill(os.getpid(), signal.SIGTERM)

        fit(tiny_data(), LEARNER, updates=20, callback=terminate, callback_every=10)
        assert heard == [10, 20]
    finally:
        signal.signal(signal.SIGTERM, previous)


def test_other_threads_may_train(undisturbed):
    models = []
    thread = threading.Thread(target=lambda: models.append(fit(tiny_data(), LEARNER, updates=50)))
    thread.start()
    thread.join()
    assert_identical(models[0], undisturbed)


def test_silent_without_a_terminal_and_a_bar_with_one(capfd, monkeypatch):
    fit(tiny_data(), LEARNER, updates=10)
    assert capfd.readouterr() == ("", "")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")
    fit(tiny_data(), LEARNER, updates=1234)
    out, bar = capfd.readouterr()
    assert out == ""
    for part in ("training", "100%", "1,234 updates", "updates/s", "loss", "left"):
        assert part in bar


def test_advance_does_nothing_if_it_is_to_do_nothing():
    engine, state = prepare(tiny_data(), LEARNER, seed=0, starts="uniform")
    chunk = advance(engine, state, 7, 7)
    assert int(chunk.update) == 7
    assert_identical(chunk.state["mean"], state["mean"])
