"""What the occupancy is measured of, when it is not the state alone."""

import numpy as np

from daleth.data.trajectories import Trajectories


def state_action_trajectories(data: Trajectories) -> Trajectories:
    """Trajectories whose states are the vectors (state, action), `[N', d+a]`.

    A whole-number action enters as its number: encode it beforehand if numbers that lie close
    should not mean actions that are alike. In the final state of an episode no action was taken.
    If that state is absorbing it stays, with the action zero. Otherwise the pair is unknown: it
    is left out, the episode ends one step earlier, and an episode of one transition goes.
    Actions and rewards are left behind.
    """
    if data.actions is None:
        raise ValueError("occupancy_of='state-action' needs actions, these trajectories have none")
    actions = data.actions.reshape(data.num_frames, -1).astype(np.float32)
    lengths = data.lengths - ~data.terminated
    kept = lengths >= 2
    if not kept.any():
        raise ValueError("no episode has two pairs of state and action, so there is no transition")
    final = data.offsets[1:] - 1
    keep_row = np.repeat(kept, data.lengths)
    keep_row[final[~data.terminated]] = False
    actions[final] = 0
    return Trajectories(
        np.concatenate([data.states, actions], axis=1)[keep_row],
        np.append(0, np.cumsum(lengths[kept])),
        data.ends[kept],
    )
