"""`daleth describe`."""

from daleth.cli._arguments import AsJson, DataFile, Sources
from daleth.cli._output import show
from daleth.cli._questions import read_sources


def describe(data: DataFile, source: Sources = (), as_json: AsJson = False) -> None:
    """Says what a data file holds, and how near it comes to source states.

    Example: daleth describe data.safetensors --source 0,0
    """
    import numpy as np

    from daleth.data import Trajectories

    trajectories = Trajectories.load(data)
    sources = read_sources(source, trajectories.state_dim)
    description = trajectories.describe(np.stack(list(sources.values())) if sources else None)
    show(as_json, {"data": str(data), **description.to_dict()}, str(description))
