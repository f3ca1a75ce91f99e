"""Data and models made on the command line."""

import json

import numpy as np
import pytest

import daleth
from daleth.models.residual_gaussian import ResidualGaussianLearner
from daleth.training import presets


@pytest.fixture(autouse=True)
def in_a_new_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def tiny(gamma):
        return ResidualGaussianLearner(gamma=gamma, width=4, depth=1, num_atoms=3, batch_size=8)

    monkeypatch.setitem(presets.PRESETS, "tiny", tiny)


def succeed(run, *arguments) -> dict:
    result = run(*arguments, "--json")
    assert result.code == 0, result.err
    return json.loads(result.out)


def test_collect_with_settings(run, tmp_path):
    out = tmp_path / "data.safetensors"
    ask = (
        "collect",
        "linear-gaussian:dimension=3,spectral_radius=0",
        "--steps",
        "4000",
        "--out",
        out,
    )
    record = succeed(run, *ask, "--max-episode-steps", "10", "--seed", "7")
    assert (record["num_episodes"], record["num_transitions"], record["state_dim"]) == (
        400,
        4000,
        3,
    )
    states = daleth.Trajectories.load(out).states
    # Radius 0 is white noise: the standard error of the deviation is 0.012/√3, so 5 of them.
    assert states.std() == pytest.approx(1.0, abs=0.035)
    again = tmp_path / "again.safetensors"
    run(*ask[:-1], again, "--max-episode-steps", "10", "--seed", "7")
    assert out.read_bytes() == again.read_bytes()


def test_collect_in_gymnasium_with_a_policy_of_ones_own(run, shelf):
    policy = f"{shelf / 'policies.py'}:right"
    run("collect", "CartPole-v1", "--policy", policy, "--steps", 40, "--out", "data.safetensors")
    data = daleth.Trajectories.load("data.safetensors")
    assert data.num_frames - data.num_episodes == 40
    for episode in data:
        assert set(np.asarray(episode.actions).tolist()) == {1}
        assert episode.states[-1, 1] > episode.states[0, 1]  # pushed to the right all the time


def test_fit_checkpoint_resume_and_evaluate(run, shelf):
    fit = ("fit", shelf / "pairs.safetensors", "--model", "tiny", "--out", "model")
    fit = (*fit, "--occupancy-of", "state-action", "--checkpoint", "run")
    first = succeed(run, *fit, "--updates", 2)
    assert (first["learner"], first["updates"]) == ("ResidualGaussianLearner", 2)
    assert (first["state_dim"], first["gamma"]) == (2, presets.DEFAULT_GAMMA)
    result = run(*fit, "--updates", 4)
    assert result.code == 2
    assert "holds a run after 2 updates already" in result.err
    assert succeed(run, *fit, "--updates", 4, "--resume")["updates"] == 4
    ask = ("evaluate", "model", "--reward", "1", "--source", "0,1", "--risk", "cvar:0.1")
    row = succeed(run, *ask)["returns"][0]
    one_reward_a_step = 1 / (1 - daleth.load("model").gamma)
    assert row["mean"] == pytest.approx(one_reward_a_step, rel=1e-5)
    assert row["risks"]["cvar:0.1"] == pytest.approx(one_reward_a_step, rel=1e-5)


OUT = ("--out", "new")
COLLECT = ("--steps", "10", *OUT)
BAD = {
    "environment": (("collect", "moon", *COLLECT), "ENV must be corridor, linear-gaussian,"),
    "gymnasium id": (("collect", "Moon-v1", *COLLECT), "Gymnasium cannot make 'Moon-v1'"),
    "policy": (
        ("collect", "windy", "--policy", "left", *COLLECT),
        "--policy must be one of 'windy/bottom', 'windy/top', 'windy/uniform', got 'windy/left'",
    ),
    "policy of another": (
        ("collect", "windy", "--policy", "pendulum/sac", *COLLECT),
        "got 'pendulum/sac'",
    ),
    "gymnasium policy": (
        ("collect", "CartPole-v1", "--policy", "left", *COLLECT),
        "--policy must be uniform, my_policies.py:function or a named one",
    ),
    "policy file": (
        ("collect", "CartPole-v1", "--policy", "no.py:f", *COLLECT),
        "there is no file 'no.py'",
    ),
    "NumPy policy": (
        ("collect", "corridor", "--policy", "{shelf}/policies.py:right", *COLLECT),
        "cannot run inside a compiled JAX function",
    ),
    "setting": (
        ("collect", "pendulum:gravity=3", *COLLECT),
        "pendulum does not take the settings gravity",
    ),
    "setting's value": (
        ("collect", "pendulum:max_start_speed=99", *COLLECT),
        "max_start_speed must lie in [0, 8], got 99",
    ),
    "setting of words": (
        ("collect", "pendulum:max_start_speed=fast", *COLLECT),
        "setting max_start_speed must be a number, got 'fast'",
    ),
    "steps": (("collect", "windy", "--steps", "0", *OUT), "num_steps must be at least 1, got 0"),
    "no folder": (
        ("collect", "windy", "--steps", "10", "--out", "no/data"),
        "the folder of 'no/data' does not exist",
    ),
    "out is a folder": (
        ("collect", "windy", "--steps", "10", "--out", "."),
        "'.' is a folder, not the name of a file",
    ),
    "missing data": (("fit", "no", "--updates", "1", *OUT), "there is no file 'no'"),
    "model as data": (
        ("fit", "{shelf}/bold.safetensors", "--updates", "1", *OUT),
        "it holds model",
    ),
    "preset": (
        ("fit", "{data}", "--model", "huge", "--updates", "1", *OUT),
        "model must be a Learner or a preset ('",
    ),
    "gamma": (("fit", "{data}", "--gamma", "1", "--updates", "1", *OUT), "0 <= gamma < 1, got 1"),
    "negative gamma": (("fit", "{data}", "--gamma", "-1", "--updates", "1", *OUT), "got -1"),
    "two budgets": (
        ("fit", "{data}", "--model", "tiny", "--updates", "1", "--minutes", "1", *OUT),
        "got both",
    ),
    "starts": (
        ("fit", "{data}", "--model", "tiny", "--starts", "anywhere", "--updates", "1", *OUT),
        "starts must be one of 'stratified', 'uniform', got 'anywhere'",
    ),
    "no actions": (
        ("fit", "{data}", "--occupancy-of", "state-action", "--updates", "1", *OUT),
        "needs actions, these trajectories have none",
    ),
    "resume from nowhere": (
        ("fit", "{data}", "--model", "tiny", "--updates", "1", "--resume", *OUT),
        "resume needs the folder of the run",
    ),
    "out is data": (
        ("fit", "{data}", "--updates", "1", "--out", "{data}"),
        "is read by this command: choose another output",
    ),
    "out in a file": (
        ("fit", "{data}", "--updates", "1", "--out", "{data}/model"),
        "does not exist",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_mistake_is_one_sentence_and_leaves_no_file(run, shelf, tmp_path, name):
    arguments, sentence = BAD[name]
    data = shelf / "data.safetensors"
    content = data.read_bytes()
    result = run(*(text.format(shelf=shelf, data=data) for text in arguments))
    assert result.code == 2
    assert result.out == ""
    assert result.err.startswith("daleth: ")
    assert sentence in result.err
    assert result.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
    assert data.read_bytes() == content


def test_outputs_are_checked_before_anything_else(run):
    """The file of the data is missing too, and yet the output is what is spoken of."""
    assert "the folder of 'no/model'" in run("fit", "no-data", "--out", "no/model").err


def test_a_training_that_breaks_is_exit_code_1(run, shelf, monkeypatch):
    def broken(*_arguments, **_options):
        raise daleth.training.NonFiniteLossError("the loss is no longer finite at update 3", 3)

    monkeypatch.setattr(daleth.training, "fit", broken)
    result = run("fit", shelf / "data.safetensors", "--updates", 9, "--out", "model")
    assert (result.code, result.err) == (1, "daleth: the loss is no longer finite at update 3\n")


def test_an_interrupted_training_is_exit_code_130(run, shelf, tmp_path, monkeypatch):
    model = daleth.load(shelf / "bold.safetensors")

    def interrupted(*_arguments, **_options):
        raise daleth.training.TrainingInterrupted("training ended by Ctrl-C", 3, model)

    monkeypatch.setattr(daleth.training, "fit", interrupted)
    result = run("fit", shelf / "data.safetensors", "--updates", 9, "--out", "model")
    assert (result.code, result.err) == (130, "daleth: training ended by Ctrl-C\n")
    assert list(tmp_path.iterdir()) == []


def test_a_policy_with_a_default_beside_its_observation(run, tmp_path):
    text = "def push(observation, side=1, **more):\n    return side\n"
    (tmp_path / "mine.py").write_text(text)
    policy = f"{tmp_path / 'mine.py'}:push"
    run("collect", "CartPole-v1", "--policy", policy, "--steps", 20, "--out", "data.safetensors")
    episodes = daleth.Trajectories.load("data.safetensors")
    assert {int(action) for one in episodes for action in np.asarray(one.actions)} == {1}


def test_a_negative_seed_is_refused_in_one_sentence(run):
    result = run("collect", "CartPole-v1", "--steps", 20, "--seed", -1, "--out", "data.safetensors")
    assert result.code != 0
    assert "seed must lie in" in result.err
