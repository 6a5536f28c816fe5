"""The generated language of part SS: a chain of classes; within a class words by Zipf's law. Every word can occur, and its entropy is exact."""
import itertools
import math
import random

CLASSES, A_CLASS, END = 64, 2000, 1 / 12  # 128,000 words; a sentence ends after each word with probability END
SENTENCES = {"train": 20000, "valid": 500, "test": 500}


class Language:
    def __init__(self, classes=CLASSES, a_class=A_CLASS):
        draw = random.Random(1)
        self.next = []  # after each class, and last at the start of a sentence: the classes by Zipf's law in an order of its own
        for _ in range(classes + 1):
            order = list(range(classes))
            draw.shuffle(order)
            total = math.fsum(1 / (1 + i) for i in range(classes))
            self.next.append({c: 1 / (1 + i) / total for i, c in enumerate(order)})
        total = math.fsum(1 / (1 + r) for r in range(a_class))
        self.within = [1 / (1 + r) / total for r in range(a_class)]
        self.classes = classes

    def word(self, c, r):
        return f"w{c}.{r}"

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

    def log_p(self, sentence):
        """Natural, of a sentence with its end."""
        before = [self.classes, *(c for c, _ in sentence)]
        goes_on = math.fsum(math.log(self.next[b][c]) + math.log(self.within[r]) for b, (c, r) in zip(before, sentence))
        return goes_on + (len(sentence) - 1) * math.log1p(-END) + math.log(END)

    def entropy(self):
        """Nats a sentence: of the classes at each place, of the words within them, of the ends."""
        entropy_of = lambda ps: -math.fsum(p * math.log(p) for p in ps)
        share, total, expected = {self.classes: 1.0}, 0.0, 1 / END
        for place in range(1000):
            here = (1 - END) ** place
            total += here * math.fsum(p * entropy_of(self.next[c].values()) for c, p in share.items())
            after = dict.fromkeys(range(self.classes), 0.0)
            for c, p in share.items():
                for d, q in self.next[c].items():
                    after[d] += p * q
            share = after
        return total + expected * (entropy_of(self.within) + entropy_of((END, 1 - END)))


def prepare(folder):
    """Texts, a dictionary of all words and the floors under `folder`."""
    if (folder / "floor.txt").exists():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    language, floor = Language(), None
    for seed, (name, number) in enumerate(SENTENCES.items(), 1):
        sentences = list(language.sentences(number, seed))
        (folder / f"{name}.txt").write_text("".join(" ".join(language.word(c, r) for c, r in s) + "\n" for s in sentences), encoding="utf-8")
        floor = math.exp(-math.fsum(map(language.log_p, sentences)) / sum(len(s) + 1 for s in sentences))
    (folder / "dict.txt").write_text("".join(f"{word} 1\n" for word in language.words()), encoding="utf-8")
    (folder / "floor.txt").write_text(f"{floor:.4f}\n")  # the test text's
    return folder
