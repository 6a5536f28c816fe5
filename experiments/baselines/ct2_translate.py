#!/usr/bin/env python3
"""Opens a translation checkpoint of mt_train in CTranslate2 and translates with it.

The baseline of mt_translate's speed, and a second opinion on a checkpoint: with --beam 1 both
programs write the same words. CHECKPOINT has model.safetensors, config.json, src.dict.txt and
tgt.dict.txt; its head must be lin. INPUT has a sentence a line, cut into subwords. Writes the
translations, and one JSON line to stderr: the speed of translating alone, and the process's memory.
"""
import argparse
import contextlib
import json
import pathlib
import resource
import sys
import tempfile
import time

import ctranslate2
from ctranslate2.specs import transformer_spec
from safetensors.numpy import load_file

SPECIALS = ["<s>", "<pad>", "</s>", "<unk>"]  # ids 0 to 3, which the dictionaries do not have


class Checkpoint:
    def __init__(self, directory):
        directory = pathlib.Path(directory)
        self.config = json.loads((directory / "config.json").read_text(encoding="utf-8"))
        self.weights = load_file(directory / "model.safetensors")
        self.source_words, self.target_words = (
            self.words(directory / f"{side}.dict.txt") for side in ("src", "tgt")
        )

    @staticmethod
    def words(path):
        with open(path, encoding="utf-8") as lines:
            return SPECIALS + [line.rsplit(" ", 1)[0] for line in lines]

    def linear(self, spec, name):
        spec.weight = self.weights[name + ".weight"]
        if name + ".bias" in self.weights:
            spec.bias = self.weights[name + ".bias"]

    def layer_norm(self, spec, name):
        spec.gamma, spec.beta = self.weights[name + ".weight"], self.weights[name + ".bias"]

    def attention(self, spec, name, of_encoder):
        """CTranslate2 has one product for queries, keys and values; towards the encoder one for
        queries, one for keys and values."""
        dim = self.config["dim"]
        parts = [slice(0, dim), slice(dim, 3 * dim)] if of_encoder else [slice(0, 3 * dim)]
        for linear, part in zip(spec.linear, parts):
            linear.weight = self.weights[name + ".in_proj_weight"][part]
            linear.bias = self.weights[name + ".in_proj_bias"][part]
        self.linear(spec.linear[-1], name + ".out_proj")

    def side(self, spec, name):
        decoder = name == "decoder"
        own = (
            "tgt_embedding.weight"
            if decoder or "src_embedding.weight" not in self.weights
            else "src_embedding.weight"
        )
        (spec.embeddings if decoder else spec.embeddings[0]).weight = self.weights[own]
        spec.position_encodings.encodings = self.weights["positions"]
        spec.scale_embeddings = self.config["embed_scale"] != 1
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
        if c.get("head", "lin") != "lin":
            sys.exit(f"CTranslate2 has inner products only, not --head {c['head']}")
        layers = c["encoder_layers"], c["decoder_layers"]
        spec = transformer_spec.TransformerSpec.from_config(
            layers, c["heads"], pre_norm=c["norm"] == "pre"
        )
        self.side(spec.encoder, "encoder")
        self.side(spec.decoder, "decoder")
        spec.decoder.projection.weight = self.weights[
            "head.weight" if "head.weight" in self.weights else "tgt_embedding.weight"
        ]
        if "head.bias" in self.weights:
            spec.decoder.projection.bias = self.weights["head.bias"]
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
    with open(o.input, encoding="utf-8") as lines:
        sources = [line.split() for line in lines]
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
