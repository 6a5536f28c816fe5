"""What the parts beyond the papers train and measure (R1-slopes to R7, M-rates, Precision), and MF,
D-S and D-S-content, which measure models of M3 and T3; the list of all parts."""
import functools

from . import measures, occurrences, parts, spoken, translated, tuned, words_apart
from .parts import MT_RATE, RATE, WARMUP, trained
from .setups import Measure, Row, shaped

VALUES = {"lin": "z", "rbf": "exp(-q)", "wav": "cos(q)*exp(-q)"}
# whose value, whose slope
SLOPES = (("rbf", "lin"), ("lin", "rbf"), ("wav", "lin"), ("lin", "wav"))


def of_runs(name, part, labels, make, *also, cost=0.2):
    """Measures `make` of another part's runs, each with the runs `also`."""
    return tuple(
        Measure(name, label, seed, (part.run(part.row(label), seed), *also), make, cost)
        for seed in range(1, part.seeds + 1)
        for label in labels
    )


def slopes():
    rows = []
    for v, s in SLOPES:
        head = f"expr:{{detach({VALUES[v]}-({VALUES[s]}))+{VALUES[s]}}}"
        rows.append(trained(f"value of {v}, slope of {s}", head))
    for k, head in (("lin", "lin"), ("rbf", "rbf:gamma=1"), ("wav", "wav:a=1:b=1")):
        rows.append(trained(k, head, legacy=f"singles/{k}-tuned-{{seed}}"))
    return shaped("R1-slopes", rows)


def warmed(best):
    heads = [*map(best, ("lin", "log", "wav")), ("rbf:gamma=1", RATE), ("rbf:scale=3", RATE)]
    rows = [trained(f"{head} lr={rate:g}", head, rate, more=WARMUP) for head, rate in heads]
    return shaped("R1-warmup", rows)


def corrected():
    labels = ["m=0", *(f"cos:{m:g}" for m in parts.MARGINS[1:])]
    made = of_runs("R2", parts.m1(), labels, measures.correction)
    return shaped("R2", measures=made, note="The models are M1's.")


def bottleneck(name, chosen):
    """`chosen(tuning, model)` gives what the search found for a head at a width: that and its
    rate."""
    own, tuning, shape = parts.BOTTLENECKS[name], parts.BOTTLENECK_TUNING[name], shaped(name)
    rows = []
    for (head, width), model in own.models().items():
        label, rate = f"{head.replace(' --', ', ')}, width {width}", chosen(tuning, model)[1]
        rows.append(trained(label, model, rate, group=head, more=own.options))
    note = (
        "Embeddings, LSTM and word vectors have the same width, because `lm_train` has no map"
        " between the LSTM and the word vectors. So a narrow model is also a smaller network."
        f" Heads are compared at equal width. Seeds are 2 to {1 + shape.seeds}, because the search"
        " for the rates has used seed 1."
    )
    if own.larger:
        sizes = ", ".join(f"{embed} at width {width}" for width, embed in own.larger.items())
        note += f' lin is "as large as untied mos" with embeddings of {sizes}.'
    if own.text:
        note += f" All ranks of a seed are of the text that its `{own.text}` continues."
    return parts.measured(shaped(name, rows, note=note), measures.rank, own.text)


def learned_scale(best):
    rows = []
    for k in parts.LADDERS:
        head, rate = best(k)
        rows.append(trained(k, f"{head}:scale=learn", rate, parts.T1_PAPER.get(k), k, WARMUP))
    return shaped("R4", rows)


def learned_scale_mt():
    """Each kernel with a scale, and without beside it; 1,380 updates do not move a scale far, so
    those of bounded kernels start at 10."""
    unbounded = {k: parts.MT_UNTUNED[k] for k in ("log", "hpb")}
    rows = [trained(k, f"{x}:scale=learn", MT_RATE) for k, x in {"lin": "lin", **unbounded}.items()]
    for k, head in parts.MT_BOUNDED.items():
        rows.append(trained(k, f"{head}:scale=learn:10", MT_RATE))
    for k, head in (unbounded | parts.MT_BOUNDED).items():
        rows.append(trained(f"{k}, scale 1", head, MT_RATE, group=parts.BESIDE[2]))
    return shaped("R4-MT", rows)


def ahead(chosen):
    """`chosen(tuning, kernel)` begins with its head, with the rate and the dropout that the search
    found so far."""
    rows = [Row(k, f"--head {chosen(parts.AHEAD_TUNING, k)[0]}", group=k) for k in parts.AHEAD]
    return shaped("R6", rows)


def maps(best, chosen):
    """Lin, two kernels ahead of it and T3's untied mos and mix2, without and with the map of a
    mixture's contexts. (Tied, mos without maps is lin.)"""
    plain = [trained(k, *best(k), more=WARMUP) for k in ("lin", "log", "pol")]
    dropout = chosen(parts.AHEAD_TUNING, "lin")[0]
    plain.append(Row("lin, more dropout", f"--head {dropout}{WARMUP}"))
    rows = []
    for row in plain:
        with_map = f"{row.options} --head-context tanh"
        rows += [Row(row.label, row.options), Row(f"{row.label}, map", with_map)]
    for row in parts.presets(("mos", "mix2"), best, best("lin")[1]):
        if row.label in ("mos, untied", "mix2"):
            without = f"{row.options} --head-context none"
            rows += [Row(row.label, without), Row(f"{row.label}, map", row.options)]
    return shaped("R7", rows)


def choices(best):
    labels = [name for name in parts.PRESETS if name != "mos"]
    made = of_runs("R5", parts.t3(best), labels, measures.shares)
    note = (
        "The models are T3's. A share is the mean prior on inner products over a class's positions."
    )
    return shaped("R5", measures=made, note=note)


def close_words(name, best):
    t3 = parts.t3(best)
    lin = t3.run(t3.row("lin"), 1)  # which words are close
    labels, cost = [row.label for row in t3.rows], 0.1 * len(measures.SETS[name])
    made = of_runs(name, t3, labels, measures.restricted, lin, cost=cost)
    return shaped(name, measures=made, note="The models are T3's.")


def angles():
    m3, m2 = parts.m3(), parts.m2("unigram:1,2")
    made = of_runs("MF", m3, ("base", "arc:0.001", "cos:0.001"), measures.angles)
    normed = m2.row("none, contexts max")  # the norm of the contexts without the margin
    for seed in range(1, m3.seeds + 1):
        made += (Measure("MF", "max", seed, (m2.run(normed, seed),), measures.angles),)
    note = "The models are M3's, and M2's `max`: the same norm of contexts without a margin."
    return shaped("MF", measures=made, note=note)


RATES = (0.002, 0.004, 0.008, 0.016)
NORMED = {"base": "", "m=0": f" {parts.FIXED_NORMS}", "max": " --context-norm max"}


def rates():
    rows = []
    for rate in RATES:
        for k, norms in NORMED.items():
            legacy = parts.BASE.legacy if (k, rate) == ("base", RATE) else ""
            rows.append(trained(f"{k}, lr={rate:g}", f"lin{norms}", rate, group=k, legacy=legacy))
    note = "The runs at the rate .002 are those of M1 and M2."
    return shaped("M-rates", rows, note=note)


BESIDE_FLOAT32 = ("highest", "medium")


def in_precisions(head, rate, label="{}", precisions=BESIDE_FLOAT32, **others):
    """A row of a head for each precision."""
    return [
        trained(label.format(p), f"{head} --matmul-precision {p}", rate, **others)
        for p in precisions
    ]


def precision():
    note = (
        "On a CPU without bfloat16 tiles, put `NINE_BF16_TILES=pairs` before the commands of"
        " `high`."
    )
    every = ("highest", "high", "medium")
    rows = in_precisions("lin", RATE, precisions=every, setup="L, width 256")
    rows += in_precisions("lin", RATE, "{}, S", every, setup="S")
    return shaped("Precision", rows, note=note)


def precision_mix():
    return shaped("Precision-mix", in_precisions("mix4 --pi-reg variance:0.1", RATE))


def precision_kernels(best):
    rows = []
    for k in parts.CHOICES["Precision-kernels"]:
        rows += in_precisions(*best(k), f"{k}, {{}}", group=k, more=WARMUP)
    return shaped("Precision-kernels", rows)


def precision_spoken():
    """T1-SWB's set-up on a fifth of its text: the heads that T1 chose, at the rate .002."""
    rows = []
    for k in ("lin", "log", "rbf"):
        rows += in_precisions(spoken.CHOSEN[k], RATE, f"{k}, {{}}", group=k, more=WARMUP)
    return shaped("Precision-SWB", rows)


def precision_mt():
    return shaped("Precision-MT", in_precisions("lin", MT_RATE))


def all_parts(search, folder=None):
    """Every part by its name, in the order in which they are run, with what the searches in
    `folder` chose."""
    best = functools.cache(lambda kernel: search.best(kernel, folder))
    chosen = lambda tuning, kernel: search.best_of(tuning, kernel, folder)
    norm, _ = search.unigram_norm(search.where(folder, parts.M2_TUNING))
    on_speech = spoken.all_parts(chosen, measures.by_unit)
    from . import projection

    made = [
        *(parts.t1(best), parts.t2(), parts.m1(), parts.m2(norm), rates(), parts.t3(best)),
        *(projection.part(), slopes(), warmed(best), corrected()),
        *(bottleneck(name, chosen) for name in parts.BOTTLENECKS),
        *(learned_scale(best), learned_scale_mt(), ahead(chosen), maps(best, chosen)),
        *(choices(best), parts.m3(), angles(), parts.t3b(best), parts.mos(chosen)),
        *(parts.t1_mt(chosen, measures.translations), parts.m5(measures.rescoring)),
        *(parts.ss(chosen, occurrences.occurrences), parts.m_l(), parts.t1_l(best)),
        *(parts.t3_l(best, chosen), parts.d(best, chosen, measures.restricted)),
        *(close_words("D-S", best), close_words("D-S-content", best)),
        *(tuned.random_lines(chosen, measures.by_unit), tuned.map_rates(measures.by_unit)),
        tuned.random_mixtures(chosen, measures.by_unit),
        tuned.curve(chosen, measures.by_unit),
        *on_speech,
        *words_apart.all_parts(on_speech),
        translated.t1_mt_200k(chosen, measures.beam_translations),
        *(precision(), precision_mix(), precision_kernels(best), precision_mt()),
        precision_spoken(),
    ]
    return {p.name: p for p in made}
