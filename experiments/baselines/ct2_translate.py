#!/usr/bin/env python3
"""Opens a translation checkpoint of mt_train in CTranslate2 and translates with it.

The baseline of mt_translate's speed, and a second opinion on a checkpoint: with --beam 1 both
programs write the same words. CHECKPOINT has model.safetensors, config.json, src.dict.txt and
tgt.dict.txt; its head must be lin, and its layers those of mt_train's defaults, with --norm post or
pre. Any other model is an error. INPUT has a sentence a line, cut into subwords. Writes the
translations, and one JSON line to stderr: the speed of translating alone, and the process's memory.
"""
import argparse
import contextlib
import json
import math
import pathlib
import resource
import sys
import tempfile
import time

import ctranslate2
import texts
from ctranslate2.specs import transformer_spec
from safetensors.numpy import load_file

# What this program computes, by the keys of config.json; mt_train's options have the same names.
COMPUTED = {
    "task": ("mt",),
    "norm": ("post", "pre"),
    "activation": ("relu",),
    "positions": ("sinusoidal",),
    "norm_type": ("layer",),
    "layer_norm_eps": (1e-5,),
    "linear_bias": (True,),
    "kv_heads": (0,),
    "qk_norm": (False,),
    "head": ("lin",),
    "head_context": ("",),
    "word_norm": ("none",),
    "context_norm": ("none",),
    "raw": (False,),
}
NEEDED = ("dim", "heads", "encoder_layers", "decoder_layers", "embed_scale", "norm")
SPECIALS = ["<s>", "<pad>", "</s>", "<unk>"]  # ids 0 to 3, which the dictionaries do not have


class Checkpoint:
    def __init__(self, directory):
        directory = pathlib.Path(directory)
        self.directory = directory
        self.config = json.loads((directory / "config.json").read_text(encoding="utf-8"))
        self.check_config()
        self.weights = load_file(directory / "model.safetensors")
        self.unread = set(self.weights)
        self.source_words, self.target_words = (
            self.words(directory / f"{side}.dict.txt") for side in ("src", "tgt")
        )

    @staticmethod
    def words(path):
        with open(path, encoding="utf-8") as lines:
            return SPECIALS + [line.rsplit(" ", 1)[0] for line in lines]

    def refuse(self, why):
        sys.exit(
            f"{self.directory} {why}. `nine_convert --from CHECKPOINT --to FOLDER` writes more kinds "
            "of models for CTranslate2 (docs/models.md)"
        )

    def check_config(self):
        for key in NEEDED:
            if key not in self.config:
                self.refuse(f"is no checkpoint of mt_train: config.json has no key '{key}'")
        for key, known in COMPUTED.items():
            value = self.config.get(key, known[0])
            if value not in known:
                can = " or ".join(map(json.dumps, known))
                self.refuse(
                    f'has "{key}": {json.dumps(value)}, and this program computes {can} only'
                )
        if not math.isclose(self.config["embed_scale"], math.sqrt(self.config["dim"])):
            self.refuse("has embeddings with a factor other than the root of their width")

    def tensor(self, name):
        if name not in self.weights:
            self.refuse(f"has no tensor {name}")
        self.unread.discard(name)
        return self.weights[name].astype("float32", copy=False)

    def linear(self, spec, name):
        spec.weight = self.tensor(name + ".weight")
        spec.bias = self.tensor(name + ".bias")

    def layer_norm(self, spec, name):
        spec.gamma, spec.beta = self.tensor(name + ".weight"), self.tensor(name + ".bias")

    def attention(self, spec, name, of_encoder):
        """CTranslate2 has one product for queries, keys and values; towards the encoder one for
        queries, one for keys and values."""
        dim = self.config["dim"]
        parts = [slice(0, dim), slice(dim, 3 * dim)] if of_encoder else [slice(0, 3 * dim)]
        for linear, part in zip(spec.linear, parts):
            linear.weight = self.tensor(name + ".in_proj_weight")[part]
            linear.bias = self.tensor(name + ".in_proj_bias")[part]
        self.linear(spec.linear[-1], name + ".out_proj")

    def side(self, spec, name):
        decoder = name == "decoder"
        own = (
            "tgt_embedding.weight"
            if decoder or "src_embedding.weight" not in self.weights
            else "src_embedding.weight"
        )
        (spec.embeddings if decoder else spec.embeddings[0]).weight = self.tensor(own)
        spec.position_encodings.encodings = self.tensor("positions")
        spec.scale_embeddings = True
        if self.config["norm"] == "pre":
            self.layer_norm(spec.layer_norm, f"transformer.{name}.norm")
        for i, layer in enumerate(spec.layer):
            at = f"transformer.{name}.layers.{i}."
            self.attention(layer.self_attention, at + "self_attn", False)
            self.layer_norm(layer.self_attention.layer_norm, at + "norm1")
            if decoder:
                self.attention(layer.attention, at + "multihead_attn", True)
                self.layer_norm(layer.attention.layer_norm, at + "norm2")
            self.linear(layer.ffn.linear_0, at + "linear1")
            self.linear(layer.ffn.linear_1, at + "linear2")
            self.layer_norm(layer.ffn.layer_norm, at + ("norm3" if decoder else "norm2"))

    def save(self, directory):
        """Writes a new folder of CTranslate2."""
        c = self.config
        layers = c["encoder_layers"], c["decoder_layers"]
        spec = transformer_spec.TransformerSpec.from_config(
            layers, c["heads"], pre_norm=c["norm"] == "pre"
        )
        self.side(spec.encoder, "encoder")
        self.side(spec.decoder, "decoder")
        spec.decoder.projection.weight = self.tensor(
            "head.weight" if "head.weight" in self.weights else "tgt_embedding.weight"
        )
        if "head.bias" in self.weights:
            spec.decoder.projection.bias = self.tensor("head.bias")
        if self.unread:
            self.refuse(f"has tensors that this program does not read: {sorted(self.unread)}")
        spec.config.decoder_start_token = "</s>"
        spec.config.add_source_eos = True
        spec.register_source_vocabulary(self.source_words)
        spec.register_target_vocabulary(self.target_words)
        spec.validate()
        spec.optimize(quantization=None)
        pathlib.Path(directory).mkdir(exist_ok=True)
        spec.save(directory)

    def translator(self, device, compute_type, threads):
        with tempfile.TemporaryDirectory() as directory:
            self.save(directory)
            return ctranslate2.Translator(
                directory,
                device=device,
                compute_type=compute_type,
                inter_threads=1,
                intra_threads=threads,
            )


def main():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    p.add_argument("checkpoint")
    p.add_argument("input")
    p.add_argument("--output", default="-", help="-: standard output")
    p.add_argument("--beam", type=int, default=5)
    p.add_argument("--length-penalty", type=float, default=1.0, help="0: no division by length")
    p.add_argument("--max-length", type=int, default=200, help="of a translation, in subwords")
    p.add_argument("--batch", type=int, default=64, help="sentences at once")
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--device", default="cpu")
    p.add_argument("--compute", default="float32", help="CTranslate2's compute_type")
    o = p.parse_args()
    translator = Checkpoint(o.checkpoint).translator(o.device, o.compute, o.threads)
    sources = texts.sentences(o.input)
    begin = time.perf_counter()
    results = translator.translate_batch(
        sources,
        max_batch_size=o.batch,
        beam_size=o.beam,
        length_penalty=o.length_penalty,
        max_decoding_length=o.max_length,
    )
    seconds = time.perf_counter() - begin
    with (
        contextlib.nullcontext(sys.stdout)
        if o.output == "-"
        else open(o.output, "w", encoding="utf-8")
    ) as out:
        for result in results:
            print(" ".join(result.hypotheses[0]), file=out)
    print(
        json.dumps(
            {
                "system": "ctranslate2 " + ctranslate2.__version__,
                "beam": o.beam,
                "sentences": len(sources),
                "threads": o.threads,
                "sentences_per_s": len(sources) / seconds,
                "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            }
        ),
        file=sys.stderr,
    )


if __name__ == "__main__":
    main()
