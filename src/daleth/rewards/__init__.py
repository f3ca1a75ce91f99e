"""Rewards: functions of states, and the ways to write one down.

`parse` reads whatever a user typed; the other functions make one kind of reward each.
"""

from daleth.rewards.expression import from_expression
from daleth.rewards.grid import from_grid, load_grid
from daleth.rewards.python_file import from_file
from daleth.rewards.text import from_name, parse
from daleth.rewards.values import reward_values, values_on_host

__all__ = [
    "from_expression",
    "from_file",
    "from_grid",
    "from_name",
    "load_grid",
    "parse",
    "reward_values",
    "values_on_host",
]
