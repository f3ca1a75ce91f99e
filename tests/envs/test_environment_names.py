import jax
import jax.numpy as jnp
import numpy as np
import pytest

from daleth import envs
from daleth.policies import policy

NAMES = ["corridor", "linear-gaussian", "pendulum", "windy"]


def test_names():
    assert envs.environment_names() == NAMES
    assert envs.reward_names("pendulum") == [
        "pendulum/above-horizon",
        "pendulum/ccw-penalty",
        "pendulum/default",
        "pendulum/stay-left",
    ]
    assert set(envs.reward_names("pendulum")) < set(envs.reward_names())


@pytest.mark.parametrize("name", NAMES)
def test_environments_are_pure_functions_that_jit_and_vmap(key, name):
    sources, uniform = envs.sources(name), policy(f"{name}/uniform")
    num_traces = 0

    @jax.jit
    def steps(env, key):
        nonlocal num_traces
        num_traces += 1
        keys = jax.random.split(key, len(sources))
        actions = jax.vmap(uniform)(keys, sources)
        following, terminated = jax.vmap(env.step)(keys, sources, actions)
        return jax.vmap(env.reset)(keys), actions, following, terminated

    env = envs.environment(name)
    starts, actions, following, terminated = steps(env, key)
    steps(envs.environment(name), key)
    assert num_traces == 1

    one = jax.random.split(key, len(sources))[0]
    expected, expected_end = env.step(one, sources[0], actions[0])
    np.testing.assert_allclose(following[0], expected, atol=1e-6)
    assert terminated[0] == expected_end
    np.testing.assert_allclose(starts[0], env.reset(one), atol=1e-6)
    low, high = np.array(env.state_space.low), np.array(env.state_space.high)
    assert sources.shape[1:] == low.shape == (len(env.state_names),)
    for states in (sources, starts, following):
        assert ((low <= np.asarray(states)) & (np.asarray(states) <= high)).all()


@pytest.mark.parametrize("name", envs.reward_names())
def test_both_forms_of_a_reward(name):
    sources = envs.sources(name.partition("/")[0])
    no_action = jnp.zeros((len(sources), 1))
    pairs = jnp.concatenate([sources, no_action], axis=1)
    of_states = envs.reward(name)(sources)
    assert of_states.shape == (len(sources),)
    np.testing.assert_array_equal(envs.state_action_reward(name)(pairs), of_states)
    one_more_axis = envs.reward(name)(sources[:, None])
    np.testing.assert_array_equal(one_more_axis, of_states[:, None])


def test_settings_reach_the_environment():
    assert envs.sources("linear-gaussian", dimension=4).tolist() == [[-1] * 4, [0] * 4, [1] * 4]
    assert envs.sources("corridor", num_positions=4).tolist() == [[1], [2]]
    assert envs.environment("corridor", num_positions=4).state_space.high == (3.0,)


@pytest.mark.parametrize(
    ("lookup", "name", "message"),
    [
        (envs.environment, "maze", "environment must be one of 'corridor', .*'windy', got 'maze'"),
        (envs.sources, "maze", "environment must be one of"),
        (envs.reward_names, "maze", "environment must be one of"),
        (envs.reward, "windy/default", "reward must be one of .*'windy/hopscotch'.* got"),
        (envs.reward, "hopscotch", "reward must be one of .*'windy/hopscotch'.* got 'hopscotch'"),
        (envs.state_action_reward, "windy", "reward must be one of"),
    ],
)
def test_unknown_names_get_the_list_of_known_ones(lookup, name, message):
    with pytest.raises(ValueError, match=message):
        lookup(name)
