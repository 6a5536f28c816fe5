"""SS, looked at afterwards: what its models give to words by how often the training text has them,
and what they keep for them."""
import collections
import functools
import math

from . import statistics, zipf
from .measures import run_program
from .models import checkpoint, dictionary, tensors
from .text import sentences

END, UNKNOWN = "</s>", "<unk>"
# and the most of each
CLASSES = {
    "0": 0,
    "1": 1,
    "2 to 4": 4,
    "5 to 16": 16,
    "17 to 64": 64,
    "65 to 256": 256,
    "257 or more": math.inf,
    END: -1,
}


def class_of(word, counts):
    return (
        END if word == END else next(name for name, most in CLASSES.items() if counts[word] <= most)
    )


def by_class(words, counts, values):
    """{class: [how many words, mean of their values]}, and last those of all."""
    found = {name: [] for name in CLASSES}
    for word, value in zip(words, values, strict=True):
        found[class_of(word, counts)].append(value)
    found["all"] = [value for some in found.values() for value in some]
    return {
        name: [len(some), round(statistics.mean(some), 6)] for name, some in found.items() if some
    }


def kept(directory):
    """([word], [bias], [length of its vector]) of the vocabulary of a checkpoint with the head
    lin."""
    words = [END, UNKNOWN, *dictionary(directory)]
    model = tensors(directory / "model.safetensors", {"head.weight", "head.bias"})
    lengths = [math.hypot(*w) for w in model["head.weight"]]
    rows = zip(words, model["head.bias"][0], lengths, strict=True)
    return zip(*(row for row in rows if row[0] != UNKNOWN))


def occurrences(context, measure):
    """Of the test text, each line from a fresh state: mean ln p by class, the language's and the
    model's; biases and lengths of the vectors of the dictionary's words; and mean ln p of the
    text's words that occur in training, among all such words, the language's and the model's."""
    model, folder, language = context.model(measure.needs[0]), context.generated(), zipf.Language()
    score = functools.partial(run_program, context, "lm_score", "--checkpoint", model)
    train, test = folder / "train.txt", folder / "test.txt"
    counts = collections.Counter(word for line in sentences(train) for word in line)
    text = sentences(test)
    read = [list(map(language.read, line)) for line in text]
    words = [word for line in text for word in (*line, END)]
    vocabulary, biases, lengths = kept(checkpoint(model))
    given = map(float, score("--input", test, "--tokens").split())
    occurring = model / "occurring.txt"  # the set of all words that the training text has
    occurring.write_text(" ".join(sorted(counts)) + "\n", encoding="utf-8")
    printed = score("--restrict", occurring, "--input", test, "--choices").splitlines()
    names, *choices = (line.split("\t") for line in printed)
    among = {
        "language": language.log_ps_among(read, set(map(language.read, counts))),
        "model": [-float(row[names.index("nats")]) for row in choices],
    }
    mean = lambda values: [len(values), round(statistics.mean(values), 6)]
    exact = [x for line in read for x in language.log_ps(line)]
    return [
        {
            "event": "occurrences",
            "language": by_class(words, counts, exact),
            "model": by_class(words, counts, given),
            "bias": by_class(vocabulary, counts, biases),
            "length": by_class(vocabulary, counts, lengths),
            "among themselves": {name: mean(values) for name, values in among.items()},
        }
    ]
