"""How far apart two state measures are, and two sets of them: squared MMD on both levels.

Everything is for one source state; batch with `jax.vmap`, or with `jax.lax.map`, which needs the
memory of one source state only.
"""

from collections.abc import Callable
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from daleth.kernels import inverse_multiquadric, rational_quadratic, squared_distances

StateKernel = Callable[[Array], Array]
"""A function of the squared distance of two states, elementwise."""

SMALLEST_BANDWIDTH = 1e-4  # rounding of float32 leaves errors of about 1e-6 in a squared MMD


def squared_mmd(
    xs: Float[Array, "s d"],
    ys: Float[Array, "t d"],
    state_kernel: StateKernel = rational_quadratic,
) -> Float[Array, ""]:
    r"""The unbiased estimate of the squared MMD between two state measures, from samples.

    $$ \frac{1}{\binom{s}{2}} \sum_{l<k} \kappa(x_l, x_k) + \frac{1}{\binom{t}{2}} \sum_{l<k}
       \kappa(y_l, y_k) - \frac{2}{st} \sum_{l,k} \kappa(x_l, y_k) $$

    Section 4, state kernel. U-statistics within a set, all pairs across; being unbiased it is
    sometimes negative.

    Example:
        >>> xs, ys = jnp.array([[0.0], [1.0]]), jnp.array([[0.0], [0.0]])
        >>> squared_mmd(xs, ys, state_kernel=lambda z: 1 / (1 + z)).item()
        0.0
    """
    return pairwise_squared_mmd(xs[None], ys[None], state_kernel)[0, 0]


def pairwise_squared_mmd(
    ys: Float[Array, "m s d"],
    yts: Float[Array, "mt t d"],
    state_kernel: StateKernel = rational_quadratic,
) -> Float[Array, "m mt"]:
    r"""The unbiased squared MMD of every atom of one set to every atom of another, `[m, m']`.

    $$ d^{st}_{ij} = U(y_i) + U(\bar y_j) - 2 V(y_i, \bar y_j) $$

    with $U$ the mean of the state kernel over distinct samples of one atom and $V$ over all pairs
    across. Algorithm 1 prints the mean across of each atom with its own target in the place of
    $U$, which is not a distance; the estimator of section 4 is meant.
    """
    across = mean_state_kernel(ys, yts, state_kernel)
    within, within_target = within_means(ys, state_kernel), within_means(yts, state_kernel)
    return within[:, None] + within_target - 2 * across


def pairwise_squared_mmd_within(
    ys: Float[Array, "m s d"], state_kernel: StateKernel = rational_quadratic
) -> Float[Array, "m m"]:
    r"""The unbiased squared MMD between all atoms of one set, with a diagonal of exactly 0.

    The estimator that Algorithm 1 prints gives $-\frac{2}{s} (\kappa(0) - U(y_i))$ on the diagonal,
    since there the samples across are not independent. That is never positive, so every use that
    clips a squared distance at 0 sees 0, which is also the truth.
    """
    return _within_distances(mean_state_kernel_within(ys, state_kernel), ys.shape[1], state_kernel)


def within_means(
    ys: Float[Array, "m s d"], state_kernel: StateKernel = rational_quadratic
) -> Float[Array, "m"]:
    r"""The U-statistic $U(y_i) = \binom{s}{2}^{-1} \sum_{l<k} \kappa(y_i^l, y_i^k)$, by atom.

    The mean of the state kernel over distinct samples of one atom.
    """
    v_statistics = jax.vmap(lambda y: state_kernel(squared_distances(y, y)).mean())(ys)
    return _without_diagonal(v_statistics, ys.shape[1], state_kernel)


def median_bandwidth(
    d_s: Float[Array, "m m"],
    d_t: Float[Array, "mt mt"],
    d_st: Float[Array, "m mt"],
    floor: float | Float[Array, ""] = SMALLEST_BANDWIDTH,
) -> Float[Array, ""]:
    r"""The median heuristic $\sigma^2$ of the model kernel, with no gradient.

    The median over all entries of the squared distances among source atoms, among target atoms
    and across, diagonals included (Algorithm 1), but not below `floor`. Where a source state has
    one future only, all true distances are 0 and half of the estimates are negative: the plain
    median is then 0 or noise, and the loss would be scaled by it. `two_level_mmd` hands in the
    resolution of the samples.
    """
    entries = jax.lax.stop_gradient(jnp.concatenate([d_s.ravel(), d_t.ravel(), d_st.ravel()]))
    ordered, middle = jnp.sort(entries), len(entries) // 2
    median = (ordered[middle] + ordered[-1 - middle]) / 2
    return jnp.maximum(median, jax.lax.stop_gradient(floor))


class Masses(eqx.Module):
    """The weights of atoms and of target atoms; each side sums to 1."""

    own: Float[Array, "m"]
    other: Float[Array, "t"]

    @classmethod
    def equal(cls, num_own: int, num_other: int) -> "Masses":
        """All atoms of a side alike."""
        return cls(jnp.full(num_own, 1 / num_own), jnp.full(num_other, 1 / num_other))


def mean_over_pairs(
    values: Float[Array, "m t"], own: Float[Array, "m"], other: Float[Array, "t"]
) -> Float[Array, ""]:
    r"""$\sum_{ij} p_i q_j v_{ij}$."""
    return jnp.sum(own[:, None] * values * other)


def model_discrepancy(
    d_s: Float[Array, "m m"],
    d_t: Float[Array, "mt mt"],
    d_st: Float[Array, "m mt"],
    squared_bandwidth: Float[Array, ""],
    masses: Masses,
) -> Float[Array, ""]:
    r"""The squared MMD between two sets of atoms under the inverse multiquadric model kernel.

    $$ \sum_{ij} p_i p_j \rho(d^s_{ij}) + q_i q_j \rho(d^t_{ij}) - 2 p_i q_j \rho(d^{st}_{ij}),
       \quad \rho(d) = (1 + d / \sigma^2)^{-1/2} $$

    Last line of Algorithm 1, a V-statistic over atoms, whose weights there are all $1/m$. For a
    negative estimate $d$, where the printed $\rho(\sqrt{d / \sigma^2})$ has no value, the kernel
    goes on along its tangent at 0: $1 - d / 2\sigma^2$. Clipping at 0 instead would make the
    gradient of such a pair 0, of about half of all pairs near convergence, and would turn zero-mean
    noise into bias. Wherever the printed formula has a value, this is that value.
    """
    source = mean_over_pairs(_extended(d_s, squared_bandwidth), masses.own, masses.own)
    target = mean_over_pairs(_extended(d_t, squared_bandwidth), masses.other, masses.other)
    across = mean_over_pairs(_extended(d_st, squared_bandwidth), masses.own, masses.other)
    return source + target - 2 * across


def bandwidth_floor(
    u_source: Float[Array, "m"],
    u_target: Float[Array, "mt"],
    num_samples: int,
    num_target_samples: int,
    state_kernel: StateKernel = rational_quadratic,
) -> Float[Array, ""]:
    r"""The squared distance that this many samples can resolve, the least useful bandwidth.

    $$ \frac{1}{2} \left( \frac{\kappa(0) - U_s}{s} + \frac{\kappa(0) - U_t}{t} \right) $$

    with $U$ the mean U-statistics. The bracket is the bias that the V-statistic would have, and
    the furthest that the unbiased estimate falls below 0; half of it is a little more than the
    spread of the estimate between equal measures. It vanishes for many samples, and for atoms
    that are single points. Where the median is larger, as it is when futures differ, the bandwidth
    is the paper's.
    """
    at_zero = _at_zero(state_kernel, u_source)
    source = (at_zero - u_source.mean()) / num_samples
    target = (at_zero - u_target.mean()) / num_target_samples
    return jax.lax.stop_gradient(jnp.maximum((source + target) / 2, SMALLEST_BANDWIDTH))


def mean_state_kernel(
    ys: Float[Array, "m s d"],
    yts: Float[Array, "mt t d"],
    state_kernel: StateKernel = rational_quadratic,
) -> Float[Array, "m mt"]:
    """The mean of the state kernel over all pairs across, for all pairs of atoms.

    One atom of `ys` at a time against all of `yts`, so that the kernel values of a row stay in the
    cache of the processor; the backward pass computes them again.
    """
    return jax.lax.map(lambda y: _row_of_means(y, yts, state_kernel), ys)


def mean_state_kernel_within(
    ys: Float[Array, "m s d"], state_kernel: StateKernel = rational_quadratic
) -> Float[Array, "m m"]:
    """`mean_state_kernel(ys, ys)` in half the time: each pair of atoms is computed once.

    Atom `i` meets the atoms `i, i+1, …, i + m//2`, counted modulo `m`: rows of equal length.
    """
    num_atoms = len(ys)
    width = num_atoms // 2 + 1
    around = jnp.concatenate([ys, ys[: width - 1]])

    def row(i: Array) -> Array:
        window = jax.lax.dynamic_slice_in_dim(around, i, width)
        return _row_of_means(ys[i], window, state_kernel)

    atoms = jnp.arange(num_atoms)
    half = jax.lax.map(row, atoms)
    ahead = (atoms - atoms[:, None]) % num_atoms
    behind = (atoms[:, None] - atoms) % num_atoms
    first = jnp.where(ahead < width, atoms[:, None], atoms)
    return half[first, jnp.where(ahead < width, ahead, behind)]


def weighted_mean_state_kernel(
    ys: Float[Array, "m k d"],
    weights: Float[Array, "m k"],
    others: Float[Array, "t l d"],
    other_weights: Float[Array, "t l"],
    state_kernel: StateKernel = rational_quadratic,
) -> Float[Array, "m t"]:
    r"""$\sum_{ab} w_{ia} v_{jb} \kappa(y_{ia}, z_{jb})$ for all pairs of weighted measures.

    The inner products of mean embeddings, one row at a time; the backward pass computes kernel
    values again.
    """
    num_others, num_points, state_dim = others.shape

    @jax.checkpoint
    def row(atom: tuple[Array, Array]) -> Array:
        points, point_weights = atom
        values = state_kernel(squared_distances(points, others.reshape(-1, state_dim)))
        sums = (point_weights @ values).reshape(num_others, num_points)
        return jnp.sum(sums * other_weights, axis=-1)

    return jax.lax.map(row, (ys, weights))


@partial(jax.custom_vjp, nondiff_argnums=(2,))
def _row_of_means(
    y: Float[Array, "s d"], others: Float[Array, "k t d"], state_kernel: StateKernel
) -> Float[Array, "k"]:
    num_others, num_samples, state_dim = others.shape
    values = state_kernel(squared_distances(y, others.reshape(-1, state_dim)))
    # A matrix product sums several times faster here than a reduction fused with the kernel.
    sums = jnp.ones((1, len(y)), y.dtype) @ values
    return sums.reshape(num_others, num_samples).sum(axis=1) / (len(y) * num_samples)


def _row_forward(y, others, state_kernel):
    return _row_of_means(y, others, state_kernel), (y, others)


def _row_backward(state_kernel, saved, cotangent):
    y, others = saved
    num_others, num_samples, state_dim = others.shape
    points = others.reshape(-1, state_dim)
    distances = squared_distances(y, points)
    _, slopes = jax.jvp(state_kernel, (distances,), (jnp.ones_like(distances),))
    scale = jnp.repeat(cotangent, num_samples) * (2 / (len(y) * num_samples))
    # With a last column of ones, one product gives the sums of the slopes as well.
    augmented = jnp.concatenate([points, jnp.ones_like(points[:, :1])], axis=1) * scale[:, None]
    right = slopes @ augmented
    left = slopes.T @ jnp.concatenate([y, jnp.ones_like(y[:, :1])], axis=1)
    gradient_y = right[:, -1:] * y - right[:, :-1]
    gradient_points = scale[:, None] * (left[:, -1:] * points - left[:, :-1])
    return gradient_y, gradient_points.reshape(others.shape)


_row_of_means.defvjp(_row_forward, _row_backward)


def _extended(squared_distance: Array, squared_bandwidth: Array) -> Array:
    negative = squared_distance < 0
    inside = inverse_multiquadric(jnp.where(negative, 0, squared_distance), squared_bandwidth)
    tangent = 1 - squared_distance / (2 * squared_bandwidth)
    return jnp.where(negative, tangent, inside)


def _within_distances(means: Array, num_samples: int, state_kernel: StateKernel) -> Array:
    within = _without_diagonal(jnp.diagonal(means), num_samples, state_kernel)
    distances = within[:, None] + within - 2 * means
    return jnp.where(jnp.eye(len(means), dtype=bool), 0, distances)


def draw_bias(
    v_statistics: Float[Array, "m"],
    num_samples: int,
    state_kernel: StateKernel = rational_quadratic,
) -> Float[Array, "m"]:
    r"""What `s` independent draws add to the squared norm $V$ of a mean embedding.

    $$ V - U = \frac{\kappa(0) - V}{s - 1} = \frac{\kappa(0) - U}{s} $$
    """
    if num_samples < 2:
        raise ValueError(f"an unbiased squared MMD needs at least 2 samples, got {num_samples}")
    return (_at_zero(state_kernel, v_statistics) - v_statistics) / (num_samples - 1)


def _without_diagonal(v_statistics: Array, num_samples: int, state_kernel: StateKernel) -> Array:
    return v_statistics - draw_bias(v_statistics, num_samples, state_kernel)


def _at_zero(state_kernel: StateKernel, like: Array) -> Array:
    return state_kernel(jnp.zeros((), like.dtype))
