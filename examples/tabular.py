"""A chain that you can write down: exact return laws, and the successor measure beside them.

python examples/tabular.py
"""

import jax

import daleth
from daleth.tabular import expected_returns, return_law, sample_occupancies

# A machine that works, then rattles, then is broken for good.
P = [[0.9, 0.1, 0.0], [0.3, 0.5, 0.2], [0.0, 0.0, 1.0]]
chain = daleth.MarkovChain(P, gamma=0.9)
print("successor measure\n", chain.successor_measure().round(3))

for name, reward in {"output": [1.0, 0.5, 0.0], "noise": [0.0, -1.0, 0.0]}.items():
    law = return_law(chain, reward, 0)
    print(f"{name}: mean {law.mean():.3f}, worst tenth {law.cvar(0.1):.3f}")
    assert abs(law.mean() - expected_returns(chain, reward)[0]) < 1e-3

# The same from sampled futures, which is what every other model of daleth consists of.
futures = sample_occupancies(chain, 0, 10_000, jax.random.key(0))
print("sampled output:", futures.returns([1.0, 0.5, 0.0]))
