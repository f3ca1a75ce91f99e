"""Two policies, two rewards, two answers: which policy is better depends on the risk measure.

python examples/risk_ranking.py --steps 200000 --updates 10000
"""

import argparse

import jax

import daleth
from daleth.envs import environment, reward
from daleth.policies import policy

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--steps", type=int, default=200_000)
parser.add_argument("--updates", type=int, default=10_000)
parser.add_argument("--model", default="fast", help="a preset: fast, paper, transition, ...")
args = parser.parse_args()

models = {}
for name in ("windy/top", "windy/bottom"):
    data = daleth.Trajectories.from_environment(
        environment("windy"), policy(name), num_steps=args.steps, key=jax.random.key(0)
    )
    models[name] = daleth.fit(data, args.model, gamma=0.95, updates=args.updates)

# No model has seen a reward so far, and none is trained again for these.
for name in ("windy/lopsided-checkerboard", "windy/hopscotch"):
    print(name)
    for by in ("mean", "cvar:0.4"):
        print(daleth.rank(models, by, reward=reward(name), source_state=[0.0, 0.0]))
