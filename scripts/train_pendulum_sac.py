"""Trains the shipped Pendulum actor with SBX, checks it, and writes its weights.

It needs the extra `rl` (torch first, from its CPU wheels, unless several GB of CUDA are wanted):

    pip install "daleth[rl]"
    python scripts/train_pendulum_sac.py
"""

import time
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

import equinox as eqx
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import tyro
from sbx import SAC

from daleth.envs.pendulum import MAX_TORQUE, Pendulum, default_with_action
from daleth.policies.actor import GaussianActor, actor_from_arrays, load_actor, save_actor
from daleth.policies.rollout import rollout

ROOT = Path(__file__).resolve().parents[1]
LAYERS = {"hidden_1": "Dense_0", "hidden_2": "Dense_1", "mean": "Dense_2", "log_std": "Dense_3"}
REQUIRED_RETURN = -200.0


@dataclass(frozen=True)
class Settings:
    """How the actor is trained."""

    seed: int = 0
    num_steps: int = 15_000
    learning_rate: float = 1e-3
    hidden_units: int = 64
    num_test_episodes: int = 100


def train(settings: Settings) -> GaussianActor:
    """Trains SAC in Gymnasium's Pendulum-v1 and copies the actor's weights."""
    model = SAC(
        "MlpPolicy",
        "Pendulum-v1",
        learning_rate=settings.learning_rate,
        policy_kwargs={"net_arch": [settings.hidden_units] * 2},
        seed=settings.seed,
    )
    model.learn(settings.num_steps)
    trained = model.policy.actor_state.params["params"]
    arrays = {}
    for name, theirs in LAYERS.items():
        arrays[f"{name}.weight"] = np.asarray(trained[theirs]["kernel"]).T
        arrays[f"{name}.bias"] = np.asarray(trained[theirs]["bias"])
    return actor_from_arrays(arrays, np.array([MAX_TORQUE], np.float32))


def mean_return(actor: GaussianActor, num_episodes: int) -> float:
    """The mean return of whole episodes in daleth's Pendulum."""
    env = Pendulum()

    def episode(key):
        key_start, key_rollout = jax.random.split(key)
        start = env.reset(key_start)
        states, actions, _ = rollout(env, actor, key_rollout, start, env.max_episode_steps)
        return default_with_action(jnp.concatenate([states[:-1], actions], axis=-1)).sum()

    return float(jax.vmap(episode)(jax.random.split(jax.random.key(1), num_episodes)).mean())


def mean_return_in_gymnasium(actor: GaussianActor, num_episodes: int) -> float:
    """The mean return of whole episodes in Gymnasium's Pendulum-v1."""
    env = gymnasium.make("Pendulum-v1")
    act, key, total = eqx.filter_jit(actor), jax.random.key(2), 0.0
    for episode in range(num_episodes):
        state, _ = env.reset(seed=episode)
        over = False
        while not over:
            key, key_action = jax.random.split(key)
            state, reward, terminated, truncated, _ = env.step(np.asarray(act(key_action, state)))
            total += float(reward)
            over = terminated or truncated
    return total / num_episodes


def main(settings: Settings, out: Path = ROOT / "src/daleth/policies/pendulum_sac.safetensors"):
    """Trains, checks, writes."""
    start = time.perf_counter()
    actor = train(settings)
    print(f"trained in {time.perf_counter() - start:.0f} s")
    ours = mean_return(actor, settings.num_test_episodes)
    theirs = mean_return_in_gymnasium(actor, settings.num_test_episodes)
    print(f"mean return: {ours:.1f} in daleth's Pendulum, {theirs:.1f} in Gymnasium's")
    if min(ours, theirs) < REQUIRED_RETURN:
        raise SystemExit(f"below {REQUIRED_RETURN:g}: nothing written; try another seed")
    packages = ("gymnasium", "jax", "sbx-rl", "stable-baselines3")
    provenance = {
        "script": "scripts/train_pendulum_sac.py",
        "settings": asdict(settings),
        "versions": {name: version(name) for name in packages},
        "mean_return": ours,
        "mean_return_in_gymnasium": theirs,
    }
    save_actor(actor, out, provenance)
    assert mean_return(load_actor(out), settings.num_test_episodes) == ours
    print(f"wrote {out} ({out.stat().st_size} bytes)")


if __name__ == "__main__":
    tyro.cli(main)
