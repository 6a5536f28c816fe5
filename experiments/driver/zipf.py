"""The generated language of part SS: a chain of classes; within a class words by Zipf's law. Every
word can occur, and its entropy is exact."""
import collections
import itertools
import math
import random

from . import records

# 128,000 words; a sentence ends after each word with probability END
CLASSES, A_CLASS, END = 64, 2000, 1 / 12
# exponents of Zipf's law: of the class that follows a class, of the word in its class
CHAIN, WORDS = 2.0, 1.25
SENTENCES = {"train": 60000, "valid": 1000, "test": 1000}


def shares(number, exponent):
    weights = [(1 + rank) ** -exponent for rank in range(number)]
    total = math.fsum(weights)
    return [w / total for w in weights]


class Language:
    def __init__(self, classes=CLASSES, a_class=A_CLASS):
        draw = random.Random(1)
        # after each class, and last at the start of a sentence: the classes by Zipf's law in an
        # order of its own
        self.next = []
        for _ in range(classes + 1):
            order = list(range(classes))
            draw.shuffle(order)
            self.next.append(dict(zip(order, shares(classes, CHAIN))))
        self.within = shares(a_class, WORDS)
        self.classes = classes

    def word(self, c, r):
        return f"w{c}.{r}"

    def read(self, word):
        """(class, rank) of a word."""
        return tuple(map(int, word[1:].split(".")))

    def words(self):
        return [self.word(c, r) for c in range(self.classes) for r in range(len(self.within))]

    def sentences(self, number, seed):
        """Each a list of (class, rank)."""
        draw = random.Random(seed)
        ranks, within = range(len(self.within)), list(itertools.accumulate(self.within))
        following = [(list(n), list(itertools.accumulate(n.values()))) for n in self.next]
        for _ in range(number):
            words, c = [], self.classes
            while not words or draw.random() >= END:
                c = draw.choices(following[c][0], cum_weights=following[c][1])[0]
                words.append((c, draw.choices(ranks, cum_weights=within)[0]))
            yield words

    def log_ps(self, sentence):
        """Natural, of each word of a sentence and of its end."""
        found, before = [], self.classes
        for c, r in sentence:
            found.append(
                math.log(self.next[before][c])
                + math.log(self.within[r])
                + (math.log1p(-END) if found else 0.0)
            )
            before = c
        return [*found, math.log(END)]

    def log_ps_among(self, sentences, known):
        """Natural, of each word of `sentences` that is among the `known`, were there only those and
        no ends; words are (class, rank)."""
        mass, found = [0.0] * self.classes, []
        for c, r in known:
            mass[c] += self.within[r]
        for sentence in sentences:
            before = self.classes
            for c, r in sentence:
                if (c, r) in known:
                    found.append(
                        math.log(
                            self.next[before][c]
                            * self.within[r]
                            / math.fsum(p * mass[d] for d, p in self.next[before].items())
                        )
                    )
                before = c
        return found

    def log_p(self, sentence):
        """Natural, of a sentence with its end."""
        return math.fsum(self.log_ps(sentence))

    def entropy(self):
        """Nats a sentence: of the classes at each place, of the words within them, of the ends."""
        entropy_of = lambda ps: -math.fsum(p * math.log(p) for p in ps)
        share, total, expected = {self.classes: 1.0}, 0.0, 1 / END
        for place in range(1000):
            here = (1 - END) ** place
            total += here * math.fsum(
                p * entropy_of(self.next[c].values()) for c, p in share.items()
            )
            after = dict.fromkeys(range(self.classes), 0.0)
            for c, p in share.items():
                for d, q in self.next[c].items():
                    after[d] += p * q
            share = after
        return total + expected * (entropy_of(self.within) + entropy_of((END, 1 - END)))


def prepare(folder):
    """Texts, a dictionary of all words and what the test text's perplexity lies between
    (anchors.json) under `folder`."""
    if (folder / "anchors.json").exists():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    language = Language()
    drawn = {
        name: list(language.sentences(number, seed))
        for seed, (name, number) in enumerate(SENTENCES.items(), 1)
    }
    for name, sentences in drawn.items():
        (folder / f"{name}.txt").write_text(
            "".join(" ".join(language.word(c, r) for c, r in s) + "\n" for s in sentences),
            encoding="utf-8",
        )
    (folder / "dict.txt").write_text(
        "".join(f"{word} 1\n" for word in language.words()), encoding="utf-8"
    )
    records.keep(
        folder / "anchors.json",
        [
            {
                "floor": floor(language, drawn["test"]),
                "unigram": unigram(language, drawn["train"], drawn["test"]),
            }
        ],
    )
    return folder


def floor(language, sentences):
    """Perplexity by the language itself."""
    return math.exp(-math.fsum(map(language.log_p, sentences)) / sum(len(s) + 1 for s in sentences))


def unigram(language, train, text):
    """Perplexity by the words' frequencies in `train`, a word not seen counted as one, as
    `lm_train` has it; None ends a sentence."""
    counts = collections.Counter(word for s in train for word in (*s, None))
    words = [word for s in text for word in (*s, None)]
    total = counts.total() + language.classes * len(language.within) - (len(counts) - 1)
    return math.exp(
        -math.fsum(math.log(max(counts[word], 1) / total) for word in words) / len(words)
    )
