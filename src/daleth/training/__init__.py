"""Training: the loop, its checkpoints, its log."""

from daleth.training.errors import NonFiniteLossError, TrainingInterrupted
from daleth.training.fingerprints import fingerprint
from daleth.training.log import JsonlWriter, Writer
from daleth.training.loop import fit
from daleth.training.trackers import TensorBoardWriter, WandbWriter

__all__ = [
    "JsonlWriter",
    "NonFiniteLossError",
    "TensorBoardWriter",
    "TrainingInterrupted",
    "WandbWriter",
    "Writer",
    "fingerprint",
    "fit",
]
