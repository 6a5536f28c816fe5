#!/usr/bin/env python3
"""Tests of experiments/driver: statistics against published and exact figures, the search's steps,
and that pages say what records give."""
import itertools
import math
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "experiments"))
sys.dont_write_bytecode = True
from driver import (  # noqa: E402
    packed,
    pages,
    parts,
    plots,
    projection,
    records,
    search,
    setups,
    statistics,
    tables,
    training,
    verdicts,
)
from driver.views import VIEWS  # noqa: E402


class Statistics(unittest.TestCase):
    def test_student_quantiles_of_the_usual_tables(self):
        for df, two_sided, t in (
            (1, 0.05, 12.706205),
            (2, 0.05, 4.302653),
            (4, 0.05, 2.776445),
            (4, 0.10, 2.131847),
            (30, 0.01, 2.749996),
        ):
            self.assertAlmostEqual(statistics.student_quantile(two_sided, df), t, places=5)

    def test_student_tails_in_closed_form(self):
        for t in (0.1, 1.0, 5.0):
            self.assertAlmostEqual(
                statistics.student_tails(t, 1), 1 - 2 / math.pi * math.atan(t), places=12
            )
            self.assertAlmostEqual(
                statistics.student_tails(t, 2), 1 - t / math.sqrt(2 + t * t), places=12
            )

    def test_students_sleep_data(self):  # Student 1908: paired t = 4.0621, 9 df, p = 0.002833
        first = (0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0)
        second = (1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4)
        differences = [b - a for a, b in zip(first, second)]
        self.assertAlmostEqual(statistics.one_sample_p(differences), 0.002833, places=6)
        low, high = statistics.interval(differences)
        self.assertAlmostEqual(low, 0.7001142, places=6)
        self.assertAlmostEqual(high, 2.4598858, places=6)

    def test_one_number_has_no_interval(self):
        self.assertIsNone(statistics.interval([1.0]))
        self.assertIsNone(statistics.one_sample_p([1.0]))

    def test_holm(self):
        for got, expected in zip(
            statistics.holm([0.01, 0.04, None, 0.03, 0.005]), (0.03, 0.06, None, 0.06, 0.02)
        ):
            self.assertEqual(got is None, expected is None)
            if expected is not None:
                self.assertAlmostEqual(got, expected)

    # k = 3, n = 2: L = 28 is the largest, by one of 36 tables
    def test_page_in_perfect_order(self):
        self.assertEqual(statistics.page([[1, 2, 3], [10, 20, 30]]), (28, 1 / 36))
        total, p = statistics.page([[3, 2, 1]])
        self.assertEqual((total, p), (10, 1))

    def test_page_with_ties_has_midranks(self):
        total, p = statistics.page([[1, 1, 2]])  # ranks 1.5 1.5 3
        self.assertEqual(total, 13.5)
        self.assertAlmostEqual(p, 1 / 3)

    def test_kendall(self):
        self.assertEqual(statistics.kendall([1, 2, 3], [4, 5, 6]), 1)
        # scipy.stats.kendalltau's own example
        self.assertAlmostEqual(statistics.kendall([12, 2, 1, 12, 2], [1, 4, 7, 1, 0]), -0.4714045)

    def test_permutation_of_separated_groups(self):  # 2 of the 252 splits are as far apart
        self.assertAlmostEqual(
            statistics.permutation_p([1, 2, 3, 4, 5], [11, 12, 13, 14, 15]), 2 / 252
        )

    def test_equivalence(self):
        self.assertTrue(statistics.equivalent([0.001, -0.001, 0.0, 0.001, -0.001], 0.025))
        self.assertFalse(statistics.equivalent([0.03, 0.02, 0.025, 0.03, 0.02], 0.025))

    def test_normal_density(self):
        self.assertAlmostEqual(math.exp(statistics.log_normal_density(1, 0, 2)), 0.17603266338)


class Projection(unittest.TestCase):
    t, q = [0.7, 0.05, 0.05, 0.2], [0.1, 0.4, 0.3, 0.2]

    def gains(self, least, most):
        made = projection.Posterior(self.t, self.q)
        return [made.gain(t, q, least, most) for t, q in zip(self.t, self.q)]

    def test_a_wide_range_gives_the_posterior_itself(self):
        for gain, t, q in zip(self.gains(-50, 50), self.t, self.q):
            self.assertAlmostEqual(gain, math.log(t / q), places=9)

    def test_no_range_gives_the_bias(self):
        for gain in self.gains(0.5, 0.5):
            self.assertAlmostEqual(gain, 0, places=9)

    def test_no_other_scores_of_the_range_are_better(self):
        least, most, draw = -0.3, 1.0, random.Random(1)
        gains = self.gains(least, most)
        self.assertAlmostEqual(sum(q * math.exp(g) for q, g in zip(self.q, gains)), 1)
        self.assertLess(max(gains) - min(gains), most - least + 1e-9)
        best = sum(t * g for t, g in zip(self.t, gains))
        for _ in range(2000):
            scores = [draw.uniform(least, most) for _ in self.t]
            z = math.log(sum(q * math.exp(s) for q, s in zip(self.q, scores)))
            self.assertLess(sum(t * (s - z) for t, s in zip(self.t, scores)), best + 1e-9)

    def test_the_least_of_wav(self):
        for a, b in ((1, 1), (1, 10), (2, 3)):
            values = [math.cos(q / a) * math.exp(-q / b) for q in (i * 0.001 for i in range(20000))]
            self.assertAlmostEqual(projection.wav_least(a, b), min(values), places=6)


class Packing(unittest.TestCase):
    options = packed.usual("lm_train") | {"head": "mix:3*lin,log", "clip": 0.5, "new": "a; b"}
    del options["seed"]  # as of a program that has no such option
    events = [
        {"event": "config", "options": options, "machine": "CPU, 2 cores", "floor": 2.0},
        {"event": "start", "parameters": 10},
        {"event": "valid", "step": 1, "ppl": 1 / 3, "note": "0.5"},
        {"event": "valid", "step": 2, "ppl": float("inf"), "pi_mean": [0.25, 0.75]},
        {"event": "restricted", "sets": "ppmi", "images": [[0, 3, 2, 1.5]]},
    ]

    def setUp(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.folder = pathlib.Path(made.name)
        for name in ("NEW", "RECORDS"):
            self.addCleanup(setattr, records, name, getattr(records, name))
            setattr(records, name, self.folder / name)

    def test_a_record_is_a_line_that_says_the_same(self):
        line = packed.line_of("a-1", packed.cells_of(self.events))
        self.assertEqual(line["options"], 'clip=0.5; head=mix:3*lin,log; new="a\\u003b b"; seed=')
        self.assertEqual(line["valid.step"], "1; 2")
        self.assertRegex(line["other"], r"^floor=2.0 \| .* \| restricted.sets=ppmi \| valid.note=")
        found = packed.events_of(packed.cells_of_line(line))
        self.assertEqual(packed.ordered(found), packed.ordered(self.events))

    def test_new_records_are_added_to_their_parts(self):
        for name, ppl in (("P/b-1", 3.0), ("P/a-1", 4.0)):
            records.keep(records.NEW / f"{name}.jsonl", [{"event": "done", "test_ppl": ppl}])
        records.keep(records.NEW / "P" / "measured" / "a-1.jsonl", self.events)
        self.assertEqual(records.named("P/a-1").test_ppl, 4.0)
        self.assertEqual(records.pack(), 3)
        self.assertEqual(list(records.NEW.glob("**/*.jsonl")), [])
        lines = (records.RECORDS / "P.csv").read_text().splitlines()
        self.assertEqual(
            [line.partition(",")[0] for line in lines], ["run", "a-1", "b-1", "measured/a-1"]
        )
        self.assertNotIn("[[0, 3, 2, 1.5]]", lines[3])
        self.assertEqual(records.named("P/measured/a-1").of("restricted"), self.events[-1:])
        records.keep(records.NEW / "P" / "b-1.jsonl", [{"event": "done", "test_ppl": 5.0}])
        # the new record is read before the table
        self.assertEqual(records.named("P/b-1").test_ppl, 5.0)
        self.assertEqual(records.pack(), 1)
        self.assertEqual(
            (records.named("P/b-1").test_ppl, records.named("P/a-1").test_ppl), (5.0, 4.0)
        )
        self.assertEqual((records.pack(), records.named("P/c-1")), (0, None))

    def test_a_line_with_other_columns_is_named(self):
        records.keep(records.NEW / "P" / "a-1.jsonl", [{"event": "done", "test_ppl": 3.0}])
        records.pack()
        with open(records.RECORDS / "P.csv", "a") as table:
            table.write("b-1,lm_train\n")
        with self.assertRaisesRegex(SystemExit, "P.csv: the line b-1 has not the columns"):
            records.named("P/b-1")

    def test_what_would_be_read_as_another_record_is_refused(self):
        records.keep(records.NEW / "P" / "a-1.jsonl", [{"event": "done"}])
        with self.assertRaisesRegex(ValueError, "a-1 would be read as another record"):
            records.pack()
        self.assertTrue((records.NEW / "P" / "a-1.jsonl").exists())


class Search(unittest.TestCase):
    def steps(self, values, factor, f):
        """What climbing trains, and the best at its end."""
        known, trained = {}, []
        while True:
            best, steps = search.climb(values, factor, known.get)
            if not steps:
                return best, trained
            trained += steps
            known |= {step: f(step) for step in steps}
            self.assertLess(len(trained), 30)

    def test_goes_past_the_edge_to_an_inner_optimum(self):
        self.assertEqual(
            self.steps((1, 2, 4), 2, lambda x: 100 + abs(math.log2(x) - 4)),
            (16, [1, 2, 4, 8, 16, 32]),
        )
        self.assertEqual(
            self.steps((1, 2, 4), 2, lambda x: 100 + abs(math.log2(x) + 1)),
            (0.5, [1, 2, 4, 0.5, 0.25]),
        )

    def test_stops_after_three_steps_that_gain_little(self):
        best, trained = self.steps((1, 2), 2, lambda x: 100 + 0.01 / x)
        self.assertEqual((best, trained), (8, [1, 2, 4, 8]))


class Driver(unittest.TestCase):
    def test_one_seed_of_every_row_before_the_next(self):
        with tempfile.TemporaryDirectory() as folder:
            todo = training.missing("M1", pathlib.Path(folder))
        self.assertEqual([run.seed for run in todo], sorted(run.seed for run in todo))
        self.assertEqual(len(todo), 5 * 11)
        self.assertEqual(len({run.name for run in todo}), len(todo))

    def test_names_of_runs_differ(self):
        for part in training.all_parts().values():
            names = [run.name for seed in (1, 2) for run in part.runs(seed)]
            self.assertEqual(len(set(names)), len(names), part.name)

    # two components, pi = (1, 0) at half of the tokens, (0, 1) at the others: Var_k = 1/4 at each
    def test_prior_statistics(self):
        var, cv2 = tables.prior_statistics({"pi_mean": [0.5, 0.5], "pi_var": [0.25, 0.25]})
        self.assertAlmostEqual(var, 25)
        self.assertAlmostEqual(cv2, 0)

    def test_older_records_are_of_their_seed_alone(self):
        run = parts.search_run("log:p=4", parts.RATE)
        self.assertIsNotNone(records.legacy(run))
        self.assertIsNone(records.legacy(parts.Run(run.part, run.row, 2, run.epochs)))
        self.assertIsNone(records.find(run, pathlib.Path("/nowhere")))

    def test_records_are_of_the_runs_that_they_are_shown_as(self):
        """A record's name has its row's label, which for a mixture or a searched kernel does not
        say all. Runs that searches chose are looked at too; what a run was not asked for is the
        same in all of its program."""
        multiplies_bfloat16, checked, others = ("avx512_bf16", "amx"), [], {}
        elsewhere = {
            "run",
            "device",
            "save_every",
            "train",
            "valid",
            "test",
            "vocab",
            "src",
            "tgt",
            "valid_src",
            "valid_tgt",
            "test_src",
            "test_tgt",
            "resolved",
        }
        chosen = [
            tuning.run(*found)
            for tuning in (
                parts.T1_TUNING,
                parts.M2_TUNING,
                *(t for some in search.TUNINGS.values() for t in some),
            )
            for kernel in tuning.ladders
            if (found := search.state(kernel, None, tuning)[:2])[0]
        ]
        for run in [
            *(
                job
                for part in training.all_parts().values()
                for job in part.jobs()
                if isinstance(job, parts.Run)
            ),
            *chosen,
        ]:
            record = records.named(run.name)
            if not record:
                continue
            checked.append(run.part)
            config = record.of("config")[-1]
            options, asked = config["options"], {}
            for flag, value in itertools.zip_longest(run.arguments, run.arguments[1:]):
                if flag.startswith("--"):
                    asked[flag[2:].replace("-", "_")] = (
                        True if value is None or value.startswith("--") else value
                    )
            for name, wanted in asked.items():
                found = options[name]
                self.assertEqual(
                    found,
                    (
                        float(wanted)
                        if isinstance(found, (int, float)) and wanted is not True
                        else wanted
                    ),
                    f"{run.name}: {name}",
                )
            for name in options.keys() - asked.keys() - elsewhere:
                program = setups.SETUPS[run.setup].program
                self.assertEqual(
                    options[name],
                    others.setdefault((program, name), options[name]),
                    f"{run.name}: {name}, which it was not asked for",
                )
            if (
                options["matmul_precision"] == "medium"
                and options["device"] == "cpu"
                and "NINE_BF16_TILES" not in config["machine"]
            ):
                # else it is float32
                self.assertIn(options["resolved"]["instruction_set"], multiplies_bfloat16, run.name)
        self.assertGreater(len(checked), 1000)
        self.assertGreater(len({part for part in checked if "search" in part}), 3)

    def test_components_are_counted(self):
        for options, count in (
            ("--head lin --lr 1", 1),
            ("--head mos --pi-reg variance:1", 9),
            ("--head mix:3*lin,log:p=4 --lr 1", 4),
            ("mix:lin,log", 2),
            ("rbf:gamma=1", 1),
        ):
            self.assertEqual(training.components(options), count, options)

    def test_mixtures_take_the_searchs_choices(self):
        self.assertEqual(
            parts.mixture("3*lin,log", lambda k: ("lin" if k == "lin" else "log:p=8", 0.002)),
            "mix:3*lin,log:p=8",
        )

    def test_a_plot_marks_what_it_is_given(self):
        svg = plots.dots("t", "x", [("a<b", 10.0, (9.0, 11.0), 20.0), ("c", None, None, None)])
        self.assertEqual(svg.count('<circle class="ours"'), 2)  # one in the legend
        self.assertIn("a&lt;b", svg)

    # of mix2 in the older records, which have it at validations
    def test_the_share_of_inner_products_over_training(self):
        record = records.in_table("presets/mix2-1", records.LEGACY)
        shares = verdicts.share_over_training("--head mix:3*lin,log", record, "valid")
        self.assertEqual([x for x, _ in shares], [175, 350, 525, 700, 875])
        self.assertAlmostEqual(shares[-1][1], 1 - 0.0024255, places=6)
        svg = plots.curves("t", "update", [("mix2", shares), ("also", shares)])
        self.assertEqual(svg.count("<polyline"), 2)

    def test_pages_say_what_the_records_give(self):
        done = subprocess.run(
            [sys.executable, str(ROOT / "experiments" / "table"), "--check"],
            capture_output=True,
            text=True,
        )
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_text_that_is_missing_is_named(self):
        with tempfile.TemporaryDirectory() as empty:
            (pathlib.Path(empty) / "lm_train").touch()
            done = subprocess.run(
                [sys.executable, str(ROOT / "experiments" / "run"), "M5", "--programs", empty],
                env={**os.environ, "DATA": empty},
                capture_output=True,
                text=True,
            )
            self.assertEqual(
                (done.returncode, done.stderr.partition(" in ")[0]), (1, "no rescoring/train.en")
            )

    def test_a_block_replaces_what_was_there(self):
        text = "a\n<!-- x: printed by experiments/table -->\nold\n<!-- end of x -->\nb\n"
        once = pages.filled(text, "x", "new \\1")
        self.assertIn("new \\1", once)
        self.assertNotIn("old", once)
        self.assertEqual(pages.filled(once, "x", "new \\1"), once)

    def test_paragraphs_are_wrapped_at_100_columns(self):
        line = " ".join(["word"] * 19)  # 94 columns
        code = "    " + "x " * 60
        table = "| " + "a | " * 40
        for text, expected in [
            (f"{line} {line}", f"{line} word\n{' '.join(['word'] * 18)}"),
            (f"{line} at 12.", f"{line}\nat 12."),
            (f"{line} `a b c`.", f"{line}\n`a b c`."),
            (f"- {line} a b.\n- c", f"- {line} a\n  b.\n- c"),
            (f"{table}\n\n{code}", f"{table}\n\n{code}"),
        ]:
            self.assertEqual(pages.wrapped(text), expected)

    def test_several_figures_are_items(self):
        self.assertTrue(tables.verdict("reproduced", "a 1, b 2").endswith(".** Figures: a 1, b 2."))
        self.assertTrue(tables.verdict("reproduced", "a; b").endswith(".** Figures:\n\n- a.\n- b."))


class Claims(unittest.TestCase):
    """The tables of docs/results/README.md that are written by hand."""

    def test_a_claim_says_whether_the_rule_of_its_page_was_kept(self):
        text = (pages.PAGES / "README.md").read_text(encoding="utf-8")
        claims = text[: text.index("## What was found besides")]
        lines = [line.strip("| ").split(" | ") for line in claims.splitlines() if "](" in line]
        lines = [cells for cells in lines if len(cells) == 8]
        self.assertEqual(len(lines), 21)
        made, word = training.all_parts(), {"reproduced": "yes", "not reproduced": "no"}
        for cells in lines:
            name = cells[-1].partition("]")[0].strip("[")
            decision, _ = VIEWS[name].rule(made.get(name))
            self.assertEqual(cells[5], word.get(decision, "open"), cells[0])

    def test_products_of_matrices_have_a_page_of_their_own(self):
        summary, precision = pages.summary(), pages.precision()
        self.assertNotIn("Precision", summary)
        self.assertIn("[Precision-MT](results/Precision-MT.md)", precision)
        self.assertEqual(len(precision.splitlines()), 2 + 5)


if __name__ == "__main__":
    unittest.main()
