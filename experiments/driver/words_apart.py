"""T4-SWB and T4-SC: which word of a set of close ones do the models on spoken English take? Nothing
is trained. Sets are the kernel paper's clusters, homophones, judged substitutes (Swords) and pairs
of good and bad words (BLiMP). docs/results/rules.md says what decides them."""
import collections
import math
import re
import typing

from . import claims, measured, measures, search, statistics, tables
from .measured import ALIKE, choice_difference
from .models import checkpoint, dictionary
from .setups import Measure, corpus_of, shaped
from .tables import DASH

# the paper's: a word and the five closest to it by the inner product of lin's vectors (slide 26)
CLUSTERS = "--clusters 20:inner --cluster-size 6 --cluster-min-count 500".split()
# of a substitute: what share of people found it fitting
ACCEPTED, REJECTED = 0.5, 0.0


class Question(typing.NamedTuple):
    """Words from the left, and words that may follow: those that people accept, and others."""

    unit: int  # that a bootstrap draws again
    left: list
    accepted: list
    rejected: list


def spoken(text):
    """The words of a text in the corpora's form: letters and ' alone, contractions one word."""
    joined = re.sub(r" (?='(?:s|re|ve|ll|d|m|t)\b)", "", text.lower().replace(" n't", "n't"))
    return [word for word in re.findall(r"[a-z']+", joined) if word.strip("'")]


def rows_of(context, name):
    path = context.data / "words" / name
    if not path.exists():
        raise SystemExit(f"no {path}: experiments/data.md says where to get it")
    return [line.split("\t") for line in measures.lines_of(path)]


def swords(context, known):
    """A question for each target: the sentence before it, and its substitutes that are known."""
    for i, (_, left, _, _, substitutes) in enumerate(rows_of(context, "swords.test.tsv")):
        shares = dict(each.rsplit(":", 1) for each in substitutes.split())
        of = lambda wanted: [w for w, x in shares.items() if wanted(float(x)) and w in known]
        accepted, rejected = of(lambda x: x >= ACCEPTED), of(lambda x: x == REJECTED)
        if accepted and rejected:
            yield Question(i, spoken(re.split("[.?!;:]", left)[-1]), accepted, rejected)


def blimp(context, known):
    """A question for each pair whose words are all known; a unit is a kind of sentence."""
    kinds = collections.defaultdict(lambda: len(kinds))
    for kind, *texts in rows_of(context, "blimp.oneword.tsv"):
        unit, (left, good, bad, right) = kinds[kind], map(spoken, texts)
        one = len(good) == len(bad) == 1
        if one and known.issuperset([*left, *good, *bad, *right]):
            yield Question(unit, left, good, bad)


def asked(score, folder, kind, questions):
    """[positions, right, nats] of each unit of questions: whether the likeliest of a question's
    words is an accepted one, and how surely one of them follows. A line is the words from the left
    and an accepted word, at whose place the model chooses."""
    sets, lines, places = {}, [], {}
    for number, q in enumerate(questions):
        words = tuple(sorted((*q.accepted, *q.rejected)))
        own = sets.setdefault(words, len(sets) + 1)
        for word in q.accepted:
            lines.append(" ".join([*q.left, word]))
            places[len(lines), len(q.left) + 1, own] = number
    path, text = folder / f"sets-{kind}", "".join(f"{line}\n" for line in lines)
    path.write_text("".join(f"{' '.join(words)}\n" for words in sets), encoding="utf-8")
    printed = score("--restrict", path, "--choices", "--max-unknown", 1, stdin=text)
    right, shares = {}, collections.defaultdict(float)
    for at in measures.choices(printed):
        number = places.get(tuple(int(at[k]) for k in ("line", "word", "set")))
        if number is not None:
            right[number] = at["chosen"] in questions[number].accepted
            shares[number] += math.exp(-float(at["nats"]))
    units = collections.defaultdict(lambda: [0, 0, 0.0])
    for number, q in enumerate(questions):
        own = units[q.unit]
        own[0] += 1
        own[1] += right[number]
        own[2] -= math.log(max(shares[number], 1e-30))
    return units


def homophones(context, corpus, folder, known):
    """A file of the sets of words that sound alike, of those that the models know."""
    sets = (
        [w for w in row[1].split() if w in known]
        for row in rows_of(context, f"homophones.{corpus}.tsv")
    )
    path = folder / "sets-homophones"
    path.write_text("".join(f"{' '.join(s)}\n" for s in sets if len(s) > 1), encoding="utf-8")
    return path


def words_apart(context, measure):
    """Of each kind of sets, [positions, right, nats] of the test text's conversations or hearings,
    or of what else is drawn again: numbers alone."""
    run, lin = measure.needs[0], measure.needs[-1]
    name, corpus = corpus_of(run.setup)
    folder, model = context.data / name, context.model(run)
    known = set(dictionary(checkpoint(model)))
    score, unit_of = measures.scorer(context, model), measures.units_of(folder, corpus)
    events = []
    for kind, sets in (
        ("inner", measures.made_sets(context, lin, "sets-inner-six", CLUSTERS)),
        ("homophones", homophones(context, name, model, known)),
    ):
        printed = score("--restrict", sets, "--choices", "--input", folder / corpus.test)
        counted = measures.by_unit_and_count(measures.choices(printed), unit_of.__getitem__)
        events.append(measures.restricted_event(kind, "units", *counted))
    for kind, questions in (("swords", swords), ("blimp", blimp)):
        units = asked(score, model, kind, list(questions(context, known)))
        events.append(measures.restricted_event(kind, "units", units, {}))
    return events


# ---- the parts ----
# what is told of a kind of sets, and what of it is drawn again, if not the units of the test text
KINDS = {
    "inner": ("the paper's clusters, a word and the five closest by lin's inner product", ""),
    "homophones": ("words that sound alike", ""),
    "swords": ("Swords, whether the likeliest substitute is one that people accept", "targets"),
    "blimp": ("BLiMP, the good word or the bad one", "kinds of sentences"),
}
# the paper's baseline, and a component's freedom with nothing to choose
LIN, MAPPED, MIXTURE = "lin", "lin, map", "mix2"


def of_models(name, owners, measure, note):
    """Measures of the rows of parts that train, each once; the clusters are of lin with seed 1."""
    owned = {}
    for owner in owners:
        for row in owner.rows:
            owned.setdefault(row.label, (owner, row))
    owner, row = owned[LIN]
    lin = owner.run(row, 1)
    made = [
        Measure(name, label, seed, (own.run(row, seed), lin), measure, 0.1)
        for seed in range(1, owner.seeds + 1)
        for label, (own, row) in owned.items()
    ]
    return shaped(name, measures=tuple(made), note=note)


def all_parts(trained, measure=words_apart):
    """Of the parts on spoken English, which train."""
    by_name = {part.name: part for part in trained}
    note = "The models are {}."
    return [
        of_models(name, [by_name[k] for k in owners], measure, note.format(listed(owners)))
        for name, owners in search.MEASURED.items()
    ]


def listed(names):
    *others, last = (f"{name}'s" for name in names)
    return " and ".join([*[", ".join(others)] * bool(others), last])


# ---- verdicts and tables ----
def on_clusters(part, folder=None):
    return measured.restricted(part, "inner", folder)


def side(bounds):
    """Whether an interval of differences lies above 0."""
    if bounds and bounds[0] > 0:
        return claims.AGREES
    return claims.DISAGREES if bounds and bounds[1] < 0 else claims.NOT_SHOWN


def better(bounds, nats):
    """The verdict on a mixture whose accuracy beside another model's has an interval: in part if it
    is the better model altogether, by more than 2.5% of perplexity."""
    word = side(bounds)
    return claims.IN_PART if word == claims.AGREES and nats < -ALIKE else word


def points(found, bounds):
    told = tables.with_interval(statistics.mean(found.by_seed), bounds)
    return told if told.startswith("-") else f"+{told}"


@measured.rule(on_clusters)
def t4_swb(by, part, folder):
    """mix2 beside lin, on each kind of sets; the paper's clusters decide."""
    models, words, figures = measured.perplexities(part, folder), {}, []
    gain = models[MIXTURE].against(models[LIN])
    if gain:
        figures.append(f"test perplexity of {MIXTURE} {tables.ratio(gain)} × {LIN}")
    for kind in KINDS:
        cells = measured.restricted(part, kind, folder)
        beside = lambda base: choice_difference(cells[MIXTURE].values, cells[base].values)
        found, mapped = beside(LIN), beside(MAPPED)
        if gain and found.by_seed:
            words[kind] = better(found.wide, statistics.mean(gain))
            told = f"{kind}: {MIXTURE} − {LIN} {points(found, found.wide)} points, {words[kind]}"
            if mapped.by_seed:
                told += f" (− {MAPPED} {points(mapped, mapped.wide)})"
            figures.append(told)
    return "; ".join(figures) or measured.every([])[0], words.get("inner", claims.NOT_SHOWN)


WAYS = {
    claims.AGREES: "ahead",
    claims.DISAGREES: "behind",
    claims.NOT_SHOWN: "no direction",
}


@measured.rule(on_clusters)
def t4_sc(by, part, folder):
    """One seed decides nothing: the direction of each row beside lin, by the hearings alone."""
    figures = []
    for kind in KINDS:
        cells, told = measured.restricted(part, kind, folder), []
        for label in (k for k in cells if k != LIN):
            found = choice_difference(cells[label].values, cells[LIN].values)
            if found.by_seed:
                way = WAYS[side(found.over_text)]
                told.append(f"{label} − {LIN} {points(found, found.over_text)} points, {way}")
        figures += [f"{kind}: {', '.join(told)}"] * bool(told)
    return "; ".join(figures) or measured.every([])[0], claims.NOT_SHOWN


def table(part, folder=None):
    """A table for each kind of sets: all models beside lin, and beside lin with the layer."""
    models, blocks = measured.perplexities(part, folder), []
    _, corpus = corpus_of(next(iter(part.measures)).needs[0].setup)
    blocks.append(measured.heading(part, on_clusters(part, folder).values()))
    for kind, (told, units) in KINDS.items():
        cells, lines = measured.restricted(part, kind, folder), []
        for label, c in cells.items():
            line = [f"`{label}`", str(len(c.values)), measured.shown_ppl(models[label])]
            line.append(tables.shown([measured.accuracy(e) for e in c.values.values()]))
            for base in (LIN, MAPPED):
                found = choice_difference(c.values, cells[base].values)
                known = found.by_seed and label != base
                line += [
                    points(found, bounds) if known else DASH
                    for bounds in (found.over_text, found.wide)
                ]
            nats = choice_difference(c.values, cells[LIN].values, 3)
            line.append(tables.shown([measured.nats(e) for e in c.values.values()], 4))
            known = nats.by_seed and label != LIN
            mean = statistics.mean(nats.by_seed) if known else None
            line.append(tables.with_interval(mean, nats.wide, 4) if known else DASH)
            lines.append(line)
        points_of = " | ".join(
            f"points − `{base}`'s, over the {units or corpus.units} | over both"
            for base in (LIN, MAPPED)
        )
        header = (
            f"model | seeds | test perplexity | accuracy, % | {points_of} | cross-entropy, nats"
            f" | nats − `{LIN}`'s, over both"
        )
        blocks.append(f"Sets `{kind}`: {told}.\n\n{tables.markdown(header, lines)}")
    return "\n\n".join(blocks)
