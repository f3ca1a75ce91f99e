"""`daleth collect`."""

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tyro.conf import Positional, arg

from daleth.cli._arguments import AsJson, Seed
from daleth.cli._output import check_writable, show

if TYPE_CHECKING:
    from daleth.data import Trajectories


def collect(
    env: Annotated[Positional[str], arg(metavar="ENV")],
    steps: int,
    out: Annotated[Path, arg(metavar="FILE")],
    policy: str = "uniform",
    max_episode_steps: Annotated[int | None, arg(metavar="INT", help_behavior_hint="")] = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Collects trajectories of a policy, without rewards.

    Example: daleth collect windy --policy top --steps 100000 --out data.safetensors

    Args:
        env: corridor, linear-gaussian, pendulum, windy, or a Gymnasium id such as CartPole-v1.
            Settings follow a colon: corridor:num_positions=9,
            linear-gaussian:dimension=3,spectral_radius=0.9,
            pendulum:max_start_speed=8,action_noise=0.5.
        steps: the number of transitions in total.
        out: the file of the trajectories.
        policy: uniform; for windy also top and bottom; for pendulum also no-torque and
            sac:action_noise=2; or my_policies.py:function, of one observation or of (key, state).
        max_episode_steps: where episodes are cut; by default where the environment says.
        seed: of everything random.
        as_json: print one JSON object instead of text.
    """
    check_writable(out)
    from daleth.cli import _worlds
    from daleth.envs import registry

    # What a policy of the user prints is not our answer.
    with redirect_stdout(sys.stderr):
        name, settings = _worlds.with_settings(env)
        named = name in registry.environment_names()
        gather = _worlds.from_registry if named else _worlds.from_gymnasium
        data = gather(name, settings, policy, steps, seed, max_episode_steps)
    data.save(out)
    record = {"out": str(out), "env": env, "policy": policy, "seed": seed, **_sizes(data)}
    show(as_json, record, f"wrote {out}: {data}")


def _sizes(data: "Trajectories") -> dict[str, int]:
    return {
        "num_episodes": data.num_episodes,
        "num_frames": data.num_frames,
        "num_transitions": data.num_frames - data.num_episodes,
        "state_dim": data.state_dim,
    }
