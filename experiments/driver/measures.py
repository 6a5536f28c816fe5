"""Measures trained models. Each function takes (context, measure) and returns the events of a
record; `context.model(run)` is a kept model."""
import collections
import functools
import json
import math
import subprocess

from . import bleu, locks, machine, records, statistics
from .setups import PARALLEL, SETUPS, corpus_of, private
from .text import sentences


def run_program(context, program, *arguments, stdin=None):
    """What a program printed; its last line of errors where it failed."""
    done = subprocess.run(
        [str(context.programs / program), *map(str, arguments), "--threads", "1"],
        input=stdin,
        capture_output=True,
        text=True,
        env=machine.environment(program, arguments),
    )
    if done.returncode:
        raise SystemExit(f"{program} failed: {(done.stderr.strip().splitlines() or ['?'])[-1]}")
    return done.stdout


def scorer(context, model):
    """What `lm_score` prints of a model, a function of its other arguments."""
    return functools.partial(run_program, context, "lm_score", "--checkpoint", model)


def lines_of(path):
    return path.read_text(encoding="utf-8").splitlines()


# ---- MF ----
def angles(context, measure):
    """Degrees, as nine_report has them: of the hundred most frequent words' vectors."""
    asked = ("--words", context.model(measure.needs[0]), "--angles", "--json", "--iterations", 500)
    printed = json.loads(run_program(context, "nine_report", *asked))
    return [{"event": "angles", **printed["models"][0]["measures"]}]


# ---- R2 ----
def perplexity(context, model, text, *options):
    """Over words and ends of lines, but for those that `--carry-state` leaves out."""
    printed = scorer(context, model)("--input", text, "--tokens", *options)
    logs = [float(x) for x in printed.split()]
    return math.exp(-math.fsum(logs) / len(logs))


def correction(context, measure):
    """Of each line from a fresh state, by which the rule goes, and of running text, as training and
    M1 have it."""
    model, text = context.model(measure.needs[0]), context.data / "captions" / "test.en"
    kinds = {"plain": (), "corrected": ("--margin-correction",)}
    if measure.label == "m=0":
        del kinds["corrected"]
    of = lambda *options: {k: perplexity(context, model, text, *options, *kinds[k]) for k in kinds}
    return [{"event": "perplexity", **of()}, {"event": "running", **of("--carry-state")}]


# ---- R3 ----
CONTEXTS, TOLERANCE = 256, 1e-3


def rank_of(rows, tolerance=TOLERANCE):
    """Rows that remain longer than `tolerance` times the longest when what the ones before span is
    taken out, the longest remaining row first."""
    rows, found = [list(row) for row in rows], 0
    lengths = [math.sqrt(math.fsum(x * x for x in row)) for row in rows]
    longest = max(lengths)
    while rows:
        i = max(range(len(rows)), key=lengths.__getitem__)
        if lengths[i] <= tolerance * longest:
            break
        pivot = [x / lengths[i] for x in rows.pop(i)]
        found += 1
        for j, row in enumerate(rows):
            along = sum(map(float.__mul__, row, pivot))
            rows[j] = [x - along * p for x, p in zip(row, pivot)]
        lengths = [math.sqrt(sum(map(float.__mul__, row, row))) for row in rows]
    return found


def rank(context, measure):
    """Of log p over positions of text that the last of the models that it needs continues by
    itself, by all words."""
    last, model = (scorer(context, context.model(measure.needs[i])) for i in (-1, 0))
    text = last(*"--generate --samples 60 --max-words 20 --seed 1".split(), stdin="\n")
    printed = model("--top", 1 << 20, stdin=text).splitlines()[1 : 1 + CONTEXTS]
    rows = [dict(zip(cells[5::2], cells[6::2])) for cells in (line.split("\t") for line in printed)]
    words = sorted(rows[0])
    matrix = [[math.log(max(float(row[w]), 1e-30)) for w in words] for row in rows]
    return [
        {"event": "rank", "rank": rank_of(matrix), "positions": len(matrix), "words": len(words)}
    ]


# ---- R5 ----
SPEECH = {
    "determiners": "a an the this that these those some each every another",
    "prepositions": (
        "in on at of with by for to from into near over under through behind "
        "between around along across down up off outside inside against onto"
    ),
    "pronouns": "he she it they him her them his their its himself herself who which what",
    "conjunctions": "and or but while as",
    "auxiliaries": "is are was be being been has have having does do",
    "numbers": "one two three four five six several many",
    "colours": "red blue green white black yellow orange brown pink purple gray grey",
}
FREQUENCIES = ((1000, "1,000 and more"), (100, "100 to 999"), (10, "10 to 99"), (0, "below 10"))


# lin, and what is lin but for a bias (docs/heads.md, section 5)
LINEAR = ("lin", "pow:p=2", "pol:p=1")


def inner_products(head):
    """Of each component of a mixture, whether it is an inner product."""
    kernels = []
    for component in head.split("mix:")[1].split()[0].split(","):
        count, _, kernel = component.rpartition("*")
        kernels += [kernel in LINEAR] * int(count or 1)
    return kernels


def by_class(values, classes):
    """{class: [positions, mean]}"""
    found = collections.defaultdict(list)
    for value, name in zip(values, classes):
        found[name].append(value)
    return {name: [len(xs), round(statistics.mean(xs), 6)] for name, xs in sorted(found.items())}


def shares(context, measure):
    run = measure.needs[0]
    score, lin = scorer(context, context.model(run)), inner_products(run.row.options)
    text = "".join(line + "\n" for line in lines_of(context.data / "captions" / "val.en")[::50])
    share = [
        math.fsum(float(p) for p, yes in zip(token.split(";")[0].split(","), lin) if yes)
        for token in score("--components", stdin=text).split()
    ]
    printed = score("--top", 1 << 20, stdin=text).splitlines()[1:]
    cells = [line.split("\t") for line in printed]
    words = [line[2] for line in cells]
    entropies = [
        -math.fsum(p * math.log(p) for p in map(float, line[6::2]) if p > 0) for line in cells
    ]
    counts = collections.Counter(
        word for line in sentences(context.text("S")) for word in [*line, "</s>"]
    )
    quarters = sorted(entropies)[:: max(1, len(entropies) // 4)][1:4]
    speech = {word: name for name, of_class in SPEECH.items() for word in of_class.split()}
    frequency = lambda w: next(name for least, name in FREQUENCIES if counts[w] >= least)
    classes = {
        "frequency": map(frequency, words),
        "entropy": [f"quarter {1 + sum(e >= q for q in quarters)}" for e in entropies],
        "part of speech": [speech.get(w, "others") for w in words],
    }
    return [{"event": "shares", **{kind: by_class(share, of) for kind, of in classes.items()}}]


# ---- T1-MT and T1-MT-200k ----
def translated(context, run, beam):
    """BLEU of translations of each test set, and of resamples of its sentences: the same draws for
    every system, so that differences are paired. They have the precision and the longest
    translation of mt_train's (docs/mt.md, Validation), which mt_translate is told."""
    events = []
    for corpus, folder in context.pairs(SETUPS[run.setup].text.split()[0]).items():
        text = folder / PARALLEL[corpus][2]
        # </s> counted
        longest = 1 + max(
            len(line) for side in ("de", "en") for line in sentences(text.with_suffix(f".{side}"))
        )
        printed = run_program(
            *(context, "mt_translate", "--checkpoint", context.model(run)),
            *("--input", text.with_suffix(".de"), "--max-length", 2 * longest),
            *f"--beam {beam} --join --matmul-precision medium".split(),
        )
        references = lines_of(context.data / corpus / f"{text.name}.en")
        counted = [
            bleu.counts(line.split(), right.split())
            for line, right in zip(printed.splitlines(), references, strict=True)
        ]
        found = {"bleu": bleu.of(counted), "resamples": bleu.resamples(counted)}
        events.append({"event": "translations", "test": corpus, **found})
    return events


def translations(context, measure):
    """Greedy."""
    return translated(context, measure.needs[0], 1)


def beam_translations(context, measure):
    return translated(context, measure.needs[0], 5)


# ---- M5 ----
def rescore(context, run, *more):
    """(the directory of the results, what lm_rescore printed)"""
    folder, out = context.data / "rescoring", context.runs / run.name / "rescored"
    lists = {
        "--tune-nbest": "val.nbest.tsv",
        "--tune-reference": "val.ref.tsv",
        "--nbest": "test.nbest.tsv",
        "--reference": "test.ref.tsv",
    }
    asked = [x for option, name in lists.items() for x in (option, folder / name)]
    model = ("--checkpoint", context.model(run), "--output", out, "--json")
    return out, json.loads(run_program(context, "lm_rescore", *model, *asked, *more))


def rescoring(context, measure):
    """Of a model with a margin beside the one without, the second of `needs`: MAPSSWE compares what
    they chose."""
    against = []
    if measure.label != "max":
        against = ["--baseline", rescore(context, measure.needs[1])[0] / "hyp.trn"]
    out, found = rescore(context, measure.needs[0], *against)
    rows = [line.split("\t") for line in lines_of(out / "utterances.tsv")[1:]]
    passes = ("first_pass", "rescored", "oracle")
    return [
        {
            "event": "rescoring",
            **{k: found[k] for k in ("lambda", "mu", "mapsswe")},
            **{k: {x: found[k][x] for x in ("words", "errors", "wer")} for k in passes},
            **{k: found["rescored"][k] for k in ("substitutions", "deletions", "insertions")},
            "words": [int(row[1]) for row in rows],
            "errors": [sum(map(int, row[5:8])) for row in rows],
        }
    ]


# ---- intervals over the test text: nats and words of its units ----
# lines of each conversation of switchboard/test.txt, in the order of the corpus' swda_data/test
CONVERSATIONS = (
    *(236, 330, 91, 243, 294, 243, 309, 183, 226, 221),
    *(232, 277, 198, 225, 172, 154, 157, 99, 188),
)


def hearings(path):
    """Lines of each hearing of the test text, of a table of documents."""
    rows = [line.split("\t") for line in lines_of(path)]
    return [int(row[3]) for row in rows if row[0] == "test"]


def units_of(folder, corpus):
    """The number, from 0, of the unit to which each line of the test text belongs."""
    if corpus.units == "images":
        return [i % IMAGES for i in range(len(image_lines(folder / corpus.test)))]
    lengths = CONVERSATIONS
    if corpus.units == "hearings":
        lengths = hearings(folder / "docs.tsv")
    found = [unit for unit, lines in enumerate(lengths) for _ in range(lines)]
    there = len(lines_of(folder / corpus.test))
    if there != len(found):
        raise SystemExit(
            f"{folder / corpus.test} has {there} lines, not the {len(found)} of its"
            f" {len(lengths)} {corpus.units}"
        )
    return found


def by_unit(context, measure):
    """Nats of each unit of the test text, and how many words and ends of lines it has: captions from
    a fresh state each, conversations and hearings as validation reads them."""
    run = measure.needs[0]
    name, corpus = corpus_of(run.setup)
    folder = context.data / name
    units, text = units_of(folder, corpus), folder / corpus.test
    nats, words = ([0] * (max(units) + 1) for _ in range(2))
    carried = () if corpus.units == "images" else ("--carry-state",)
    printed = scorer(context, context.model(run))("--input", text, *carried).split()
    for unit, words_of_line, log_p in zip(units, sentences(text), printed, strict=True):
        nats[unit] -= float(log_p)
        words[unit] += len(words_of_line) + 1
    event = "images" if corpus.units == "images" else "units"
    return [{"event": event, "nats": [round(x, 3) for x in nats], "words": words}]


# ---- D, D-S and D-S-content ----
# the first is the rule's
SETS = {
    "D": ("content", "ppmi", "inner", "cosine"),
    "D-S": ("ppmi", "inner", "cosine"),
    "D-S-content": ("content",),
}
FREQUENT = {"D": 500, "D-S": 50, "D-S-content": 50}  # occurrences in training of each word of a set
FUNCTION_WORDS = {
    word
    for name in ("determiners", "prepositions", "pronouns", "conjunctions", "auxiliaries")
    for word in SPEECH[name].split()
}
IMAGES = 1000  # the test text has five captions of each, the first of every image first


def image_lines(path):
    found = lines_of(path)
    if len(found) != 5 * IMAGES:
        raise SystemExit(
            f"captions/test.en has {len(found)} lines, not five for each of {IMAGES} images"
        )
    return found


def content(sets):
    """The first twenty lines of a file of sets without a function word or punctuation."""
    kept = lambda word: word not in FUNCTION_WORDS and word[0].isalpha()
    words = lambda line: line.split("\t")[0].split()
    return [line for line in sets if not line.startswith("#") and all(map(kept, words(line)))][:20]


def made_sets(context, lin, name, asked, edit=lambda lines: lines):
    """A file of sets by `--clusters`, beside the run `lin` whose model makes it, once; `edit` is of
    its lines."""
    folder = context.model(lin)
    path = folder / name
    with locks.held(folder / "sets.lock"):
        if not path.exists():
            part = path.with_suffix(".part")
            scorer(context, folder)(*asked, "--output", part)
            part.write_text("".join(f"{line}\n" for line in edit(lines_of(part))))
            part.rename(path)
    return path


def sets_of(context, measure, kind):
    """The file of sets: those by ppmi, and those of content words, from the training text alone,
    the others from lin with seed 1 (the second of `needs`), that all models have the same."""
    lin, frequent = measure.needs[1], FREQUENT[measure.part]
    number, distance, more, edit = 20, kind, [], lambda lines: lines
    if kind not in ("inner", "cosine"):
        distance, more = "ppmi", ["--cluster-text", context.text(lin.setup)]
    if kind == "content":
        number, edit = 60, content
    asked = ("--clusters", f"{number}:{distance}", "--cluster-min-count", frequent, *more)
    return made_sets(context, lin, f"sets-{kind}-{frequent}", asked, edit)


def choices(printed):
    """The lines of what `lm_score --restrict --choices` printed, as dictionaries."""
    names, *rows = (line.split("\t") for line in printed.splitlines())
    return [dict(zip(names, row, strict=True)) for row in rows]


def by_unit_and_count(chosen, unit_of):
    """(units, strata) of choices: {`unit_of` a line from 0, or digits of the right word's count:
    [positions, right, nats]}"""
    units, strata = (collections.defaultdict(lambda: [0, 0, 0.0]) for _ in range(2))
    for at in chosen:
        for totals in (units[unit_of(int(at["line"]) - 1)], strata[len(at["count"])]):
            totals[0] += 1
            totals[1] += at["chosen"] == at["right"]
            totals[2] += float(at["nats"])
    return units, strata


def restricted_event(kind, key, units, strata):
    """What is kept of the choices in sets of a kind; `key` says what the units are."""
    digits = lambda k: f"{10 ** (k - 1):,} to {10 ** k - 1:,}"
    return {
        "event": "restricted",
        "sets": kind,
        key: [[n, a, b, round(c, 4)] for n, (a, b, c) in sorted(units.items())],
        "strata": {digits(k): [a, b, round(c, 3)] for k, (a, b, c) in sorted(strata.items())},
    }


def restricted(context, measure):
    """For every word of the test text that is in a set: which word of the set the model takes, and
    how surely."""
    test = image_lines(context.data / "captions" / "test.en")
    score, text = scorer(context, context.model(measure.needs[0])), "".join(x + "\n" for x in test)
    events = []
    for kind in SETS[measure.part]:
        sets = sets_of(context, measure, kind)
        chosen = choices(score("--restrict", sets, "--choices", stdin=text))
        counted = by_unit_and_count(chosen, lambda line: line % IMAGES)
        events.append(restricted_event(kind, "images", *counted))
    return events


def write(context, measure, machine, cpu_s):
    """Measures, and keeps the record."""
    events = measure.make(context, measure)
    config = {
        "event": "config",
        "of": [run.name for run in measure.needs],
        "machine": machine,
        "cpu_s": cpu_s(),
    }
    if any(private(run.setup) for run in measure.needs):
        records.without_words(measure.name, events)
    records.keep(records.path_of(measure, context.folder), [config, *events])
