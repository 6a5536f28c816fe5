"""BLEU of tokenised text from counts of sentences, so that a bootstrap can draw sentences. Papineni
et al. 2002; one reference, four orders."""
import collections
import math
import random


def counts(words, reference):
    """[matches of order 1 to 4, length, length of the reference]; there are max(0, length - n + 1)
    n-grams."""
    found = []
    for n in range(1, 5):
        grams, right = (
            collections.Counter(zip(*(text[i:] for i in range(n)))) for text in (words, reference)
        )
        found.append(sum((grams & right).values()))
    return [*found, len(words), len(reference)]


def of(sentences):
    """BLEU in points of sentences, each [matches of order 1 to 4, length, length of the reference].
    An order without a match halves as in sacreBLEU (exp)."""
    logs, halves = [], 1
    for n in range(4):
        matches, grams = sum(s[n] for s in sentences), sum(max(0, s[4] - n) for s in sentences)
        if not grams:
            return 0.0
        if not matches:
            halves *= 2
        logs.append(math.log((matches or 1 / halves) / grams))
    if sum(s[0] for s in sentences) == 0:
        return 0.0
    length, right = sum(s[4] for s in sentences), sum(s[5] for s in sentences)
    return 100 * math.exp(min(0.0, 1 - right / length) + math.fsum(logs) / 4)


def resamples(sentences, number=1000):
    """BLEU of so many draws of as many sentences with replacement; which are drawn depends on their
    number alone."""
    draw = random.Random(1)
    return [round(of(draw.choices(sentences, k=len(sentences))), 4) for _ in range(number)]
