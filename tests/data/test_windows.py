import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from daleth.data import Trajectories, WindowSampler
from daleth.data.windows import start_frames
from daleth.targets import target_weights

sample = eqx.filter_jit(lambda sampler, key, size: sampler.sample(key, size))
windows_at = eqx.filter_jit(lambda sampler, starts: jax.vmap(sampler.window)(starts))


def numbered(steps, ends):
    """States are (episode, step), so that a window tells where it comes from."""
    return Trajectories.from_episodes(
        [
            {"states": [[number, step] for step in range(num + 1)], "end": end}
            for number, (num, end) in enumerate(zip(steps, ends, strict=True))
        ]
    )


def all_windows(sampler):
    """The windows of all starts; arrays keep their shapes, so that nothing is compiled twice."""
    fixed = eqx.tree_at(lambda s: s.starts, sampler, jnp.zeros(1, jnp.int32))
    frames = jnp.arange(len(sampler.states))
    return jax.tree.map(lambda leaf: np.asarray(leaf)[sampler.starts], windows_at(fixed, frames))


ENDS = ("terminated", "truncated", "open")
SMALL = numbered([3, 1, 4], ENDS)


@settings(max_examples=25, deadline=None)
@given(
    st.tuples(st.integers(1, 4), st.integers(1, 4)),
    st.tuples(*[st.sampled_from(ENDS)] * 3),
    st.sampled_from([1, 3, 9]),
)
def test_every_window_of_random_data_ends_as_it_must(first_steps, ends, num_steps):
    steps = (*first_steps, 9 - sum(first_steps))
    sampler = WindowSampler.uniform(numbered(steps, ends), num_steps)
    windows = all_windows(sampler)
    # All frames start a window but the last ones of episodes that did not terminate.
    expected = [
        (episode, step)
        for episode, (num, end) in enumerate(zip(steps, ends, strict=True))
        for step in range(num + (end == "terminated"))
    ]
    assert [tuple(window[0]) for window in windows.states] == expected
    for (episode, step), states, length, terminated in zip(
        expected, windows.states, windows.length, windows.terminated, strict=True
    ):
        last = steps[episode]
        assert length == min(num_steps, last - step)
        assert terminated == (ends[episode] == "terminated" and step + num_steps >= last)
        # No window crosses into another episode, and behind the end the last state repeats.
        assert (states[:, 0] == episode).all()
        np.testing.assert_array_equal(
            states[:, 1], np.minimum(step + np.arange(num_steps + 1), step + length)
        )


@pytest.mark.parametrize(
    ("episode", "step", "masses", "bootstrap"),
    [
        # Terminated at step 3: what is left lies on the absorbing state, also exactly at n.
        (0, 0, {0: 0.5, 1: 0.25}, (0.25, 2)),
        (0, 1, {1: 0.5, 2: 0.25, 3: 0.25}, (0, 3)),
        (0, 2, {2: 0.5, 3: 0.5}, (0, 3)),
        (0, 3, {3: 1}, (0, 3)),
        # Truncated at step 1 and open at step 4: the model is asked at the last state.
        (1, 0, {0: 0.5}, (0.5, 1)),
        (2, 2, {2: 0.5, 3: 0.25}, (0.25, 4)),
        (2, 3, {3: 0.5}, (0.5, 4)),
    ],
)
def test_targets_of_windows_worked_by_hand(episode, step, masses, bootstrap):
    sampler = WindowSampler.uniform(SMALL, num_steps=2)
    window = sampler.window(jnp.array(SMALL.offsets[episode] + step))
    weights = target_weights(window.length, window.terminated, 2, 0.5)
    found = {}
    for state, mass in zip(window.states, weights.direct, strict=True):
        if mass > 0:
            found[int(state[1])] = found.get(int(state[1]), 0) + float(mass)
    assert found == masses
    assert weights.bootstrap.item() == bootstrap[0]
    assert window.states[weights.bootstrap_index, 1] == bootstrap[1]


def chi_square_p(counts, probabilities):
    expected = counts.sum() * probabilities
    return chi2.sf(((counts - expected) ** 2 / expected).sum(), len(counts) - 1)


def test_every_start_is_drawn_equally_often(key):
    # The chance to fail for a correct sampler is 1e-4; that one of 9 starts is never drawn
    # among 9,000 is below 1e-400.
    sampler = WindowSampler.uniform(SMALL, num_steps=2)
    first = np.asarray(sample(sampler, key, 9000).states[:, 0]).astype(int)
    frames = SMALL.offsets[first[:, 0]] + first[:, 1]
    counts = np.bincount(frames, minlength=SMALL.num_frames)
    starts = start_frames(SMALL)
    assert starts.tolist() == [0, 1, 2, 3, 4, 6, 7, 8, 9]
    assert counts[starts].sum() == 9000
    assert chi_square_p(counts[starts], np.full(9, 1 / 9)) > 1e-4


@pytest.mark.parametrize("dim", [1, 16])
def test_strata_visit_a_rare_region_far_more_often(dim, key):
    rng = np.random.default_rng(dim)
    common = rng.normal(size=(4000, dim))
    rare = 30 + rng.normal(size=(21, dim))
    data = Trajectories.from_episodes([common, rare])
    sampler = WindowSampler.stratified(data, 1, key, num_strata=8, full_stratum=1)
    first = sample(sampler, key, 4000).states[:, 0, 0]
    share = float((first > 15).mean())
    # Uniformly, 20 of 4,019 starts are rare. At least one of 8 strata is; less four deviations.
    assert share > 1 / 8 - 4 * np.sqrt(1 / 8 / 4000) > 20 * (20 / 4019)


def test_strata_hold_every_start_once_and_none_is_empty(key):
    data = numbered([30, 40], ["terminated", "open"])
    sampler = WindowSampler.stratified(data, 2, key, num_strata=500)
    # There are only 71 different states, so there are 71 strata of one frame.
    assert len(sampler.strata) == 72
    assert (np.diff(sampler.strata) == 1).all()
    assert sorted(sampler.starts.tolist()) == start_frames(data).tolist()
    one = WindowSampler.stratified(data, 2, key, num_strata=1)
    assert one.strata.tolist() == [0, 71]


def test_a_frame_is_drawn_with_one_over_its_stratum(key):
    # Three frames at 0 and one at 100: the lone one is drawn half of the time.
    data = Trajectories.from_arrays([[0.0], [0.0], [100.0], [0.0], [0.0]])
    sampler = WindowSampler.stratified(data, 1, key, num_strata=2, full_stratum=1)
    first = np.asarray(sample(sampler, key, 4000).states[:, 0, 0])
    counts = np.array([(first == 0).sum(), (first == 100).sum()])
    assert chi_square_p(counts, np.array([0.5, 0.5])) > 1e-4


def test_a_stratum_of_few_frames_is_less_likely_in_proportion(key):
    # Two frames make a full stratum: the lone one has half of 1/2, and 1/4 of what is left over.
    data = Trajectories.from_arrays([[0.0], [0.0], [100.0], [0.0], [0.0]])
    sampler = WindowSampler.stratified(data, 1, key, num_strata=2, full_stratum=2)
    first = np.asarray(sample(sampler, key, 4000).states[:, 0, 0])
    counts = np.array([(first == 0).sum(), (first == 100).sum()])
    assert chi_square_p(counts, np.array([11 / 16, 5 / 16])) > 1e-4


def test_sampling_traces_once_and_depends_on_the_key_alone():
    traces = []

    @eqx.filter_jit
    def counted(sampler, key):
        traces.append(1)
        return sampler.sample(key, 16)

    sampler = WindowSampler.uniform(SMALL, num_steps=2)
    first, again, other = (counted(sampler, jax.random.key(seed)).states for seed in (0, 0, 1))
    assert len(traces) == 1
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
