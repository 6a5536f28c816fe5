"""Reads a trained model's files: its checkpoint, its tensors, its dictionary."""
import array
import json
import struct


def tensors(path, only=None):
    """{name: rows} of a safetensors file of float32, or of the names in `only`; a vector is one
    row."""
    whole = path.read_bytes()
    size = struct.unpack("<Q", whole[:8])[0]
    found = {}
    for name, entry in json.loads(whole[8 : 8 + size]).items():
        if name != "__metadata__" and (only is None or name in only):
            begin, end = entry["data_offsets"]
            flat = array.array("f", whole[8 + size + begin : 8 + size + end]).tolist()
            width = entry["shape"][-1]
            found[name] = [flat[i : i + width] for i in range(0, len(flat), width)]
    return found


def checkpoint(run):
    """Of a run's directory its best; a checkpoint itself as it is."""
    return run / "checkpoints" / "best" if (run / "checkpoints").exists() else run


def dictionary(directory):
    """The words of a checkpoint, in order of their numbers, from 2 on; 0 is </s>, 1 <unk>."""
    with open(directory / "dict.txt", encoding="utf-8", newline="\n") as lines:
        return [line.rpartition(" ")[0] for line in lines]
