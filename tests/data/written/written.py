#!/usr/bin/env python3
"""Writes the files beside it with the code of the programs whose names they have.

  written.py PACKAGES OUT

PACKAGES is a folder with the unpacked source packages of PyPI: openai_whisper-20250625,
whisper_timestamped-1.15.9, espnet-202511, fairseq-0.12.2. It needs torch, numba, tiktoken, tqdm,
more-itertools, typeguard and dtw-python. Whisper runs whole, with a small model of random weights.
Of ESPnet and fairseq the code that decodes and writes runs as it is, on hypotheses that stand here;
modules that it only imports are stand-ins, because the packages do not install under new Pythons.
"""
import ast
import contextlib
import importlib.util
import json
import logging
import math
import os
import sys
import types
import typing

import torch

WHISPER = dict(
    language="en",
    fp16=False,
    no_speech_threshold=None,
    logprob_threshold=None,
    compression_ratio_threshold=None,
    condition_on_previous_text=False,
    verbose=None,
)


def small_whisper():
    from whisper.model import ModelDimensions, Whisper

    torch.manual_seed(3)
    model = Whisper(ModelDimensions(80, 1500, 16, 2, 1, 51865, 448, 16, 2, 1)).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return model


def noise(seed, seconds):
    import numpy as np

    torch.manual_seed(seed)
    return np.random.RandomState(seed).randn(16000 * seconds).astype(np.float32) * 0.1


def write_whisper(packages, out):
    sys.path[:0] = [f"{packages}/openai_whisper-20250625", f"{packages}/whisper_timestamped-1.15.9"]
    from whisper.transcribe import transcribe
    from whisper.utils import get_writer
    import whisper_timestamped

    model = small_whisper()
    for run, temperature in ("1", 0.0), ("2", 0.8):
        folder = f"{out}/whisper-20250625/{run}"
        os.makedirs(folder)
        for name, seed in ("u1", 1), ("u2", 2):
            how = dict(WHISPER, temperature=temperature, sample_len=24, task="transcribe")
            result = transcribe(model, noise(seed, 8), word_timestamps=True, **how)
            get_writer("json", folder)(result, f"/audio/{name}.wav", {})
    how = dict(WHISPER, temperature=0.8, sample_len=16)
    result = whisper_timestamped.transcribe(small_whisper(), noise(1, 4), **how)
    with open(f"{out}/whisper-timestamped-1.15.9.json", "w", encoding="utf-8") as file:
        json.dump(result, file, indent=2, ensure_ascii=False)  # as its main() does


def parsed(path):
    with open(path, encoding="utf-8") as file:
        return ast.parse(file.read())


def run(nodes, path, names):
    exec(compile(ast.Module(nodes, []), path, "exec"), names)
    return names


class Attributes:
    def __init__(self, **values):
        self.__dict__.update(values)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return None


def write_espnet(packages, out):
    source = f"{packages}/espnet-202511"
    spec = importlib.util.spec_from_file_location(
        "datadir_writer", f"{source}/espnet2/fileio/datadir_writer.py"
    )
    writer = importlib.util.module_from_spec(spec)
    sys.modules["datadir_writer"] = writer
    spec.loader.exec_module(writer)
    lists = {
        "u2": [(" a  dog", -1.5), ("a dock", torch.tensor(-3.25))],
        "u1": [
            ("the cat", torch.tensor(-12.345678)),
            ("the bat", torch.tensor(-1.5e5)),
            ("the mat", torch.tensor(-math.inf)),
        ],
        "u3": None,
    }

    class TooShortUttError(Exception):
        pass

    def speech2text(speech):
        if lists[speech] is None:
            raise TooShortUttError("too short")
        return [
            (text, text.split(), range(len(text.split())), Attributes(score=score))
            for text, score in lists[speech]
        ]

    path = f"{source}/espnet2/bin/asr_inference.py"
    inference = next(n for n in parsed(path).body if getattr(n, "name", "") == "inference")
    run(
        [node for node in inference.body if isinstance(node, ast.With)],
        path,
        dict(
            DatadirWriter=writer.DatadirWriter,
            Hypothesis=Attributes,
            TooShortUttError=TooShortUttError,
            enh_s2t_task=False,
            loader=[((key,), {"speech": [key]}) for key in lists],
            logging=logging,
            multi_asr=False,
            nbest=3,
            output_dir=f"{out}/espnet-202511/output.1",
            speech2text=speech2text,
        ),
    )


def module(name, **values):
    new = types.ModuleType(name)
    new.__path__ = []
    new.__dict__.update(values)
    sys.modules[name] = new
    if "." in name:
        parent, own = name.rsplit(".", 1)
        setattr(sys.modules[parent], own, new)
    return new


def functions(path, names, *keep):
    tree = parsed(path)
    nodes = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name in keep]
    return run(nodes, path, names)


def write_fairseq(packages, out):
    source = f"{packages}/fairseq-0.12.2"
    module("fairseq")
    module("fairseq.file_io", PathManager=None)
    module("fairseq.file_chunker_utils", Chunker=None, find_offsets=None)
    tokenizer = f"{source}/fairseq/tokenizer.py"
    module("fairseq.tokenizer", **run(parsed(tokenizer).body, tokenizer, {}))
    module("fairseq.data")
    module(
        "fairseq.data.data_utils",
        **functions(f"{source}/fairseq/data/data_utils.py", {}, "post_process"),
    )
    names = {name: getattr(typing, name) for name in ("Callable", "Dict", "List", "Optional")}
    utils = module("fairseq.utils", torch=torch, os=os, **names)
    keep = "item strip_pad post_process_prediction split_paths resolve_max_positions _match_types"
    functions(f"{source}/fairseq/utils.py", utils.__dict__, *keep.split())
    dictionary = module("fairseq.data.dictionary")
    path = f"{source}/fairseq/data/dictionary.py"
    run(parsed(path).body, path, dictionary.__dict__)

    def words(text):
        made = dictionary.Dictionary()
        for word in text.split():
            made.add_symbol(word)
        return made

    german, english = words("ein hund sieht die kat@@ ze ."), words("a dog sees the c@@ at .")
    sources = ["ein hund sieht die kat@@ ze . </s>", "ein hund </s>", "die kat@@ ze . </s>"]
    targets = ["a dog sees the c@@ at . </s>", "a dog </s>", "a mouse . </s>"]
    lists = [
        [
            (targets[0], [-0.1, -0.2, -0.05, -0.3, -0.4, -0.01, -0.02, -0.001]),
            ("the dog sees a <unk> </s>", [-1.1, -0.25, -0.5, -0.35, -3.4, -0.1]),
        ],
        [("a dog </s>", [-0.5, -0.25, -0.125]), ("</s>", [-7.5])],
        [
            ("the c@@ at . </s>", [-0.75, -0.5, -0.25, -0.125, -0.0625]),
            ("a c@@ at . </s>", [-math.inf, -0.5, -0.25, -0.125, -0.0625]),
        ],
    ]

    def ids(made, text):
        return torch.tensor([made.index(word) for word in text.split()])

    def padded(made, texts):
        return torch.nn.utils.rnn.pad_sequence(
            [ids(made, text) for text in texts], batch_first=True, padding_value=made.pad()
        )

    batch = dict(
        id=torch.tensor([3, 0, 1]),
        nsentences=3,
        net_input=dict(src_tokens=padded(german, sources)),
        target=padded(english, targets),
    )

    def hypothesis(text, scores):
        return dict(
            tokens=ids(english, text),
            score=torch.tensor(sum(scores) / len(scores)),
            alignment=torch.tensor([[0, 0], [1, 1]]),
            positional_scores=torch.tensor(scores),
        )

    nothing = lambda *args, **more: None  # noqa: E731
    batches = Attributes(next_epoch_itr=lambda shuffle: [batch])
    task = Attributes(
        source_dictionary=german,
        target_dictionary=english,
        load_dataset=nothing,
        dataset=nothing,
        max_positions=lambda: (10, 10),
        get_batch_iterator=lambda **more: batches,
        build_generator=lambda *args, **more: types.SimpleNamespace(eos=english.eos()),
        build_tokenizer=nothing,
        build_bpe=nothing,
        inference_step=lambda *args, **more: [[hypothesis(*h) for h in own] for own in lists],
    )
    model = Attributes(prepare_for_inference_=nothing, max_positions=lambda: (10, 10))
    bleu = "BLEU4 = 50.00, 70.0/50.0/40.0/30.0 (BP=1.000, ratio=1.000, syslen=10, reflen=10)"
    scorer = types.SimpleNamespace(add=nothing, result_string=lambda: bleu)
    utils.import_user_module = utils.set_torch_seed = utils.load_align_dict = nothing
    settings = Attributes(
        common_eval=Attributes(path="model.pt", model_overrides="{}"),
        generation=Attributes(nbest=2, beam=3, print_alignment="hard", prefix_size=0),
        dataset=Attributes(max_tokens=12000, gen_subset="test"),
        distributed_training=Attributes(distributed_world_size=1, distributed_rank=0),
        common=Attributes(seed=1, cpu=True, log_format="none"),
        checkpoint=Attributes(checkpoint_suffix="", checkpoint_shard_count=1),
        task=Attributes(),
    )
    load = lambda *args, **more: ([model], settings)  # noqa: E731
    module("fairseq.checkpoint_utils", load_model_ensemble=load)
    module("fairseq.options")
    module("fairseq.scoring", build_scorer=lambda *args: scorer)
    module("fairseq.tasks", setup_task=lambda task_settings: task)
    module("fairseq.data.encoders")
    module("fairseq.dataclass")
    module("fairseq.dataclass.utils", convert_namespace_to_omegaconf=None)
    module("fairseq.dataclass.configs", FairseqConfig=None)
    module("fairseq.logging")

    class Shown(list):
        log = nothing

    meter = lambda: Attributes(avg=1.0, sum=1.0, n=10, start=nothing, stop=nothing, update=nothing)
    module("fairseq.logging.progress_bar", progress_bar=lambda batches, **more: Shown(batches))
    module("fairseq.logging.meters", StopwatchMeter=meter, TimeMeter=meter)
    module("omegaconf", DictConfig=None, open_dict=lambda _: contextlib.nullcontext())
    path = f"{source}/fairseq_cli/generate.py"
    generate = run(parsed(path).body, path, {"__name__": "generate"})
    with open(f"{out}/fairseq-0.12.2.txt", "w", encoding="utf-8") as file:
        generate["_main"](settings, file)


def main():
    packages, out = sys.argv[1:]
    os.makedirs(out, exist_ok=True)
    write_fairseq(packages, out)  # first: it decides where the log goes
    write_espnet(packages, out)
    write_whisper(packages, out)


if __name__ == "__main__":
    main()
