"""How far from the data the source states of the linear-Gaussian problems lie.

    .venv/bin/python benchmarks/sources.py

Named sources are standard normal whatever the system does; random ones are drawn from the data.
Distances are those of Mahalanobis: from the mean of the data, in units of their covariance.
"""

import numpy as np
from _record import record
from problems import linear_gaussian

NOTE = (
    "Mahalanobis distances from the mean of the data. Named sources are standard normal, which in "
    "many dimensions is further out than the system goes: questions about them are questions about "
    "states with few data near. Random sources are drawn from the data. Written by "
    "`benchmarks/sources.py`."
)


def row(dimension: int) -> dict[str, float | int | str]:
    setting = linear_gaussian(dimension)
    states = np.asarray(setting.data.states, np.float64)
    centre, precision = states.mean(axis=0), np.linalg.inv(np.atleast_2d(np.cov(states.T)))

    def distances(points: np.ndarray) -> np.ndarray:
        apart = points - centre
        return np.sqrt(np.einsum("ni,ij,nj->n", apart, precision, apart))

    half, most = np.quantile(distances(states), [0.5, 0.99])
    out: dict[str, float | int | str] = {
        "problem": setting.name,
        "half of the data within": float(half),
        "99 % within": float(most),
    }
    for kind, questions in (("named", setting.named), ("random", setting.random)):
        found = distances(np.asarray(questions.sources, np.float64))
        out[f"{kind} sources, median"] = float(np.median(found))
        out[f"{kind} sources beyond 99 %"] = f"{np.sum(found > most)} of {len(found)}"
    return out


def main() -> None:
    rows = [row(dimension) for dimension in (2, 4, 8, 16)]
    record("sources", "Where the source states of the linear-Gaussian problems lie", rows, NOTE)


if __name__ == "__main__":
    main()
