"""What was typed, and which kind of reward it is."""

import jax.numpy as jnp
import numpy as np
import pytest

from daleth.envs import pendulum
from daleth.rewards import from_file, from_name, parse, reward_values


def test_kinds(tmp_path):
    (tmp_path / "own.py").write_text("SCALE = 3\ndef scaled(x):\n    return SCALE * x[..., 0]\n")
    states = np.array([[4.0, 2.0]])
    assert parse("x / y", names=("x", "y"))(states).item() == 2.0
    assert parse("windy/hopscotch")(states).item() == -1.0
    assert parse("windy/y", names=("windy", "y"))(states).item() == 2.0
    assert parse(f" {tmp_path / 'own.py'}:scaled ")(states).item() == 12.0


def test_named_rewards_of_pairs_keep_their_action_term():
    pairs = np.array([[0.0, 1.0, 3.0, 2.0], [1.0, 0.0, 0.0, -1.0]])
    reward = from_name("pendulum/default")
    np.testing.assert_array_equal(reward(pairs), pendulum.default_with_action(pairs))
    np.testing.assert_array_equal(reward(pairs[:, :3]), pendulum.default(pairs[:, :3]))
    # In any dimension there is no telling whether the last component is an action.
    np.testing.assert_allclose(from_name("linear-gaussian/mean-coordinate")(pairs), [1.5, 0.0])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pendulum/hurry", "reward must be one of 'corridor/position'"),
        ("own.py", "say which function of the file is the reward, as in own.py:function"),
        (3, "reward must be a text, got 3"),
    ],
)
def test_bad_text(text, message):
    with pytest.raises(ValueError, match=message):
        parse(text)


def test_errors_of_a_file_are_told(tmp_path):
    (tmp_path / "own.py").write_text("def broken(x):\n    return {}[3]\n\nANSWER = 42\n")
    with pytest.raises(ValueError, match="reward broken failed: KeyError: 3"):
        reward_values(from_file(tmp_path / "own.py", "broken"), jnp.zeros((4, 2)))
    with pytest.raises(ValueError, match="has no function 'ANSWER', it has broken"):
        from_file(tmp_path / "own.py", "ANSWER")
