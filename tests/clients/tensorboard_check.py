#!/usr/bin/env python3
"""Opens event files with TensorBoard's own reader.

  tensorboard_check.py LM_TRAIN   trains a little, goes on, and compares what TensorBoard reads with log.jsonl
  tensorboard_check.py --record   prints the bytes that tests/apps/test_tensorboard.cpp holds

Exit 0 fine, 1 wrong, 77 skipped: TensorBoard is not installed (pip install tensorboard).
"""
import json
import math
import os
import struct
import subprocess
import sys
import tempfile

try:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.compat.proto import (
        event_pb2,
        summary_pb2,
        tensor_pb2,
        tensor_shape_pb2,
        types_pb2,
    )
    from tensorboard.summary.writer.record_writer import RecordWriter
except ImportError as error:
    print(f"skipped: TensorBoard's reader is not installed ({error}); pip install tensorboard")
    sys.exit(77)


def record():
    import io

    def show(name, message):
        print(name, message.SerializeToString(deterministic=True).hex())

    framed = io.BytesIO()
    RecordWriter(framed).write(b"abc")
    print("record", framed.getvalue().hex())
    Value, Event = summary_pb2.Summary.Value, event_pb2.Event
    show("version", Event(wall_time=1.5, file_version="brain.Event:2"))
    show(
        "start",
        Event(
            wall_time=1.5,
            step=300,
            session_log=event_pb2.SessionLog(status=event_pb2.SessionLog.START),
        ),
    )
    show(
        "scalar",
        Event(
            wall_time=2.5,
            step=70000,
            summary=summary_pb2.Summary(value=[Value(tag="valid/ppl", simple_value=18.25)]),
        ),
    )
    shape = tensor_shape_pb2.TensorShapeProto(dim=[tensor_shape_pb2.TensorShapeProto.Dim(size=1)])
    tensor = tensor_pb2.TensorProto(
        dtype=types_pb2.DT_STRING, tensor_shape=shape, string_val=[b"| a | b |"]
    )
    metadata = summary_pb2.SummaryMetadata(
        plugin_data=summary_pb2.SummaryMetadata.PluginData(plugin_name="text")
    )
    show(
        "text",
        Event(
            wall_time=2.5,
            summary=summary_pb2.Summary(value=[Value(tag="run", tensor=tensor, metadata=metadata)]),
        ),
    )


def single(x):
    return math.nan if x is None else struct.unpack("<f", struct.pack("<f", x))[0]


def same(a, b):
    return a == b or (math.isnan(a) and math.isnan(b))


def check(lm_train):
    with tempfile.TemporaryDirectory() as directory:
        run, board = os.path.join(directory, "run"), os.path.join(directory, "tb")
        command = [
            lm_train,
            "--sample",
            "--sample-sentences",
            "600",
            "--layers",
            "1",
            "--hidden",
            "16",
            "--embed",
            "16",
            "--batch",
            "8",
            "--bptt",
            "10",
            "--log-every",
            "10",
            "--save-every",
            "30u",
            "--keep",
            "9",
            "--run",
            run,
            "--tensorboard",
            board,
        ]
        subprocess.run(command + ["--after", "50u"], check=True, capture_output=True)
        # As if the run had been killed after step 50, before the checkpoint of step 50 was written.
        store = os.path.join(run, "checkpoints")
        subprocess.run(
            ["rm", "-rf", os.path.join(store, "00000050"), os.path.join(store, "best")], check=True
        )
        os.remove(os.path.join(store, "latest"))
        os.symlink("00000030", os.path.join(store, "latest"))
        subprocess.run(command + ["--after", "70u"], check=True, capture_output=True)

        got = EventAccumulator(board, size_guidance={"scalars": 0})
        got.Reload()
        tags = got.Tags()
        assert "run/text_summary" in tags["tensors"] or "run" in tags["tensors"], tags
        text = got.Tensors("run")[0].tensor_proto.string_val[0].decode()
        assert "| sample | true |" in text, text
        points = {tag: [(e.step, e.value) for e in got.Scalars(tag)] for tag in tags["scalars"]}
        compared = 0
        for line in map(json.loads, open(os.path.join(run, "log.jsonl"))):
            if line["event"] not in ("train", "valid"):
                continue
            for key, value in line.items():
                if key in ("event", "step", "time_s") or isinstance(value, bool):
                    continue
                found = [v for step, v in points[f"{line['event']}/{key}"] if step == line["step"]]
                assert len(found) == 1 and same(found[0], single(value)), (
                    line["event"],
                    key,
                    line["step"],
                    found,
                    value,
                )
                compared += 1
        for tag, values in points.items():
            steps = [step for step, _ in values]
            assert steps == sorted(set(steps)), (tag, steps)
        print(f"TensorBoard reads {compared} numbers of the log in {len(points)} tags, none twice")


record() if sys.argv[1:] == ["--record"] else check(sys.argv[1])
