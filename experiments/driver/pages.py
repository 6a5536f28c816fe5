"""The generated blocks of docs/results/ and the plots beside them. What stands between the markers is this program's, all else is prose."""
import dataclasses
import re

from . import measured, parts, plots, projection, records, search, statistics, tables, verdicts

PAGES = records.ROOT / "docs" / "results"
IMAGES = records.ROOT / "docs" / "images" / "results"
BEGIN, END = "<!-- {}: printed by experiments/table -->", "<!-- end of {} -->"

# Claims in the summary: part, claim with the paper's figures.
CLAIMS = (
    ("T1", "kernel paper, Table 1: lin, pow, pol, mog alike; then ssg; then log and hpb; rbf and wav last"),
    ("T1-MT", "kernel paper, Table 1, BLEU: log 0.4, hpb 0.3, rbf and wav 0.0 beside lin's 34.3"),
    ("T2", "kernel paper, Table 2: the prior's variance 4.74 4.98 3.67 3.81 for ρ = .001 to 1"),
    ("T3", "kernel paper, Table 3: mixtures with lin are as good as lin (46.5 to 47.8 beside 46.8), and lin carries them"),
    ("T1-L", "the same order of six heads on all captions"),
    ("T3-L", "the same of mix2 and mos on all captions"),
    ("T3b", "kernel paper: only mixtures with lin are good"),
    ("MoS", "kernel paper: mos needs regularisation to help"),
    ("Dec", "kernel paper, section 4.4: mixtures slow decoding down by a factor of two"),
    ("D", "kernel paper, Table 4: mixtures tell close words apart"),
    ("M1", "margin paper, Table 1: base 53.7, lsm:2 390.3, m = 0 66.9, and up to 170 (arc) and 382 (cos) at m = .03"),
    ("M2", "margin paper, Table 2: norms in the order of its ten perplexities; max-norm contexts alone help (52.9 beside 53.7)"),
    ("M-rates", "beyond the papers: what normed contexts gain is speed of learning; with a rate of its own base is as good"),
    ("M3", "margin paper, Table 3: with max-norm contexts a margin of .001 costs 0.7 to 0.9% beside base without them, one of .01 12 to 13%"),
    ("M-L", "margin paper, Tables 2 and 3, on all captions"),
    ("M5", "margin paper, Table 5: word error rate 10.4 three times"),
    ("MF", "margin paper, Figure 1: a margin spreads the words"),
    ("SS", "a sampled softmax loses little (Jean et al. 2015)"),
    ("R1", "beyond the papers: the range of a score decides, not its gradient"),
    ("R1-slopes", "beyond the papers: a model ends near the kernel whose value it has, not near the one whose slope"),
    ("R1-warmup", "beyond the papers: what keeps rbf, wav and log at the unigram is the rate of the first updates; warmed up, every seed leaves"),
    ("R2", "beyond the papers: more than half of a cosine margin's loss is calibration, and can be undone"),
    ("R3", "beyond the papers: the softmax bottleneck binds at widths 8 and 16, not at 128"),
    ("R4", "beyond the papers: with a learned scale rbf and wav come near lin"),
    ("R4-MT", "beyond the papers: and in translation log, hpb, rbf and wav (6.1, 6.0, 0.0 and 0.0 BLEU at scale 1)"),
    ("R6", "beyond the papers: pol, log and rbf with a scale of 10 are ahead of lin, each with a rate and a dropout of its own"),
    ("R5", "beyond the papers: a mixture's prior chooses next to nothing by frequency, entropy or part of speech"),
    ("Precision", "beyond the papers: products of bfloat16 pieces (`--matmul-precision`) leave a language model within the spread of float32's seeds"),
    ("Precision-mix", "beyond the papers: and a mixture of lin, log, rbf and hpb"),
    ("Precision-kernels", "beyond the papers: and log, rbf, hpb and wav, each alone"),
    ("Precision-MT", "beyond the papers: and a translation model"),
)


def all_parts(folder=None):
    from . import training
    return training.all_parts(folder)


def image(part):
    """The part's plot, or None."""
    if part.name == "T2":
        values = tables.t2_values(part)
        rows = []
        for label, seeds in values.items():
            xs = [v[1] for v in seeds.values()]
            rho = label.partition(":")[2]
            rows.append((label, statistics.mean(xs) if xs else None, statistics.interval(xs), parts.T2_PAPER[float(rho)][0] if rho else None))
        return plots.dots("100 E Var_k(π) of nine softmaxes by penalty", "100 E Var_k(π)", rows)
    if part.name == "R1":
        found = projection.predictions()
        rows = [(c.row.label, c.mean, c.interval, found[c.row.label]["ppl"] if c.row.label in found else None) for c in projection.compared()[0]]
        return plots.dots(part.title, "validation perplexity", rows, "predicted")
    if part.name == "R3":
        lines = [(head, [(width, *statistics.average(list(gap.logs.values()))) for width, (gap, _) in by_width.items() if gap.values]) for head, by_width in measured.widths(part).items()]
        return plots.lines(part.title, "width", "nats a token above the floor", lines)
    if part.name == "M-rates":
        by = {}
        for c in tables.cells(part):
            by.setdefault(c.row.group, []).append((float(c.row.label.partition("lr=")[2]), c.mean, c.interval))
        return plots.lines(part.title, "learning rate", "test perplexity", [(group, [p for p in points if p[1]]) for group, points in by.items()])
    if part.name == "MF":
        rows = [(label, *statistics.average([v[measured.ANGLES[0]] for v in c.values.values()]), None) for label, c in measured.angle_cells(part).items() if c.values]
        return plots.dots(part.title, "mean angle to the nearest of the 100 most frequent words, degrees", rows) if rows else None
    if part.name == "R2":
        rows = [(f"{label}, {kind}", *statistics.average([v[kind] for v in c.values.values() if kind in v]), None) for label, c in measured.corrected_cells(part).items()
                for kind in ("plain", "corrected") if c.values and (kind == "plain" or label != "m=0")]
        return plots.dots(part.title, "test perplexity", rows) if rows else None
    if part.name == "M5":
        rows = [(label, *statistics.average([e["rescored"]["wer"] for e in c.values.values()]), None) for label, c in measured.rescored(part).items() if c.values]
        return plots.dots(part.title, "word error rate of the test lists, %", rows) if rows else None
    if part.name in ("T1-MT", "R4-MT", "D", "R5", "Precision", "Precision-mix", "Precision-kernels", "Precision-MT"):  # tables say it
        return None
    rows = [(c.row.label, c.mean, c.interval, c.row.paper) for c in tables.cells(part)]
    axis = part.unit + " (the paper's: of its own text)" * any(row[3] for row in rows)
    return plots.dots(part.title, axis, rows) if any(row[1] for row in rows) else None


def second_image(part):
    """T3: how much of the prior is on inner products while the tied presets train, seed 1."""
    if part.name not in ("T3", "T3-L"):
        return None
    lines = [(c.row.label, verdicts.share_over_training(c.row.options, c.records[1])) for c in tables.cells(part)
             if c.row.group == "mixture" and 1 in c.records and not c.row.label.endswith("untied")]
    return plots.curves("The prior's share on inner products, seed 1", "update", lines)


REFERENCES = {"M1": "base", "M-rates": "base, lr=0.002", "M3": "base", "M2": "none, contexts none", "R1-slopes": "lin"}  # else the first row
TUNINGS = {"M2": lambda folder: search.unigram_tunings(search.where(folder, parts.M2_TUNING))} | {name: lambda folder, name=name: search.TUNINGS[name] for name in ("MoS", "R3", "R6")}  # T1-MT's are in its table


def split(part):
    """A part with rows of two set-ups has a table for each, and one that compares a kernel with itself one for each kernel."""
    key = (lambda row: row.group) if part.name == "Precision-kernels" else (lambda row: row.setup)
    return [dataclasses.replace(part, rows=tuple(row for row in part.rows if key(row) == one)) for one in dict.fromkeys(map(key, part.rows))]


def block(part, folder=None):
    """Of the repository's records with plots, of others' in `folder` without."""
    if part.name == "R1":
        return projection.block(folder) + ("" if folder else f"\n\n![{part.title}](../images/results/R1.svg)")
    if part.name == "T2":
        body = tables.t2_table(part, folder)
    elif part.name in measured.TABLES:
        body = measured.TABLES[part.name](part, folder)
    else:
        body = "\n\n".join(tables.comparison(some, REFERENCES.get(part.name, some.rows[0].label), folder) for some in split(part))
    if part.name in ("T3", "T3-L"):
        body += "\n\n" + tables.untied_comparison(part, folder)
    if part.name == "MoS":
        body += "\n\n" + tables.averaging(part, folder)
    if part.name in ("R4", "R4-MT"):
        body += "\n\n" + tables.learned_scales(part, folder)
    sections = [body, tables.verdict(*verdicts.RULES[part.name](part, folder))]
    if not folder and image(part):
        sections.append(f"![{part.title}](../images/results/{part.name}.svg)")
    if not folder and second_image(part):
        sections.append(f"![The prior's share on inner products](../images/results/{part.name}-pi.svg)")
    if part.name == "T1":
        left = search.unfinished(folder)
        note = f" Not done for {', '.join(left)}: those rows of the table have the parameters of the older records, at the rate {parts.RATE:g}." if left else ""
        sections.append(f"The search, on validation.{note}\n\n" + tables.searches(folder=folder))
    if part.name in TUNINGS:
        sections.append("The search, on validation.\n\n" + "\n\n".join(tables.searches(tuning, folder) for tuning in TUNINGS[part.name](folder)))
    return "\n\n".join(sections + [tables.commands(part)])


def page(part):
    """A page's first text, where there is none: the rule's row, and the block that is printed. What it says is written by hand, later."""
    row = next(line for line in (PAGES / "rules.md").read_text(encoding="utf-8").splitlines() if line.startswith(f"| {part.name} |"))
    runs, claim, rule = (cell.strip() for cell in row.strip("| ").split(" | ")[1:])
    return (f"# {part.name}: {part.title}\n\n**The claim.** {claim[0].upper()}{claim[1:]}.\n\n**What is run.** {runs[0].upper()}{runs[1:]}.\n\n"
            f"**Reproduced, if** ([rules.md](rules.md#part-by-part)) {rule}.\n\n{BEGIN.format(part.name)}\n{END.format(part.name)}\n")


def started(part):
    return verdicts.RULES[part.name](part)[0] != "not run"


def summary():
    made, lines = all_parts(), []
    for name, claim in CLAIMS:
        verdict, figure = verdicts.RULES[name](made[name]) if name in made else extra(name)
        if verdict == "not run":
            figure = "; ".join(filter(None, (known(name), f"planned: {hours(made[name]):.{int(hours(made[name]) < 10)}f} core-hours" if name in made else "")))
        linked = name not in made or (PAGES / f"{name}.md").exists() or started(made[name])
        lines.append([f"[{name}]({name}.md)" if linked else name, claim, f"**{verdict}**", figure])
    return tables.markdown(["part", "claim", "verdict", "figure"], lines)


def extra(name):
    """Parts that are not rows times seeds."""
    from . import decoding
    return decoding.verdict()


def known(name):
    """What the records of another part say of a claim whose part has not been run."""
    if name != "T1-MT":
        return ""
    found = [f"{c.row.label.partition(',')[0]} {c.average[0]:.1f}" for c in tables.cells(all_parts()["R4-MT"]) if c.row.group == "no scale" and c.values]
    return f"its untuned rows are [R4-MT](R4-MT.md)'s at scale 1 but for rbf's and wav's parameters, {', '.join(found)} BLEU: by its rule, below 1, it cannot be reproduced any more" if found else ""


def hours(part, jobs=None):
    """Core-hours of what has no record, by the CPU time that the records measured."""
    from . import training
    return sum(training.seconds(job) for job in (part.jobs() if jobs is None else jobs) if not records.find(job)) / 3600


def plan():
    """What is missing of each part that the driver knows."""
    lines, left = [], {}
    for part in all_parts().values():
        jobs = part.jobs()
        left[part.name] = len(search.waiting(part.name))
        lines.append([f"`experiments/run {part.name}`", f"{sum(not records.find(job) for job in jobs)} of {len(jobs)}", f"{hours(part):.1f}", f"{left[part.name]} searches to go" if left[part.name] else ""])
    return (tables.markdown(["part", "runs and measurements missing", "core-hours to go", "before it"], lines) +
            "\n\nA search (a kernel's ladder, then its rate) comes before a part's seeds and is not in these hours. Hours of set-ups that nothing has been measured of are "
            "in proportion to products and tokens.")


def blocks():
    """{file: {marker: text}}"""
    found = {"README.md": {"summary": summary()}, "plan.md": {"plan": plan()}}
    for name, part in all_parts().items():
        if (PAGES / f"{name}.md").exists() or started(part):
            found[f"{name}.md"] = {name: block(part)}
    from . import decoding
    if (PAGES / "Dec.md").exists():
        found["Dec.md"] = {"Dec": decoding.block()}
    return found


def filled(text, marker, content):
    begin, end = BEGIN.format(marker), END.format(marker)
    if begin not in text or end not in text:
        raise SystemExit(f"the markers {begin} and {end} are missing on the page")
    return re.sub(re.escape(begin) + ".*?" + re.escape(end), lambda _: f"{begin}\n\n{content}\n\n{end}", text, flags=re.S)


def outputs():
    """{path: text as it should be}: pages with their blocks filled, and plots."""
    made = {}
    for file, markers in blocks().items():
        path = PAGES / file
        text = path.read_text(encoding="utf-8") if path.exists() else page(all_parts()[file[:-3]])
        for marker, content in markers.items():
            text = filled(text, marker, content)
        made[PAGES / file] = text
        part = all_parts().get(file[:-3])
        if part and image(part):
            made[IMAGES / f"{part.name}.svg"] = image(part)
        if part and second_image(part):
            made[IMAGES / f"{part.name}-pi.svg"] = second_image(part)
    return made
