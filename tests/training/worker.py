"""Runs `fit` in one process after another, each forked from this one to save the imports.

Reads one line of JSON per run: the arguments of `fit`, a file for the `model` or for the
message of an interruption, and a folder where
compiled functions are kept, if any. Answers with the number of the process, and when that has
ended with its status: 0, or what killed it.
"""

import json
import os
import sys
from pathlib import Path

import jax
import orbax.checkpoint  # noqa: F401  imported here once, rather than in every run
from tiny_learner import TinyLearner, tiny_data

from daleth.training import TrainingInterrupted, fit

for line in sys.stdin:
    arguments = json.loads(line)
    path, cache = arguments.pop("model"), arguments.pop("cache", None)
    child = os.fork()
    if child == 0:
        if cache is not None:
            jax.config.update("jax_compilation_cache_dir", cache)
            jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
        try:
            fit(tiny_data(), TinyLearner(), **arguments).save(path)
            os._exit(0)
        except TrainingInterrupted as interruption:
            Path(path).write_text(str(interruption))
            os._exit(9)
    sys.stdout.write(f"{child}\n")
    sys.stdout.flush()
    sys.stdout.write(f"{os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}\n")
    sys.stdout.flush()
