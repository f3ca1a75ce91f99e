"""Each figure is drawn, its claim holds, and it is quick."""

import json
import time

import numpy as np
import pytest

from daleth.experiments import experiment, figure_names
from daleth.experiments.sierpinski import on_triangle


@pytest.mark.parametrize("name", figure_names())
def test_figure(name, tmp_path):
    module = experiment(name)
    started = time.perf_counter()
    claim, (picture, numbers) = module.run(module.Config(out=tmp_path))
    assert time.perf_counter() - started < 30
    assert claim.held, str(claim)
    assert picture.stat().st_size > 10_000
    assert json.loads(numbers.read_text())["claim"]["statement"] == claim.statement


def test_a_point_off_the_triangle_is_noticed():
    centre, corner = np.full((1, 3), 1 / 3), np.array([[1 - 2**-20, 2**-20, 0.0]])
    assert on_triangle(corner, 10).all()
    assert not on_triangle(centre, 10).any()
