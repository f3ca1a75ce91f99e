"""Models asked on the command line: evaluate, rank, describe."""

import json

import pytest


@pytest.fixture(autouse=True)
def at_the_shelf(shelf, monkeypatch):
    monkeypatch.chdir(shelf)


def asked(run, *arguments) -> dict:
    result = run(*arguments, "--json")
    assert result.code == 0, result.err
    return json.loads(result.out)


def test_evaluate_answers_what_can_be_worked_out_by_hand(run):
    answer = asked(
        run, "evaluate", "bold.safetensors", "--reward", "x0", "--reward", "-x1", "--source", "0,0",
        "--source", "-1,-2", "--risk", "cvar:0.5", "--risk", "prob_above:3", "--risk", "cvar:0.75",
    )  # fmt: skip
    assert answer["gamma"] == 0.5
    rows = {(row["reward"], row["source"]): row for row in answer["returns"]}
    assert set(rows) == {("x0", "0,0"), ("x0", "-1,-2"), ("-x1", "0,0"), ("-x1", "-1,-2")}
    first = rows["x0", "0,0"]
    assert (first["mean"], first["std"]) == (4.0, 4.0)
    assert first["quantiles"] == {"0.05": 0.0, "0.25": 0.0, "0.5": 0.0, "0.75": 8.0, "0.95": 8.0}
    # The worst three quarters: half the mass at 0 and a quarter at 8.
    assert first["risks"] == pytest.approx({"cvar:0.5": 0, "prob_above:3": 0.5, "cvar:0.75": 8 / 3})
    assert rows["-x1", "-1,-2"]["mean"] == -2.0


def test_evaluate_prints_a_table_and_draws(run, tmp_path):
    picture = tmp_path / "returns.svg"
    result = run(
        "evaluate", "bold.safetensors", "--reward", "rewards.py:first", "--source", "0,0",
        "--risk", "cvar:0.5", "--plot", picture,
    )  # fmt: skip
    assert result.code == 0, result.err
    header, row, wrote = result.out.splitlines()
    words = dict(zip(header.split(), row.split(), strict=True))
    assert words == {
        **{"reward": "rewards.py:first", "source": "0,0", "mean": "4", "sd": "4", "cvar:0.5": "0"},
        **{"q0.05": "0", "q0.25": "0", "q0.5": "0", "q0.75": "8", "q0.95": "8"},
    }
    assert wrote == f"wrote {picture}"
    assert "<svg" in picture.read_text()
    assert "a file may print" in result.err


@pytest.mark.parametrize(
    ("reward", "more", "mean"),
    [
        ("height", ["--names", "speed,height"], 2.0),
        ("grid.csv", [], 2 * (20 + 30) / 2),  # (0, 1) and (4, 1), half-way between the rows
        (
            "grid.csv:y,x",
            ["--env", "windy"],
            2 * (12.5 + 32.5) / 2,
        ),  # (1, 0) and (1, 4), below the grid
        ("windy/hopscotch", [], 2 * (0 - 1) / 2),  # on an axis nothing, above right -1
    ],
)
def test_every_kind_of_reward(run, reward, more, mean):
    ask = ("evaluate", "bold.safetensors", "--reward", reward, "--source", "windy", *more)
    assert asked(run, *ask)["returns"][0]["mean"] == pytest.approx(mean)


@pytest.mark.filterwarnings("default:reward is not vectorised")
def test_a_reward_of_one_state_gets_a_note(run):
    ask = ("evaluate", "bold.safetensors", "--reward", "rewards.py:one_state", "--source", "0,0")
    result = run(*ask, "--json")
    assert json.loads(result.out)["returns"][0]["mean"] == 4.0
    assert "daleth: note: reward is not vectorised" in result.err


@pytest.mark.parametrize(
    ("by", "best", "values"), [("mean", "bold", [4, 2]), ("cvar:0.5", "safe", [2, 0])]
)
def test_rank(run, by, best, values):
    policies = ("bold.safetensors", "safe.safetensors")
    answer = asked(run, "rank", *policies, "--reward", "x0", "--source", "0,0", "--by", by)
    (ranking,) = answer["rankings"]
    assert ranking["best"] == [best]
    assert [row["value"] for row in ranking["rows"]] == values


def test_rank_with_names_and_a_picture(run, tmp_path):
    picture = tmp_path / "ranks.png"
    result = run(
        "rank", "bold.safetensors", "safe.safetensors", "--name", "B", "--name", "S", "--reward",
        "x0", "--source", "0,0", "--source", "1,1", "--by", "cvar:0.5", "--plot", picture,
    )  # fmt: skip
    assert result.out.startswith("x0 from 0,0, by cvar:0.5\n  1  S  2\n  2  B  0\n\nx0 from 1,1, ")
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_describe(run):
    answer = asked(run, "describe", "data.safetensors", "--source", "4,1", "--source", "2,1")
    assert (answer["num_episodes"], answer["num_transitions"]) == (2, 4)
    # x0 is 0 or 4, with standard deviation 2; x1 is constant.
    assert answer["source_distances"] == pytest.approx([0.0, 1.0])
    assert "2 terminated" in run("describe", "data.safetensors").out


BOLD = ("evaluate", "bold.safetensors")
ZERO = ("--source", "0,0")
BAD = {
    "no reward": ((*BOLD, *ZERO), "a --reward is needed"),
    "no source": ((*BOLD, "--reward", "x0"), "a --source is needed: 2 number(s)"),
    "long source": (
        (*BOLD, "--reward", "x0", "--source", "0,0,0"),
        "--source must have 2 components",
    ),
    "source of words": (
        (*BOLD, "--reward", "x0", "--source", "here"),
        "--source must be 2 number(s) with commas such as 0,0, or the name of an environment",
    ),
    "source nan": ((*BOLD, "--reward", "x0", "--source", "0,nan"), "must have finite numbers"),
    "foreign sources": (
        (*BOLD, "--reward", "x0", "--source", "pendulum"),
        "source states of pendulum have 3 components, here they must have 2",
    ),
    "missing model": (("evaluate", "no.safetensors", *ZERO), "there is no file 'no.safetensors'"),
    "damaged model": (("evaluate", "cut.safetensors", *ZERO), "'cut.safetensors' is cut short"),
    "data as model": (
        ("evaluate", "data.safetensors", *ZERO),
        "'data.safetensors' is not a daleth model file: it holds trajectories",
    ),
    "level": (
        (*BOLD, "--reward", "x0", *ZERO, "--risk", "cvar:-0.1"),
        "--risk cvar:-0.1: level must lie in (0, 1], got -0.1",
    ),
    "risk": ((*BOLD, "--reward", "x0", *ZERO, "--risk", "luck"), "--risk luck: by must be"),
    "seed": ((*BOLD, "--reward", "x0", *ZERO, "--seed", "-1"), "seed must lie in [0, 2^32)"),
    "shape": (
        (*BOLD, "--reward", "rewards.py:whole_state", *ZERO),
        "reward must map states [n, 2] to [n] numbers, but one state gave shape (2,)",
    ),
    "nan": (
        (*BOLD, "--reward", "rewards.py:undefined", *ZERO),
        "reward must be finite, got nan at state",
    ),
    "component": (
        (*BOLD, "--reward", "rewards.py:third", *ZERO),
        "reward must be a function of states with 2 components",
    ),
    "broken": (
        (*BOLD, "--reward", "rewards.py:broken", *ZERO),
        "reward broken failed: AttributeError:",
    ),
    "no function": (
        (*BOLD, "--reward", "rewards.py:last", *ZERO),
        "'rewards.py' has no function 'last', it has first, one_state,",
    ),
    "unfinished file": (
        (*BOLD, "--reward", "unfinished.py:reward", *ZERO),
        "'unfinished.py' could not be run: SyntaxError",
    ),
    "no file": ((*BOLD, "--reward", "no.py:f", *ZERO), "there is no file 'no.py'"),
    "no grid": ((*BOLD, "--reward", "no.csv", *ZERO), "there is no file 'no.csv'"),
    "grid of words": (
        (*BOLD, "--reward", "words.csv", *ZERO),
        "the cell in row 2, column 3 must be a number, got 'many'",
    ),
    "reward name": (
        (*BOLD, "--reward", "windy/leapfrog", *ZERO),
        "reward must be one of 'corridor/position',",
    ),
    "foreign reward": (
        (*BOLD, "--reward", "pendulum/default", *ZERO),
        "this reward is a function of states with 3 or 4 components",
    ),
    "expression": ((*BOLD, "--reward", "x0 ^ 2", *ZERO), "must not contain 'x0 ^ 2' (a power is"),
    "unknown name": ((*BOLD, "--reward", "speed", *ZERO), "the unknown name 'speed': known are x0"),
    "unknown component": ((*BOLD, "--reward", "x7", *ZERO), "but states have 2 components"),
    "environment": (
        (*BOLD, "--reward", "x0", *ZERO, "--env", "moon"),
        "environment must be one of 'corridor',",
    ),
    "many names": (
        (*BOLD, "--reward", "x0", *ZERO, "--names", "a,b,c"),
        "--names must name at most 2 components, got 'a,b,c'",
    ),
    "picture format": (
        (*BOLD, "--reward", "x0", *ZERO, "--plot", "f.gif"),
        "--plot must end in .png, .svg, .pdf, got 'f.gif'",
    ),
    "picture folder": (
        (*BOLD, "--reward", "x0", *ZERO, "--plot", "no/f.png"),
        "the folder of 'no/f.png' does not exist",
    ),
    "gamma": (
        ("rank", "bold.safetensors", "patient.safetensors", "--reward", "x0", *ZERO),
        "models to be ranked must share one gamma, got bold: 0.5, patient: 0.9",
    ),
    "dimension": (
        ("rank", "bold.safetensors", "narrow.safetensors", "--reward", "x0", *ZERO),
        "must share one number of state components, got bold: 2, narrow: 1",
    ),
    "twins": (
        ("rank", "bold.safetensors", "bold.safetensors", "--reward", "x0", *ZERO),
        "policies must have different names, got bold, bold",
    ),
    "half named": (
        ("rank", "bold.safetensors", "safe.safetensors", "--name", "B"),
        "give one --name per model, 2, got 1",
    ),
    "nobody": (("rank", "--reward", "x0", *ZERO), "rank needs the files of models"),
    "by": (
        ("rank", "bold.safetensors", "--reward", "x0", *ZERO, "--by", "cvar"),
        "--by cvar: cvar needs a number",
    ),
    "model as data": (
        ("describe", "bold.safetensors"),
        "'bold.safetensors' is not a daleth trajectories file: it holds model",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_a_mistake_is_one_sentence(run, shelf, name):
    arguments, sentence = BAD[name]
    before = sorted(shelf.iterdir())
    result = run(*arguments)
    assert result.code == 2
    assert result.out == ""
    told = result.err.replace("a file may print\n", "")
    assert told.startswith("daleth: ")
    assert sentence in told
    assert told.count("\n") == 1
    assert sorted(shelf.iterdir()) == before


def test_source_states_that_differ_in_the_last_digits_are_all_asked(run):
    answer = asked(
        run, "evaluate", "bold.safetensors", "--reward", "x0",
        "--source", "100000.2,0", "--source", "100000.4,0",
    )  # fmt: skip
    assert [row["source"] for row in answer["returns"]] == ["100000,0", "100000.4,0.0"]
