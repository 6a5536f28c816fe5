#!/usr/bin/env python3
"""Writes a fairseq translation checkpoint as files that nine_convert reads.

  fairseq_checkpoint.py checkpoint_best.pt --data data-bin/iwslt14 --to iwslt-fairseq
  nine_convert --from iwslt-fairseq --to iwslt

Needs PyTorch and safetensors, and neither fairseq nor omegaconf: it loads the checkpoint with
weights_only=True, which runs no code of the file. The new directory has the tensors under fairseq's
names (model.safetensors), the model's arguments (fairseq.json), and the dictionaries of the data
directory (src.dict.txt, tgt.dict.txt).
"""
import argparse
import json
import os
import pathlib
import shutil
import sys
import tempfile

import torch
from safetensors.torch import save_file


def load(path):
    """The checkpoint; of Python's own classes it may hold the arguments' alone."""
    torch.serialization.add_safe_globals([argparse.Namespace])
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # what torch.load raises differs between versions
        sys.exit(
            f"{path}: {error}\nOnly tensors, plain values and argparse.Namespace are read. If you "
            "trust the file, load it where fairseq is installed and save its 'model' and 'args'."
        )


def plain(arguments):
    """The arguments as JSON has them."""
    if isinstance(arguments, argparse.Namespace):
        arguments = vars(arguments)
    return {
        key: value
        for key, value in arguments.items()
        if isinstance(value, (bool, int, float, str)) or value is None
    }


def arguments_of(checkpoint, path):
    """Old checkpoints have `args`, those from 2020 on `cfg`, whose parts are dicts."""
    for place in (checkpoint.get("args"), (checkpoint.get("cfg") or {}).get("model")):
        if place is not None:
            return plain(place)
    sys.exit(f"{path} has neither 'args' nor 'cfg' with 'model': it is no checkpoint of fairseq")


def dictionary(data, language, option):
    if not language:
        sys.exit(f"the checkpoint does not say its languages: give {option}")
    path = data / f"dict.{language}.txt"
    if not path.is_file():
        sys.exit(f"{path} is not there: --data is the directory that fairseq-preprocess wrote")
    return path


def main():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("checkpoint", help="checkpoint_best.pt")
    p.add_argument("--data", required=True, help="directory with dict.SRC.txt and dict.TGT.txt")
    p.add_argument("--to", required=True, help="new directory")
    p.add_argument("--source-lang", help="default: that of the checkpoint")
    p.add_argument("--target-lang", help="default: that of the checkpoint")
    o = p.parse_args()
    to = pathlib.Path(o.to)
    if to.exists():
        sys.exit(f"{to} is there already, and it is not replaced: give another --to")
    checkpoint = load(o.checkpoint)
    if not isinstance(checkpoint, dict) or not isinstance(checkpoint.get("model"), dict):
        sys.exit(f"{o.checkpoint} has no 'model': it is no checkpoint of fairseq")
    arguments = arguments_of(checkpoint, o.checkpoint)
    task = plain((checkpoint.get("cfg") or {}).get("task") or {})
    languages = [
        given or arguments.get(key) or task.get(key)
        for given, key in ((o.source_lang, "source_lang"), (o.target_lang, "target_lang"))
    ]
    data = pathlib.Path(o.data)
    files = [
        dictionary(data, language, option)
        for language, option in zip(languages, ("--source-lang", "--target-lang"))
    ]
    tensors = {name: value.clone().contiguous() for name, value in checkpoint["model"].items()}
    to.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=to.parent, prefix=f".{to.name}.") as beside:
        new = pathlib.Path(beside) / "new"
        new.mkdir()
        save_file(tensors, new / "model.safetensors")
        (new / "fairseq.json").write_text(
            json.dumps({"args": arguments}, indent=2, sort_keys=True) + "\n", encoding="utf-8"
        )
        for file, name in zip(files, ("src.dict.txt", "tgt.dict.txt")):
            shutil.copyfile(file, new / name)
        os.rename(new, to)
    print(f"wrote {to}: {len(tensors)} tensors, {arguments.get('arch', 'transformer')}")


if __name__ == "__main__":
    main()
