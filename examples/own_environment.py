"""A Gymnasium environment and a policy with `predict`, as Stable-Baselines3 and SBX have it.

python examples/own_environment.py --steps 50000 --updates 10000
"""

import argparse

import gymnasium
import jax
import numpy as np

import daleth
from daleth.policies import from_sb3

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--steps", type=int, default=50_000)
parser.add_argument("--updates", type=int, default=10_000)
parser.add_argument("--model", default="fast", help="a preset: fast, paper, transition, ...")
args = parser.parse_args()


class Brake:
    """Stands for `stable_baselines3.SAC.load("agent.zip")`."""

    def __init__(self):
        self.rng = np.random.default_rng(0)

    def predict(self, observation, deterministic=False):
        """Works against the velocity, with noise; returns an action and no memory."""
        noise = 0.0 if deterministic else self.rng.normal()
        return np.clip([-0.5 * observation[2] + noise], -2.0, 2.0), None


env = gymnasium.make("Pendulum-v1")
data = daleth.Trajectories.from_gymnasium(
    env, from_sb3(Brake()), num_steps=args.steps, key=jax.random.key(0)
)
train, heldout = data.split(0.8, jax.random.key(1))
model = daleth.fit(train, args.model, gamma=0.95, updates=args.updates)
model.save("pendulum.safetensors")
heldout.save("heldout.safetensors")

hanging = [-1.0, 0.0, 0.0]
g = model.returns(daleth.rewards.parse("sin > 0", env="pendulum"), hanging)
print("discounted time on one side:", g)
print("whether to believe it: daleth diagnose pendulum.safetensors heldout.safetensors")
