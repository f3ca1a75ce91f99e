"""`daleth demo`."""

import dataclasses
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Suppress

from daleth.cli._arguments import AsJson, Seed
from daleth.cli._claims import report
from daleth.cli._pictures import check_folder

if TYPE_CHECKING:
    from daleth.experiments._output import Claim
    from daleth.experiments.windy_selection import Selection

_STORY = (
    "Two policies walk through a windy square: π₁ = top goes left, right or up, π₂ = bottom goes "
    "left, right or down. From their trajectories, which hold no rewards, a δ-model of each is "
    "learned. Only then come two rewards, and each policy is judged by the mean of its return and "
    "by the mean of its worst 40 % (0.4-CVaR)."
)


def demo(
    out: Path = Path("demo"),
    seed: Seed = 0,
    as_json: AsJson = False,
    budget: Annotated[str, Suppress] = "small",
) -> None:
    """Learns two policies without rewards, then ranks them under two by mean and by CVaR.

    Writes a picture, its numbers and an HTML report. Exit code 1 if a ranking is wrong.

    Example: daleth demo --out demo

    Args:
        out: folder for the picture, the numbers and the report.
        seed: of everything random.
        as_json: print one JSON object instead of text.
        budget: as of `daleth reproduce`.
    """
    from daleth.cli import _output
    from daleth.experiments import windy_selection
    from daleth.experiments._output import save

    check_folder(out)
    started = time.perf_counter()
    spent = windy_selection.BUDGETS[budget]
    if not as_json:
        print(_STORY, flush=True)
    selection = windy_selection.select(spent, seed)
    claim = selection.claim()
    data = {"budget": dataclasses.asdict(spent), "seed": seed, **selection.to_dict()}
    figure = windy_selection.draw(selection)
    files = save(out, "windy_selection", figure, data, claim)
    seconds = time.perf_counter() - started
    made = (
        f"{spent.num_steps:,} steps and {spent.updates:,} updates of training per policy, "
        f"{spent.num_atoms} atoms, Monte Carlo with {spent.num_rollouts:,} rollouts per policy, "
        f"seed {seed}; {seconds:.0f} s in all."
    )
    files.append(_write_page(out, selection, claim, files[0], made))
    record = {"held": claim.held, "seconds": seconds, "files": list(map(str, files)), **data}
    header, rows = _table(selection)
    text = f"\n{_output.table(header, rows)}\n\n" + "\n".join(_verdicts(selection))
    _output.show(as_json, record, f"{text}\n\n{made}")
    if not as_json:
        report(claim, files)
    if not claim.held:
        sys.exit(1)


def _table(selection: "Selection") -> tuple[list[str], list[list[object]]]:
    header = ["reward", "policy", "statistic", "predicted", "Monte Carlo", "error in % of range"]
    rows: list[list[object]] = [
        [row.reward, row.policy, row.statistic, row.predicted, row.monte_carlo, 100 * row.error]
        for row in selection.rows()
    ]
    return header, rows


def _verdicts(selection: "Selection") -> list[str]:
    """One sentence per reward and criterion."""
    predicted, true = selection.winners("predicted"), selection.winners("monte_carlo")
    return [
        f"{reward} by {name}: {winner} wins; Monte Carlo "
        + ("agrees" if true[reward, name] == winner else f"says {true[reward, name]}")
        for (reward, name), winner in predicted.items()
    ]


def _write_page(
    out: Path, selection: "Selection", claim: "Claim", picture: Path, made: str
) -> Path:
    from daleth._files import atomic_write
    from daleth.experiments import _page

    blocks = [
        _page.paragraph(_STORY),
        _page.picture(picture.read_bytes(), "return distributions of two policies, two rewards"),
        _page.heading("Who wins"),
        *(
            _page.paragraph(verdict, "right" if verdict.endswith("agrees") else "wrong")
            for verdict in _verdicts(selection)
        ),
        _page.paragraph(str(claim)),
        _page.heading("The numbers"),
        _page.table(*_table(selection)),
        _page.heading("How it was made"),
        _page.paragraph(made, "note"),
        _page.paragraph("Again: daleth demo", "note"),
    ]
    path = out / "report.html"
    with atomic_write(path) as file:
        file.write(_page.page("Which policy would you choose?", *blocks).encode())
    return path
