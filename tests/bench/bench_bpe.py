#!/usr/bin/env python3
"""bpe beside other people's tokenizers, in turns: seconds and peak memory of learning and encoding.

  pip install tokenizers tiktoken sentencepiece subword-nmt rs-bpe youtokentome
  apt-get install iso-codes
  python3 tests/bench/bench_bpe.py build/bin/bpe TEXT...

The texts are joined to one; the name `iso-codes` stands for the translations of Debian's package
iso-codes in all languages and scripts, repeated to MEGABYTES. `bpe learn --bytes` and `bpe apply --tokenizer` stand beside the
tokenizers of raw text; `bpe learn` and `bpe apply --codes` beside subword-nmt and fastBPE, which cut
words. Each round runs each program once, one after the other; a figure is the median of the rounds.

bpe is timed from its start to its end, with reading and writing. Others are timed without the start
of Python: learning from the file; encoding lines in batches of 10,000, whose ids are dropped. Peak
memory is the process's, Python included.

Environment: ROUNDS (3), THREADS ("1 2"), SIZE (32000 tokens or merges), MEGABYTES (100, of
iso-codes), PEERS (all that are installed), FASTBPE (the program `fast` of fastBPE, whose package
learns nothing), MODELS (a folder that keeps learned models), LOCALES (/usr/share/locale, where
iso-codes is), PAGE (docs/tokenizers.md, whose table of this text is written anew). Exits with 1
when files differ that must be equal: codes and text of bpe and subword-nmt, merges of bpe and
tokenizers, ids of the first CHECKED (12) MB of bpe, tokenizers, tiktoken and SentencePiece.
"""

import base64
import gettext
import glob
import importlib.util
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

CHECKED = int(os.environ.get("CHECKED", "12")) * 1_000_000
MEGABYTES = int(os.environ.get("MEGABYTES", "100"))
LOCALES = os.environ.get("LOCALES", "/usr/share/locale")
ROUNDS = int(os.environ.get("ROUNDS", "3"))
SIZE = int(os.environ.get("SIZE", "32000"))
BATCH = 10_000
SPECIAL = "<|endoftext|>"
GPT4 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def iso_codes():
    words = []
    for path in sorted(glob.glob(os.path.join(LOCALES, "*/LC_MESSAGES/iso_*.mo"))):
        with open(path, "rb") as file:
            catalog = gettext.GNUTranslations(file)._catalog
        words += [value for key, value in catalog.items() if key and isinstance(value, str)]
    if not words:
        sys.exit(
            f"{LOCALES} has no translations of iso-codes: apt-get install iso-codes, or\n"
            "  apt-get download iso-codes && dpkg -x iso-codes_*.deb iso && "
            "export LOCALES=iso/usr/share/locale"
        )
    rng, lines = random.Random(1), []
    rng.shuffle(words)
    for at in range(0, len(words), 8):
        lines.append(", ".join(words[at : at + 8]).replace("\n", " ") + "\n")
    once = "".join(lines).encode()
    return once * (MEGABYTES * 1_000_000 // len(once) + 1)


def batches(text):
    with open(text, encoding="utf-8", newline="") as file:
        batch = []
        for line in file:
            batch.append(line.rstrip("\n"))
            if len(batch) == BATCH:
                yield batch
                batch = []
        if batch:
            yield batch


def encoded(text, encode):
    """Seconds in `encode`, which returns the ids of each line of a batch, and the number of ids.
    With the environment's IDS, writes the ids to that file, and no seconds count."""
    if "IDS" in os.environ:
        with open(os.environ["IDS"], "w", encoding="ascii") as out:
            for batch in batches(text):
                for ids in encode(batch):
                    out.write(" ".join(map(str, getattr(ids, "ids", ids))) + "\n")
        return 0, None
    seconds = ids = 0
    for batch in batches(text):
        start = time.perf_counter()
        found = encode(batch)
        seconds += time.perf_counter() - start
        ids += found if isinstance(found, int) else sum(map(len, found))
        del found  # before the next batch is there
    return seconds, ids


def ranks_of(model):
    with open(model, "rb") as file:
        return {base64.b64decode(t): int(r) for t, r in (line.split() for line in file)}


# The work of a peer, in a process of its own: (seconds, ids or None).
def tokenizers(task, text, model, threads):
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

    if task == "learn":
        tokenizer = Tokenizer(models.BPE())
        cut = pre_tokenizers.Split(Regex(GPT4), "isolated")
        bytes_ = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([cut, bytes_])
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(
            vocab_size=SIZE,
            min_frequency=2,
            show_progress=False,
            special_tokens=[SPECIAL],
            initial_alphabet=alphabet,
        )
        start = time.perf_counter()
        tokenizer.train([text], trainer)
        seconds = time.perf_counter() - start
        tokenizer.save(model + ".tokenizers.json")
        return seconds, None
    tokenizer = Tokenizer.from_file(model + ".json")
    return encoded(text, tokenizer.encode_batch_fast)


def tiktoken(task, text, model, threads):
    import tiktoken

    encoding = tiktoken.Encoding(
        "bench", pat_str=GPT4, mergeable_ranks=ranks_of(model + ".ranks"), special_tokens={}
    )
    return encoded(text, lambda batch: encoding.encode_ordinary_batch(batch, num_threads=threads))


def rs_bpe(task, text, model, threads):
    from rs_bpe.bpe import openai

    encoding = openai.cl100k_base()  # the package learns nothing and reads no other vocabulary
    if threads == 1:
        return encoded(text, lambda batch: encoding.encode_batch(batch)[1])
    options = openai.ParallelOptions(min_batch_size=1, chunk_size=500, max_threads=threads)
    return encoded(text, lambda batch: encoding.encode_batch_parallel(batch, options)[1])


def sentencepiece(task, text, model, threads):
    import sentencepiece

    if task == "learn":
        start = time.perf_counter()
        sentencepiece.SentencePieceTrainer.train(
            input=text,
            model_prefix=model + ".sp",
            model_type="bpe",
            vocab_size=SIZE,
            num_threads=threads,
            character_coverage=1.0,
            max_sentence_length=1 << 20,
            hard_vocab_limit=False,
            minloglevel=2,
        )
        return time.perf_counter() - start, None
    processor = sentencepiece.SentencePieceProcessor(model_file=model + ".sp.model")
    return encoded(text, lambda batch: processor.encode(batch, num_threads=threads))


def youtokentome(task, text, model, threads):
    import youtokentome

    if task == "learn":
        start = time.perf_counter()
        youtokentome.BPE.train(
            data=text, vocab_size=SIZE, model=model + ".yttm", coverage=1.0, n_threads=threads
        )
        return time.perf_counter() - start, None
    bpe = youtokentome.BPE(model=model + ".yttm", n_threads=threads)
    return encoded(text, bpe.encode)


WORKERS = (tokenizers, tiktoken, rs_bpe, sentencepiece, youtokentome)


def programs(ours, text, folder, model, threads):
    """name: {task: command}; a worker's command prints what it found."""
    workers = str(threads)
    nine = lambda *a: [ours, *a, "--input", text, "--num-workers", workers]
    out = lambda name: ["--output", os.path.join(folder, name)]
    all_ = {
        "nine": {
            "learn": nine("learn", "--bytes", "--vocab-size", str(SIZE))
            + ["--output", model + ".json"],
            "encode": nine("apply", "--tokenizer", model + ".json") + out("ids"),
        }
    }
    for worker in WORKERS:
        name = worker.__name__
        if importlib.util.find_spec(name) is None:
            continue
        both = worker not in (tiktoken, rs_bpe)
        all_[name] = {
            task: [sys.executable, __file__, "--work", name, task, text, model, workers]
            for task in (("learn", "encode") if both else ("encode",))
        }
    codes = lambda name: os.path.join(folder, name + ".codes")
    all_["nine, codes"] = {
        "learn": nine("learn", "--merges", str(SIZE)) + ["--output", codes("nine")],
        "encode": nine("apply", "--codes", codes("nine")) + out("nine.bpe"),
    }
    theirs = os.path.join(os.path.dirname(sys.executable), "subword-nmt")
    if os.path.exists(theirs):
        parallel = ["--num-workers", workers] if threads > 1 else []
        learn = [theirs, "learn-bpe", "-s", str(SIZE), "-i", text, "-o", codes("nmt")]
        apply = [theirs, "apply-bpe", "-c", codes("nmt"), "-i", text]
        all_["subword-nmt"] = {
            "learn": learn + parallel,
            "encode": apply + ["-o", os.path.join(folder, "nmt.bpe")] + parallel,
        }
    fast = os.environ.get("FASTBPE")
    if fast:
        learn = f"{fast} learnbpe {SIZE} {text} > {codes('fast')}"
        apply = f"{fast} applybpe {os.path.join(folder, 'fast.bpe')} {text} {codes('fast')}"
        all_["fastBPE"] = {"learn": ["sh", "-c", learn], "encode": ["sh", "-c", apply]}
    peers = os.environ.get("PEERS")
    return {n: t for n, t in all_.items() if not peers or n.startswith("nine") or n in peers}


def run(command, threads):
    """(seconds, MB, ids or None). GNU time forks, so that the peak is that of the command alone."""
    environment = {
        **os.environ,
        "RAYON_NUM_THREADS": str(threads),
        "OMP_NUM_THREADS": str(threads),
        "TOKENIZERS_PARALLELISM": "true",
    }
    start = time.perf_counter()
    done = subprocess.run(
        ["/usr/bin/time", "-f", "peak %M"] + command,
        env=environment,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr}")
    seconds, ids = time.perf_counter() - start, None
    megabytes = int(re.findall(r"^peak (\d+)$", done.stderr, re.M)[-1]) / 1000
    if "--work" in command:
        seconds, ids = json.loads(done.stdout.splitlines()[-1])
    return seconds, megabytes, ids


def equal_files(folder, a, b):
    paths = [os.path.join(folder, name) for name in (a, b)]
    if not all(map(os.path.exists, paths)):
        return True
    same = subprocess.run(["cmp", "-s", *paths]).returncode == 0
    print(f"{a} and {b} are {'the same' if same else 'DIFFERENT'}")
    return same


def ids_are_same(ours, text, folder, model):
    """The ids of the start of the text by the tokenizers that Nine reads too."""
    part = os.path.join(folder, "part")
    with open(text, "rb") as file, open(part, "wb") as out:
        for line in file:
            if out.tell() >= CHECKED:
                break
            out.write(line.rstrip(b"\n") + b"\n")
    same = True
    for worker, ending in (
        (tokenizers, ".json"),
        (tiktoken, ".ranks"),
        (sentencepiece, ".sp.model"),
    ):
        name = worker.__name__
        command = [sys.executable, __file__, "--work", name, "encode", part, model, "2"]
        if not os.path.exists(model + ending) or importlib.util.find_spec(name) is None:
            continue
        environment = {**os.environ, "IDS": os.path.join(folder, name + ".ids")}
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
        apply = [ours, "apply", "--tokenizer", model + ending, "--input", part]
        subprocess.run(
            apply + ["--output", os.path.join(folder, "nine.ids")],
            check=True,
            stderr=subprocess.DEVNULL,
        )
        same = equal_files(folder, "nine.ids", name + ".ids") and same
    return same


def merges_are_same(model):
    theirs = model + ".tokenizers.json"
    if not os.path.exists(theirs):
        return True
    ours, other = (json.load(open(f))["model"]["merges"] for f in (model + ".json", theirs))
    print(f"merges of bpe and tokenizers are {'the same' if ours == other else 'DIFFERENT'}")
    return ours == other


def print_table(found, megabytes, threads):
    print(f"\n{threads} thread(s), {megabytes:.1f} MB, {SIZE} tokens, medians of {ROUNDS}")
    for task in ("learn", "encode"):
        print(f"{task:14}{'s':>9}{'MB/s':>9}{'ratio':>9}{'MB mem':>9}{'ratio':>9}{'ids':>12}")
        base = None
        for name, tasks in found.items():
            if task not in tasks:
                continue
            seconds, memory = (statistics.median(r[k] for r in tasks[task]) for k in (0, 1))
            if name.startswith("nine"):
                base = seconds, memory
            ids = tasks[task][0][2]
            print(
                f"{name:14}{seconds:9.3f}{megabytes / seconds:9.1f}{seconds / base[0]:9.1f}"
                f"{memory:9.1f}{memory / base[1]:9.1f}{ids if ids is not None else '':>12}",
                flush=True,
            )


def with_version(name):
    import importlib.metadata  # here, because it would count in the memory of the others

    try:
        return f"{name} {importlib.metadata.version(name)}"
    except importlib.metadata.PackageNotFoundError:
        return name


def table_of(all_found):
    """The rows of docs/tokenizers.md: times and memory of the others by those of bpe."""
    threads = list(all_found)
    plural = lambda t: f"{t} thread" + ("s" if t != 1 else "")
    heads = [f"{task}, {plural(t)}" for task in ("learn", "encode") for t in threads]
    rows = ["| | " + " | ".join(heads) + " | memory, learn | memory, encode |"]
    rows.append("|---" * (len(heads) + 3) + "|")
    for name in next(iter(all_found.values())):
        if name.startswith("nine"):
            continue
        base = "nine, codes" if name in ("subword-nmt", "fastBPE") else "nine"
        cells, memory = [], []
        for task in ("learn", "encode"):
            ratios = []
            for t in threads:
                found = all_found[t]
                if task not in found[name]:
                    cells.append("")
                    continue
                seconds, megabytes = (
                    statistics.median(r[k] for r in found[name][task])
                    / statistics.median(r[k] for r in found[base][task])
                    for k in (0, 1)
                )
                cells.append(f"{seconds:.1f}")
                ratios.append(megabytes)
            memory.append(f"{min(ratios):.1f}" if ratios else "")
        rows.append(f"| {with_version(name)} | " + " | ".join(cells + memory) + " |")
    return "\n".join(rows) + "\n"


def write_page(name, table):
    """Writes the table between the marks of `name` in PAGE."""
    page = os.environ.get("PAGE")
    if not page:
        return
    begin, end = (f"<!-- bench_bpe.py {name}: {mark} -->\n" for mark in ("begin", "end"))
    with open(page, encoding="utf-8") as file:
        before, _, rest = file.read().partition(begin)
    _, found, after = rest.partition(end)
    if not found:
        sys.exit(f"{page} lacks {begin.strip()} or {end.strip()}")
    with open(page, "w", encoding="utf-8") as file:
        file.write(f"{before}{begin}\n{table}\n{end}{after}")


def main():
    if sys.argv[1] == "--work":
        name, task, text, model, threads = sys.argv[2:]
        worker = next(w for w in WORKERS if w.__name__ == name)
        print("\n" + json.dumps(worker(task, text, model, int(threads))))
        return 0
    ours, inputs = sys.argv[1], sys.argv[2:]
    folder = os.environ.get("MODELS") or tempfile.mkdtemp()
    text, model = os.path.join(folder, "text"), os.path.join(folder, "model")
    with open(text, "wb") as out:
        for name in inputs:
            if name == "iso-codes":
                out.write(iso_codes())
                continue
            with open(name, "rb") as file:
                shutil.copyfileobj(file, out)
    megabytes = os.path.getsize(text) / 1e6
    all_found = {}
    for threads in map(int, os.environ.get("THREADS", "1 2").split()):
        found = all_found[threads] = {}
        for _ in range(ROUNDS):
            for name, tasks in programs(ours, text, folder, model, threads).items():
                for task, command in tasks.items():
                    found.setdefault(name, {}).setdefault(task, []).append(run(command, threads))
                    if name == "nine" and task == "learn":
                        ranks = command[:-1] + [model + ".ranks", "--format", "tiktoken"]
                        subprocess.run(ranks, check=True, capture_output=True)
        print_table(found, megabytes, threads)
    write_page("iso-codes" if "iso-codes" in inputs else "text", table_of(all_found))
    same = [
        ids_are_same(ours, text, folder, model),
        equal_files(folder, "nine.codes", "nmt.codes"),
        equal_files(folder, "nine.bpe", "nmt.bpe"),
        merges_are_same(model),
    ]
    if "MODELS" not in os.environ:
        shutil.rmtree(folder)
    return 0 if all(same) else 1


if __name__ == "__main__":
    sys.exit(main())
