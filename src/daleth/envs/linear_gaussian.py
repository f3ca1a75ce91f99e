"""Linear-Gaussian systems: return laws in closed form, in any dimension and for any discount."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PRNGKeyArray

from daleth import _checks
from daleth._typing import ArrayLike, Count, Real
from daleth.envs.base import Action, Box, Discrete, Environment


class LinearGaussian(Environment):
    r"""The autoregression $x' = A x + L \xi$ with standard normal $\xi$, hence covariance $L L^T$.

    There is one action, and it changes nothing. Episodes start at a standard normal state and
    never terminate.

    Attributes:
        matrix: $A$, `[d, d]`.
        noise_factor: $L$, `[d, d]`.

    Example:
        >>> env = LinearGaussian([[0.5]], [[1.0]])
        >>> mean, std = env.return_mean_and_std([1.0], [3.0], gamma=0.5)
        >>> print(mean, std.round(4))
        4.0 0.7698
    """

    matrix: Float[Array, "d d"]
    noise_factor: Float[Array, "d d"]

    def __init__(self, matrix: ArrayLike, noise_factor: ArrayLike):
        matrix = _checks.finite("matrix", matrix, rank=2)
        noise_factor = _checks.finite("noise_factor", noise_factor, rank=2)
        if matrix.shape[0] != matrix.shape[1]:
            raise ValueError(f"matrix must be square, got shape {matrix.shape}")
        if noise_factor.shape != matrix.shape:
            raise ValueError(
                f"noise_factor must have the shape of the matrix, {matrix.shape}, "
                f"got {noise_factor.shape}"
            )
        self.matrix = jnp.asarray(matrix)
        self.noise_factor = jnp.asarray(noise_factor)

    @classmethod
    def random(
        cls, dimension: Count = 2, *, spectral_radius: Real = 0.9, seed: int = 0
    ) -> "LinearGaussian":
        r"""A normal random $A$ scaled to spectral radius $\rho$, with $L = \sqrt{1 - \rho^2} I$.

        This noise keeps states at about the scale of the standard normal starts.
        """
        dimension = _checks.count("dimension", dimension)
        radius = _checks.number("spectral_radius", spectral_radius)
        if not 0 <= radius < 1:
            raise ValueError(f"spectral_radius must lie in [0, 1), got {radius:g}")
        matrix = np.random.default_rng(seed).normal(size=(dimension, dimension))
        matrix *= radius / _spectral_radius(matrix)
        return cls(matrix, np.sqrt(1 - radius**2) * np.eye(dimension))

    @property
    def dimension(self) -> int:
        """The number `d` of components of a state."""
        return self.matrix.shape[0]

    @property
    def state_names(self) -> tuple[str, ...]:
        """One numbered name per component."""
        return tuple(f"x{i}" for i in range(self.dimension))

    @property
    def state_space(self) -> Box:
        """All vectors."""
        return Box((-float("inf"),) * self.dimension, (float("inf"),) * self.dimension)

    @property
    def action_space(self) -> Discrete:
        """One action without effect."""
        return Discrete(1)

    def reset(self, key: PRNGKeyArray) -> Float[Array, "d"]:
        """Draws a standard normal state."""
        return jax.random.normal(key, (self.dimension,), self.matrix.dtype)

    def step(
        self, key: PRNGKeyArray, state: Float[Array, "d"], action: Action
    ) -> tuple[Float[Array, "d"], Bool[Array, ""]]:
        """Applies the matrix and adds noise."""
        del action
        noise = jax.random.normal(key, (self.dimension,), self.matrix.dtype)
        return self.matrix @ state + self.noise_factor @ noise, jnp.array(False)

    def return_mean_and_std(
        self, reward_weights: ArrayLike, source_state: ArrayLike, gamma: Real
    ) -> tuple[np.ndarray, np.ndarray]:
        r"""The Gaussian law of the return of the reward $r(x) = c \cdot x$.

        The noise of step $t$ enters the return $\sum_t \gamma^t c \cdot x_t$ with the factor
        $\gamma^t v$, where $v = (I - \gamma A)^{-T} c$. Hence
        $$E\,G = v \cdot x_0, \qquad \mathrm{Var}\,G = \frac{\gamma^2}{1 - \gamma^2} |L^T v|^2.$$

        Args:
            reward_weights: $c$, `[d]`.
            source_state: $x_0$, `[..., d]`.
            gamma: the discount, below 1 over the spectral radius of $A$.

        Returns:
            Mean `[...]` and standard deviation `[]` in double precision.
        """
        gamma = _checks.discount(gamma)
        weights = self._vectors("reward_weights", reward_weights)
        source = self._vectors("source_state", source_state)
        if weights.ndim != 1:
            raise ValueError(f"reward_weights must be one vector, got shape {weights.shape}")
        matrix = np.asarray(self.matrix, dtype=float)
        if gamma * _spectral_radius(matrix) >= 1:
            raise ValueError(
                "returns diverge: gamma times the spectral radius of the matrix must be below 1, "
                f"got {gamma * _spectral_radius(matrix):g}"
            )
        discounted = np.linalg.solve((np.eye(self.dimension) - gamma * matrix).T, weights)
        shock = np.asarray(self.noise_factor, dtype=float).T @ discounted
        std = gamma / np.sqrt(1 - gamma**2) * np.linalg.norm(shock)
        return np.asarray(source @ discounted), np.asarray(std)

    def _vectors(self, name: str, value: ArrayLike) -> np.ndarray:
        vectors = np.asarray(_checks.finite(name, value), dtype=float)
        if vectors.ndim == 0 or vectors.shape[-1] != self.dimension:
            raise ValueError(
                f"{name} must have {self.dimension} components, got shape {vectors.shape}"
            )
        return vectors


def first_coordinate(states: ArrayLike) -> Float[Array, "*shape"]:
    """The linear reward with weights `(1, 0, …, 0)`, `[..., d] -> [...]`."""
    return jnp.asarray(states)[..., 0]


def mean_coordinate(states: ArrayLike) -> Float[Array, "*shape"]:
    """The linear reward with weights `(1/d, …, 1/d)`, `[..., d] -> [...]`."""
    return jnp.mean(jnp.asarray(states), axis=-1)


def linear_gaussian_sources(env: LinearGaussian) -> Float[Array, "3 d"]:
    """Minus one, zero and one in every component."""
    return jnp.array([[-1.0], [0.0], [1.0]]) * jnp.ones(env.dimension)


def _spectral_radius(matrix: np.ndarray) -> float:
    return float(np.abs(np.linalg.eigvals(matrix)).max())
