"""What every experiment leaves behind: a picture, the data behind it, and its claim."""

import dataclasses
import json
import os
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daleth._files import atomic_write
from daleth._optional import require

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclasses.dataclass(frozen=True)
class Claim:
    """A statement of the paper, whether it held here, and the figures that say so."""

    statement: str
    held: bool
    evidence: str

    def __str__(self) -> str:
        return f"{'holds' if self.held else 'DOES NOT HOLD'}: {self.statement} ({self.evidence})"


def save(
    folder: str | os.PathLike, name: str, figure: "Figure", data: dict[str, Any], claim: Claim
) -> list[Path]:
    """Writes `name.png` and `name.json` into a folder and gives their paths."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    picture, numbers = folder / f"{name}.png", folder / f"{name}.json"
    image = require("PIL.Image", "plots")
    drawn = BytesIO()
    figure.savefig(drawn, format="png", dpi=130, bbox_inches="tight", facecolor="white")
    with atomic_write(picture) as file:
        # 256 colours are enough for any of these, and a third of the size.
        colours = image.open(drawn).convert("RGB").quantize(256, dither=image.Dither.NONE)
        colours.save(file, format="png", optimize=True)
    text = json.dumps({"claim": dataclasses.asdict(claim), **data}, indent=1)
    with atomic_write(numbers) as file:
        file.write(text.encode())
    return [picture, numbers]
