#!/usr/bin/env python3
"""Translation models of Nine in CTranslate2, and models of Marian and fairseq in Nine.

  ctranslate2_models.py BIN

1. nine_convert writes models of mt_train for CTranslate2: heads that are inner products or fold
   into one, layers of every kind that it writes, raw text. With beam 1 and 5 CTranslate2 writes the
   sentences of mt_translate, and its log-probabilities agree to 1e-4 a token. For the head lin,
   model.bin has the bytes that CTranslate2's own Python classes write.
2. Models of mt_train are written in Marian's names, as .npz, stored and deflated. CTranslate2's
   Marian converter reads them, and so does nine_convert. All write the same sentences. Marian's
   decoder starts from zeros, so the vector of </s> becomes 0 first.
3. The same with a .pt in fairseq's names, through experiments/baselines/fairseq_checkpoint.py and
   CTranslate2's fairseq converter. Python 3.11 cannot import fairseq 0.12.2: modules of this file
   stand in for it, with its names and its formula of positions.

Exit 0 fine, 1 wrong, 77 skipped: CTranslate2 or PyTorch is not installed.
"""
import argparse
import json
import math
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import types

try:
    import ctranslate2
    import numpy as np
    import torch
    from ctranslate2.converters import fairseq as fairseq_converter
    from ctranslate2.converters import marian as marian_converter
    from safetensors.numpy import load_file, save_file
    from torch import nn
except ImportError as error:
    print(f"skipped: CTranslate2 or PyTorch is not installed ({error})")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "experiments" / "baselines"))
import ct2_translate

BIN = sys.argv[1]
WORDS = {
    "der": "the", "die": "a", "hund": "dog", "katze": "cat", "sieht": "sees", "jagt": "chases",
    "alte": "old", "kleine": "small", "rote": "red", "und": "and", "heute": "today",
    "mann": "man", "frau": "woman", "nicht": "not", "schnell": "fast", "haus": "house",
    "im": "in", "garten": "garden",
}  # fmt: skip
END, DIM, HEADS = 2, 32, 4
failures = []


def check(good, what):
    if not good:
        print(f"WRONG: {what}")
        failures.append(what)


def run(program, *arguments, text=None):
    """Trains with AVX2 alone, so that every machine compares the same models. A search may
    meet a near tie, which the last bits of a machine's products decide."""
    isa = {"NINE_ISA": "avx2"} if program == "mt_train" else {}
    done = subprocess.run(
        [os.path.join(BIN, program), *map(str, arguments)],
        env=os.environ | isa,
        input=text,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def must(program, *arguments, text=None):
    code, out, error = run(program, *arguments, text=text)
    if code != 0:
        sys.exit(f"{program} {' '.join(map(str, arguments))}: {error}")
    return out


def sentences(count, seed):
    """Pairs of a small language: the order of each two words changes."""
    draw, pairs = random.Random(seed), []
    for _ in range(count):
        words = [draw.choice(list(WORDS)) for _ in range(draw.randint(2, 9))]
        turned = [WORDS[w] for w in words]
        for i in range(0, len(turned) - 1, 2):
            turned[i], turned[i + 1] = turned[i + 1], turned[i]
        pairs.append((" ".join(words), " ".join(turned)))
    return pairs


class Work:
    """A directory with texts; trains models there."""

    def __init__(self, directory):
        self.path = pathlib.Path(directory)
        train, test = sentences(1200, 1), sentences(60, 2)
        self.sources = [source for source, _ in test] + ["hund", "die die die die die die"]
        self.targets = [target for _, target in test] + ["dog", "a a"]
        for side, lines in (("src", [s for s, _ in train]), ("tgt", [t for _, t in train])):
            (self.path / side).write_text("\n".join(lines) + "\n", encoding="utf-8")
        for name, lines in (("test.src", self.sources), ("test.tgt", self.targets)):
            (self.path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
        self.count = 0

    def new(self):
        self.count += 1
        return self.path / str(self.count)

    def train(self, *options, after="8e"):
        run_path = self.new()
        must(
            *("mt_train", "--src", self.path / "src", "--tgt", self.path / "tgt"),
            *("--layers", 2, "--hidden", DIM, "--heads", HEADS, "--ffn", 48, "--dropout", 0.1),
            *("--batch-tokens", 600, "--lr", 4e-3, "--warmup", 40, "--after", after),
            *("--threads", 1, "--run", run_path, *options),
        )
        return run_path / "checkpoints" / "latest"

    def convert(self, model, *options):
        to = self.new()
        must("nine_convert", "--from", model, "--to", to, *options)
        return to

    def nine(self, model, beam):
        out = must(
            *("mt_translate", "--checkpoint", model, "--beam", beam, "--count-end"),
            *("--allow-unknown", "--threads", 1, "--input", self.path / "test.src"),
        )
        return out.splitlines()

    def nine_scores(self, model):
        out = must(
            *("mt_translate", "--checkpoint", model, "--input", self.path / "test.src"),
            *("--score-given", self.path / "test.tgt", "--threads", 1),
        )
        return [float(line) for line in out.splitlines()]


class Prose:
    """The tokens of a folder with a tokenizer.json; words without one."""

    def __init__(self, folder):
        self.tokenizer = None
        if (folder / "tokenizer.json").exists():
            from tokenizers import Tokenizer

            self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))

    def tokens(self, line):
        return self.tokenizer.encode(line).tokens if self.tokenizer else line.split()

    def text(self, tokens):
        if not self.tokenizer:
            return " ".join(tokens)
        return self.tokenizer.decode([self.tokenizer.token_to_id(t) for t in tokens])


def compare(name, work, model, folder, bound=1e-4, same=True):
    """CTranslate2 with `folder` writes what mt_translate writes with `model`."""
    translator = ctranslate2.Translator(
        str(folder), compute_type="float32", inter_threads=1, intra_threads=1
    )
    prose = Prose(folder)
    sources = [prose.tokens(line) for line in work.sources]
    distinct = 0
    for beam in (1, 5):
        results = translator.translate_batch(sources, beam_size=beam, max_decoding_length=200)
        theirs, ours = [prose.text(r.hypotheses[0]) for r in results], work.nine(model, beam)
        different = [(a, b) for a, b in zip(ours, theirs) if a != b]
        check(len(ours) == len(theirs), f"{name}: {len(ours)} lines, not {len(theirs)}")
        if same:
            check(not different, f"{name}, beam {beam}: {len(different)} lines: {different[:2]}")
        distinct = len(set(ours))
    check(distinct > 20, f"{name}: only {distinct} different translations")
    targets = [prose.tokens(line) for line in work.targets]
    theirs = translator.score_batch(sources, targets)
    worst = max(
        abs(ours - sum(score.log_probs)) / len(score.log_probs)
        for ours, score in zip(work.nine_scores(model), theirs)
    )
    check(worst < bound, f"{name}: log p of a token differs by {worst}")
    print(f"{name}: log p of a token differs by at most {worst:.2g}; {distinct} translations")


def same_as_baseline(name, checkpoint, folder, saved):
    """The bytes that CTranslate2's classes write with ct2_translate.py."""
    ct2_translate.Checkpoint(checkpoint).save(saved)
    same = (folder / "model.bin").read_bytes() == (saved / "model.bin").read_bytes()
    check(same, f"{name}: model.bin differs from that of CTranslate2's TransformerSpec")
    for file in sorted(saved.iterdir()):
        if file.suffix == ".json":
            ours, theirs = (json.loads(p.read_text("utf-8")) for p in (folder / file.name, file))
            check(ours == theirs, f"{name}: {file.name}: {ours}, not {theirs}")


def check_baseline(work, own, folder):
    """ct2_translate.py writes what nine_convert writes, or refuses the model."""
    same_as_baseline("--head-bias", own, folder, work.new())
    for options in [
        "--norm pre --no-tie-embeddings",
        "--shared-vocab",
        "--dtype float64 --encoder-layers 1",
    ]:
        model = work.train(*options.split(), after="2u")
        same_as_baseline(options, model, work.convert(model), work.new())
    script, given = pathlib.Path(ct2_translate.__file__), work.path / "test.src"
    for options in [
        *("--activation gelu", "--activation swiglu", "--qk-norm", "--layer-norm-eps 1e-3"),
        *("--kv-heads 2", "--norm-type rms", "--no-linear-bias", "--positions rotary"),
        *("--head log", "--head lin:scale=2", "--head-context tanh"),
        *("--word-norm uniform", "--context-norm max", "--raw --vocab-size 330"),
    ]:
        model = work.train(*options.split(), after="2u")
        code, out, error = run(sys.executable, script, model, given, "--output", "-")
        key = options.split()[0][2:].replace("-", "_")
        key = key.removeprefix("no_")
        check(code == 1 and not out and f'has "{key}": ' in error, f"{options}: {code} {error}")
    # What no key says is seen by the tensors.
    config = json.loads((own / "config.json").read_text("utf-8"))
    tensors, left = load_file(own / "model.safetensors"), "transformer.encoder.layers.0.new.weight"
    for name, changed in [
        (left, {**tensors, left: tensors["positions"]}),
        ("positions", {n: t for n, t in tensors.items() if n != "positions"}),
    ]:
        model = write_nine(work, own, changed, **config)
        code, out, error = run(sys.executable, script, model, given)
        check(code == 1 and not out and f"{name}" in error, f"{name}: {code} {error}")


def check_out(work):
    own = work.train("--head-bias")
    folder = work.convert(own)
    compare("lin", work, own, folder)
    check_baseline(work, own, folder)
    for dtype, bound in (("float16", 0.01), ("bfloat16", 0.1)):
        compare(f"lin, {dtype}", work, own, work.convert(own, "--dtype", dtype), bound, False)
    modern = "--norm pre --norm-type rms --no-linear-bias"
    for options in [
        "--norm pre --head-bias --no-tie-embeddings --activation gelu",
        "--shared-vocab --head lin:scale=2 --activation gelu-tanh --layer-norm-eps 1e-3",
        "--head pol:p=1:alpha=0.5 --dtype float64",
        "--head pow:p=2",
        "--head ssg:variance=0.5 --head-bias",
        "--head mog:form=sum:variance=0.5",
        "--head mog:form=sum:variance=2:components=4:scale=3 --head-bias --no-tie-embeddings",
        f"{modern} --activation geglu",
        f"{modern} --activation swiglu --positions rotary",
    ]:
        model = work.train(*options.split())
        compare(options, work, model, work.convert(model))
    raw = work.new()
    must(
        *("mt_train", "--raw", "--src", work.path / "src", "--tgt", work.path / "tgt"),
        *("--layers", 2, "--hidden", DIM, "--heads", HEADS, "--ffn", 48, "--vocab-size", 330),
        *("--batch-tokens", 900, "--lr", 4e-3, "--warmup", 40, "--after", "8e", "--threads", 1),
        *("--run", raw),
    )
    compare("--raw", work, raw, work.convert(raw))
    for options, said in [
        ("--head log", "the head log:p=2 has scores that are no inner products"),
        ("--head ssg", "has scores that are no inner products"),
        ("--head mix:2*lin", "is a mixture"),
        ("--kv-heads 2", "fewer heads of keys than of queries"),
    ]:
        model, to = work.train(*options.split(), after="2u"), work.new()
        code, _, error = run("nine_convert", "--from", model, "--to", to)
        check(code == 1 and said in error and not to.exists(), f"{options}: {code} {error}")


# The tensors of a checkpoint of mt_train, and words by their ids.


def own_tensors(model):
    tensors = load_file(model / "model.safetensors")
    for embedding, name in (("tgt", "head.weight"), ("tgt", "src_embedding.weight")):
        tensors.setdefault(name, tensors[f"{embedding}_embedding.weight"])
    words = [ct2_translate.Checkpoint.words(model / f"{side}.dict.txt") for side in ("src", "tgt")]
    return tensors, words


def spread(count, width, first):
    """Marian's and fairseq's sinusoids."""
    rates = np.exp(np.arange(width // 2) * -(math.log(10000) / (width // 2 - 1)))
    angles = (np.arange(count) + first)[:, None] * rates[None, :]
    return np.concatenate([np.sin(angles), np.cos(angles)], 1).astype(np.float32)


def write_nine(work, model, tensors, **keys):
    """A model that mt_translate opens, of tensors by Nine's names."""
    to = work.new()
    to.mkdir()
    save_file(
        {name: np.ascontiguousarray(t) for name, t in tensors.items()}, to / "model.safetensors"
    )
    (to / "config.json").write_text(json.dumps({"heads": HEADS, "head": "lin", **keys}))
    for name in ("src.dict.txt", "tgt.dict.txt"):
        (to / name).write_bytes((model / name).read_bytes())
    return to


def write_marian(path, tensors, words, config, save, tied):
    """The model in Marian's names. Row 0 is </s>, row 1 <unk>; gelu's maps are scaled."""
    gelu, out = config["transformer-ffn-activation"] == "gelu", {}
    suffix = "_pre" if config["transformer-preprocess"] == "n" else ""

    def norm(to, of, end):
        out[f"{to}_ln_scale{end}"] = tensors[of + ".weight"][None]
        out[f"{to}_ln_bias{end}"] = tensors[of + ".bias"][None]

    def linear(to, part, weight, bias, factor=1.0, of_bias=1.0):
        out[f"{to}_W{part}"] = np.ascontiguousarray(weight.T) * np.float32(factor)
        out[f"{to}_b{part}"] = bias[None] * np.float32(of_bias)

    for side in ("encoder", "decoder"):
        for i in range(2):
            of, to = f"transformer.{side}.layers.{i}.", f"{side}_l{i + 1}"
            attentions = [("self", "self_attn", "norm1")]
            if side == "decoder":
                attentions.append(("context", "multihead_attn", "norm2"))
            for theirs, ours, norm_name in attentions:
                weight, bias = (tensors[f"{of}{ours}.in_proj_{p}"] for p in ("weight", "bias"))
                for n, part in enumerate("qkv"):
                    rows = slice(n * DIM, (n + 1) * DIM)
                    linear(f"{to}_{theirs}", part, weight[rows], bias[rows])
                out_proj = f"{of}{ours}.out_proj"
                linear(
                    f"{to}_{theirs}",
                    "o",
                    tensors[out_proj + ".weight"],
                    tensors[out_proj + ".bias"],
                )
                norm(f"{to}_{theirs}_Wo", of + norm_name, suffix)
            inner = 1 / 1.702 if gelu else 1.0
            for part, factor, of_bias in (("1", inner, inner), ("2", 1 / inner, 1.0)):
                weight, bias = (tensors[f"{of}linear{part}.{p}"] for p in ("weight", "bias"))
                linear(f"{to}_ffn", part, weight, bias, factor, of_bias)
            norm(f"{to}_ffn_ffn", of + ("norm3" if side == "decoder" else "norm2"), suffix)
        if f"transformer.{side}.norm.weight" in tensors:
            norm(f"{side}_top", f"transformer.{side}.norm", "")
    rows = {side: [2, 3, *range(4, len(w))] for side, w in zip(("src", "tgt"), words)}
    out["encoder_Wemb"] = tensors["src_embedding.weight"][rows["src"]]
    out["decoder_Wemb"] = tensors["head.weight"][rows["tgt"]]  # the row of </s> is never read
    if not tied:
        out["decoder_Wemb"] = tensors["tgt_embedding.weight"][rows["tgt"]]
        out["decoder_ff_logit_out_W"] = np.ascontiguousarray(tensors["head.weight"][rows["tgt"]].T)
    if "head.bias" in tensors:
        out["decoder_ff_logit_out_b"] = tensors["head.bias"][rows["tgt"]][None]
    text = "".join(f"{key}: {json.dumps(value)}\n" for key, value in config.items())
    out["special:model.yml"] = np.frombuffer(text.encode() + b"\0", dtype=np.int8)
    save(path, **out)
    for side, own in zip(("src", "tgt"), words):
        lines = [f'"{word}": {row}\n' for row, word in enumerate(["</s>", "<unk>", *own[4:]])]
        (path.parent / f"vocab.{side}.yml").write_text("".join(lines), encoding="utf-8")


def check_marian(work):
    for norm, activation, theirs, tied, save in [
        ("post", "relu", "relu", True, np.savez),
        ("pre", "silu", "swish", False, np.savez_compressed),
        ("post", "silu", "gelu", True, np.savez_compressed),
    ]:
        name = f"Marian, {norm}, {theirs}"
        bias = ("--head-bias",) if norm == "post" else ()
        model = work.train("--norm", norm, "--activation", activation, *bias)
        tensors, words = own_tensors(model)
        start = tensors["tgt_embedding.weight"] = tensors["tgt_embedding.weight"].copy()
        start[END] = 0
        config = {
            "type": "transformer",
            "dim-emb": DIM,
            "dim-vocabs": [len(w) - 2 for w in words],
            "enc-depth": 2,
            "dec-depth": 2,
            "transformer-heads": HEADS,
            "transformer-ffn-activation": theirs,
            "transformer-ffn-depth": 2,
            "transformer-preprocess": "n" if norm == "pre" else "",
            "transformer-postprocess": "da" if norm == "pre" else "dan",
            "transformer-postprocess-top": "n" if norm == "pre" else "",
            "transformer-postprocess-emb": "d",
            "transformer-decoder-autoreg": "self-attention",
            "transformer-no-projection": False,
            "transformer-train-positions": False,
            "transformer-guided-alignment-layer": "last",
            "transformer-tied-layers": [],
            "tied-embeddings": tied,
            "vocabs": ["/elsewhere/vocab.src.yml", "/elsewhere/vocab.tgt.yml"],
        }
        place = work.new()
        place.mkdir()
        file, vocabs = place / "model.npz", [place / f"vocab.{s}.yml" for s in ("src", "tgt")]
        write_marian(file, tensors, words, config, save, tied)
        keys = {"norm": norm, "activation": activation}
        # The converter as it is: it makes Nine's sinusoids, and CTranslate2 has the eps 1e-5.
        converter = marian_converter.MarianConverter(str(file), list(map(str, vocabs)))
        folder = work.new()
        converter.convert(str(folder))
        excluded = dict(tensors)
        excluded["head.bias"] = tensors.get("head.bias", np.zeros(len(words[1]), np.float32)).copy()
        excluded["head.bias"][:2] = -np.inf  # Marian has no <s> and no <pad>
        compare(name, work, write_nine(work, model, excluded, **keys), folder)
        # Marian's own sinusoids and eps (its layers/generic.h and graph/node_initializers.cpp).
        table = marian_converter._make_sinusoidal_position_encodings
        marian_converter._make_sinusoidal_position_encodings = lambda dim, count=2048: spread(
            count, dim, 0
        )
        folder = work.new()
        converter.convert(str(folder))
        marian_converter._make_sinusoidal_position_encodings = table
        settings = json.loads((folder / "config.json").read_text("utf-8"))
        (folder / "config.json").write_text(json.dumps({**settings, "layer_norm_epsilon": 1e-6}))
        read = work.convert(file)
        compare(f"{name}, read by nine_convert", work, read, folder)
        again = work.convert(read)
        compare(f"{name}, and written by it", work, read, again)
        refuse_other_order(work, read)
    refuse_marian(work, file, tensors, words, config)


def refuse_other_order(work, model):
    """The weights of a converted model know the order of the words."""
    to = work.new()
    shutil.copytree(model, to)
    lines = (to / "tgt.dict.txt").read_text("utf-8").splitlines()
    (to / "tgt.dict.txt").write_text("\n".join(reversed(lines)) + "\n", encoding="utf-8")
    code, _, error = run("mt_translate", "--checkpoint", to, text="a\n")
    said = "is of another model than the dictionary in"
    check(code == 1 and said in error, f"words in another order: {code} {error}")


def refuse_marian(work, file, tensors, words, config):
    short = '"</s>": 0\n"<unk>": 1\n"dog": 2\n'
    (file.parent / "short.yml").write_text(short, encoding="utf-8")
    for change, said in [
        ({"type": "s2s"}, "the key 'type' is 's2s', and Nine has transformer alone"),
        ({"transformer-postprocess": "dhn"}, "'transformer-postprocess' is 'dhn'"),
        ({"transformer-ffn-activation": "tanh"}, "'transformer-ffn-activation' is 'tanh'"),
        ({"transformer-postprocess-emb": "n"}, "no norm of embeddings"),
        ({"enc-depth": 3}, "lacks the tensor 'encoder_l3_self_Wq'"),
        ({"enc-depth": 1}, "does not read the tensor 'encoder_l2_"),
        ({"dim-emb": 64}, "the key 'dim-emb' is 64, and the tensors have 32"),
        ({"transformer-heads": 5}, "heads"),
        ({"vocabs": ["vocab.src.yml", "short.yml"]}, "short.yml has 3 words, and the model has"),
        ({"vocabs": ["vocab.src.yml", "none.yml"]}, "none.yml"),
    ]:
        changed = {**config, **change}
        plain = {**changed, "transformer-ffn-activation": "relu"}
        write_marian(file, tensors, words, plain, np.savez, True)
        arrays = dict(np.load(file))
        text = "".join(f"{key}: {json.dumps(value)}\n" for key, value in changed.items())
        arrays["special:model.yml"] = np.frombuffer(text.encode() + b"\0", dtype=np.int8)
        np.savez(file, **arrays)
        to = work.new()
        code, _, error = run("nine_convert", "--from", file, "--to", to)
        check(code == 1 and said in error and not to.exists(), f"Marian {change}: {code} {error}")

    for value in (np.nan, np.inf, -np.inf):
        write_marian(file, tensors, words, config, np.savez, True)
        arrays = dict(np.load(file))
        name = "encoder_l1_self_Wq"
        arrays[name] = np.array(arrays[name])
        arrays[name][0, 1] = value
        np.savez(file, **arrays)
        to = work.new()
        code, _, error = run("nine_convert", "--from", file, "--to", to)
        said = f"tensor '{name}' has {value} at [0, 1], but a model's weights must be finite"
        check(code == 1 and said in error and not to.exists(), f"Marian {value}: {code} {error}")


# Modules with fairseq's names: what CTranslate2's converter and a checkpoint see of fairseq.


class Positions(nn.Module):
    def __init__(self, count):
        super().__init__()
        self.padding_idx = 1
        table = torch.zeros(count + 2, DIM)
        table[2:] = torch.from_numpy(spread(count, DIM, 2))
        self.weights = table
        self.register_buffer("_float_tensor", torch.zeros(1))


def attention():
    module = nn.Module()
    for part in ("k_proj", "v_proj", "q_proj", "out_proj"):
        setattr(module, part, nn.Linear(DIM, DIM))
    return module


class Layer(nn.Module):
    def __init__(self, ffn, decodes):
        super().__init__()
        self.self_attn, self.self_attn_layer_norm = attention(), nn.LayerNorm(DIM)
        if decodes:
            self.encoder_attn, self.encoder_attn_layer_norm = attention(), nn.LayerNorm(DIM)
        self.fc1, self.fc2 = nn.Linear(DIM, ffn), nn.Linear(ffn, DIM)
        self.final_layer_norm = nn.LayerNorm(DIM)


class Side(nn.Module):
    def __init__(self, args, words, decodes):
        super().__init__()
        self.register_buffer("version", torch.Tensor([3]))
        self.embed_tokens = nn.Embedding(words, DIM, padding_idx=1)
        self.embed_positions, self.embed_scale = Positions(1024), math.sqrt(DIM)
        self.layers = nn.ModuleList(Layer(args.encoder_ffn_embed_dim, decodes) for _ in range(2))
        self.layer_norm = nn.LayerNorm(DIM) if args.encoder_normalize_before else None
        self.layernorm_embedding = self.project_in_dim = self.project_out_dim = None
        if decodes:
            self.output_projection = nn.Linear(DIM, words, bias=False)


class Fairseq(nn.Module):
    def __init__(self, args, words):
        super().__init__()
        self.encoder = Side(args, len(words[0]), False)
        self.decoder = Side(args, len(words[1]), True)


def fairseq_state(tensors, model):
    """Our tensors by fairseq's names."""
    state = model.state_dict()

    def put(name, value):
        assert name in state and state[name].shape == value.shape, name
        state[name] = torch.from_numpy(np.ascontiguousarray(value))

    def both(to, of):
        for part in ("weight", "bias"):
            put(f"{to}.{part}", tensors[f"{of}.{part}"])

    put("encoder.embed_tokens.weight", tensors["src_embedding.weight"])
    put("decoder.embed_tokens.weight", tensors["tgt_embedding.weight"])
    put("decoder.output_projection.weight", tensors["head.weight"])
    for side in ("encoder", "decoder"):
        for i in range(2):
            of, to = f"transformer.{side}.layers.{i}.", f"{side}.layers.{i}."
            attentions = [("self_attn", "self_attn", "norm1")]
            if side == "decoder":
                attentions.append(("encoder_attn", "multihead_attn", "norm2"))
            for theirs, ours, norm in attentions:
                for part in ("weight", "bias"):
                    whole = tensors[f"{of}{ours}.in_proj_{part}"]
                    for n, proj in enumerate(("q_proj", "k_proj", "v_proj")):
                        put(f"{to}{theirs}.{proj}.{part}", whole[n * DIM : (n + 1) * DIM])
                both(f"{to}{theirs}.out_proj", f"{of}{ours}.out_proj")
                both(f"{to}{theirs}_layer_norm", of + norm)
            both(to + "fc1", of + "linear1")
            both(to + "fc2", of + "linear2")
            both(to + "final_layer_norm", of + ("norm3" if side == "decoder" else "norm2"))
        if f"transformer.{side}.norm.weight" in tensors:
            both(f"{side}.layer_norm", f"transformer.{side}.norm")
    return state


def stand_in(words):
    """A module `fairseq` with what the converter imports."""
    module = types.ModuleType("fairseq")
    sides = [types.SimpleNamespace(symbols=w) for w in words]
    task = types.SimpleNamespace(source_dictionary=sides[0], target_dictionary=sides[1])
    module.tasks = types.SimpleNamespace(setup_task=lambda args: task)
    module.models = types.SimpleNamespace(
        ARCH_MODEL_NAME_REGISTRY={"transformer": "transformer"},
        build_model=lambda args, task: Fairseq(args, words),
    )
    module.checkpoint_utils = types.SimpleNamespace()
    sys.modules["fairseq"] = module


def check_fairseq(work):
    torch.serialization.add_safe_globals([argparse.Namespace])
    for norm, activation, theirs, tie in [
        ("post", "relu", "relu", ()),
        ("pre", "gelu", "gelu", ("--no-tie-embeddings",)),
        ("post", "gelu-tanh", "gelu_accurate", ("--shared-vocab",)),
    ]:
        name = f"fairseq, {norm}, {theirs}"
        model = work.train("--norm", norm, "--activation", activation, *tie)
        tensors, words = own_tensors(model)
        shared = "--shared-vocab" in tie
        args = argparse.Namespace(
            arch="transformer",
            encoder_layers=2,
            decoder_layers=2,
            encoder_embed_dim=DIM,
            decoder_embed_dim=DIM,
            encoder_ffn_embed_dim=48,
            decoder_ffn_embed_dim=48,
            encoder_attention_heads=HEADS,
            decoder_attention_heads=HEADS,
            encoder_normalize_before=norm == "pre",
            decoder_normalize_before=norm == "pre",
            activation_fn=theirs,
            share_all_embeddings=shared,
            share_decoder_input_output_embed="--no-tie-embeddings" not in tie,
            source_lang="de",
            target_lang="en",
        )
        state = fairseq_state(tensors, Fairseq(args, words))
        place = work.new()
        place.mkdir()
        file = place / "checkpoint_best.pt"
        torch.save({"args": args, "cfg": None, "model": state}, file)
        for side, language in (("src", "de"), ("tgt", "en")):
            text = (model / f"{side}.dict.txt").read_bytes()
            (place / f"dict.{language}.txt").write_bytes(text)
        stand_in(words)
        folder = work.new()
        fairseq_converter.FairseqConverter(str(file), str(place)).convert(str(folder))
        script, exported = ROOT / "experiments/baselines/fairseq_checkpoint.py", work.new()
        subprocess.run(
            [sys.executable, script, file, "--data", place, "--to", exported],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        read = work.convert(exported)
        compare(f"{name}, read by nine_convert", work, read, folder)
        compare(f"{name}, and written by it", work, read, work.convert(read))
        moved = {**tensors, "positions": spread(1024, DIM, 2)}
        if shared:
            del moved["src_embedding.weight"]
        if "--no-tie-embeddings" not in tie:
            del moved["head.weight"]
        own = write_nine(work, model, moved, norm=norm, activation=activation)
        check(work.nine(own, 5) == work.nine(read, 5), f"{name}: our own tensors differ")
    path = exported / "fairseq.json"
    right = json.loads(path.read_text(encoding="utf-8"))
    for change, said in [
        ({"layernorm_embedding": True}, "the key 'layernorm_embedding' is true"),
        ({"activation_fn": "tanh"}, "the key 'activation_fn' is 'tanh'"),
        ({"decoder_normalize_before": True}, "'decoder_normalize_before' differ"),
        ({"encoder_layers": 3}, "lacks the tensor 'encoder.layers.2."),
        ({"encoder_layers": 1}, "does not read the tensor 'encoder.layers.1."),
    ]:
        path.write_text(json.dumps({"args": {**right["args"], **change}}), encoding="utf-8")
        to = work.new()
        code, _, error = run("nine_convert", "--from", exported, "--to", to)
        check(code == 1 and said in error and not to.exists(), f"fairseq {change}: {code} {error}")


def main():
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as directory:
        work = Work(directory)
        for part in (check_out, check_marian, check_fairseq):
            part(work)
    print(f"ctranslate2 {ctranslate2.__version__}:", "wrong" if failures else "fine")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
