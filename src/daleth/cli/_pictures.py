"""Pictures of return distributions, written whole or not at all."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from daleth.cli._output import check_writable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from daleth.returns import ReturnDistribution

_FORMATS = (".png", ".svg", ".pdf")


def check_picture(path: Path | None) -> None:
    """Refuses, before any work is done, a picture that could not be drawn after it."""
    if path is None:
        return
    if path.suffix not in _FORMATS:
        raise ValueError(f"--plot must end in {', '.join(_FORMATS)}, got {str(path)!r}")
    from daleth._optional import require

    require("matplotlib", "plots")
    check_writable(path)


def check_folder(path: Path) -> None:
    """Makes a folder for pictures, or refuses it before any work is done."""
    from daleth._optional import require

    require("matplotlib", "plots")
    if path.exists() and not path.is_dir():
        raise NotADirectoryError(f"--out must be a folder, {str(path)!r} is a file")
    path.mkdir(parents=True, exist_ok=True)
    check_writable(path / "picture.png")


def draw(path: Path, panels: "Mapping[str, Mapping[str, ReturnDistribution]]") -> None:
    """One panel per title: a single law with its mean and CVaR, several as step curves."""
    from matplotlib.figure import Figure

    from daleth import plots

    figure = Figure(figsize=(7, 3.2 * len(panels)), layout="constrained")
    axes = figure.subplots(len(panels), squeeze=False)[:, 0]
    for ax, (title, laws) in zip(axes, panels.items(), strict=True):
        ax.set_title(title.replace("$", r"\$"), fontsize=10)
        if len(laws) == 1:
            plots.return_distribution(*laws.values(), ax=ax)
            continue
        for label, law in laws.items():
            plots.return_cdf(law, ax=ax, label=label)
        ax.legend(frameon=False, fontsize=8)
    write_figure(path, figure)


def write_figure(path: Path, figure: "Figure") -> None:
    """In the format that the name ends in."""
    from daleth._files import atomic_write

    with atomic_write(path) as file:
        figure.savefig(file, format=path.suffix[1:], dpi=160, facecolor="white")
