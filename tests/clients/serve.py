#!/usr/bin/env python3
"""The clients of other people against nine_serve: OpenAI's, lm-evaluation-harness, LibreTranslate's.

  serve.py BIN

Trains a model of raw text and a translation model, serves both, and compares what the clients get
with lm_score and mt_translate. The tasks of lm-evaluation-harness are local files: one has the shape
of BLiMP (which of two sentences is likelier), one that of LAMBADA (the last word of a text). Its
tokenizer is the checkpoint's tokenizer.json.

Exit 0 fine, 1 wrong, 77 skipped: a client is not installed.
"""
import json
import math
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile

try:
    import lm_eval
    import openai
    from libretranslatepy import LibreTranslateAPI
    from lm_eval.tasks import TaskManager
    from tokenizers import Tokenizer
except ImportError as error:
    print(f"skipped: openai, lm_eval or libretranslatepy is not installed ({error})")
    sys.exit(77)

BIN = sys.argv[1]
failures = []


def check(good, what):
    if not good:
        print(f"WRONG: {what}")
        failures.append(what)


def run(program, *arguments, text=""):
    done = subprocess.run(
        [os.path.join(BIN, program), *map(str, arguments)],
        input=text,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        sys.exit(f"{program}: {done.stderr}")
    return done.stdout


def close(a, b, digits=1e-4):
    return math.isclose(a, b, rel_tol=digits, abs_tol=digits)


def train(work):
    """A language with agreement in number, so that BLiMP's question has an answer."""
    draw = random.Random(1)
    lines = []
    for _ in range(600):
        plural = draw.random() < 0.5
        noun = draw.choice(["dog", "cat", "king", "bird"]) + ("s" if plural else "")
        verb = draw.choice(["see", "like", "hear"]) + ("" if plural else "s")
        lines.append(f"The {noun} {verb} the {draw.choice(['tree', 'house', 'sea'])}.")
    (work / "lm.txt").write_text("\n".join(lines) + "\n")
    run(
        *("lm_train", "--text", work / "lm.txt", "--run", work / "lm", "--layers", 1),
        *("--hidden", 48, "--embed", 48, "--batch", 8, "--lr", 0.01, "--after", "12e"),
        *("--vocab-size", 300, "--dropout", 0),
    )
    run(
        *("mt_train", "--sample", "--run", work / "mt", "--layers", 1, "--hidden", 32),
        *("--ffn", 64, "--batch-tokens", 512, "--lr", 0.003, "--warmup", 50, "--after", "200u"),
    )


def test_openai(url, work):
    client = openai.OpenAI(base_url=url + "/v1", api_key="none")
    check({m.id for m in client.models.list()} == {"lm", "mt"}, "the list of models")
    check(client.models.retrieve("lm").owned_by == "nine", "a model")
    made = client.completions.create(
        model="lm", prompt="The dog", max_tokens=8, seed=5, echo=True, temperature=0.8
    )
    text = run(
        *("lm_score", "--checkpoint", work / "lm", "--generate", "--max-words", 8),
        *("--seed", 5, "--temperature", 0.8),
        text="The dog\n",
    )
    check(made.choices[0].text.rstrip("\n") == text.rstrip("\n"), "the text of lm_score")
    check(made.usage.completion_tokens <= 8 and made.usage.prompt_tokens > 0, "the usage")
    check(made.choices[0].finish_reason in ("stop", "length"), "the reason of the end")
    parts = client.completions.create(
        model="lm", prompt="The dog", max_tokens=8, seed=5, temperature=0.8, stream=True
    )
    streamed = "".join(part.choices[0].text for part in parts)
    check("The dog" + streamed == made.choices[0].text, "the stream's parts are the text")
    several = client.completions.create(model="lm", prompt=["The", "A"], n=2, max_tokens=3, seed=1)
    check([c.index for c in several.choices] == [0, 1, 2, 3], "several prompts")
    scored = client.completions.create(
        model="lm", prompt="The dog sees", max_tokens=0, echo=True, logprobs=2
    )
    logprobs = scored.choices[0].logprobs
    wanted = [
        float(x)
        for x in run(
            "lm_score", "--checkpoint", work / "lm", "--tokens", text="The dog sees"
        ).split()
    ]
    check(len(wanted) == len(logprobs.token_logprobs), "a log-probability for each token")
    check(all(map(close, wanted, logprobs.token_logprobs)), "the log-probabilities of lm_score")
    check(all(len(top) == 2 for top in logprobs.top_logprobs), "the likeliest tokens")
    stopped = client.completions.create(model="lm", prompt="The dog", stop=["."], max_tokens=60)
    check("." not in stopped.choices[0].text, "a stop text")
    for wrong, error in [
        ({"model": "none"}, openai.NotFoundError),
        ({"max_tokens": -1}, openai.BadRequestError),
        ({"presence_penalty": 1}, openai.BadRequestError),
    ]:
        try:
            client.completions.create(**{"model": "lm", "prompt": "x", **wrong})
            check(False, f"{wrong} is an error")
        except error as e:
            check(e.body["message"] and e.type, f"{wrong}: {e}")


def test_harness(url, work):
    tokenizer = work / "tokenizer"
    tokenizer.mkdir()
    own = (work / "lm/checkpoints/best/tokenizer.json").read_text()
    (tokenizer / "tokenizer.json").write_text(own)
    (tokenizer / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "</s>"})
    )
    cut = Tokenizer.from_file(str(tokenizer / "tokenizer.json"))
    pairs = [
        {"good": f"The {noun} {good} the {what}.", "bad": f"The {noun} {bad} the {what}."}
        for noun, good, bad in [
            ("dog", "sees", "see"),
            ("dogs", "see", "sees"),
            ("king", "hears", "hear"),
            ("birds", "like", "likes"),
        ]
        for what in ("tree", "house", "sea")
    ]
    last = [
        {"text": f"The {n} the {w}."} for n in ("dog sees", "cats like") for w in ("tree", "sea")
    ]
    for name, rows in (("pairs", pairs), ("last", last)):
        (work / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    tasks = work / "tasks"
    tasks.mkdir()
    (tasks / "pairs.yaml").write_text(
        f"""task: nine_pairs
dataset_path: json
dataset_kwargs:
  data_files:
    test: {work}/pairs.jsonl
output_type: multiple_choice
test_split: test
doc_to_text: ""
target_delimiter: ""
doc_to_target: 0
doc_to_choice: "{{{{[good, bad]}}}}"
metric_list:
  - metric: acc
"""
    )
    (tasks / "last.yaml").write_text(
        f"""task: nine_last
dataset_path: json
dataset_kwargs:
  data_files:
    test: {work}/last.jsonl
output_type: loglikelihood
test_split: test
doc_to_text: "{{{{text.split(' ')[:-1]|join(' ')}}}}"
doc_to_target: "{{{{' '+text.split(' ')[-1]}}}}"
metric_list:
  - metric: perplexity
    aggregation: perplexity
    higher_is_better: false
  - metric: acc
"""
    )
    found = lm_eval.simple_evaluate(
        model="local-completions",
        model_args={
            "model": "lm",
            "base_url": url + "/v1/completions",
            "tokenizer": str(tokenizer),
            "num_concurrent": 4,
            "batch_size": 3,
        },
        tasks=["nine_pairs", "nine_last"],
        task_manager=TaskManager(include_path=str(tasks), include_defaults=False),
        bootstrap_iters=0,
        log_samples=True,
    )

    def log_p(text, of):
        """log p of the last `of` tokens of a text."""
        scores = run("lm_score", "--checkpoint", work / "lm", "--tokens", text=text)
        numbers = [float(x) for x in scores.split()]
        check(len(numbers) == len(cut.encode(text).ids), f"the tokens of {text!r}")
        return sum(numbers[-of:])

    right = 0
    for sample in found["samples"]["nine_pairs"]:
        given = [float(answer[0]) for answer in sample["filtered_resps"]]
        texts = sample["doc"]["good"], sample["doc"]["bad"]
        wanted = [log_p(text, len(cut.encode(text).ids)) for text in texts]
        check(all(map(close, given, wanted)), f"{texts}: {given}, not {wanted}")
        right += wanted[0] > wanted[1]
    accuracy = found["results"]["nine_pairs"]["acc,none"]
    check(close(accuracy, right / len(pairs)), f"BLiMP's shape: {accuracy}")
    check(accuracy > 0.5, f"the model has learned agreement: {accuracy}")
    nats = 0
    for sample in found["samples"]["nine_last"]:
        text = sample["doc"]["text"]
        context = text[: text.rindex(" ")]
        of = len(cut.encode(text).ids) - len(cut.encode(context).ids)
        given, wanted = float(sample["filtered_resps"][0][0]), log_p(text, of)
        check(close(given, wanted), f"{text!r}: {given}, not {wanted}")
        nats -= wanted
    perplexity = found["results"]["nine_last"]["perplexity,none"]
    check(close(perplexity, math.exp(nats / len(last))), f"LAMBADA's shape: {perplexity}")


def test_libretranslate(url, work):
    client = LibreTranslateAPI(url)
    languages = client.languages()
    check([x["code"] for x in languages] == ["de", "en"], f"the languages: {languages}")
    check(languages[0]["targets"] == ["en"], f"what is translated: {languages}")
    text = "ein hund"
    wanted = run("mt_translate", "--checkpoint", work / "mt", "--max-unknown", 1, text=text + "\n")
    check(client.translate(text, "de", "en") == wanted.rstrip("\n"), "mt_translate's translation")


def main():
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        os.environ.update(HF_HOME=folder, HF_DATASETS_OFFLINE="1", HF_HUB_OFFLINE="1")
        train(work)
        server = subprocess.Popen(
            [os.path.join(BIN, "nine_serve"), work / "lm", f"mt:de-en={work}/mt", "--port", "0"],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            url = server.stdout.readline().split()[-1]
            test_openai(url, work)
            test_libretranslate(url, work)
            test_harness(url, work)
        finally:
            server.send_signal(signal.SIGTERM)
            check(server.wait(60) == 0, "the server ends")
    sys.exit(1 if failures else 0)


main()
