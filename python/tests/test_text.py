"""LanguageModel, Translator, Tokenizer and rescore beside the programs: the same numbers and texts."""

import inspect
import math
import os
import re
import shutil
import subprocess
import threading
import time
import warnings

import numpy as np
import pytest

import nine
import programs
from programs import needs_programs, run, write

pytestmark = needs_programs

LINES = ["the cat saw the dog", "", "she fed him", "the zebra liked a\tcat", "a bird heard him"]


def given(lines):
    return "".join(line + "\n" for line in lines)


def numbers(text):
    return [[float(x) for x in line.split()] for line in text.splitlines()]


# --- the programs' defaults


@pytest.mark.parametrize(
    "call, program",
    [
        (nine.LanguageModel, ["lm_score"]),
        (nine.Translator, ["mt_translate"]),
        (nine.Tokenizer, ["bpe", "apply"]),
        (nine.Tokenizer.undo, ["bpe", "undo"]),
        (nine.rescore, ["lm_rescore"]),
        (nine.read_n_best, ["lm_rescore"]),
    ],
)
def test_defaults_are_those_of_the_program(call, program):
    others = {
        "samples": 1,  # Translator.sample draws one; the program's 0 asks for a search
        "attention": False,  # the program's is a file
        "lambda_": None,  # -1 in the program
    }
    options, compared = programs.defaults(*program), set()
    calls = [call]
    if inspect.isclass(call):
        calls += [f for name, f in vars(call).items() if callable(f) and name[0] != "_"]
    for each in calls:
        for name, parameter in inspect.signature(each).parameters.items():
            usual = parameter.default
            if usual is parameter.empty or name.rstrip("_") not in options:
                continue
            said = options[name.rstrip("_")]
            compared.add(name)
            if name in others and usual == others[name]:
                continue
            if isinstance(usual, bool):
                assert said == ("yes" if usual else "no"), (each, name)
            elif isinstance(usual, (int, float)):
                assert float(said) == usual, (each, name)
            else:
                assert said == (usual or None), (each, name)
    assert compared


def test_numbers_below_the_programs_least_are_refused():
    model, codes = nine.LanguageModel(programs.language_model()), programs.codes()
    translator = nine.Translator(programs.translation_model())
    lists, (sources, targets) = [[(-1.0, "she fed him")]], (side[:2] for side in programs.pairs())
    refused = set()
    for call, arguments, program in [
        (model.generate, [LINES], ["lm_score"]),
        (model.score_tokens, [LINES], ["lm_score"]),
        (translator.n_best, [sources], ["mt_translate"]),
        (translator.sample, [sources], ["mt_translate"]),
        (translator.score_tokens, [sources, targets], ["mt_translate"]),
        (nine.Translator, [programs.translation_model()], ["mt_translate"]),
        (nine.Tokenizer, [codes], ["bpe", "apply"]),
        (nine.Tokenizer(codes).apply, [LINES], ["bpe", "apply"]),
        (nine.rescore, [lists, programs.language_model()], ["lm_rescore"]),
    ]:
        parameters = inspect.signature(call).parameters
        needed = {"lambda_": 1} if call is nine.rescore else {}
        for name, low in programs.least(*program).items():
            usual = parameters[name].default if name in parameters else None
            # Where the library has no limit: exponents, weights of a log-linear sum.
            if isinstance(usual, (int, float)) and name not in ("length_penalty", "mu"):
                with pytest.raises((nine.Error, ValueError)):
                    call(*arguments, **needed, **{name: type(usual)(low - 1)})
                refused.add(name)
    assert {"samples", "max_words", "beam", "batch", "batch_tokens", "top_k"} <= refused
    with pytest.raises(ValueError, match="samples 0 must be at least 1"):
        model.generate(samples=0)


# --- language models


def lm_score(*options, lines=LINES, head="lin"):
    return run(
        "lm_score", "--checkpoint", programs.language_model(head), *options, given=given(lines)
    )


def test_scores_of_lines_and_tokens():
    model = nine.LanguageModel(programs.language_model())
    scores = model.score(LINES)
    assert scores.dtype == np.float64 and scores.shape == (len(LINES),)
    assert [[x] for x in scores] == numbers(lm_score())
    assert [list(line) for line in model.score_tokens(LINES)] == numbers(lm_score("--tokens"))
    assert [len(line) for line in model.score_tokens(LINES)] == [6, 1, 4, 6, 5]
    assert model.score([]).shape == (0,) and model.score_tokens([]) == []
    several = LINES * 20
    carried = [list(line) for line in model.score_tokens(several, carry_state=True)]
    assert carried == numbers(lm_score("--tokens", "--carry-state", lines=several))
    small = model.score(LINES, batch_tokens=3)
    assert [[x] for x in small] == numbers(lm_score("--batch-tokens", 3))


def test_perplexity():
    model = nine.LanguageModel(programs.language_model())
    shown = programs.subprocess.run(
        [programs.os.path.join(programs.BIN, "lm_score"), "--checkpoint", model.path],
        input=given(LINES), capture_output=True, text=True,
    ).stderr  # fmt: skip
    assert model.perplexity(LINES) == pytest.approx(
        float(re.search("perplexity ([0-9.]+)", shown)[1]), rel=1e-4
    )
    tokens = np.concatenate(model.score_tokens(LINES))
    assert model.perplexity(LINES) == pytest.approx(math.exp(-tokens.mean()), rel=1e-12)
    with pytest.raises(ValueError, match="no perplexity"):
        model.perplexity([])


def test_top_words():
    model = nine.LanguageModel(programs.language_model())
    rows = [line.split("\t") for line in lm_score("--top", 3).splitlines()][1:]
    found = [
        (i + 1, t + 1, e)
        for i, line in enumerate(model.top_words(LINES, 3))
        for t, e in enumerate(line)
    ]
    assert len(rows) == len(found) == 22
    for row, (line, position, e) in zip(rows, found):
        word = e.word + ("" if e.known else " (<unk>)")
        assert row[:3] == [str(line), str(position), word]
        assert row[3:5] == [f"{math.exp(e.log_p):.6g}", str(e.rank)]
        top = [part for w, log_p in e.top for part in (w, f"{math.exp(log_p):.6g}")]
        assert row[5:] == top
    assert [e.known for e in model.top_words(["the zebra"])[0]] == [True, False, True]


@pytest.mark.parametrize(
    "flags, options",
    [
        (["--samples", 3, "--seed", 4], {"samples": 3, "seed": 4}),
        (["--temperature", 0], {"temperature": 0}),
        (["--top-k", 2, "--temperature", 0.7], {"top_k": 2, "temperature": 0.7}),
        (["--top-p", 0.5, "--max-words", 3], {"top_p": 0.5, "max_words": 3}),
        (["--allow-unknown", "--batch", 2], {"allow_unknown": True, "batch": 2}),
    ],
)
def test_generation(flags, options):
    model = nine.LanguageModel(programs.language_model())
    prompts = ["the cat", "", "she"]
    texts = model.generate(prompts, **options)
    assert texts == lm_score("--generate", *flags, lines=prompts).splitlines()
    assert all(
        t.startswith(p) for t, p in zip(texts, np.repeat(prompts, options.get("samples", 1)))
    )


def test_a_mixture_and_numpy_strings():
    model = nine.LanguageModel(programs.language_model("mix:2*lin,log"))
    assert "log" in model.head and len(model.words) > 10 and "</s>" in model.words
    scores = model.score(np.array(LINES))
    assert [[x] for x in scores] == numbers(lm_score(head="mix:2*lin,log"))


def test_errors_have_the_programs_text(tmp_path):
    with pytest.raises(nine.Error) as error:
        nine.LanguageModel(tmp_path)
    assert str(error.value) in run(
        "lm_score", "--checkpoint", tmp_path, given="a\n", code=1
    ).replace("\n", " ")
    model = nine.LanguageModel(programs.language_model())
    with pytest.raises(nine.Error, match="66.67% of the 3 tokens are unknown to the model .*lm-1"):
        model.score(["xx yy"])
    assert model.score(["xx yy"], max_unknown=1).shape == (1,)
    with pytest.raises(nine.UsageError, match="max_unknown is 2, and a share from 0 to 1"):
        model.score(["xx yy"], max_unknown=2)
    with pytest.raises(nine.Error, match="batch tokens 0 must be at least 1"):
        model.score(LINES, batch_tokens=0)
    with pytest.raises(nine.Error, match="batch size 33 must be from 1 to 32"):
        model.generate(batch=33)
    for seed in (-1, 2**64):
        with pytest.raises(nine.UsageError, match=f"seed={seed}: a seed is from 0 to 1844"):
            model.generate(seed=seed)
    model.generate(seed=2**64 - 1)
    with pytest.raises(TypeError, match="lines is one text"):
        model.score("the cat")
    with pytest.raises(TypeError, match=r"lines\[1\] is int"):
        model.score(["the", 3])
    with pytest.raises(ValueError, match=r"lines\[0\] has an end of line"):
        model.score(["the\ncat"])
    with pytest.warns(UserWarning, match="spelled </s>"):
        model.score(["the </s> cat"])
    with pytest.raises(nine.Error, match="not a language model"):
        nine.LanguageModel(programs.translation_model())


# --- translation


def mt_translate(*options, lines, model=None):
    model = model or programs.translation_model()
    return run("mt_translate", "--checkpoint", model, *options, given=given(lines))


def test_translations():
    translator = nine.Translator(programs.translation_model())
    lines = programs.pairs()[0][:20] + [""]
    assert translator.translate(lines) == mt_translate(lines=lines).splitlines()
    assert translator.translate(lines, beam=1, max_length=3) == (
        mt_translate("--beam", 1, "--max-length", 3, lines=lines).splitlines()
    )
    prefixes = ["the"] * len(lines)
    assert (
        translator.translate(lines, prefixes=prefixes)
        == mt_translate("--prefix", write("prefixes", prefixes), lines=lines).splitlines()
    )
    assert translator.translate([]) == []


def test_unknown_words_in_translations():
    model = programs.translation_model(min_count=70)
    translator, lines = nine.Translator(model), programs.pairs()[0][:20]
    any_text, more = {"max_unknown": 1}, ["--max-unknown", 1]
    for options, flags in (({}, []), ({"allow_unknown": False}, ["--no-allow-unknown"])):
        for sampling in ({}, {"seed": 2}):
            draw = ["--samples", 1, "--seed", 2] if sampling else []
            call = translator.sample if sampling else translator.n_best
            found = call(lines, 1, **options, **any_text, **sampling)
            texts = [t.text for line in found for t in line]
            assert (
                texts == mt_translate(*flags, *more, *draw, lines=lines, model=model).splitlines()
            )
            assert any("<unk>" in text for text in texts) == (not flags)


def test_what_is_wrong_with_a_prefix():
    translator = nine.Translator(programs.translation_model())
    for prefix, length, message in (
        ("the the the", 2, "line 1 has 3 tokens, more than the option max-length, 2"),
        ("the </s> the", 5, "ends the translation before the other words of the prefix"),
        ("</s>", 5, "ends the translation before its first word"),
        ("zzzz zzzz", 5, "the prefixes: .* are unknown"),
    ):
        with pytest.raises(nine.Error, match=message):
            translator.translate(programs.pairs()[0][:1], prefixes=[prefix], max_length=length)


def test_n_best_attention_and_alignment(tmp_path):
    translator = nine.Translator(programs.translation_model())
    lines = programs.pairs()[0][:6]
    files = {name: tmp_path / name for name in ("attention", "alignment", "word-scores")}
    flags = [part for name, file in files.items() for part in (f"--{name}", file)]
    listed = mt_translate("--n-best", 3, "--beam", 4, "--length-penalty", 0.6, *flags, lines=lines)
    found = translator.n_best(lines, 3, beam=4, length_penalty=0.6, attention=True)
    shown = [f"{i} ||| {t.text} ||| " for i, line in enumerate(found) for t in line]
    for text, line in zip(shown, listed.splitlines()):
        assert line.startswith(text)
    assert [t.score for line in found for t in line] == [
        float(line.split(" ||| ")[2]) for line in listed.splitlines()
    ]
    best = [line[0] for line in found]
    pairs = [" ".join(f"{i}-{j}" for i, j in t.alignment) for t in best]
    assert pairs == files["alignment"].read_text().splitlines()
    assert [list(t.token_log_probs) for t in best] == numbers(files["word-scores"].read_text())
    for t, line in zip(best, files["attention"].read_text().splitlines()):
        matrix = programs.json.loads(line)["attention"]
        np.testing.assert_allclose(t.attention, np.array(matrix), rtol=1e-6)
        assert t.attention.shape == (len(t.tokens), len(t.attention[0]))
        np.testing.assert_allclose(t.attention.sum(axis=1), 1, rtol=1e-5)
        assert t.log_prob == pytest.approx(t.token_log_probs.sum(), rel=1e-12)
    with pytest.raises(nine.Error, match="beam 2 and n-best 3"):
        translator.n_best(lines, 3, beam=2)


def test_samples_of_translations():
    translator = nine.Translator(programs.translation_model())
    lines = programs.pairs()[0][:4]
    drawn = translator.sample(lines, 3, seed=5, temperature=1.3, top_k=4, allow_unknown=True)
    flags = ["--samples", 3, "--seed", 5, "--temperature", 1.3, "--top-k", 4, "--allow-unknown"]
    assert [t.text for line in drawn for t in line] == mt_translate(
        *flags, lines=lines
    ).splitlines()


def test_scores_of_given_translations():
    translator = nine.Translator(programs.translation_model())
    sources, targets = (side[:10] for side in programs.pairs())
    file = write("given", targets)
    scores = translator.score(sources, targets)
    assert [[x] for x in scores] == numbers(mt_translate("--score-given", file, lines=sources))
    each = translator.score_tokens(sources, targets)
    assert [list(line) for line in each] == numbers(
        mt_translate("--score-given", file, "--tokens", lines=sources)
    )
    with pytest.raises(ValueError, match="10 sources and 9 targets"):
        translator.score(sources, targets[1:])


def test_a_model_of_raw_text():
    translator = nine.Translator(programs.prose_model())
    assert translator.reads_prose
    assert not nine.Translator(programs.translation_model()).reads_prose
    lines = ["\u201eXdog xthe!\u201c\t(5)", "", "</s> <unk>"]
    shown = run("mt_translate", "--checkpoint", programs.prose_model(), given=given(lines))
    assert translator.translate(lines) == shown.split("\n")[:-1]
    begun = translator.n_best(lines[:1], 1, prefixes=["\u201eThe"])[0][0]
    assert begun.text.startswith("\u201eThe")
    assert len(begun.token_log_probs) == len(begun.tokens) + begun.complete
    with pytest.raises(nine.Error, match="reads and writes raw text with its own tokenizer"):
        nine.Translator(programs.prose_model(), detokenize="moses")


def test_detokenised_translations():
    lines = programs.pairs()[0][:5]
    shown = mt_translate("--detokenize", "moses", "--language", "fr", lines=lines)
    translator = nine.Translator(programs.translation_model(), detokenize="moses", language="fr")
    assert translator.translate(lines) == shown.splitlines()
    undo = nine.Tokenizer(programs.codes()).undo
    assert undo(["l&apos; ca@@ t ."], detokenize="moses", language="fr") == ["l'cat."]
    with pytest.raises(nine.Error, match="is not one of none, moses, 13a"):
        undo(["a"], detokenize="ptb")


def test_an_ensemble():
    paths = [programs.translation_model(), programs.translation_model(2)]
    lines = programs.pairs()[0][:5]
    translated = run("mt_translate", "--checkpoint", *paths, given=given(lines))
    assert nine.Translator(paths).translate(lines) == translated.splitlines()


def test_long_lines():
    translator = nine.Translator(programs.translation_model())
    word = programs.pairs()[0][0].split()[0]
    lines = [word, " ".join([word] * (translator.max_words + 1))]
    with pytest.raises(nine.Error, match="the text to translate, line 2"):
        translator.translate(lines)
    with pytest.warns(UserWarning, match="line 2 .* its translation is empty here"):
        assert translator.translate(lines, skip_long=True)[1] == ""


# --- subwords


def test_subwords():
    tokenizer = nine.Tokenizer(programs.codes())
    lines = programs.sentences(40, seed=2) + ["", " wheelbarrow  day ", "the\tcat", "naïve ßé"]
    cut = tokenizer.apply(lines)
    assert cut == run("bpe", "apply", "--codes", programs.codes(), given=given(lines)).splitlines()
    assert any("@@ " in line for line in cut)
    assert tokenizer.undo(cut) == run("bpe", "undo", given=given(cut)).splitlines()
    assert tokenizer.undo(tokenizer.apply(["the wheelbarrow"])) == ["the wheelbarrow"]
    flags = ["--codes", programs.codes(), "--dropout", 0.5]
    for options, seed in (({}, []), ({"seed": 3}, ["--seed", 3])):
        assert (
            tokenizer.apply(lines, dropout=0.5, **options)
            == run("bpe", "apply", *flags, *seed, given=given(lines)).splitlines()
        )
    whole = nine.Tokenizer(programs.codes(), glossaries=["wheelbarrow"], merges=5, separator="__")
    assert whole.apply(lines) == run(
        "bpe", "apply", "--codes", programs.codes(), "--glossaries", "wheelbarrow", "--merges", 5,
        "--separator", "__", given=given(lines),
    ).splitlines()  # fmt: skip
    assert "wheelbarrow" in whole.apply(["a wheelbarrow"])[0]
    with pytest.warns(UserWarning, match="1 words of the input end with @@"):
        tokenizer.apply(["ca@@ t"])
    with pytest.raises(ValueError, match="merges is -5"):
        nine.Tokenizer(programs.codes(), merges=-5)
    with pytest.raises(ValueError, match="separator ' '"):
        nine.Tokenizer(programs.codes(), separator=" ")
    with pytest.raises(nine.Error, match="no-codes"):
        nine.Tokenizer("no-codes")


def test_subwords_of_many_lines_on_several_threads():
    tokenizer = nine.Tokenizer(programs.codes())
    lines = programs.sentences(9000, seed=3)
    before = nine.threads()
    nine.set_threads(2)
    together = tokenizer.apply(lines)
    nine.set_threads(before)
    assert together == [tokenizer.apply([line])[0] for line in lines]


# --- n-best lists


def n_best_lists(count, seed):
    draw = programs.random.Random(seed)
    lists, references = [], []
    for right in programs.sentences(count, seed=seed):
        words = right.split()
        wrong = []
        for _ in range(4):
            other = list(words)
            other[draw.randrange(len(other))] = draw.choice(["dog", "the", "fed", "she"])
            wrong.append(" ".join(other[: draw.choice([len(other), len(other), len(other) - 1])]))
        texts = wrong[:2] + [right] + wrong[2:]
        lists.append([(-draw.uniform(0, 4) - i, text) for i, text in enumerate(texts)])
        references.append(right)
    return lists, references


def write_lists(name, lists, references):
    rows = [f"u{i}\t{score!r}\t{text}" for i, l in enumerate(lists) for score, text in l]
    truth = [f"u{i}\t{text}" for i, text in enumerate(references)]
    return write(name + ".tsv", rows), write(name + ".ref", truth)


def lm_rescore(tmp_path, files, *flags):
    run("lm_rescore", "--checkpoint", programs.language_model(), programs.language_model(seed=2),
        "--nbest", files[0], "--reference", files[1], "--output", tmp_path / "out",
        "--resamples", 100, *flags)  # fmt: skip
    results = programs.json.loads((tmp_path / "out/results.json").read_text())
    hypotheses = (tmp_path / "out/hyp.trn").read_text().splitlines()
    return results, [line[: line.rindex("(")].strip() for line in hypotheses]


@pytest.mark.parametrize("tuned", [False, True])
def test_rescoring(tmp_path, tuned):
    lists, references = n_best_lists(30, seed=1)
    files = write_lists("rescored", lists, references)
    models = [programs.language_model(), nine.LanguageModel(programs.language_model(seed=2))]
    if tuned:
        other = n_best_lists(40, seed=2)
        tune = write_lists("tuned", *other)
        flags, options = ["--tune-nbest", tune[0], "--tune-reference", tune[1]], {"tune": other}
    else:
        flags, options = ["--lambda", 0.8, "--mu", 0.3], {"lambda_": 0.8, "mu": 0.3}
    results, texts = lm_rescore(tmp_path, files, *flags)
    found = nine.rescore(lists, models, references=references, **options)
    assert found.texts == texts
    assert (found.lambda_, found.mu) == (results["lambda"], results["mu"])
    assert found.errors.errors < found.first_errors.errors
    assert found.oracle_errors == 0
    assert [lists[i][j][1] for i, j in enumerate(found.chosen)] == texts
    # The scores are those of the sentences under the mean of both models' probabilities.
    tokens = [
        nine.LanguageModel(path).score_tokens([text for _, text in lists[0]])
        for path in (programs.language_model(), programs.language_model(seed=2))
    ]
    mixed = [np.logaddexp(a, b).sum() - len(a) * math.log(2) for a, b in zip(*tokens)]
    np.testing.assert_allclose(found.log_p[0], mixed, rtol=1e-12)
    assert nine.read_n_best(files[0])[3] == ("u3", lists[3])


@pytest.mark.parametrize("tuned", [False, True])
def test_rescoring_several_scores(tmp_path, tuned):
    def two_scores(lists):
        noise = programs.random.Random(5)
        return [[((score - 3 * n, n), text) for score, text in l for n in [noise.uniform(0, 9)]]
                for l in lists]  # fmt: skip

    def write_two(name, lists, references):
        rows = [f"u{i}\t{a!r}\t{b!r}\t{text}" for i, l in enumerate(lists) for (a, b), text in l]
        truth = [f"u{i}\t{text}" for i, text in enumerate(references)]
        return write(name + ".tsv", rows), write(name + ".ref", truth)

    lists, references = n_best_lists(30, seed=1)
    lists = two_scores(lists)
    files = write_two("two", lists, references)
    models = [programs.language_model(), programs.language_model(seed=2)]
    flags = ["--nbest-scores", "a", "b"]
    if tuned:
        other, right = n_best_lists(40, seed=2)
        other = two_scores(other)
        tune = write_two("two_tuned", other, right)
        flags += ["--tune-nbest", tune[0], "--tune-reference", tune[1]]
        options = {"tune": (other, right)}
    else:
        flags += ["--lambda", 0.8, "--first-weights", 1, 2.5]
        options = {"lambda_": 0.8, "first_weights": [1, 2.5]}
    results, texts = lm_rescore(tmp_path, files, *flags)
    found = nine.rescore(lists, models, references=references, **options)
    assert found.texts == texts
    assert found.first_weights == results["first_weights"]
    assert (found.lambda_, found.mu) == (results["lambda"], results["mu"])
    assert found.first_errors.errors == results["first_pass"]["errors"]
    assert nine.read_n_best(files[0], scores=["a", "b"])[3] == ("u3", lists[3])
    with pytest.raises(nine.UsageError, match="first_weights has 3 numbers for 2"):
        nine.rescore(lists, models, lambda_=1, first_weights=[1, 2, 3])
    with pytest.raises(ValueError, match="with 1 scores, but the first one has 2"):
        nine.rescore([*lists, [(0.5, "the")]], models, lambda_=1)
    with pytest.raises(ValueError, match=r"tune\[0\] has 1 scores a hypothesis, but lists has 2"):
        nine.rescore(lists, models, tune=n_best_lists(3, seed=3))


def test_rescoring_refuses(tmp_path):
    lists, references = n_best_lists(3, seed=1)
    model = programs.language_model()
    with pytest.raises(nine.UsageError, match="the language model has no weight"):
        nine.rescore(lists, model)
    with pytest.raises(nine.UsageError, match="leave one of them out"):
        nine.rescore(lists, model, lambda_=1, tune=(lists, references))
    with pytest.raises(ValueError, match="3 lists and 2 references"):
        nine.rescore(lists, model, lambda_=1, references=references[1:])
    with pytest.raises(ValueError, match=r"lists\[1\] has a hypothesis without words"):
        nine.rescore([lists[0], [(0.0, " ")]], model, lambda_=1)
    with pytest.raises(ValueError, match=r"lists\[0\] has a hypothesis with the score nan"):
        nine.rescore([[(math.nan, "she")]], model, lambda_=1)
    for measure in ("cer", "BLEU"):
        with pytest.raises(nine.UsageError, match="measure"):
            nine.rescore(lists, model, lambda_=1, references=references, measure=measure)
    impossible = nine.rescore([[(-math.inf, "she fed him"), (-3.0, "she fed")]], model, lambda_=1)
    assert list(impossible.chosen) == [1]


def test_rescoring_warns_as_lm_rescore_does(tmp_path):
    lists, references = n_best_lists(30, seed=1)
    models = [programs.language_model(), programs.language_model(seed=2)]
    reversed_lists = [[(-score, text) for score, text in hypotheses] for hypotheses in lists]
    cases = {
        "worst score": (reversed_lists, references, {"lambda_": 1}, ["--lambda", 1]),
        "one score": ([[(0.0, t) for _, t in l] for l in lists], references, {"lambda_": 1},
                      ["--lambda", 1]),
        "does not fit": (lists, [text.upper() for text in references], {"lambda_": 1},
                         ["--lambda", 1]),
        "parts of subwords": (lists, ["th@@ e", *references[1:]], {"lambda_": 1}, ["--lambda", 1]),
        "the very lists": (lists, references, {"tune": (lists, references)}, []),
    }  # fmt: skip
    for name, (given, right, options, flags) in cases.items():
        files = write_lists("warned", given, right)
        if not flags:
            flags = ["--tune-nbest", files[0], "--tune-reference", files[1]]
        done = subprocess.run(
            [os.path.join(programs.BIN, "lm_rescore"), "--checkpoint", *models, "--nbest", files[0],
             "--reference", files[1], "--output", tmp_path / name, *map(str, flags)],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        expected = re.findall("warning: (.*)", done.stderr)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            nine.rescore(given, models, references=right, **options)
        said = [str(w.message) for w in caught]
        assert len(said) == len(expected) and any(name in message for message in said)
        for ours, theirs in zip(said, expected):
            for argument, file in zip(("lists", "references"), files):
                theirs = theirs.replace(file, argument)
            # Only the names of files and utterances, and the advice about the flag, differ.
            assert ours[-40:] == theirs[-40:] or "nbest-cost" in theirs


def test_rescoring_says_log_zeros_and_refuses_one_model_twice(tmp_path):
    lists = [[(-1.0, "the cat"), (float("-inf"), "a dog"), (-1e12, "a cat")]]
    model = programs.language_model()
    with pytest.warns(UserWarning, match="lists: 2 hypotheses cannot be chosen"):
        chosen = nine.rescore(lists, model, lambda_=1, max_unknown=1)
    assert chosen.texts == ["the cat"]
    copy = tmp_path / "copy"
    shutil.copytree(model, copy)
    with pytest.raises(nine.UsageError, match="copy has the weights of .* would count twice"):
        nine.rescore(lists, [model, copy], lambda_=1, max_unknown=1)


def test_half_of_a_surrogate_pair_is_named():
    model = nine.LanguageModel(programs.language_model())
    with pytest.raises(ValueError, match=r"lines\[1\] has half of a surrogate pair at 4"):
        model.score(["the cat", "the \ud800"])


# --- progress, other threads, Ctrl-C


def test_progress(capfd):
    seen = []
    model = nine.LanguageModel(programs.language_model())
    model.score(LINES, progress=lambda done, all_: seen.append((done, all_)))
    assert seen[-1] == (5, 5)
    translator = nine.Translator(programs.translation_model())
    translator.translate(programs.pairs()[0][:7], progress=True)
    assert capfd.readouterr().err.endswith("translate: 100%\n")

    def stop(done, all_):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        model.score(LINES, progress=stop)


@pytest.mark.parametrize("what", ["score", "generate", "translate", "top_words"])
def test_other_threads_run_and_ctrl_c_ends(what):
    calls = {
        "score": lambda: nine.LanguageModel(programs.language_model()).score(
            programs.sentences(400_000), batch_tokens=1000
        ),
        "generate": lambda: nine.LanguageModel(programs.language_model()).generate(
            [""] * 10_000, samples=100
        ),
        "translate": lambda: nine.Translator(programs.translation_model()).translate(
            programs.pairs()[0] * 300
        ),
        "top_words": lambda: nine.LanguageModel(programs.language_model()).top_words(
            programs.sentences(200_000), batch_tokens=1000
        ),
    }
    counted = [0]
    stop = threading.Event()

    def count():
        while not stop.wait(0.01):
            counted[0] += 1

    def interrupt():
        time.sleep(1.5)
        programs.signal.pthread_kill(threading.main_thread().ident, programs.signal.SIGINT)

    for f in (programs.language_model, programs.translation_model):
        f()
    helpers = [threading.Thread(target=count), threading.Thread(target=interrupt)]
    for helper in helpers:
        helper.start()
    finished = False
    with pytest.raises(KeyboardInterrupt):
        calls[what]()
        finished = True
        time.sleep(10)  # for the interrupt, which must not reach another test
    assert not finished
    stop.set()
    for helper in helpers:
        helper.join()
    assert counted[0] > 20
