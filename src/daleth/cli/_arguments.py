"""Options that several commands share."""

from pathlib import Path
from typing import Annotated

from tyro.conf import FlagCreatePairsOff, Positional, UseAppendAction, arg

AsJson = Annotated[
    FlagCreatePairsOff[bool],
    arg(name="json", help="print one JSON object instead of text.", help_behavior_hint=""),
]
DataFile = Annotated[Positional[Path], arg(metavar="DATA", help="trajectories, as collected.")]
ModelFile = Annotated[Positional[Path], arg(metavar="MODEL", help="a model, as fitted.")]
ModelFiles = Annotated[
    Positional[tuple[Path, ...]], arg(metavar="MODEL", help="models, as fitted, one per policy.")
]
Seed = Annotated[int, arg(help="of everything random.")]

Rewards = Annotated[
    UseAppendAction[tuple[str, ...]],
    arg(
        name="reward",
        metavar="REWARD",
        help="pendulum/stay-left, my_rewards.py:function, grid.csv or grid.npz, or an expression "
        "such as '-(theta**2)'; repeat for several.",
    ),
]
Sources = Annotated[
    UseAppendAction[tuple[str, ...]],
    arg(
        name="source",
        metavar="STATE",
        help="a source state such as 0.5,-1, or the name of an environment for its named source "
        "states; repeat for several.",
    ),
]
Risks = Annotated[
    UseAppendAction[tuple[str, ...]],
    arg(
        name="risk",
        metavar="RISK",
        help="such as cvar:0.1, var:0.1, entropic:1, mean_variance:0.5, prob_below:-10, "
        "prob_above:0, quantile:0.99; repeat for several.",
    ),
]
EnvironmentName = Annotated[
    str | None,
    arg(
        metavar="ENV",
        help="the environment whose component names expressions may use, such as pendulum.",
        help_behavior_hint="",
    ),
]
ComponentNames = Annotated[
    str | None,
    arg(
        metavar="A,B,...",
        help="names of the components of a state, for expressions; x0, x1, ... are always there.",
        help_behavior_hint="",
    ),
]
Picture = Annotated[
    Path | None,
    arg(
        metavar="FILE",
        help="draw the return distributions: .png, .svg or .pdf.",
        help_behavior_hint="",
    ),
]
