"""The tests and intervals of the results' tables, in plain Python.
tests/experiments/experiments_driver.py holds each against published or exact figures."""
import itertools
import math


def mean(xs):
    return math.fsum(xs) / len(xs)


def deviation(xs):
    """Standard deviation with n - 1; 0 for one number."""
    m = mean(xs)
    return math.sqrt(math.fsum((x - m) ** 2 for x in xs) / (len(xs) - 1)) if len(xs) > 1 else 0.0


def _beta_fraction(a, b, x):
    """Continued fraction of the incomplete beta function by Lentz's method (Abramowitz and Stegun
    26.5.8)."""
    tiny, c, d = 1e-300, 1.0, 1 - (a + b) * x / (a + 1)
    d = 1 / (d if abs(d) > tiny else tiny)
    value = d
    for m in range(1, 1000):
        for numerator in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 + numerator * d
            d = 1 / (d if abs(d) > tiny else tiny)
            c = 1 + numerator / c
            c = c if abs(c) > tiny else tiny
            value *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return value


def beta_share(a, b, x):
    """The regularised incomplete beta function I_x(a, b)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    if x < (a + 1) / (a + b + 2):
        return front * _beta_fraction(a, b, x) / a
    return 1 - front * _beta_fraction(b, a, 1 - x) / b


def student_tails(t, df):
    """P(|T| >= |t|) of Student's distribution."""
    return beta_share(df / 2, 0.5, df / (df + t * t))


def student_quantile(two_sided, df):
    """The t that |T| exceeds with probability `two_sided`."""
    low, high = 0.0, 1.0
    while student_tails(high, df) > two_sided:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if student_tails(middle, df) > two_sided else (low, middle)
    return (low + high) / 2


def interval(xs, level=0.95):
    """Student's interval of the mean, or None of fewer than two numbers."""
    if len(xs) < 2:
        return None
    half = student_quantile(1 - level, len(xs) - 1) * deviation(xs) / math.sqrt(len(xs))
    return mean(xs) - half, mean(xs) + half


def wide(xs, error, level=0.95):
    """Student's interval of the mean, or None of fewer than two numbers, made wider by another,
    known standard error: half widths add as the sides of a right angle do. So it is never narrower
    than either."""
    bounds = interval(xs, level)
    if bounds is None:
        return None
    half = math.hypot((bounds[1] - bounds[0]) / 2, error * student_quantile(1 - level, 1e6))
    return mean(xs) - half, mean(xs) + half


def average(xs):
    """Mean and interval, None of no numbers."""
    return (mean(xs), interval(xs)) if xs else (None, None)


def ratio(logs, level=0.95):
    """Geometric mean and interval of ratios, from their logarithms."""
    bounds = interval(logs, level)
    return math.exp(mean(logs)), bounds and tuple(map(math.exp, bounds))


def one_sample_p(xs):
    """Two-sided p of Student's test that the mean is 0 (paired differences), or None of fewer than
    two numbers."""
    if len(xs) < 2:
        return None
    s = deviation(xs)
    if s == 0:
        return 1.0 if mean(xs) == 0 else 0.0
    return student_tails(mean(xs) / (s / math.sqrt(len(xs))), len(xs) - 1)


def holm(ps):
    """Holm's corrected p-values, in the order given; None stays None and is not counted."""
    order = sorted((p, i) for i, p in enumerate(ps) if p is not None)
    corrected, running = [None] * len(ps), 0.0
    for rank, (p, i) in enumerate(order):
        running = max(running, min(1.0, (len(order) - rank) * p))
        corrected[i] = running
    return corrected


def holm_paired(differences):
    """{key: Holm's p that their mean is 0} of {key: paired differences}."""
    return dict(zip(differences, holm([one_sample_p(xs) for xs in differences.values()])))


def midranks(xs):
    order = sorted(xs)
    return [(2 * order.index(x) + order.count(x) + 1) / 2 for x in xs]


def page(blocks):
    """Page's L over blocks of conditions in the order predicted (rising), and its exact p: blocks
    and permutations within them are alike."""
    places = range(1, len(blocks[0]) + 1)
    total, counts = 0.0, {0: 1}
    for block in blocks:
        ranks = midranks(block)
        total += math.fsum(p * r for p, r in zip(places, ranks))
        sums = {}
        for order in itertools.permutations(ranks):
            twice = round(2 * math.fsum(p * r for p, r in zip(places, order)))
            sums[twice] = sums.get(twice, 0) + 1
        merged = {}
        for a, n in counts.items():
            for b, m in sums.items():
                merged[a + b] = merged.get(a + b, 0) + n * m
        counts = merged
    return total, sum(n for twice, n in counts.items() if twice >= round(2 * total)) / sum(
        counts.values()
    )


def kendall(xs, ys):
    """Kendall's tau-b."""
    sign = lambda d: (d > 0) - (d < 0)
    pairs = [
        (sign(a[0] - b[0]), sign(a[1] - b[1]))
        for a, b in itertools.combinations(list(zip(xs, ys)), 2)
    ]
    untied = math.sqrt(sum(x != 0 for x, _ in pairs) * sum(y != 0 for _, y in pairs))
    return sum(x * y for x, y in pairs) / untied if untied else math.nan


def permutation_p(xs, ys):
    """Exact unpaired permutation test: P(mean difference at least as far from 0) over all
    splits."""
    both, n = list(xs) + list(ys), len(xs)
    distance = lambda chosen: abs(
        math.fsum(chosen) / n - (math.fsum(both) - math.fsum(chosen)) / (len(both) - n)
    )
    observed = distance(xs) - 1e-12
    splits = list(itertools.combinations(both, n))
    return sum(distance(s) >= observed for s in splits) / len(splits)


def log_normal_density(x, m, s):
    return -0.5 * ((x - m) / s) ** 2 - math.log(s * math.sqrt(2 * math.pi))


def equivalent(differences, margin, level=0.90):
    """TOST at 5%: the 90% interval of the mean lies within +-margin; None if there is no
    interval."""
    inside = interval(differences, level)
    return inside and -margin < inside[0] and inside[1] < margin
