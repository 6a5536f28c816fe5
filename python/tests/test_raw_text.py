"""LanguageModel of raw text beside lm_score: the same numbers and texts."""

import json
import math

import pytest

import nine
import programs

pytestmark = programs.needs_programs


@pytest.fixture(scope="module")
def run():
    text = "".join(s.capitalize() + ".\n\n" for s in programs.sentences(300))
    path = programs.directory() / "raw.txt"
    path.write_text(text)
    name = programs.directory() / "raw"
    programs.run(
        *["lm_train", "--text", path, "--layers", 1, "--hidden", 16, "--embed", 16],
        *["--after", "30u", "--vocab-size", 300, "--threads", 1, "--run", name],
    )
    return str(name)


def test_scores_and_prose(run):
    model = nine.LanguageModel(run)
    assert model.raw
    texts = ["The cat saw him.\n", "\n", "Caf\u00e9"]
    given = "".join(texts)
    scores = programs.run("lm_score", "--checkpoint", run, given=given).split()
    assert model.score(texts).tolist() == [float(s) for s in scores]
    log_p = model.score_tokens(texts)
    nats = -sum(float(line.sum()) for line in log_p)
    size = len(given.encode())
    assert model.bits_per_byte(texts) == pytest.approx(nats / size / math.log(2))
    lines = programs.run(
        *["lm_score", "--checkpoint", run, "--generate", "--json", "--max-words", 9],
        *["--samples", 5],
        given="The cat\n",
    )
    made = model.generate(["The cat"], max_words=9, samples=5)
    assert made == [json.loads(line)["text"] for line in lines.splitlines()]


def test_word_surprisals(run):
    model = nine.LanguageModel(run)
    texts = ["The caf\u00e9 saw  him.\n", "\n"]
    table = programs.run("lm_score", "--checkpoint", run, "--words", given="".join(texts))
    rows = [line.split("\t") for line in table.splitlines()[1:]]
    words = model.word_surprisals(texts)
    assert words[1] == []
    assert [[str(w.begin), str(w.end), w.word] for w in words[0]] == [r[2:5] for r in rows]
    assert [w.bits for w in words[0]] == [float(r[5]) for r in rows]
    with pytest.raises(nine.Error, match="reads raw text"):
        nine.LanguageModel(programs.language_model()).word_surprisals(texts)
