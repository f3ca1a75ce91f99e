"""Writers for TensorBoard, read back by TensorBoard, and for a stand-in of Weights & Biases."""

import sys
from types import ModuleType, SimpleNamespace

import pytest

from daleth.training import TensorBoardWriter, WandbWriter, Writer


def test_tensorboard_reads_what_was_written_and_forgets_what_was_written_again(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    for begin, updates in ((0, (10, 20, 30)), (20, (30, 40))):
        writer = TensorBoardWriter(tmp_path)
        assert isinstance(writer, Writer)
        writer.begin(begin)
        for update in updates:
            writer.write(update, {"loss": float(update + begin), "eval/w1": 0.5})
        writer.close()
    events = EventAccumulator(str(tmp_path)).Reload()
    assert [(e.step, e.value) for e in events.Scalars("loss")] == [
        (10, 10.0),
        (20, 20.0),
        (30, 50.0),
        (40, 60.0),
    ]
    assert events.Tags()["scalars"] == ["loss", "eval/w1"]


def test_wandb_gets_every_line_at_its_update(monkeypatch):
    calls = []
    run = SimpleNamespace(
        log=lambda numbers, step: calls.append((step, numbers)),
        finish=lambda: calls.append("finish"),
    )
    fake = ModuleType("wandb")
    vars(fake)["init"] = lambda **options: calls.append(options) or run
    monkeypatch.setitem(sys.modules, "wandb", fake)
    writer = WandbWriter("measures", mode="offline")
    assert isinstance(writer, Writer)
    writer.begin(0)
    writer.write(10, {"loss": 1.0})
    writer.close()
    assert calls == [{"project": "measures", "mode": "offline"}, (10, {"loss": 1.0}), "finish"]


@pytest.mark.parametrize(
    ("module", "make"),
    [
        ("wandb", lambda tmp_path: WandbWriter("measures")),
        ("tensorboard.summary.writer.event_file_writer", TensorBoardWriter),
    ],
)
def test_a_missing_package_names_the_extra(module, make, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, module, None)
    name = module.partition(".")[0]
    with pytest.raises(ImportError, match=rf'this needs {name}: pip install "daleth\[track\]"'):
        make(tmp_path)
