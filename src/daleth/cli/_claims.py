"""What a figure of the paper came to."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from daleth.experiments._output import Claim


def report(claim: "Claim", files: list[Path]) -> None:
    """Says what came out, and where it was written."""
    print(claim)
    for file in files:
        print(f"wrote {file}")
