#!/usr/bin/env python3
"""GGUF files of nine_convert in llama.cpp.

  llama_cpp_check.py BIN

lm_train trains models of GPT-2's, Llama's and Qwen3's shape on raw text, with the splits of GPT-2
and Llama 3. llama.cpp opens the files of each type: it cuts texts into the same ids, gives the
log-probabilities of lm_score and, in float32, continues texts greedily token for token. The package
gguf reads the same numbers as are in the folder that nine_convert writes for transformers.

Exit 0 fine, 1 wrong, 77 skipped: llama-cpp-python or gguf is not installed.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import gguf
    import numpy as np
    from llama_cpp import Llama, llama_cpp
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer
except ImportError as error:
    print(f"skipped: llama-cpp-python or gguf is not installed ({error})")
    sys.exit(77)

BIN = sys.argv[1]
TEXTS = ["the old king was here.", "Once upon a time, 1,234 cats saw the dog!", " zwölf Boxkämpfer"]
CORPUS = TEXTS * 3 + [
    "a cat saw the dog and the dog saw a cat",
    "the king is old, the time is here",
]
# The largest difference of log p. llama.cpp rounds gelu-tanh to float16, and the inputs of products
# with matrices of q8_0 to 8 bits.
CLOSE = {"float32": 1e-4, "float16": 2e-3, "q8_0": 0.03}
failures = []


def check(good, what):
    if not good:
        print(f"WRONG: {what}")
        failures.append(what)


def run(program, *arguments, text=""):
    done = subprocess.run(
        [os.path.join(BIN, program), *arguments],
        input=text,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    check(done.returncode == 0, f"{program}: {done.stderr}")
    return done.stdout


def opened(file):
    return Llama(
        model_path=file,
        n_ctx=64,
        n_threads=1,
        logits_all=True,
        flash_attn=False,
        type_k=llama_cpp.GGML_TYPE_F32,
        type_v=llama_cpp.GGML_TYPE_F32,
        verbose=False,
    )


def logits_of(model, ids):
    model.reset()
    model.eval(ids)
    return np.array(model.scores[: len(ids)], dtype=np.float64)


def log_softmax(x):
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def greedy(model, ids, count):
    ids = list(ids)
    while len(ids) < count:
        token = int(logits_of(model, ids)[-1].argmax())
        if token == model.token_eos():
            break
        ids.append(token)
    return ids


def compare(name, place, tokenizer, dtype, limit):
    """log p of each token, ids and, in float32, continuations."""
    file = f"{place}-{dtype}.gguf"
    run("nine_convert", "--from", place, "--to", file, "--dtype", dtype)
    model = opened(file)
    text = "".join(line + "\n" for line in TEXTS)
    scores = run("lm_score", "--checkpoint", place, "--tokens", text=text).splitlines()
    worst = 0.0
    for line, ours in zip(TEXTS, scores):
        ids = model.tokenize((line + "\n").encode(), add_bos=True, special=False)
        wanted = tokenizer.encode(line + "\n").ids
        check(ids == wanted, f"{name}, {dtype}: the ids {ids}, not {wanted}")
        log_p = log_softmax(logits_of(model, wanted[:-1]))
        theirs = log_p[np.arange(len(wanted) - 1), wanted[1:]]
        worst = max(worst, *np.abs(theirs - [float(x) for x in ours.split()]))
    check(worst < limit, f"{name}, {dtype}: log p differs by {worst}")
    print(f"{name}, {dtype}: log p differs by at most {worst:.2g}")
    if dtype != "float32":
        return
    prompt = tokenizer.encode("the old").ids
    theirs = greedy(model, prompt, len(prompt) + 20)
    options = ["--generate", "--temperature", "0", "--max-words", "20"]
    ours = run("lm_score", "--checkpoint", place, *options, text="the old\n")
    wanted = tokenizer.decode(theirs)
    check(ours.rstrip("\n") == wanted.rstrip("\n"), f"{name}: generated {ours!r}, not {wanted!r}")
    own = model.create_completion("the old", max_tokens=20, temperature=0)["choices"][0]["text"]
    check(("the old" + own).rstrip("\n") == wanted.rstrip("\n"), f"{name}: completed with {own!r}")


def same_numbers(name, place, folder):
    """The package gguf reads the file; its float32 tables are those of the folder."""
    reader = gguf.GGUFReader(f"{place}-float32.gguf")
    tensors = {tensor.name: tensor.data for tensor in reader.tensors}
    theirs = load_file(os.path.join(folder, "model.safetensors"))
    for ours, key in [
        ("token_embd.weight", "wte.weight"),
        ("token_embd.weight", "embed_tokens.weight"),
    ]:
        for other, table in theirs.items():
            if other.endswith(key):
                check(np.array_equal(tensors[ours], table), f"{name}: {ours} is not {other}")
    small = gguf.GGUFReader(f"{place}-q8_0.gguf")
    for tensor in small.tensors:
        if tensor.tensor_type != gguf.GGMLQuantizationType.Q8_0:
            continue
        again = gguf.quantize(tensors[tensor.name], gguf.GGMLQuantizationType.Q8_0)
        check(np.array_equal(tensor.data, again), f"{name}: q8_0 of {tensor.name} differs")


def train(directory, name, split, options):
    place = os.path.join(directory, name)
    text, tokenizer = place + ".txt", place + ".json"
    pathlib.Path(text).write_text("\n".join(CORPUS * 20) + "\n", encoding="utf-8")
    learn = ["learn", "--bytes", "--vocab-size", "300", "--split", split]
    run("bpe", *learn, "--input", text, "--output", tokenizer)
    shape = "--arch transformer --layers 2 --hidden 64 --heads 4 --ffn 96 --bptt 64 --no-head-bias"
    more = f"--batch 4 --lr 0.01 --after 40u --tokenizer {tokenizer}"
    run("lm_train", "--text", text, "--run", place, *f"{shape} {more} {options}".split())
    return place


def main():
    llama = "--activation swiglu --positions rotary --norm-type rms --no-linear-bias"
    llama3 = "llama3:factor=8,low=1,high=4,length=32"
    cases = [
        ("gpt2", "gpt2", "--activation gelu-tanh --tie-embeddings"),
        ("llama", "llama3", f"{llama} --kv-heads 2 --head lin:scale=2"),
        ("qwen3", "gpt2", f"{llama} --qk-norm --tie-embeddings"),
        ("linear", "gpt2", f"{llama} --rotary-base 100 --rotary-scaling linear:4"),
        ("llama3", "llama3", f"{llama} --rotary-base 30 --rotary-scaling {llama3}"),
    ]
    with tempfile.TemporaryDirectory() as directory:
        for name, split, options in cases:
            place = train(directory, name, split, options)
            run("nine_convert", "--from", place, "--to", place + "-hf")
            tokenizer = Tokenizer.from_file(os.path.join(place + "-hf", "tokenizer.json"))
            for dtype, limit in CLOSE.items():
                compare(name, place, tokenizer, dtype, limit)
            same_numbers(name, place, place + "-hf")
            # From the folder for transformers the same file comes out.
            run("nine_convert", "--from", place + "-hf", "--to", place + "-hf.gguf")
            same = pathlib.Path(place + "-float32.gguf").read_bytes()
            check(pathlib.Path(place + "-hf.gguf").read_bytes() == same, f"{name}: another file")
    print("wrong" if failures else "fine")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
