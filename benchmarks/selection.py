"""Windy Gridworld, policies `top` and `bottom`: are all rankings right, in every seed?

    .venv/bin/python benchmarks/selection.py --seconds 90 --seeds 0 1 2 3 4

Two policies, 51 atoms, both rewards, mean and 0.4-CVaR at the start state: predicted and true
values, their largest difference in parts of the range of true returns, and the winners.
"""

import argparse
import time

import numpy as np
from _record import merge
from problems import PROBLEMS, Setting

from daleth import ReturnDistribution, fit
from daleth.models.base import Model

STATISTICS = {"mean": lambda g: g.mean(), "0.4-CVaR": lambda g: g.cvar(0.4)}


def values(returns: dict[str, ReturnDistribution]) -> dict[tuple[str, str], float]:
    """Each statistic of each reward at the one source."""
    return {
        (reward, name): float(np.ravel(statistic(g))[0])
        for reward, g in returns.items()
        for name, statistic in STATISTICS.items()
    }


def predicted(setting: Setting, model: Model) -> dict[str, ReturnDistribution]:
    rewards, source = setting.named.rewards, setting.named.sources
    return {name: model.returns(reward, source) for name, reward in rewards.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=90.0)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3, 4])
    options = parser.parse_args()
    settings = {name: PROBLEMS[f"windy-{name}"]() for name in ("top", "bottom")}
    truth = {name: values(dict(one.named.truth)) for name, one in settings.items()}
    ranges = {
        reward: max(float(np.ptp(one.named.truth[reward].atoms)) for one in settings.values())
        for reward in settings["top"].named.rewards
    }
    rows = []
    for seed in options.seeds:
        started = time.perf_counter()
        found = {
            name: values(predicted(one, fit(one.data, minutes=options.seconds / 60, seed=seed)))
            for name, one in settings.items()
        }
        right = sum(
            (found["top"][case] > found["bottom"][case])
            == (truth["top"][case] > truth["bottom"][case])
            for case in truth["top"]
        )
        misses = [
            abs(found[name][case] - truth[name][case]) / ranges[case[0]]
            for name in settings
            for case in truth[name]
        ]
        rows.append(
            {
                "seed": seed,
                "training of both [s]": time.perf_counter() - started,
                "rankings right": f"{right} of {len(truth['top'])}",
                "largest miss / range": max(misses),
                "mean miss / range": float(np.mean(misses)),
            }
        )
        print(rows[-1], flush=True)
        merge("selection", rows[-1:], key=("seed",))


if __name__ == "__main__":
    main()
