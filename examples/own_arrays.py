"""From arrays to CVaR: learn without a reward, ask with one, keep the model.

python examples/own_arrays.py --updates 10000
"""

import argparse

import numpy as np

import daleth

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--updates", type=int, default=10_000)
parser.add_argument("--model", default="fast", help="a preset: fast, paper, transition, ...")
args = parser.parse_args()

# Your data here: a list of arrays [T+1, d], of any lengths, final states included.
rng = np.random.default_rng(0)
episodes = [np.cumsum(rng.normal(size=(rng.integers(60, 100), 2)), axis=0) for _ in range(300)]

data = daleth.Trajectories.from_episodes(episodes, ends="truncated")
print(data.describe(source_states=[[0.0, 0.0]]))

model = daleth.fit(data, args.model, gamma=0.95, updates=args.updates)
model.save("walks.safetensors")

rewards = {
    "distance from 0": lambda x: -((x[..., 0] ** 2 + x[..., 1] ** 2) ** 0.5),
    "time on the right": lambda x: 1.0 * (x[..., 0] > 0),
}
for name, reward in rewards.items():
    g = model.returns(reward, [0.0, 0.0])
    print(
        f"{name}: mean {g.mean():.2f}, worst tenth {g.cvar(0.1):.2f}, median {g.quantile(0.5):.2f}"
    )
