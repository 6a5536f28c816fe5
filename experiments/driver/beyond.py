"""What the parts beyond the papers train and measure (R1-slopes to R7, M-rates, Precision), and MF,
D-S and D-S-content, which measure models of M3 and T3; the list of all parts."""
import functools

from . import measures, occurrences, parts
from .setups import Measure, Part, Row

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
    rows = [
        Row(
            f"value of {v}, slope of {s}",
            f"--head expr:{{detach({VALUES[v]}-({VALUES[s]}))+{VALUES[s]}}} {parts.lr(parts.RATE)}",
        )
        for v, s in SLOPES
    ]
    rows += [
        Row(k, f"--head {head} {parts.lr(parts.RATE)}", legacy=f"singles/{k}-tuned-{{seed}}")
        for k, head in (("lin", "lin"), ("rbf", "rbf:gamma=1"), ("wav", "wav:a=1:b=1"))
    ]
    return Part("R1-slopes", "One kernel's value with another's slope", 10, 3, tuple(rows))


def warmed(best):
    heads = [
        best("lin"),
        best("log"),
        best("wav"),
        ("rbf:gamma=1", parts.RATE),
        ("rbf:scale=3", parts.RATE),
    ]
    rows = [
        Row(f"{head} lr={rate:g}", f"--head {head} {parts.lr(rate)}{parts.WARMUP}")
        for head, rate in heads
    ]
    return Part("R1-warmup", "A linear warm-up of one epoch", 10, 3, tuple(rows))


def corrected():
    m1 = parts.m1()
    labels = ["m=0", *(f"cos:{m:g}" for m in parts.MARGINS[1:])]
    return Part(
        "R2",
        "A cosine margin undone at test time",
        m1.epochs,
        m1.seeds,
        (),
        measures=of_runs("R2", m1, labels, measures.correction),
        note="M1's models.",
    )


def bottleneck(name, chosen):
    """`chosen(tuning, model)` gives what the search found for a head at a width: that and its
    rate."""
    own, tuning = parts.BOTTLENECKS[name], parts.BOTTLENECK_TUNING[name]
    rows = [
        Row(
            f"{head.replace(' --', ', ')}, width {width}",
            f"--head {model} {parts.lr(chosen(tuning, model)[1])}{own.options}",
            group=head,
        )
        for (head, width), model in own.models().items()
    ]
    note = (
        "The width is that of embeddings, LSTM and word vectors at once: `lm_train` has no map"
        " between the LSTM and the word vectors, so a narrow model is also a smaller network."
        f" Heads are compared at equal width. Seeds 2 to {1 + own.seeds}: the search for the rates"
        " has seen seed 1."
    )
    if own.larger:
        note += (
            ' "As large as untied mos" by embeddings of '
            + ", ".join(f"{embed} at width {width}" for width, embed in own.larger.items())
            + "."
        )
    if own.text:
        note += f" A seed's ranks are of text that its `{own.text}` continues."
    part = Part(
        name,
        own.title,
        own.epochs,
        own.seeds,
        tuple(rows),
        "validation perplexity",
        "grammar",
        note=note,
        fresh=1,
    )
    return parts.measured(part, measures.rank, own.text)


def learned_scale(best):
    rows = [
        Row(
            k,
            f"--head {best(k)[0]}:scale=learn {parts.lr(best(k)[1])}{parts.WARMUP}",
            parts.T1_PAPER.get(k),
            k,
        )
        for k in parts.LADDERS
    ]
    return Part(
        "R4", "Table 1 with a learned scale for every head", 10, 3, tuple(rows), setup="S, medium"
    )


def learned_scale_mt():
    """Each kernel with a scale, and without beside it; 1,380 updates do not move a scale far, so
    those of bounded kernels start at 10."""
    heads = {
        "log": ("log:p=4", "learn"),
        "hpb": ("hpb:ball=tanh", "learn"),
        "rbf": ("rbf:gamma=0.005", "learn:10"),
        "wav": ("wav:a=200:b=200", "learn:10"),
    }
    rows = [
        Row(k, f"--head {head}:scale={scale} {parts.lr(parts.MT_RATE)}")
        for k, (head, scale) in {"lin": ("lin", "learn"), **heads}.items()
    ]
    rows += [
        Row(f"{k}, scale 1", f"--head {head} {parts.lr(parts.MT_RATE)}", group=parts.BESIDE[2])
        for k, (head, _) in heads.items()
    ]
    return Part(
        "R4-MT", "Translation with a learned scale", 6, 3, tuple(rows), "test BLEU", "pairs, medium"
    )


def ahead(chosen):
    """`chosen(tuning, kernel)` begins with its head, with the rate and the dropout that the search
    found so far."""
    rows = [Row(k, f"--head {chosen(parts.AHEAD_TUNING, k)[0]}", group=k) for k in parts.AHEAD]
    return Part(
        "R6", "Kernels ahead of the inner product?", 10, 5, tuple(rows), setup="S, medium", fresh=5
    )


def maps(best, chosen):
    """Lin, two kernels ahead of it and T3's untied mos and mix2, without and with the map of a
    mixture's contexts. (Tied, mos without maps is lin.)"""
    plain = {
        k: f"--head {best(k)[0]} {parts.lr(best(k)[1])}{parts.WARMUP}"
        for k in ("lin", "log", "pol")
    }
    plain["lin, more dropout"] = f"--head {chosen(parts.AHEAD_TUNING, 'lin')[0]}{parts.WARMUP}"
    rows = [
        row
        for k, options in plain.items()
        for row in (Row(k, options), Row(f"{k}, map", f"{options} --head-context tanh"))
    ]
    rows += [
        row
        for mixed in parts.presets(("mos", "mix2"), best, parts.lr(best("lin")[1]) + parts.WARMUP)
        if mixed.label in ("mos, untied", "mix2")
        for row in (
            Row(mixed.label, f"{mixed.options} --head-context none"),
            Row(f"{mixed.label}, map", mixed.options),
        )
    ]
    return Part("R7", "A mixture, or its map?", 10, 5, tuple(rows), setup="S, medium")


def choices(best):
    t3 = parts.t3(best)
    labels = [name for name in parts.PRESETS if name != "mos"]
    return Part(
        "R5",
        "What the prior chooses",
        t3.epochs,
        t3.seeds,
        (),
        measures=of_runs("R5", t3, labels, measures.shares),
        note=(
            "T3's models. Mean share of the prior on inner products over the positions of a class."
        ),
    )


def close_words(name, title, best):
    t3 = parts.t3(best)
    lin = t3.run(t3.row("lin"), 1)  # which words are close
    made = of_runs(
        name,
        t3,
        [row.label for row in t3.rows],
        measures.restricted,
        lin,
        cost=0.1 * len(measures.SETS[name]),
    )
    return Part(name, title, t3.epochs, t3.seeds, (), measures=made, note="T3's models.")


def angles():
    m3, m2 = parts.m3(), parts.m2("unigram:1,2")
    normed = m2.row("none, contexts max")  # the norm of the contexts without the margin
    made = of_runs("MF", m3, ("base", "arc:0.001", "cos:0.001"), measures.angles)
    made += tuple(
        Measure("MF", "max", seed, (m2.run(normed, seed),), measures.angles)
        for seed in range(1, m3.seeds + 1)
    )
    return Part(
        "MF",
        "Figure 1 of the margin paper: the angles between words",
        m3.epochs,
        m3.seeds,
        (),
        measures=made,
        note="M3's models, and `max`: M2's with the contexts' norm of the other two and no margin.",
    )


RATES = (0.002, 0.004, 0.008, 0.016)
NORMED = {"base": "", "m=0": f" {parts.FIXED_NORMS}", "max": " --context-norm max"}


def rates():
    rows = [
        Row(
            f"{name}, lr={rate:g}",
            f"--head lin{norms} {parts.lr(rate)}",
            group=name,
            legacy="presets/lin-{seed}" if (name, rate) == ("base", parts.RATE) else "",
        )
        for rate in RATES
        for name, norms in NORMED.items()
    ]
    return Part(
        "M-rates",
        "Normed contexts, each at its own learning rate",
        5,
        3,
        tuple(rows),
        note="The rate .002 is M1's and M2's, whose runs these are.",
    )


def precision():
    rows = [
        Row(p + text, f"--head lin --matmul-precision {p} {parts.lr(parts.RATE)}", setup=setup)
        for text, setup in (("", "L, width 256"), (", S", "S"))
        for p in ("highest", "high", "medium")
    ]
    return Part(
        "Precision",
        "Products of bfloat16 pieces beside float32: a language model",
        3,
        3,
        tuple(rows),
        setup="L, width 256",
        note=(
            "On a CPU without bfloat16 tiles the rows of `high` want `NINE_BF16_TILES=pairs` before"
            " the command."
        ),
    )


def precision_mix():
    rows = [
        Row(p, f"--head mix4 --pi-reg variance:0.1 --matmul-precision {p} {parts.lr(parts.RATE)}")
        for p in ("highest", "medium")
    ]
    return Part(
        "Precision-mix", "Bfloat16 products beside float32: a mixture of kernels", 3, 3, tuple(rows)
    )


def precision_kernels(best):
    rows = [
        Row(
            f"{k}, {p}",
            f"--head {best(k)[0]} --matmul-precision {p} {parts.lr(best(k)[1])}{parts.WARMUP}",
            group=k,
        )
        for k in ("log", "rbf", "hpb", "wav")
        for p in ("highest", "medium")
    ]
    return Part(
        "Precision-kernels",
        "Bfloat16 products beside float32: kernels of a distance, each alone",
        3,
        3,
        tuple(rows),
    )


def precision_mt():
    rows = [
        Row(p, f"--head lin --matmul-precision {p} {parts.lr(parts.MT_RATE)}")
        for p in ("highest", "medium")
    ]
    return Part(
        "Precision-MT",
        "Bfloat16 products beside float32: translation",
        6,
        3,
        tuple(rows),
        "test BLEU",
        "pairs",
    )


def all_parts(search, folder=None):
    """Every part by its name, in the order in which they are run, with what the searches in
    `folder` chose."""
    best = functools.cache(lambda kernel: search.best(kernel, folder))
    chosen = lambda tuning, kernel: search.best_of(tuning, kernel, folder)
    norm, _ = search.unigram_norm(search.where(folder, parts.M2_TUNING))
    from . import projection

    made = [
        parts.t1(best),
        parts.t2(),
        parts.m1(),
        parts.m2(norm),
        rates(),
        parts.t3(best),
        projection.part(),
        slopes(),
        warmed(best),
        corrected(),
        *(bottleneck(name, chosen) for name in parts.BOTTLENECKS),
        learned_scale(best),
        learned_scale_mt(),
        ahead(chosen),
        maps(best, chosen),
        choices(best),
        parts.m3(),
        angles(),
        parts.t3b(best),
        parts.mos(chosen),
        parts.t1_mt(chosen, measures.translations),
        parts.m5(measures.rescoring),
        parts.ss(chosen, occurrences.occurrences),
        parts.m_l(),
        parts.t1_l(best),
        parts.t3_l(best, chosen),
        parts.d(best, chosen, measures.restricted),
        close_words("D-S", "Which word of a set of close ones, on S?", best),
        close_words("D-S-content", "Which content word of a set of close ones, on S?", best),
        precision(),
        precision_mix(),
        precision_kernels(best),
        precision_mt(),
    ]
    return {p.name: p for p in made}
