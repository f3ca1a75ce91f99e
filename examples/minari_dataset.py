"""Logged data in Minari's format, and an answer that needs no training.

python examples/minari_dataset.py
python examples/minari_dataset.py --dataset my/dataset-v0 --reward "x0 > 1"
"""

import argparse

import jax
import minari

import daleth
from daleth.envs import environment
from daleth.policies import policy

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--dataset", help="the id of a local Minari dataset; a small one is written")
parser.add_argument("--reward", default="x1", help="an expression over x0, x1, ...")
parser.add_argument("--gamma", type=float, default=0.95)
args = parser.parse_args()

dataset = args.dataset
if dataset is None:
    dataset = "windy/top-v0"
    if dataset not in minari.list_local_datasets():
        walks = daleth.Trajectories.from_environment(
            environment("windy"), policy("windy/top"), num_steps=20_000, key=jax.random.key(0)
        )
        walks.to_minari(dataset)

data = daleth.Trajectories.from_minari(dataset)
print(data.describe())

start = data.episode(0).states[0]
model = daleth.EmpiricalModel(data, gamma=args.gamma, num_atoms=30)
print("from", start, model.returns(daleth.rewards.parse(args.reward), start))
