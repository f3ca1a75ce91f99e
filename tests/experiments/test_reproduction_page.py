"""The page of reproduced figures says what the numbers beside its pictures say."""

import json
from pathlib import Path

import pytest

from daleth.experiments import figure_names

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", [name.replace("-", "_") for name in figure_names()])
def test_the_page_shows_every_figure_and_whether_its_claim_held(name):
    page = " ".join((DOCS / "reproduction.md").read_text().split())
    assert f"(figures/{name}.png)" in page
    assert (DOCS / "figures" / f"{name}.png").stat().st_size > 1000
    claim = json.loads((DOCS / "figures" / f"{name}.json").read_text())["claim"]
    verdict = "Held" if claim["held"] else "Did not hold"
    assert f"**{verdict}**: {claim['evidence']}." in page
