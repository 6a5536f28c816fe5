"""The parts of the older pages (experiments/heads.md, mt-heads.md, networks.md) and their tables;
their records are those of experiments/heads/."""
from . import records, statistics, tables
from .setups import Part, Row

TUNED = ("lin", "log", "pow", "pol", "rbf", "ssg", "mog", "hpb", "wav")
SEARCHED = (
    "log:p=0.5 log:p=1 log:p=2 log:p=4 pow:p=0.5 pow:p=1 pow:p=2 pow:p=3 rbf:gamma=0.01"
    " rbf:gamma=0.1 rbf:gamma=1 wav:a=1:b=1 wav:a=10:b=10 wav:a=100:b=100 ssg:variance=split"
    " ssg:variance=0.5 ssg:variance=2 pol:p=2 pol:alpha=0.5:p=2 pol:p=3 mog:form=sum"
    " mog:form=sum:variance=0.5 mog:form=mixture mog:form=mixture:variance=0.5 hpb:ball=lorentz"
    " hpb:ball=tanh hpb:ball=clip hpb:ball=sigmoid"
).split()
NETWORKS = {"lin": "lin", "mix2": "mix2", "mos-untied": "mos --untied"}
RATE = "--lr 0.002"


def part(name, title, epochs, rows, setup="S"):
    """`rows`: (name, options, seeds, set-up where it is another); a record's name has a seed where
    there are several set-ups of seeds."""
    made = []
    for label, options, seeds, own in rows:
        record = f"{name.partition('-diagnostics')[0]}/{tables.safe(label)}" + (
            "-{seed}" if name in ("singles", "presets", "networks") else ""
        )
        made.append(
            Row(
                label,
                options,
                legacy="presets/mos-1" if (name, label) == ("pi", "mos") else record,
                setup=own,
                seeds=seeds,
            )
        )
    return Part(name, title, epochs, max(row.seeds for row in made), tuple(made), setup=setup)


def all_parts():
    translation = [(f"{k}@tuned", f"--head {k}@tuned --lr 0.003", 1, "") for k in TUNED] + [
        ("mix2", "--head mix2 --lr 0.003", 1, "")
    ]
    explained = [
        (f"{h}-bias", f"--head {h} --lr 0.003 --head-bias --init-bias log-frequency", 1, "")
        for h in ("lin@tuned", "log@tuned", "hpb@tuned", "rbf:gamma=0.005", "wav:a=200:b=200")
    ]
    networks = [
        (f"{n}-{label}", f"--head {head}", 3, f"small {setup}")
        for label, head in NETWORKS.items()
        for n, setup in (("lstm", "LSTM"), ("transformer", "Transformer"))
    ]
    made = [
        part(
            "search",
            "parameters of the kernels",
            2,
            [(h, f"{RATE} --head {h}", 1, "") for h in SEARCHED],
        ),
        part(
            "singles",
            "ten kernels, ten epochs",
            10,
            [
                (f"{h}@tuned", f"{RATE} --head {h}@tuned", 3 if h in ("lin", "rbf") else 1, "")
                for h in (*TUNED, "sig")
            ],
        ),
        part(
            "presets",
            "mixtures, five epochs",
            5,
            [
                (h, f"{RATE} --head {h}", 3 if h == "mix2" else 1, "")
                for h in ("mix2", "mos", "mix1", "mix3", "mix4", "mix5", "mixbig")
            ]
            + [
                ("without-lin", f"{RATE} --head mix:log,rbf,hpb,wav", 1, ""),
                ("lin", f"{RATE} --head lin", 1, ""),
            ],
        ),
        part(
            "pi",
            "penalties on the prior, three epochs",
            3,
            [("mos", f"{RATE} --head mos", 1, "")]
            + [
                (f"{k}-{r}", f"{RATE} --head mos --pi-reg {k}:{r}", 1, "")
                for k in ("variance", "cv2")
                for r in ("1", "0.1", "0.01", "0.001")
            ],
        ),
        part(
            "diagnostics",
            "why some heads stay behind",
            4,
            [
                (f"{h}-lr-0.0005", f"--lr 0.0005 --head {h}", 1, "")
                for h in ("lin", "log:p=8", "ssg:variance=split")
            ]
            + [
                (f"{h}-zero-bias", f"{RATE} --head {h}", 1, "S, no bias to start from")
                for h in ("lin", "rbf")
            ],
        ),
        part(
            "paper",
            "the paper's width",
            3,
            [(h, f"--head {h}", 1, "") for h in ("lin", "pow@tuned", "rbf@tuned", "mix2")],
            "M",
        ),
        part("translation", "heads in translation", 6, translation, "pairs"),
        part(
            "translation-diagnostics",
            "why some heads stay behind in translation",
            6,
            explained + [("log:p=16", "--head log:p=16 --lr 0.003", 1, "")],
            "pairs",
        ),
        part("networks", "LSTM and Transformer at equal parameters", 3, networks),
        part(
            "networks-speed",
            "how fast these are, to be run while nothing else computes",
            1,
            [
                (label, f"{options} --after 25u --log-every 1", 1, own)
                for label, options, _, own in networks
            ],
        ),
    ]
    return {p.name: p for p in made}


def found(part, row, folder):
    return {run.seed: record for run in part.runs_of(row) if (record := records.find(run, folder))}


def speed(folder):
    """{row: tokens a second}, the median over the updates."""
    result, part = {}, all_parts()["networks-speed"]
    for row in part.rows:
        record = found(part, row, folder).get(1)
        if record:
            result[row.label] = record.last("speed", "tokens_per_s") or record.last(
                "training", "tokens_per_s"
            )
    return result


def spread(xs, digits=2):
    return f"{statistics.mean(xs):.{digits}f}" + (
        f" ({statistics.deviation(xs):.{digits}f})" if len(xs) > 1 else ""
    )


def table(part, folder=None):
    """Markdown, as it stands on the older pages."""
    each = lambda record, key, digits: " ".join(f"{e[key]:.{digits}f}" for e in record.of("valid"))
    listed = lambda xs: " ".join(f"{x:.3f}" for x in xs or ())
    lines = []
    if part.name == "networks":
        speeds = speed(folder)
        for row in part.rows:
            rs = list(found(part, row, folder).values())
            network, _, head = row.label.partition("-")
            lines.append(
                [
                    network,
                    head,
                    str(rs[0].last("start", "parameters")),
                    str(len(rs)),
                    spread([r.last("done", "best_valid_ppl") for r in rs]),
                    spread([r.test_ppl for r in rs]),
                    f"{speeds[row.label]:.0f}" if row.label in speeds else "not measured",
                ]
                if rs
                else [network, head, "", "0", "not run", "", ""]
            )
        return tables.markdown(
            [
                "network",
                "head",
                "parameters",
                "seeds",
                "validation perplexity, mean (deviation)",
                "test perplexity",
                "tokens a second",
            ],
            lines,
        )
    if part.name == "networks-speed":
        return tables.markdown(
            ["run", "tokens a second"], [[label, f"{x:.0f}"] for label, x in speed(folder).items()]
        )
    several = any("{seed}" in row.legacy for row in part.rows)
    for row in part.rows:
        for seed, record in found(part, row, folder).items() or [(1, None)]:
            label = f"{row.label}-{seed}" if several else row.label
            if record is None:
                lines.append([label, "", "not run"])
                continue
            shown, prior = str(record.last("start", "parameters")), record.last("valid", "pi_mean")
            if part.setup == "pairs":
                lines.append(
                    [
                        label,
                        shown,
                        each(record, "ppl", 2),
                        each(record, "bleu", 1),
                        f"{record.test_ppl:.2f}",
                        f"{record.last('done', 'test_bleu'):.1f}",
                    ]
                )
            elif part.name == "pi":
                e = record.of("valid")[2]
                variance, cv2 = tables.prior_statistics(e)
                lines.append(
                    [
                        label,
                        f"{e['ppl']:.2f}",
                        listed(e["pi_mean"]),
                        listed(e["pi_var"]),
                        f"{variance:.2f}",
                        f"{cv2:.3f}",
                    ]
                )
            else:
                lines.append(
                    [
                        label,
                        shown,
                        each(record, "ppl", 2),
                        f"{record.last('done', 'best_valid_ppl'):.2f}",
                        f"{record.test_ppl:.2f}",
                        listed(prior),
                    ]
                )
    header = {
        "pairs": [
            "run",
            "parameters",
            "validation perplexity after each epoch",
            "validation BLEU",
            "test perplexity",
            "test BLEU",
        ],
        "pi": [
            "run",
            "validation perplexity",
            "mean of π, each component",
            "variance of π over tokens, each component",
            "100 E Var_k(π)",
            "CV² of the means",
        ],
    }
    header = (
        header.get(part.setup)
        or header.get(part.name)
        or [
            "run",
            "parameters",
            "validation perplexity after each epoch",
            "best",
            "test",
            "mean of π at the end",
        ]
    )
    return tables.markdown(header, [line + [""] * (len(header) - len(line)) for line in lines])
