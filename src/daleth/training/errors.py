"""How a run can end early."""

from daleth.models.base import Model


class NonFiniteLossError(FloatingPointError):
    """The loss or a parameter is no longer a finite number.

    Attributes:
        update: the number of the update after which this was seen.
    """

    def __init__(self, message: str, update: int):
        super().__init__(message)
        self.update = update


class TrainingInterrupted(KeyboardInterrupt):
    """Ctrl-C or SIGTERM ended a run between two chunks, after a checkpoint if there is a folder.

    Attributes:
        update: the number of updates that were done.
        model: the model after these updates.
    """

    def __init__(self, message: str, update: int, model: Model):
        super().__init__(message)
        self.update, self.model = update, model
