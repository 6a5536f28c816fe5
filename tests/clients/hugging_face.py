#!/usr/bin/env python3
"""Language models of transformers in lm_score, and models of Nine in transformers.

  hugging_face.py BIN

transformers writes folders with random weights and a tokenizer that Hugging Face tokenizers has
trained: GPT-2 (tied, not tied, an end other than the beginning), Llama (fewer heads of keys, tied,
not tied, rows without a token), Mistral and Qwen3, in float32, float16 and bfloat16, in one file
and in parts. lm_score opens each folder as it lies. The log-probability of every token must be that
of transformers to 1e-4, and a greedy continuation must be the same text. nine_convert's folder
gives the same digits. Folders with a setting or a tensor that Nine does not have are refused by
name. With some 200 changes of config.json, Nine either computes what transformers computes, or
refuses the folder with the key's name.

Exit 0 fine, 1 wrong, 77 skipped: transformers is not installed.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

try:
    import torch
    import transformers
    from safetensors.torch import load_file
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerFast
except ImportError as error:
    print(f"skipped: transformers is not installed ({error})")
    sys.exit(77)

BIN = sys.argv[1]
transformers.logging.set_verbosity(transformers.logging.CRITICAL)
transformers.logging.disable_progress_bar()
TEXTS = ["the old king was here.", "Once upon a time, 1,234 cats saw the dog!", " zwölf Boxkämpfer"]
CORPUS = TEXTS * 3 + [
    "a cat saw the dog and the dog saw a cat",
    "the king is old, the time is here",
]
GPT2 = dict(n_embd=48, n_layer=2, n_head=4, n_positions=64)
LLAMA = dict(
    hidden_size=48,
    intermediate_size=80,
    num_hidden_layers=2,
    num_attention_heads=4,
    max_position_embeddings=64,
)
failures = []


def check(good, what):
    if not good:
        print(f"WRONG: {what}")
        failures.append(what)


def trained_tokenizer(specials):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(
        CORPUS,
        trainers.BpeTrainer(
            vocab_size=300,
            special_tokens=specials,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        ),
    )
    return tokenizer


def write(folder, model, tokenizer, dtype=torch.float32, **options):
    with torch.no_grad():
        for name, parameter in model.named_parameters():  # biases and norms too
            torch.manual_seed(sum(name.encode()))
            parameter.normal_(1.0 if "norm" in name or "ln_" in name else 0.0, 0.15)
    model.to(dtype).save_pretrained(folder, **options)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer).save_pretrained(folder)
    return type(model).from_pretrained(folder, dtype=torch.float32).eval()


def lm_score(folder, *options, text):
    run = subprocess.run(
        [os.path.join(BIN, "lm_score"), "--checkpoint", folder, *options],
        input=text,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    return run.returncode, run.stdout, run.stderr


def expected(model, tokenizer, text, begin, end):
    """log p of each token of a text; the token that ends a text is never a token of it."""
    ids = tokenizer.encode(text, add_special_tokens=False).ids
    with torch.no_grad():
        logits = model(torch.tensor([[begin, *ids[:-1]]])).logits[0].double()
    log_p = logits.log_softmax(-1)
    return [log_p[i, token].item() for i, token in enumerate(ids)]


def greedy(model, tokenizer, prompt, begin, end, count):
    ids = [begin, *tokenizer.encode(prompt, add_special_tokens=False).ids]
    with torch.no_grad():
        for _ in range(count):
            token = model(torch.tensor([ids])).logits[0, -1].argmax().item()
            if token == end:
                break
            ids.append(token)
    return tokenizer.decode(ids[1:])


def compare(name, folder, model, tokenizer, begin, end):
    text = "".join(line + "\n" for line in TEXTS)
    code, out, error = lm_score(folder, "--tokens", text=text)
    check(code == 0, f"{name}: {error}")
    if code != 0:
        return
    check("assumed" not in error, f"{name}: {error}")
    worst = 0.0
    for line, scores in zip(TEXTS, out.splitlines()):
        ours = [float(x) for x in scores.split()]
        theirs = expected(model, tokenizer, line + "\n", begin, end)
        check(len(ours) == len(theirs), f"{name}: {len(ours)} tokens, not {len(theirs)}")
        worst = max([worst, *(abs(a - b) for a, b in zip(ours, theirs))])
    check(worst < 1e-4, f"{name}: log p differs by {worst}")
    code, out, error = lm_score(
        folder, "--generate", "--temperature", "0", "--max-words", "12", text="the old\n"
    )
    wanted = greedy(model, tokenizer, "the old", begin, end, 12)
    wanted = re.sub("\ufffd+", "\ufffd", wanted)  # one for a run of wrong bytes
    check(out.rstrip("\n") == wanted.rstrip("\n"), f"{name}: generated {out!r}, not {wanted!r}")
    print(f"{name}: log p differs by at most {worst:.2g}")


def run(program, *arguments):
    done = subprocess.run(
        [os.path.join(BIN, program), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    check(done.returncode == 0, f"{program}: {done.stdout}")
    return done.returncode == 0


def open_folder(folder, dtype=torch.float32):
    model, info = AutoModelForCausalLM.from_pretrained(
        folder, dtype=dtype, output_loading_info=True
    )
    for what, names in info.items():
        check(not names, f"{folder}: {what}: {names}")
    return model.eval(), AutoTokenizer.from_pretrained(folder)


def there_and_back(name, folder, model, tokenizer):
    """transformers to Nine to transformers: the same digits, then the same tensors and ids."""
    nine, back = folder + "-nine", folder + "-back"
    if not run("nine_convert", "--from", folder, "--to", nine):
        return
    text = "".join(line + "\n" for line in TEXTS)
    check(
        lm_score(folder, "--tokens", text=text)[1] == lm_score(nine, "--tokens", text=text)[1],
        f"{name}: the model that nine_convert wrote scores otherwise",
    )
    if not run("nine_convert", "--from", nine, "--to", back):
        return
    again, again_tokenizer = open_folder(back)
    ours, theirs = again.state_dict(), model.state_dict()
    check(ours.keys() == theirs.keys(), f"{name}: {ours.keys() ^ theirs.keys()}")
    for key in ours.keys() & theirs.keys():
        check(torch.equal(ours[key], theirs[key]), f"{name}: {key} differs")
    for key in ("bos_token_id", "eos_token_id", "vocab_size"):
        check(getattr(again.config, key) == getattr(model.config, key), f"{name}: {key}")
    for line in TEXTS:
        ids = again_tokenizer(line).input_ids
        wanted = [model.config.bos_token_id, *tokenizer.encode(line).ids]
        check(ids == wanted, f"{name}: the ids {ids}, not {wanted}")


def compare_trained(name, directory, options, dtypes=("float32",)):
    """A model that lm_train trained on raw text, in transformers."""
    place = os.path.join(directory, name)
    text = place + ".txt"
    pathlib.Path(text).write_text("\n".join(CORPUS * 20) + "\n", encoding="utf-8")
    shape = "--arch transformer --layers 2 --hidden 48 --heads 4 --ffn 80 --bptt 64 --no-head-bias"
    more = "--batch 4 --lr 0.01 --after 40u --vocab-size 300"
    if not run("lm_train", "--text", text, "--run", place, *f"{shape} {more} {options}".split()):
        return
    for dtype in dtypes:
        folder = f"{place}-{dtype}"
        if not run("nine_convert", "--from", place, "--to", folder, "--dtype", dtype):
            return
        model, tokenizer = open_folder(folder, getattr(torch, dtype))
        check(model.dtype == getattr(torch, dtype), f"{name}: {model.dtype}, not {dtype}")
        if dtype != "float32":
            # Rounded once: what transformers makes of the float32 folder.
            wide = open_folder(f"{place}-float32")[0].state_dict()
            for key, value in model.state_dict().items():
                check(torch.equal(value, wide[key].to(value.dtype)), f"{name}: {key}, {dtype}")
            continue
        begin, end = model.config.bos_token_id, model.config.eos_token_id
        for line in TEXTS:
            ids = [begin, *tokenizer.backend_tokenizer.encode(line, add_special_tokens=False).ids]
            check(tokenizer(line).input_ids == ids, f"{name}: no token {begin} before {line!r}")
        compare(name, place, model, tokenizer.backend_tokenizer, begin, end)
        generate(name, model, tokenizer, begin, end)


def generate(name, model, tokenizer, begin, end):
    """transformers' own generate() begins and ends as Nine does."""
    prompt = tokenizer("the old", return_tensors="pt")
    with torch.no_grad():
        ids = model.generate(**prompt, do_sample=False, max_new_tokens=12)[0]
    text = tokenizer.decode(ids, skip_special_tokens=True)
    wanted = greedy(model, tokenizer.backend_tokenizer, "the old", begin, end, 12)
    check(text == wanted, f"{name}: generate() made {text!r}, not {wanted!r}")


def compare_words(directory):
    """A model of words: lm_score's words and </s> are ids and log-probabilities of transformers."""
    place = os.path.join(directory, "words")
    text = place + ".txt"
    lines = ["the old king", "a cat\u00a0saw the dog", "zw\u00f6lf x-y cats"]
    pathlib.Path(text).write_text("\n".join(lines * 30) + "\n", encoding="utf-8")
    options = "--arch transformer --layers 1 --hidden 16 --heads 2 --ffn 16 --bptt 16 --after 30u"
    more = "--tie-embeddings --no-head-bias --batch 2 --lr 0.01"
    if not run("lm_train", "--train", text, "--run", place, *options.split(), *more.split()):
        return
    if not run("nine_convert", "--from", place, "--to", place + "-hf"):
        return
    model, tokenizer = open_folder(place + "-hf")
    vocabulary = ["</s>", "<unk>"]
    for line in (
        pathlib.Path(place, "checkpoints", "latest", "dict.txt").read_text("utf-8").split("\n")
    ):
        vocabulary += [line.rsplit(" ", 1)[0]] if line else []
    lines.append("the nobody  saw\tcats")
    scores = lm_score(place, "--tokens", text="".join(line + "\n" for line in lines))[1]
    worst = 0.0
    for line, ours in zip(lines, scores.splitlines()):
        words = line.replace("\t", " ").split(" ")
        ids = [vocabulary.index(w) if w in vocabulary else 1 for w in words if w]
        check(tokenizer(line).input_ids == [0, *ids], f"words: {tokenizer(line).input_ids}")
        with torch.no_grad():
            log_p = model(torch.tensor([[0, *ids]])).logits[0].double().log_softmax(-1)
        theirs = [log_p[i, token].item() for i, token in enumerate([*ids, 0])]
        ours = [float(x) for x in ours.split()]
        check(len(ours) == len(theirs), f"words: {len(ours)} words, not {len(theirs)}")
        worst = max([worst, *(abs(a - b) for a, b in zip(ours, theirs))])
    check(worst < 1e-4, f"words: log p differs by {worst}")
    text = tokenizer.decode(ids, skip_special_tokens=True)
    check(text == "the cats", f"words: decoded {text!r}")
    print(f"words: log p differs by at most {worst:.2g}")


def main():
    one = trained_tokenizer(["<|endoftext|>"])
    two = trained_tokenizer(["<unk>", "<s>", "</s>"])
    tokens1, tokens2 = one.get_vocab_size(), two.get_vocab_size()
    ends1 = dict(bos_token_id=0, eos_token_id=0)
    ends2 = dict(bos_token_id=1, eos_token_id=2)
    t = transformers
    cases = [
        ("gpt2", t.GPT2LMHeadModel, t.GPT2Config, dict(GPT2, vocab_size=tokens1, **ends1), one, {}),
        (
            "gpt2, not tied, float16, in parts",
            t.GPT2LMHeadModel,
            t.GPT2Config,
            dict(GPT2, vocab_size=tokens2, tie_word_embeddings=False, **ends2),
            two,
            dict(dtype=torch.float16, max_shard_size="20KB"),
        ),
        (
            "llama, 2 heads of keys, rows without a token",
            t.LlamaForCausalLM,
            t.LlamaConfig,
            dict(LLAMA, vocab_size=tokens2 + 12, num_key_value_heads=2, rope_theta=5e5, **ends2),
            two,
            {},
        ),
        (
            "llama, angles scaled as in Llama 3.1",
            t.LlamaForCausalLM,
            t.LlamaConfig,
            dict(
                LLAMA,
                vocab_size=tokens2,
                rope_parameters=dict(
                    rope_type="llama3",
                    rope_theta=30.0,
                    factor=8.0,
                    low_freq_factor=1.0,
                    high_freq_factor=4.0,
                    original_max_position_embeddings=32,
                ),
                **ends2,
            ),
            two,
            {},
        ),
        (
            "mistral, angles scaled",
            t.MistralForCausalLM,
            t.MistralConfig,
            dict(
                LLAMA,
                vocab_size=tokens2,
                num_key_value_heads=2,
                sliding_window=64,
                rope_parameters=dict(rope_type="linear", rope_theta=100.0, factor=4.0),
                **ends2,
            ),
            two,
            {},
        ),
        (
            "llama, tied, bfloat16",
            t.LlamaForCausalLM,
            t.LlamaConfig,
            dict(LLAMA, vocab_size=tokens2, tie_word_embeddings=True, rms_norm_eps=1e-5, **ends2),
            two,
            dict(dtype=torch.bfloat16),
        ),
        (
            "mistral",
            t.MistralForCausalLM,
            t.MistralConfig,
            dict(LLAMA, vocab_size=tokens2, num_key_value_heads=2, sliding_window=64, **ends2),
            two,
            {},
        ),
        (
            "qwen3",
            t.Qwen3ForCausalLM,
            t.Qwen3Config,
            dict(LLAMA, vocab_size=tokens2, num_key_value_heads=2, head_dim=12, **ends2),
            two,
            {},
        ),
    ]
    with tempfile.TemporaryDirectory() as directory:
        for number, (name, model_type, config_type, settings, tokenizer, how) in enumerate(cases):
            folder = os.path.join(directory, str(number))
            model = write(folder, model_type(config_type(**settings)), tokenizer, **how)
            begin, end = settings["bos_token_id"], settings["eos_token_id"]
            compare(name, folder, model, tokenizer, begin, end)
            there_and_back(name, folder, model, tokenizer)
            train_on(folder, folder + "-on")
        gpt2 = "--activation gelu-tanh"
        llama = "--activation swiglu --positions rotary --norm-type rms --no-linear-bias"
        every = ("float32", "float16", "bfloat16")
        compare_trained("of-gpt2", directory, f"{gpt2} --tie-embeddings", every)
        compare_trained("of-gpt2-gelu", directory, "--activation gelu")
        compare_trained("of-gpt2-scaled", directory, f"{gpt2} --tie-embeddings --head lin:scale=3")
        compare_trained("of-llama", directory, f"{llama} --kv-heads 2 --head pol:p=1", every)
        compare_trained("of-qwen3", directory, f"{llama} --qk-norm --head lin:scale=learn")
        compare_words(directory)
        never_silent(os.path.join(directory, "0"), one, changes_of_gpt2())
        never_silent(os.path.join(directory, "2"), two, changes_of_llama(False))
        never_silent(os.path.join(directory, "6"), two, changes_of_llama(False))
        never_silent(os.path.join(directory, "7"), two, changes_of_llama(True))
        refuse(pathlib.Path(directory) / "2")
        train_on_words(os.path.join(directory, "0"), directory)
    print("wrong" if failures else "fine")
    return 1 if failures else 0


def train_on(folder, run):
    """lm_train --init starts from the folder's weights: with a rate of almost 0 they stay."""
    text = run + ".txt"
    pathlib.Path(text).write_text("\n".join(CORPUS * 20) + "\n", encoding="utf-8")
    done = subprocess.run(  # the folder gives sizes, head and tokenizer
        [os.path.join(BIN, "lm_train"), "--text", text, "--init", folder, "--run", run]
        + "--batch 2 --lr 1e-9 --after 3u".split(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    check(done.returncode == 0, f"--init: {done.stdout}")
    if done.returncode != 0:
        return
    lines = "".join(line + "\n" for line in TEXTS)
    before, after = (lm_score(model, text=lines)[1].split() for model in (folder, run))
    differences = [abs(float(a) - float(b)) for a, b in zip(before, after)]
    check(len(differences) == len(TEXTS) and max(differences) < 1e-2, f"--init: {differences}")


REMOVED = "removed"
# A missing size has a default in transformers. Nine reads it from the tensors.
SHOWN_BY_TENSORS = {"n_embd", "n_positions"}


def scores_of_transformers(folder, tokenizer):
    """log p of each token of TEXTS; None if transformers does not open the folder as it is.
    AutoModel takes Mistral's folders with layer_types for Ministral's, whose class opens none
    without a window: the class that the folder names is asked too."""
    keys = json.loads((pathlib.Path(folder) / "config.json").read_text(encoding="utf-8"))
    for kind in (AutoModelForCausalLM, getattr(transformers, keys["architectures"][0])):
        try:
            model, info = kind.from_pretrained(
                folder, dtype=torch.float32, output_loading_info=True
            )
            if any(info.values()):
                return None
            begin = model.config.bos_token_id
            begin = model.config.eos_token_id if begin is None else begin
            return [expected(model.eval(), tokenizer, t + "\n", begin, None) for t in TEXTS]
        except Exception:  # of any kind: what transformers does not open
            continue
    return None


def never_silent(folder, tokenizer, changes):
    """With a changed config.json Nine computes what transformers computes, or names the key."""
    path = pathlib.Path(folder) / "config.json"
    right = json.loads(path.read_text(encoding="utf-8"))
    text = "".join(line + "\n" for line in TEXTS)
    for change in changes:
        keys = {k: v for k, v in {**right, **change}.items() if v is not REMOVED}
        path.write_text(json.dumps(keys), encoding="utf-8")
        theirs = scores_of_transformers(folder, tokenizer)
        code, out, error = lm_score(folder, "--tokens", text=text)
        what = f"{right['model_type']}, {change}"
        if code != 0:
            check(any(key in error for key in change), f"{what}: {error}")
            print(f"{what}: refused{'' if theirs is None else ', and transformers opens it'}")
            continue
        shown = set(change) <= SHOWN_BY_TENSORS and set(change.values()) == {REMOVED}
        check(theirs is not None or shown, f"{what}: transformers does not open it")
        for ours, wanted in zip(out.splitlines(), theirs or []):
            worst = max(abs(float(a) - b) for a, b in zip(ours.split(), wanted))
            check(worst < 1e-4, f"{what}: log p differs by {worst}")
        print(f"{what}: read")
    path.write_text(json.dumps(right), encoding="utf-8")


def changes_of_gpt2():
    names = transformers.GPT2Config.attribute_map
    for other, own in names.items():
        yield {own: REMOVED, other: GPT2[own]}
        yield {other: GPT2[own]}
        yield {other: GPT2[own] + 1}
        yield {own: REMOVED}
    for name in ("gelu", "relu", "silu", "swish", "gelu_fast", "gelu_accurate", "gelu_python"):
        yield {"activation_function": name}
    for name in ("gelu_pytorch_tanh", "gelu_python_tanh", "quick_gelu", "gelu_10", "gelu-tanh"):
        yield {"activation_function": name}
    yield {"activation_function": REMOVED}
    yield {"activation_function": REMOVED, "hidden_act": "relu"}
    for key in ("scale_attn_weights", "scale_attn_by_inverse_layer_idx", "add_cross_attention"):
        yield from ({key: True}, {key: False}, {key: REMOVED})
    yield from ({"reorder_and_upcast_attn": True}, {"is_causal": False}, {"is_causal": True})
    yield from ({"layer_norm_epsilon": x} for x in (1e-3, REMOVED, None, "1e-5"))
    yield from ({"n_inner": x} for x in (REMOVED, None, 4 * GPT2["n_embd"]))
    yield from ({"tie_word_embeddings": x} for x in (True, False, REMOVED))
    yield from ({"eos_token_id": x} for x in (REMOVED, None, [0, 1]))
    yield {"bos_token_id": REMOVED}


def changes_of_llama(qwen3):
    layers = LLAMA["num_hidden_layers"]
    yield from ({"head_dim": x} for x in (REMOVED, None, 128, 6))
    yield from ({"num_key_value_heads": x} for x in (REMOVED, None, 4))
    yield from ({"hidden_act": x} for x in ("swish", "gelu", REMOVED))
    yield from ({"rms_norm_eps": x} for x in (1e-3, REMOVED, None))
    yield from ({"attention_bias": x} for x in (True, False, REMOVED))
    yield from ({"mlp_bias": True}, {"is_causal": False}, {"partial_rotary_factor": 0.5})
    for key in ("rope_parameters", "rope_scaling"):
        for rope in (
            {"rope_type": "default", "rope_theta": 500.0},
            {"rope_theta": 500.0},
            {"factor": 4.0},
            {"type": "linear", "factor": 4.0},
            {"rope_type": "dynamic", "factor": 4.0},
            {"rope_type": "yarn", "factor": 4.0},
            {"rope_theta": 500.0, "partial_rotary_factor": 0.5},
            {},
            None,
        ):
            yield {key: rope, "rope_theta": REMOVED}
            if key == "rope_scaling":
                yield {key: rope, "rope_parameters": REMOVED, "rope_theta": 500.0}
    yield {"rope_parameters": REMOVED}
    yield {"rope_parameters": REMOVED, "rope_theta": 500.0}
    full, sliding = ["full_attention"], ["sliding_attention"]
    for kinds in (full * layers, sliding * layers, full + sliding * (layers - 1), full):
        for window in ({}, {"sliding_window": 60}, {"sliding_window": None}):
            yield {"layer_types": kinds, **window}
            if qwen3:
                yield {"layer_types": kinds, "use_sliding_window": True, **window}
    if qwen3:
        for first in (REMOVED, 0, 1, layers, 28):
            change = {"max_window_layers": first, "layer_types": REMOVED}
            yield {"use_sliding_window": True, "sliding_window": 400, **change}
            yield {"use_sliding_window": True, "sliding_window": None, **change}
    yield from ({"tie_word_embeddings": x} for x in (True, False, REMOVED))
    yield from ({"bos_token_id": REMOVED}, {"eos_token_id": REMOVED})


def train_on_words(folder, directory):
    """A text of words on GPT-2's body, with a mixture on top: rows are means of transformers' own
    embeddings of the pieces into which its tokenizer cuts a word behind a space."""
    text, run_folder = os.path.join(directory, "of-words.txt"), os.path.join(directory, "of-words")
    words = ["the", "king", "cat", "saw", "dog", "zw\u00f6lf", "Boxk\u00e4mpfer,"]
    pathlib.Path(text).write_text((" ".join(words) + "\n") * 40, encoding="utf-8")
    more = "--batch 1 --lr 1e-12 --optimizer sgd --after 1u --sentences".split()
    head = ["--head", "mix:2*lin,log"]
    if not run("lm_train", "--train", text, "--init", folder, "--run", run_folder, *more, *head):
        return
    tokenizer = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
    table = AutoModelForCausalLM.from_pretrained(folder).get_input_embeddings().weight.detach()
    best = pathlib.Path(run_folder, "checkpoints", "best")
    ours = load_file(best / "model.safetensors")["embedding.weight"]
    listed = (best / "dict.txt").read_text("utf-8").split("\n")
    row = {line.rsplit(" ", 1)[0]: number + 2 for number, line in enumerate(listed)}
    for word in words:
        pieces = tokenizer.encode(" " + word, add_special_tokens=False).ids
        worst = (ours[row[word]] - table[pieces].mean(0)).abs().max().item()
        check(worst < 1e-6, f"--init: the row of {word!r} differs by {worst}")
    print(f"--init with words: {len(words)} rows are means of their pieces")


def refuse(folder):
    """What Nine does not have is an error that names it."""
    path = folder / "config.json"
    right = json.loads(path.read_text(encoding="utf-8"))
    for change, said in [
        ({"model_type": "bloom"}, "the model type is 'bloom', and Nine reads the types"),
        ({"attention_bias": True}, "the key 'attention_bias' is true, and Nine has false alone"),
        ({"hidden_act": "relu"}, "the key 'hidden_act' is \"relu\""),
        ({"rope_parameters": {"rope_type": "yarn", "factor": 2.0}}, "'rope_type' is 'yarn'"),
        ({"num_hidden_layers": 3}, "lacks the tensor 'layers.2.input_layernorm.weight'"),
        ({"num_hidden_layers": 1}, "Nine does not read the tensor 'layers.1."),
        ({"bos_token_id": 10**6}, "'bos_token_id' is 1000000, but the model has"),
        ({"num_attention_heads": 5}, "heads"),
    ]:
        path.write_text(json.dumps({**right, **change}), encoding="utf-8")
        code, _, error = lm_score(str(folder), text="the\n")
        check(code == 1 and said in error, f"{change}: {code} {error}")
    path.write_text(json.dumps(right), encoding="utf-8")
    (folder / "tokenizer.json").rename(folder / "tokenizer.was")
    code, _, error = lm_score(str(folder), text="the\n")
    check(code == 1 and "tokenizer.json" in error, f"without a tokenizer: {error}")


if __name__ == "__main__":
    sys.exit(main())
