"""Tuning on validation: each kernel's ladders are climbed past their ends until the best step is an
inner one, or three steps in a row gain less than 0.1% each; then the learning rate is, with the
best head. What to train next follows from the records alone."""
import dataclasses

from . import parts, records, spoken, translated, tuned
from .setups import by_bleu


def figure(run, folder=None):
    """What chooses a run's best checkpoint, the less the better: the validation perplexity, or 1 over
    the BLEU of the development text."""
    record = records.find(run, folder)
    if record and by_bleu(run.setup):
        return 1 / (record.valid_bleu(run.epochs) or 1e-9)
    return record.valid_ppl(run.epochs) if record else None


def climb(values, factor, figure_of):
    """(best value, []), or (best value so far or None, values to train next, in any order) of one
    ladder, low to high; figure_of(value) is None if untrained."""
    values = list(values)
    if untrained := [v for v in values if figure_of(v) is None]:
        known = [v for v in values if v not in untrained]
        return (min(known, key=figure_of) if known else None), untrained
    while factor:
        best = min(values, key=figure_of)
        if best not in (values[0], values[-1]):
            break
        up = best == values[-1]
        along = [figure_of(v) for v in (values if up else values[::-1])]
        if len(along) > 3 and all(
            before / after - 1 < 0.001 for before, after in zip(along[-4:], along[-3:])
        ):
            break
        step = float(f"{(best * factor if up else best / factor):.4g}")
        if figure_of(step) is None:
            return best, [step]
        values = values + [step] if up else [step] + values
    return min(values, key=figure_of), []


def state(kernel, folder=None, tuning=parts.T1_TUNING):
    """(head, rate, runs to train next) of a kernel; the head is None until anything of it is
    known."""

    def of(head, rate=tuning.rate):
        return figure(tuning.run(head, rate), folder)

    heads, waiting = ([] if tuning.ladders[kernel] else [kernel]), []
    for template, values, factor in tuning.ladders[kernel]:
        if factor:
            best, steps = climb(values, factor, lambda v: of(template.format(f"{v:g}")))
            head = None if best is None else template.format(f"{best:g}")
            pending = [template.format(f"{v:g}") for v in steps]
        else:
            head = template if of(template) is not None else None
            pending = [] if head else [template]
        heads += [head] if head else []
        waiting += [tuning.run(each, tuning.rate) for each in pending]
    if not heads:
        return None, tuning.rate, waiting
    head = heads[0] if len(heads) == 1 else min(heads, key=of)
    if waiting:
        return head, tuning.rate, waiting
    rate, steps = climb(
        tuning.rates or (tuning.rate,),
        2 if tuning.rates else 0,
        lambda r: figure(tuning.rate_run(head, r), folder),
    )
    steps.sort(key=lambda r: r != tuning.rate)
    return (head if rate else None), rate or tuning.rate, [tuning.rate_run(head, r) for r in steps]


def where(folder, tuning=parts.T1_TUNING):
    """Whose search chooses: that of a folder of one's own if it has begun one, else the
    repository's (so that one row, repeated, is the page's)."""
    return folder if folder and (folder / tuning.part).exists() else None


def best(kernel, folder=None):
    """(head, rate) that T1's search chose; until it is done those of the older records, or the
    first of the ladder."""
    head, rate, pending = state(kernel, where(folder))
    if not pending:
        return head, rate
    return parts.BEFORE.get(kernel, kernel), parts.RATE


def best_of(tuning, kernel, folder=None):
    """(head, rate) that a part's own search chose; until it is done what it starts from."""
    head, rate, pending = state(kernel, where(folder, tuning), tuning)
    if not pending:
        return head, rate
    template, values, _ = (tuning.ladders[kernel] or ((kernel, (), 0),))[0]
    return template.format(f"{values[0]:g}") if values else template, tuning.rate


def unigram_norm(folder=None):
    """M2: (A and B of `unigram:A,B`, runs to train next): B with A = 1, then A with that B."""
    norm, _, pending = state("unigram", folder, unigram_tunings(folder)[-1])
    return ("unigram:1,2" if pending else norm), pending


def unigram_tunings(folder=None):
    """B's ladder and, when that is done, A's with the best B. The largest share of a word is some
    .1, so that A counts where it is much larger than B."""
    norm, _, pending = state("unigram", folder, parts.M2_TUNING)
    if pending:
        return [parts.M2_TUNING]
    return [
        parts.M2_TUNING,
        dataclasses.replace(
            parts.M2_TUNING,
            ladders={"unigram": (("unigram:{}," + norm.partition(",")[2], (1, 10, 100), 10),)},
        ),
    ]


TUNINGS = {
    "MoS": [parts.MOS_TUNING],
    **{part: [tuning] for part, tuning in parts.BOTTLENECK_TUNING.items()},
    "R6": [parts.AHEAD_TUNING],
    # parts with searches of their own
    "T1-MT": [*parts.MT_TUNING.values()],
    "T1-MT-200k": [translated.TUNING],
    "SS": [parts.SS_TUNING],
    "T3-L": [parts.WHOLE_TUNING],
    "S-random": [tuned.RANDOM_TUNING],
    "S-random-mix": [tuned.MIXED_TUNING],
    "Curve": [*tuned.CURVE_TUNINGS.values()],
    **spoken.TUNINGS,
}
# whose models a part measures: what these parts choose comes before
MEASURED = {"T4-SWB": ("T1-SWB", "M-SWB", "T3-SWB"), "T4-SC": ("T1-SC",)}
OTHER_CHOICES = parts.OTHER_CHOICES | tuned.OTHER_CHOICES | spoken.OTHER_CHOICES


def choices(part):
    """[(name, tuning)] of what a part takes from its own and others' searches, but for T1's."""
    own = [
        (name, tuning)
        for one in MEASURED.get(part, (part,))
        for tuning in TUNINGS.get(one, ())
        for name in tuning.ladders
    ]
    return [*OTHER_CHOICES.get(part, ()), *own]


def waiting(part, folder=None):
    """Runs of searches that come before a part's own."""
    if part == "M2":
        return unigram_norm(folder)[1]
    needed = [(kernel, parts.T1_TUNING) for kernel in parts.CHOICES.get(part, ())]
    needed += choices(part)
    found = [run for kernel, tuning in needed for run in state(kernel, folder, tuning)[2]]
    # one text after the other; a ladder of a kernel before anybody's learning rate
    texts = list(dict.fromkeys(run.setup for run in found))
    return sorted(found, key=lambda run: (texts.index(run.setup), " lr=" in run.row.label))


def unfinished(folder=None):
    return [kernel for kernel in parts.LADDERS if state(kernel, where(folder))[2]]


def searched(kernel, folder=None, tuning=parts.T1_TUNING):
    """Every run of a kernel's search that has a record, (label, perplexity or BLEU), in the order of
    the ladders, then of the rates."""
    found = {}

    def note(head, rate, run=tuning.run):
        run = run(head, rate)
        f = figure(run, folder)
        if f is not None:
            found[run.row.label] = f"{1 / f:.1f} BLEU" if by_bleu(run.setup) else f"{f:.2f}"
        return f

    for template, values, factor in tuning.ladders[kernel] or ((kernel, (), 0),):
        if factor:
            climb(values, factor, lambda v: note(template.format(f"{v:g}"), tuning.rate))
            for v in values:
                note(template.format(f"{v:g}"), tuning.rate)
        else:
            note(template, tuning.rate)
    head = state(kernel, folder, tuning)[0]
    for power in range(-6, 7) if head else ():
        note(head, tuning.rate * 2**power, tuning.rate_run)
    return list(found.items())
