#!/usr/bin/env python3
"""Tests of the claims that are judged in four words, with made-up records: S-random, S-random-mix,
Map-rates, Curve and T1-MT's second rule; their texts, searches and intervals."""
import math
import pathlib
import random
import sys
import unittest
import unittest.mock

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from experiments_driver_parts import Records, measured, measures, parts, records  # noqa: E402
from experiments_driver_parts import search, training  # noqa: E402
from driver import claims, forest, statistics, tuned, verdicts  # noqa: E402
from driver.setups import SIZES  # noqa: E402
from driver.views import VIEWS  # noqa: E402


class Intervals(unittest.TestCase):
    def test_with_nothing_beside_it_is_students(self):
        xs = [0.3, 0.1, 0.25, 0.4]
        for a, b in zip(statistics.wide(xs, 0), statistics.interval(xs)):
            self.assertAlmostEqual(a, b, places=9)

    def test_half_widths_add_at_a_right_angle(self):
        """1 to 4: Student's t of 3 degrees of freedom is 3.18245 in the usual tables, the normal
        quantile 1.95996."""
        low, high = statistics.wide([1, 2, 3, 4], 0.7)
        students = 3.18245 * math.sqrt(5 / 3 / 4)
        self.assertAlmostEqual((high - low) / 2, math.hypot(students, 1.95996 * 0.7), places=4)
        self.assertAlmostEqual((high + low) / 2, 2.5)

    def test_seeds_that_are_alike_leave_the_text(self):
        low, high = statistics.wide([2.0, 2.0], 0.1)
        self.assertAlmostEqual(high - low, 2 * 1.95996 * 0.1, places=4)

    def test_one_seed_has_none(self):
        self.assertIsNone(statistics.wide([1.0], 0.5))

    def test_both_errors_are_covered(self):
        """The mean of a text's units and of seeds, both drawn: the interval has the truth in 95 of
        100."""
        draw, right = random.Random(3), 0
        for _trial in range(400):
            text = draw.gauss(0, 0.5)
            seeds = [1 + text + draw.gauss(0, 1) for _ in range(5)]
            low, high = statistics.wide(seeds, 0.5)
            right += low < 1 < high
        self.assertTrue(0.92 < right / 400 < 0.98, right)


class Words(unittest.TestCase):
    def test_where_an_interval_lies(self):
        for bounds, word in (
            ((0.1, 0.9), "agrees"),
            ((0.0, 1.0), "agrees"),
            ((-0.1, 0.9), "not shown"),
            ((0.5, 1.1), "not shown"),
            ((-1, 2), "not shown"),
            ((1.1, 2), "disagrees"),
            ((-2, -1), "disagrees"),
            (None, "not shown"),
        ):
            self.assertEqual(claims.judged(bounds, 0, 1), word, bounds)

    def test_of_several(self):
        for words, word in (
            (("agrees", "agrees"), "agrees"),
            (("disagrees", "disagrees"), "disagrees"),
            (("agrees", "disagrees"), "in part"),
            (("in part", "not shown"), "in part"),
            (("not shown", "disagrees"), "not shown"),
        ):
            self.assertEqual(claims.common(list(words)), word, words)


class MadeUp(Records):
    """Records of whole parts whose rows are compared with lin."""

    WORDS = [10, 12, 14, 9]

    def run_all(self, name, ratio, spread=0.001):
        """Records of a part whose row `label` is `ratio(label)` times lin, on the whole text and on
        every image."""
        part = self.parts[name]
        of = lambda label, seed: 20 * (1 + seed / 100) * ratio(label) * (1 + spread * (seed % 2))
        self.train(part, of)
        nats = lambda label, seed: [w * math.log(of(label, seed)) for w in self.WORDS]
        event = lambda label, seed: {"event": "images", "nats": nats(label, seed)}
        self.measure(part, lambda label, seed: {**event(label, seed), "words": self.WORDS})

    def rule(self, name):
        return VIEWS[name].rule(self.parts[name], self.folder)


class Claims(MadeUp):
    def test_random_captions(self):
        paper = {"pol": 1.01, "log": 2.2, "max": 0.985, "lin, map": 0.93, "lin, dropout": 1.0}
        for changed, word, told in (
            ({}, "agrees", "max 0.985 [0.985, 0.985] × lin"),
            ({"log": 1.0}, "in part", "log 1.000 [1.000, 1.000] × lin"),
            ({"lin, dropout": 0.94}, "in part", "1.048 [1.048, 1.048] × lin, dropout: in part"),
            ({"pol": 1.1, "log": 0.9, "max": 1.1}, "disagrees", "lin, dropout: disagrees"),
        ):
            self.run_all("S-random", lambda label: {**paper, **changed}.get(label, 1.0), 0)
            verdict, figure = self.rule("S-random")
            self.assertEqual(verdict, word, changed)
            self.assertIn(told, figure)
        # without what is measured of a row the interval over the images is missing
        for m in self.parts["S-random"].measures:
            if m.label == "log":
                records.path_of(m, self.folder).unlink()
        self.assertEqual(self.rule("S-random")[0], "undecided")

    def test_mixtures_on_random_captions(self):
        """Each verdict of the part, and of each claim."""
        level = {"mix2": 0.994, "mix5": 0.998, "mos": 1.021}
        ahead = dict.fromkeys(("mix2", "mix5", "mos", "mix2, dropout", "mos, dropout"), 0.93)
        for ratio, word, figures in (
            (
                {**level, "mix2, dropout": 0.99, "mos, dropout": 1.02},
                "agrees",
                (
                    "mix2 0.994 [0.994, 0.994] × lin, mix2, dropout 0.990 [0.990, 0.990] × lin,"
                    " dropout; ",
                    "mix5 0.998 [0.998, 0.998] × lin, 0.998 [0.998, 0.998] × lin, dropout; ",
                    '"cannot significantly improve": agrees (mix2 agrees, mix5 agrees, mos agrees)',
                    "mos behind lin: agrees (mos agrees)",
                ),
            ),
            (
                ahead,
                "disagrees",
                ("at lin's level: disagrees (mix2 disagrees, mix5 disagrees, mos disagrees)",),
            ),
            # a gain that lin with dropout has too
            (
                {**level, "mix2": 0.93, "mix2, dropout": 1.0, "mos, dropout": 0.99},
                "in part",
                (
                    '"cannot significantly improve": in part (mix2 in part, mix5 agrees, mos',
                    "mos behind lin: in part",
                ),
            ),
            # behind lin: no gain, and not at its level
            (
                dict.fromkeys(ahead, 1.2),
                "in part",
                ('"cannot significantly improve": agrees', "at lin's level: disagrees"),
            ),
        ):
            self.run_all("S-random-mix", lambda label: ratio.get(label, 1.0), 0)
            verdict, figure = self.rule("S-random-mix")
            self.assertEqual(verdict, word, ratio)
            for told in figures:
                self.assertIn(told, figure)
        # mixtures' seeds differ by more than any bound
        self.run_all("S-random-mix", lambda label: 1.0, 0)
        part = self.parts["S-random-mix"]
        for row in part.rows[2:]:
            for run in part.runs_of(row):
                self.write(run, {"event": "done", "test_ppl": 20 * 1.2 ** (-1) ** run.seed})
        self.assertEqual(self.rule("S-random-mix")[0], "not shown")
        records.path_of(part.run(part.row("mos"), 5), self.folder).unlink()
        self.assertEqual(self.rule("S-random-mix")[0], "undecided")

    def test_mixtures_stand_beside_s_randoms_runs_of_lin(self):
        mixed, of_lin = self.parts["S-random-mix"], self.parts["S-random"]
        for label in tuned.BASES:
            self.write(of_lin.run(of_lin.row(label), 2), {"event": "done", "test_ppl": 20.0})
            twin = training.twin(mixed.run(mixed.row(label), 2), self.folder)
            self.assertEqual(twin.part, "S-random")
        head = mixed.row("mix2").options
        self.assertTrue(head.startswith("--head mix:3*lin,log:p=8 --pi-reg variance:0.1"), head)
        # the search of lin's rate comes before a mixture's
        first = training.missing("S-random-mix", self.folder)[0]
        self.assertEqual((first.part, first.row.options[:10]), ("S-random-search", "--head lin"))

    def test_an_interval_that_contains_the_bound_shows_nothing(self):
        part = self.parts["S-random"]
        self.run_all("S-random", lambda label: {"log": 2, "max": 0.99}.get(label, 1.0), 0)
        self.assertIn("max 0.990 [0.990, 0.990] × lin, 0.990", self.rule("S-random")[1])
        # `max` is ahead on one image by much and behind on the others
        for m in part.measures:
            if m.label == "max":
                nats = [w * math.log(20 * (1 + m.seed / 100)) for w in self.WORDS]
                nats = [x + more for x, more in zip(nats, (-3, 1, 1, 0.5))]
                self.write(m, {"event": "images", "nats": nats, "words": self.WORDS})
        figure = self.rule("S-random")[1]
        self.assertRegex(figure, r"max 0\.990 \[0\.\d+, 1\.\d+\] × lin, .*: not shown")
        table = VIEWS["S-random"].table(part, self.folder)
        self.assertRegex(
            table, r"\| `max` \| `lin` \| 5 \| 0\.990 \[0\.990, 0\.990\] \| 0\.990 \[0"
        )

    def test_the_figure_of_all_claims_has_random_captions(self):
        self.run_all("S-random", lambda label: {"log": 2.0}.get(label, 1.0), 0)
        with unittest.mock.patch.multiple(records, NEW=self.folder, RECORDS=self.folder / "none"):
            found = {label: ours for label, _paper, ours in forest.rows(self.parts)}
            drawn = forest.draw(self.parts)
        ((kind, ratio, _bounds),) = found["log"]
        self.assertEqual((kind, round(ratio, 6)), (forest.RANDOM, 2.0))
        self.assertEqual(set(found), {"pol", "log", "lin with tanh(C h)", "largest-norm contexts"})
        # a mark for each row, and one in the legend, which names no other
        self.assertEqual(drawn.count("l5 9h-10z"), 4 + 1)
        self.assertEqual(drawn.count("</text>"), 1 + 2 + 7 + 4)

    def test_the_layer_at_the_best_rates(self):
        best = {"lin, lr=0.004": 0.96, "lin, map, lr=0.008": 0.91, "lin, map, lr=0.002": 1.02}
        self.run_all("Map-rates", lambda label: best.get(label, 1.0))
        verdict, figure = self.rule("Map-rates")
        self.assertEqual(verdict, "agrees")
        first = "best rates: lin, map, lr=0.008 0.948 [0.948, 0.948] × lin, lr=0.004: agrees; lin,"
        self.assertTrue(figure.startswith(first), figure)
        self.assertIn("lin, map, lr=0.002 1.020 [1.020, 1.020] × lin, lr=0.002: disagrees", figure)
        self.run_all("Map-rates", lambda label: {**best, "lin, lr=0.008": 0.92}.get(label, 1.0))
        self.assertEqual(self.rule("Map-rates")[0], "disagrees")

    def test_where_rows_cross_lin(self):
        sizes = list(SIZES)
        ratio = {"log": (0.9, 0.97, 1.04, 1.2), "pol": (0.95, 0.97, 0.98, 0.99)}

        def of(label):
            kernel, lines = label.rsplit(", ", 1)
            place = sizes.index(int(lines.removesuffix(" lines").replace(",", "")))
            return ratio.get(kernel, (0.95,) * 4)[place] if kernel != "lin" else 1.0

        self.run_all("Curve", of)
        verdict, figure = self.rule("Curve")
        self.assertEqual(verdict, "agrees")
        self.assertIn("on 145,000: crosses between 30,000 and 60,000", figure)
        self.assertEqual(figure.count("no crossing"), 3)
        self.assertNotIn("so far", figure)
        self.assertIn("log on 145,000: agrees", figure)
        ratio["log"] = (0.9, 0.9, 0.9, 1.01)
        self.run_all("Curve", of)
        verdict, figure = self.rule("Curve")
        self.assertEqual(verdict, "in part")
        self.assertIn("crosses between 60,000 and 145,000", figure)
        self.assertIn("log on 145,000: disagrees", figure)

    def test_translation_beside_the_better_lin(self):
        part = self.parts["T1-MT"]
        bleu = {"pol": -6, "log": -1, "hpb": -28, "rbf": -34.2, "wav": -34.2, "ssg": 2}

        def of(label, seed):
            of_lin = 34.5 + seed / 10
            return (
                of_lin + bleu.get(label, 0) if ", " not in label else of_lin * (label[:3] == "lin")
            )

        self.translate(part, lambda run: of(run.row.label, run.seed))
        event = lambda label, seed: {"event": "translations", "bleu": of(label, seed)}
        drawn = lambda label, seed: [of(label, seed) + x for x in (-0.5, 0, 0.5)]
        self.measure(part, lambda *one: {**event(*one), "resamples": drawn(*one)})
        _verdict, figure = self.rule("T1-MT")
        self.assertIn(
            '"on the same level", beside the better lin: in part (pow 0.0 [0.0, 0.0] agrees,'
            " pol -6.0 [-6.0, -6.0] disagrees, ssg 2.0 [2.0, 2.0] agrees,",
            figure,
        )
        self.assertIn("no translation, beside the better lin: in part (log -1.0", figure)
        for told in ("log -1.0 [-1.0, -1.0] disagrees", "hpb -28.0 [-28.0, -28.0] in part"):
            self.assertIn(told, figure)
        self.assertIn("rbf -34.2 [-34.2, -34.2] agrees", figure)
        for m in part.measures:  # the text alone makes ssg's interval reach the bound
            if m.label == "ssg":
                resamples = [of("ssg", m.seed) + x for x in (-2, 0, 2)]
                self.write(m, {**event("ssg", m.seed), "resamples": resamples})
        self.assertRegex(self.rule("T1-MT")[1], r"ssg 2\.0 \[-[0-9.]+, [0-9.]+\] not shown")


class Training(Records):
    def test_lines_in_the_order_of_their_numbers_hashes(self):
        """The order is that of `printf N | sha256sum`."""
        self.assertEqual(training.shuffled(list("0123456")), list("4301265"))

    def test_texts_begin_alike_and_have_one_dictionary(self):
        (self.folder / "captions").mkdir()
        lines = [f"a {'b' * (i % 4 == 0)} c\u00a0{i}\n" for i in range(12)]
        (self.folder / "captions" / "train.en").write_text("".join(lines), encoding="utf-8")
        context = training.Context(self.folder, self.folder / "runs", self.folder)
        few, many = (training.prepare(context.runs, self.folder, n, True) for n in (4, 12))
        self.assertTrue(many.read_text().startswith(few.read_text()))
        self.assertEqual(sorted(many.read_text().splitlines(True)), sorted(lines))
        self.assertEqual(len(few.read_text().splitlines()), 4)
        files = context.files("10,000 lines")
        self.assertEqual(files[0::2], ["--train", "--valid", "--test", "--vocab"])
        self.assertEqual(files[-1].read_text(), "a 12\nb 3\n")
        self.assertEqual(len(context.files("S, random lines")), 6)

    def searched(self, tuning, best):
        """Records of all that a search asks for; `best(label)` is the validation perplexity."""
        for kernel in tuning.ladders:
            while pending := search.state(kernel, self.folder, tuning)[2]:
                for run in pending:
                    ppl = best(run.row.label)
                    self.write(
                        run,
                        *[{"event": "valid", "ppl": ppl}] * run.epochs,
                        {"event": "done", "test_ppl": ppl},
                        options={"head": "lin"},
                    )

    def test_a_text_of_the_curve_is_done_before_the_next(self):
        first, *others = tuned.CURVE_TUNINGS.values()
        todo = training.missing("Curve", self.folder)
        self.assertEqual(
            [run.part for run in todo[:7]], [first.part] * 7  # lin, three dropouts, map, log, pol
        )
        self.assertTrue(all("search" in run.part for run in todo))
        self.searched(first, lambda label: 30 + 5 * ("lr=" in label) + ("0.6" in label))
        todo = training.missing("Curve", self.folder)
        runs = 2 * 3 * len(tuned.CURVE_LADDERS)  # with what is measured of them
        self.assertEqual({job.part for job in todo[:runs]}, {"Curve"})
        self.assertEqual({run.setup for run in todo[:runs] if hasattr(run, "setup")}, {first.setup})
        self.assertEqual(todo[runs].part, others[0].part)

    def test_a_choice_s_first_seed_is_the_search_s_run(self):
        for part, tuning in (
            ("S-random", tuned.RANDOM_TUNING),
            ("S-random-mix", tuned.MIXED_TUNING),
            ("Curve", tuned.CURVE_TUNINGS[30_000]),
        ):
            self.searched(tuning, lambda label: 30 + 5 * ("lr" in label and "0.008" not in label))
            made = training.all_parts(self.folder)[part]
            of_text = [
                row
                for row in made.rows
                if row.label.partition(", 3")[0] in tuning.ladders
                and made.run(row, 1).setup == tuning.setup
            ]
            self.assertEqual(len(of_text), len(tuning.ladders))
            for row in of_text:
                twins = [training.twin(made.run(row, seed), self.folder) for seed in (1, 2)]
                self.assertEqual(twins[0] and twins[0].part, tuning.part, row.label)
                self.assertIsNone(twins[1])
        self.assertEqual([run.epochs for run in made.runs(1)][::5], list(SIZES.values()))

    def test_nats_of_an_image_are_of_its_five_captions(self):
        (self.folder / "captions").mkdir()
        lines = [f"{i % measures.IMAGES} x" for i in range(5 * measures.IMAGES)]
        test = self.folder / "captions" / "test.en"
        test.write_text("".join(f"{line}\n" for line in lines))
        context = unittest.mock.Mock(data=self.folder)
        printed = "".join(f"-{i % measures.IMAGES}.5\n" for i in range(5 * measures.IMAGES))
        with unittest.mock.patch.object(measures, "run_program", return_value=printed):
            (event,) = measures.by_unit(context, self.parts["Map-rates"].measures[0])
        self.assertEqual(event["nats"], [5 * (i + 0.5) for i in range(measures.IMAGES)])
        self.assertEqual(event["words"], [15] * measures.IMAGES)
        test.write_text("a\n")
        with self.assertRaisesRegex(SystemExit, "1 lines, not five"):
            measures.by_unit(context, self.parts["Map-rates"].measures[0])

    def test_bounds_of_the_rules(self):
        """The paper's perplexities: ssg 49.9 beside lin's 46.8."""
        self.assertAlmostEqual(math.exp(verdicts.CLAIMED["pol"][1]), 1.066, places=3)
        self.assertEqual(verdicts.CLAIMED["log"][0], verdicts.CLAIMED["pol"][1])
        self.assertEqual(
            measured.SAME_LEVEL, round(parts.MT_PAPER["lin"] - parts.MT_PAPER["pol"], 1)
        )


if __name__ == "__main__":
    unittest.main()
