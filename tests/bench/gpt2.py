#!/usr/bin/env python3
"""Scoring and continuing text with a GPT-2 of 124 million parameters, beside transformers and
llama.cpp.

  gpt2.py BIN TEXT [--folder DIR] [--rounds R] [--threads T] [--rows score one eight]

The model has random weights; its tokenizer is learned from TEXT. DIR keeps the model for further
runs. A cell is tokens a second: the median over R rounds, in which the contenders take turns.
Each contender has a process, which opens the model and scores and continues once before it is
measured. Scoring takes texts of 256 tokens, 16 at once; llama.cpp computes a text at once, and
its time has no log-softmax. Continuing is greedy, after 16 tokens, with 1 text and with 8 at once;
the time of 16 new tokens is subtracted from that of 272. llama-cpp-python continues one text at a
time. Needs nine, transformers, torch, llama-cpp-python in this Python; run it on a quiet machine.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

LENGTH, AT_ONCE, PROMPT, FEW, MANY = 256, 16, 16, 16, 272
ROWS = {"score": "scoring", "one": "continuing 1 text", "eight": "continuing 8 texts"}


def make_model(o):
    """The folder of transformers, its GGUF files in float32 and bfloat16, and the texts."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    gpt2 = o.folder / "gpt2"
    if not (o.folder / "bfloat16.gguf").exists():
        o.folder.mkdir(parents=True, exist_ok=True)
        torch.manual_seed(1)
        model = GPT2LMHeadModel(GPT2Config(bos_token_id=0, eos_token_id=0))
        model.save_pretrained(gpt2)
        learn = [o.bin / "bpe", "learn", "--bytes", "--split", "gpt2", "--vocab-size", "50257"]
        learn += ["--min-frequency", "1", "--input", o.text, "--output", gpt2 / "tokenizer.json"]
        subprocess.run(learn, check=True)
        for kind in ("float32", "bfloat16"):
            convert = [o.bin / "nine_convert", "--from", gpt2, "--to", o.folder / f"{kind}.gguf"]
            subprocess.run([*convert, "--dtype", kind], check=True)
    return gpt2


def texts(o, gpt2):
    """Token ids of AT_ONCE texts of LENGTH tokens, and the texts."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(gpt2 / "tokenizer.json"))
    with open(o.text, encoding="utf-8") as file:
        ids = tokenizer.encode(" ".join(file.read(2_000_000).split())).ids
    parts = [ids[i : i + LENGTH] for i in range(0, AT_ONCE * LENGTH, LENGTH)]
    return parts, [tokenizer.decode(part) for part in parts]


class Nine:
    def __init__(self, o, gpt2, precision):
        import nine

        nine.set_threads(o.threads)
        nine.set_matmul_precision(precision)
        self.model = nine.LanguageModel(gpt2)
        self.texts = texts(o, gpt2)[1]

    def score(self):
        begin = time.perf_counter()
        tokens = sum(len(line) for line in self.model.score_tokens(self.texts[:AT_ONCE]))
        return tokens / (time.perf_counter() - begin)

    def grow(self, count):
        prompts, times = [" ".join(t.split()[: PROMPT // 2]) for t in self.texts[:count]], []
        for tokens in (FEW, MANY):
            begin = time.perf_counter()
            self.model.generate(prompts, temperature=0, max_words=tokens)
            times.append(time.perf_counter() - begin)
        return count * (MANY - FEW) / (times[1] - times[0])


class Transformers:
    def __init__(self, o, gpt2, precision):
        import torch
        from transformers import GPT2LMHeadModel

        torch.set_num_threads(o.threads)
        self.torch = torch
        kind = torch.float32 if precision == "highest" else torch.bfloat16
        self.model = GPT2LMHeadModel.from_pretrained(gpt2, dtype=kind).eval()
        parts, _ = texts(o, gpt2)
        self.ids = torch.tensor(parts)

    def score(self):
        torch, ids = self.torch, self.ids
        with torch.inference_mode():
            begin = time.perf_counter()
            log_p = torch.log_softmax(self.model(ids).logits[:, :-1].float(), -1)
            log_p.gather(2, ids[:, 1:, None]).sum().item()
            return ids.numel() / (time.perf_counter() - begin)

    def grow(self, count):
        prompts, times = self.ids[:count, :PROMPT], []
        mask = self.torch.ones_like(prompts)
        for tokens in (FEW, MANY):
            begin = time.perf_counter()
            self.model.generate(
                prompts,
                attention_mask=mask,
                do_sample=False,
                min_new_tokens=tokens,
                max_new_tokens=tokens,
                pad_token_id=0,
            )
            times.append(time.perf_counter() - begin)
        return count * (MANY - FEW) / (times[1] - times[0])


class LlamaCpp:
    def __init__(self, o, gpt2, precision):
        from llama_cpp import Llama

        kind = "float32" if precision == "highest" else "bfloat16"
        parts, _ = texts(o, gpt2)
        self.ids = parts
        self.model = Llama(
            str(o.folder / f"{kind}.gguf"),
            n_ctx=1024,
            n_batch=LENGTH,
            n_ubatch=LENGTH,
            n_threads=o.threads,
            n_threads_batch=o.threads,
            logits_all=True,
            verbose=False,
        )
        self.greedy = Llama(
            str(o.folder / f"{kind}.gguf"),
            n_ctx=1024,
            n_threads=o.threads,
            n_threads_batch=o.threads,
            verbose=False,
        )

    def score(self):
        begin = time.perf_counter()
        for ids in self.ids:
            self.model.reset()
            self.model.eval(ids)
        return AT_ONCE * LENGTH / (time.perf_counter() - begin)

    def grow(self, count):
        if count > 1:
            return None
        times = []
        for tokens in (FEW, MANY):
            self.greedy.reset()
            begin = time.perf_counter()
            produced = 0
            for _ in self.greedy.generate(self.ids[0][:PROMPT], temp=0.0):
                produced += 1
                if produced == tokens:
                    break
            times.append(time.perf_counter() - begin)
        return (MANY - FEW) / (times[1] - times[0])


CONTENDERS = {"Nine": Nine, "transformers": Transformers, "llama.cpp": LlamaCpp}


def measure(o):
    """In a process of its own: answers each line of standard input, a row's name, with a figure."""
    contender = CONTENDERS[o.measure](o, o.folder / "gpt2", o.precision)
    contender.score()
    contender.grow(1)
    print("ready", flush=True)
    for line in sys.stdin:
        row = line.strip()
        rate = contender.score() if row == "score" else contender.grow(1 if row == "one" else 8)
        print(json.dumps(rate), flush=True)


def main():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("bin", type=pathlib.Path)
    p.add_argument("text", type=pathlib.Path)
    p.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("gpt2-speed"))
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--threads", type=int, default=os.cpu_count())
    p.add_argument("--rows", nargs="+", choices=ROWS, default=list(ROWS))
    p.add_argument("--measure", choices=CONTENDERS, help=argparse.SUPPRESS)
    p.add_argument("--precision", default="highest", help=argparse.SUPPRESS)
    o = p.parse_args()
    if o.measure:
        return measure(o)
    make_model(o)
    rates = {}
    for precision in ("highest", "medium"):
        running = {}
        for name in CONTENDERS:
            command = [sys.executable, __file__, *sys.argv[1:], "--measure", name]
            command += ["--precision", precision]
            running[name] = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            if running[name].stdout.readline() != "ready\n":
                print(f"{name} in {precision}: left out")
                running.pop(name).wait()
        for row in o.rows:
            for _ in range(o.rounds):
                for name, process in running.items():
                    process.stdin.write(row + "\n")
                    process.stdin.flush()
                    rate = json.loads(process.stdout.readline() or "null")
                    if rate:
                        rates.setdefault((row, precision, name), []).append(rate)
        for process in running.values():
            process.stdin.close()
            process.wait()
    print("\n| tokens a second |", " | ".join(f"{n}" for n in CONTENDERS), "|")
    print("|---|" + "---|" * len(CONTENDERS))
    for row in o.rows:
        for precision in ("highest", "medium"):
            cells = [
                f"{statistics.median(found):,.0f}" if found else ""
                for found in (rates.get((row, precision, name)) for name in CONTENDERS)
            ]
            print(f"| {ROWS[row]}, {precision} | " + " | ".join(cells) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
