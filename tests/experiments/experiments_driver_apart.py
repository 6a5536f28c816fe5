#!/usr/bin/env python3
"""Tests of the parts on close words (T4-SWB, T4-SC) and of translation with 200,000 pairs
(T1-MT-200k), with made-up records: each verdict of each rule, what is asked of a model, the search
by BLEU, the texts."""
import math
import pathlib
import sys
import unittest
import unittest.mock

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from experiments_driver_parts import Records, measured, measures, parts, records  # noqa: E402
from experiments_driver_parts import search, training  # noqa: E402
from driver import packed, setups, translated, words_apart  # noqa: E402
from driver.views import VIEWS  # noqa: E402

Question = words_apart.Question


class CloseWords(Records):
    def decided(self, name, right, word, *told, ppl=lambda label: 50.0, spread=0):
        """Records of every model: `right(label, unit, kind)` of a hundred places of a unit, and
        `spread` more or fewer of a mixture by seed."""
        part = self.parts[name]
        for m in part.measures:
            self.write(m.needs[0], {"event": "done", "test_ppl": ppl(m.label)})
            noise = (m.label == words_apart.MIXTURE) * spread * (-1) ** m.seed
            of = lambda unit, kind: right(m.label, unit, kind) + noise
            self.write(
                m,
                *(
                    {
                        "event": "restricted",
                        "sets": kind,
                        "units": [[unit, 100, of(unit, kind), 90.0] for unit in range(20)],
                        "strata": {},
                    }
                    for kind in words_apart.KINDS
                ),
            )
        verdict, figure = VIEWS[name].rule(part, self.folder)
        self.assertEqual(verdict, word, figure)
        for each in told:
            self.assertIn(each, figure)

    def mixture(self, more, kind="inner"):
        """mix2 is right `more(unit)` times more often, on a kind of sets."""
        return lambda label, unit, own: 60 + more(unit) * (label == "mix2" and own == kind)

    def test_every_verdict_on_the_paper_s_clusters(self):
        even = lambda unit: 2 - 2 * (unit % 2)
        self.decided(
            "T4-SWB",
            self.mixture(lambda unit: 2),
            "agrees",
            "inner: mix2 − lin +2.00 [2.00, 2.00] points, agrees (− lin, map +2.00 [2.00, 2.00])",
            "homophones: mix2 − lin +0.00 [0.00, 0.00] points, not shown",
        )
        self.decided(
            "T4-SWB", self.mixture(lambda unit: -1), "disagrees", "inner: mix2 − lin -1.00"
        )
        # on some conversations ahead, on others behind
        away = lambda unit: 10 * (-1) ** unit
        self.decided("T4-SWB", self.mixture(away), "not shown")
        # ahead on every conversation, but seeds differ
        self.decided("T4-SWB", self.mixture(even), "not shown", spread=10)
        # the other kinds of sets do not decide
        self.decided(
            "T4-SWB",
            self.mixture(lambda unit: 2, "blimp"),
            "not shown",
            "blimp: mix2 − lin +2.00 [2.00, 2.00] points, agrees",
        )
        # a better model altogether
        for gain, word in ((0.98, "agrees"), (0.97, "in part")):
            ppl = lambda label: 50.0 * (gain if label == "mix2" else 1)
            told = f"test perplexity of mix2 {gain:.3f}"
            self.decided("T4-SWB", self.mixture(lambda unit: 2), word, told, ppl=ppl)
        # what is not measured
        last = [m for m in self.parts["T4-SWB"].measures if m.label == "mos"][-1]
        records.path_of(last, self.folder).unlink()
        self.assertEqual(VIEWS["T4-SWB"].rule(self.parts["T4-SWB"], self.folder)[0], "undecided")

    def test_one_seed_has_a_direction_alone(self):
        ahead = {"log": 3, "pol": -3}
        self.decided(
            "T4-SC",
            lambda label, unit, kind: 60 + ahead.get(label, 4 * (-1) ** unit * (label != "lin")),
            "not shown",
            "inner: lin, map − lin +0.00 [",
            "points, no direction, log − lin +3.00 [3.00, 3.00] points, ahead",
            "pol − lin -3.00 [-3.00, -3.00] points, behind",
        )

    def test_models_are_those_of_the_parts_that_train(self):
        part = self.parts["T4-SWB"]
        labels = list(dict.fromkeys(m.label for m in part.measures))
        self.assertEqual(len(part.measures), 3 * len(labels))
        self.assertEqual(labels[0], "lin")
        self.assertLessEqual({"lin, dropout", "sig", "max", "arc:0.001", "mix2", "mos"}, {*labels})
        owners = {m.label: m.needs[0].part for m in part.measures}
        self.assertEqual(
            (owners["lin"], owners["max"], owners["mos"]), ("T1-SWB", "M-SWB", "T3-SWB")
        )
        self.assertEqual({m.needs[1].name for m in part.measures}, {"T1-SWB/lin-1"})
        # nothing is trained before the searches of all of them
        todo = {run.part for run in training.missing("T4-SWB", self.folder)}
        self.assertLessEqual({"T1-SWB-search", "M-SWB-search", "T3-SWB-search"}, todo)
        self.assertTrue(all(name.endswith("search") for name in todo), todo)

    def test_the_form_of_the_corpora(self):
        for text, words in (
            ("Well , she ca n't say it 's 5 o'clock .", "well she can't say it's o'clock"),
            ("katherine can 't help", "katherine can't help"),
            ("the girls ' \" ll ' s", "the girls ll s"),
            ("they 've we 'll i 'm", "they've we'll i'm"),
        ):
            self.assertEqual(words_apart.spoken(text), words.split(), text)

    def context(self):
        """Made-up judgements, and a model's directory."""
        (self.folder / "words").mkdir()
        write = lambda name, *rows: (self.folder / "words" / name).write_text(
            "".join("\t".join(row) + "\n" for row in rows)
        )
        write(
            "swords.test.tsv",
            ("NOUN", "first . We saw the", "dog", "run .", "hound:0.90 cat:0.00 pup:0.50 xyz:0.00"),
            ("NOUN", "a", "b", "c", "hound:0.20 cat:0.00"),
            ("VERB", "", "b", "c", "see:0.60 cat:0.00 pup:0.10"),
        )
        write(
            "blimp.oneword.tsv",
            ("agreement", "the cat", "is", "are", "here ."),
            ("agreement", "cats", "are", "is", "here ."),
            ("agreement", "xyz", "are", "is", "here ."),
            ("island", "the cat", "sees", "see", "."),
            ("island", "the cat", "is n't", "see", "."),
        )
        write(
            "homophones.switchboard.tsv",
            ("S IY", "see sea", "9 9"),
            ("IH Z", "is xyz", "9 9"),
            ("K AE T", "cat cats hound", "9 9 9"),
        )
        return unittest.mock.Mock(data=self.folder)

    KNOWN = set("the cat cats is are here sees see sea hound pup we saw".split())

    def test_questions(self):
        context = self.context()
        self.assertEqual(
            list(words_apart.swords(context, self.KNOWN)),
            [
                Question(0, ["we", "saw", "the"], ["hound", "pup"], ["cat"]),
                Question(2, [], ["see"], ["cat"]),
            ],
        )
        self.assertEqual(
            list(words_apart.blimp(context, self.KNOWN)),
            [
                Question(0, ["the", "cat"], ["is"], ["are"]),
                Question(0, ["cats"], ["are"], ["is"]),
                Question(1, ["the", "cat"], ["sees"], ["see"]),
            ],
        )
        made = words_apart.homophones(context, "switchboard", self.folder, self.KNOWN)
        self.assertEqual(made.read_text(), "see sea\ncat cats hound\n")

    def test_a_list_that_is_not_there_is_named(self):
        context = unittest.mock.Mock(data=self.folder)
        with self.assertRaisesRegex(SystemExit, "words/swords.test.tsv: experiments/data.md"):
            list(words_apart.swords(context, self.KNOWN))

    def score(self, probability):
        """What `lm_score --restrict --choices` prints of a model with made-up probabilities."""

        def printed(_, sets, *_more, stdin):
            rows = [measures_names()]
            for i, line in enumerate(stdin.splitlines(), 1):
                for j, word in enumerate(line.split(), 1):
                    for k, words in enumerate(sets.read_text().splitlines(), 1):
                        if word in words.split():
                            p = {w: probability(line.split()[: j - 1], w) for w in words.split()}
                            best, share = max(p, key=p.get), p[word] / sum(p.values())
                            rows.append([i, j, k, word, 5, best, -math.log(share), 0])
            return "".join("\t".join(map(str, row)) + "\n" for row in rows)

        return printed

    def test_a_choice_is_right_if_people_accept_it(self):
        likes = {"pup": 3, "hound": 1, "cat": 2, "see": 1, "is": 4, "are": 1, "sees": 1}
        score = self.score(
            lambda left, word: likes[word] * (4 if (left, word) == (["cats"], "are") else 1)
        )
        questions = [
            Question(7, ["we", "saw", "the"], ["hound", "pup"], ["cat"]),
            Question(8, ["see"], ["see"], ["cat"]),
        ]
        units = words_apart.asked(score, self.folder, "swords", questions)
        # pup is likeliest; hound and pup have 4 of 6
        self.assertEqual(units[7][:2], [1, 1])
        self.assertAlmostEqual(units[7][2], -math.log(4 / 6))
        self.assertEqual(units[8][:2], [1, 0])
        self.assertAlmostEqual(units[8][2], -math.log(1 / 3))
        questions = [
            Question(0, ["the", "cat"], ["is"], ["are"]),
            Question(0, ["cats"], ["are"], ["is"]),  # equal: the first of the set
            Question(1, ["is"], ["see"], ["is"]),
        ]
        units = words_apart.asked(score, self.folder, "blimp", questions)
        self.assertEqual([units[0][:2], units[1][:2]], [[2, 2], [1, 0]])
        self.assertAlmostEqual(units[0][2], -math.log(4 / 5) - math.log(1 / 2))
        # a pair of words is one set, whichever is the good one
        self.assertEqual((self.folder / "sets-blimp").read_text(), "are is\nis see\n")

    def test_what_is_kept_has_no_words(self):
        """Of all kinds of sets together, with a program that is made up."""
        context = self.context()
        model = self.folder / "model"
        model.mkdir()
        (model / "dict.txt").write_text("".join(f"{word} 9\n" for word in sorted(self.KNOWN)))
        context.model = lambda run: model
        corpus = setups.Corpus("train.txt", "valid.txt", "test.txt", "", "conversations", True)
        (self.folder / "switchboard").mkdir()
        (self.folder / "switchboard" / "test.txt").write_text("the cat sees\nsee the sea\ncats\n")
        score = self.score(lambda left, word: len(word))

        def program(_context, _program, *arguments, stdin=None):
            if "--output" in arguments:
                return pathlib.Path(arguments[-1]).write_text("the cat\nsea sees\n") and ""
            if "--input" in arguments:
                stdin = pathlib.Path(arguments[-1]).read_text()
            return score("--restrict", arguments[arguments.index("--restrict") + 1], stdin=stdin)

        measure = unittest.mock.Mock(
            needs=(unittest.mock.Mock(setup="switchboard"),) * 2, part="T4-SWB"
        )
        with unittest.mock.patch.object(
            measures, "run_program", program
        ), unittest.mock.patch.object(
            measures, "CONVERSATIONS", (2, 1)
        ), unittest.mock.patch.object(
            words_apart, "corpus_of", lambda _: ("switchboard", corpus)
        ):
            events = words_apart.words_apart(context, measure)
        self.assertEqual([e["sets"] for e in events], [*words_apart.KINDS])
        # the longer word, of equal ones the first: "the" and not "cat", "sees" and not "sea"
        self.assertEqual(
            [[unit[:3] for unit in e["units"]] for e in events],
            [[[0, 5, 3]], [[0, 3, 1], [1, 1, 0]], [[0, 1, 1], [2, 1, 0]], [[0, 2, 1], [1, 1, 1]]],
        )
        records.without_words("T4-SWB/measured/lin-1", events)
        for where in ("units", "strata"):
            told = [{**events[0], where: {"cat": [1, 1, 0.5]}}]
            with self.assertRaisesRegex(SystemExit, "nothing of this corpus"):
                records.without_words("T4-SWB/measured/lin-1", told)

    def test_kept_records_have_numbers_alone(self):
        for name in search.MEASURED:
            table = packed.table(records.RECORDS / f"{name}.csv")
            for run in table.rows:
                records.without_words(run, table.events(run)[1:])


def measures_names():
    return "line word set right count chosen nats margin".split()


class Translation(Records):
    # beside lin's 30 on Multi30k and 50 on tatoeba
    PAPER = {"pow": -1.5, "pol": -2.5, "ssg": 0.3, "mog": -0.1, "log": -40, "hpb": -40}
    PAPER |= {"rbf": -40, "wav": -40}

    def decided(self, more, word, *told, noise=0.0):
        """Records of translations: BLEU of a kernel beside lin, {kernel: difference}."""
        part = self.parts["T1-MT-200k"]
        self.translate(part, lambda run: 30.0)
        for m in part.measures:
            spread = noise * (m.seed - 2) * (m.label in ("pow", "ssg", "mog"))
            events = []
            for test, lin in (("multi30k", 30 + m.seed), ("tatoeba", 50 + m.seed)):
                own = more.get(m.label, 0)
                own = own[test == "tatoeba"] if isinstance(own, tuple) else own
                bleu = max(0.0, lin + own + spread)
                drawn = [bleu + x for x in (-0.2, 0, 0.2)]
                events.append(
                    {"event": "translations", "test": test, "bleu": bleu, "resamples": drawn}
                )
            self.write(m, *events)
        verdict, figure = VIEWS["T1-MT-200k"].rule(part, self.folder)
        self.assertEqual(verdict, word, figure)
        for each in told:
            self.assertIn(each, figure)

    def test_every_verdict(self):
        away = {"pow": -8, "ssg": 8, "mog": -8, "log": 0}
        # tatoeba's lin has 50 and more, of which 40 below is not 0
        zero = {k: -60 for k in ("log", "hpb", "rbf", "wav")}
        self.decided(
            self.PAPER | zero,
            "agrees",
            '"on the same level", tatoeba: agrees (pow -1.5 [-1.5, -1.5] agrees, pol -2.5 [-2.5,',
            "pol -2.5 [-2.5, -2.5] its direction agrees",
            "no translation, multi30k: agrees (log -32.0 [",
            "hpb -31.0 [-31.0, -31.0] its direction agrees",
        )
        self.decided(self.PAPER, "in part", "no translation, tatoeba: in part (log -40.0")
        self.decided(
            {**self.PAPER, **zero, **away},
            "disagrees",
            "log 0.0 [0.0, 0.0] disagrees",
            '"on the same level", multi30k: disagrees',
        )
        # a test set apart
        self.decided({**self.PAPER, **zero, "mog": (0, -8)}, "in part", "tatoeba: in part (pow")
        # seeds apart, and log between
        self.decided({"log": (-15, -25)}, "not shown", "log -15.0", noise=9.0)

    def test_a_kernel_of_one_seed_decides_nothing(self):
        """Whatever it has, and even without a comparison over the seeds."""
        zero = {"log": -60}
        for more in ({"pol": -20, "hpb": 0, "rbf": 0, "wav": 0}, {}):
            self.decided({**zero, **more}, "agrees")
        self.decided(
            {**zero, "pol": -20}, "agrees", "pol -20.0 [-20.0, -20.0] its direction disagrees"
        )
        part = self.parts["T1-MT-200k"]
        self.assertEqual({len(part.runs_of(part.row(k))) for k in translated.SEEDED}, {3})
        self.assertEqual({len(part.runs_of(part.row(k))) for k in ("pol", "hpb", "sig")}, {1})

    def test_what_is_not_measured(self):
        part = self.parts["T1-MT-200k"]
        self.decided({"log": -60}, "agrees")
        for m in (part.measures[0], part.measures[-1]):
            path = records.path_of(m, self.folder)
            kept = path.read_text()
            path.unlink()
            self.assertEqual(VIEWS["T1-MT-200k"].rule(part, self.folder)[0], "undecided", m.name)
            path.write_text(kept)

    def test_rates_are_chosen_by_bleu_on_all_pairs(self):
        """By the best of a run, whatever its perplexity; a kernel's parameters by perplexity."""

        def record(run):
            rate = float(run.arguments[run.arguments.index("--lr") + 1])
            of_p = (
                abs(math.log(float(run.row.label.split("p=")[1].split()[0]) / 128))
                if "log" in run.row.label
                else 0
            )
            whole = run.setup == translated.WHOLE
            bleu = [20, 30 - abs(rate - 0.004) * 1000, 10]
            valid = [{"event": "valid", "ppl": 9 + of_p + rate, "bleu": b} for b in bleu]
            self.write(run, *valid, {"event": "done", "test_ppl": 9.0, "test_bleu": 20.0})
            return whole

        seen = []
        for kernel in ("lin", "log"):
            while pending := search.state(kernel, self.folder, translated.TUNING)[2]:
                seen += [(run.row.label, record(run), run.epochs) for run in pending]
        self.assertEqual(
            [label for label, whole, _ in seen if not whole], ["log:p=64", "log:p=128", "log:p=256"]
        )
        self.assertEqual({epochs for _, whole, epochs in seen if whole}, {6})
        self.assertIn("log:p=128 lr=0.008", [label for label, *_ in seen])
        for kernel, head in (("lin", "lin"), ("log", "log:p=128")):
            best = search.best_of(translated.TUNING, kernel, self.folder)
            self.assertEqual(best, (head, 0.004))
        tried = dict(search.searched("log", self.folder, translated.TUNING))
        self.assertEqual(tried["log:p=128"], "9.00")
        self.assertEqual(tried["log:p=128 lr=0.004"], "30.0 BLEU")
        # rows without a search have lin's rate; the first seed is the search's run
        made = training.all_parts(self.folder)["T1-MT-200k"]
        self.assertIn("--lr 0.004", made.row("sig").options)
        twins = [training.twin(made.run(made.row("log"), s), self.folder) for s in (1, 2)]
        self.assertEqual((twins[0].part, twins[1]), ("T1-MT-200k-search", None))

    def test_texts_of_two_corpora(self):
        """Merges are joint; a tenth has pairs of both in one order for both languages."""
        for corpus, names in setups.PARALLEL.items():
            (self.folder / corpus).mkdir()
            for name in names:
                for side in ("de", "en"):
                    lines = [f"{corpus}{i} {side}\n" for i in range(4)]
                    (self.folder / corpus / f"{name}.{side}").write_text("".join(lines))
        learnt = []

        def bpe(command, input=None, **_):
            if command[1] == "learn":
                learnt.append(input)
                command[-1].write_text("codes")
            else:
                source, target = (command[command.index(f"--{k}") + 1] for k in ("input", "output"))
                target.write_text(source.read_text())

        context = training.Context(self.folder, self.folder / "runs", self.folder)
        with unittest.mock.patch.object(training.subprocess, "run", bpe):
            files = list(map(str, context.files(translated.WHOLE)))
            cut = training.Context.pair_files(context, "multi30k+tatoeba", 5)
            one = list(map(str, context.files("pairs")))
        self.assertEqual(len(learnt[0].splitlines()), 16)
        flags = [f"--{k}{side}" for k in ("", "valid-", "test-") for side in ("src", "tgt")]
        self.assertEqual([x for x in files if x.startswith("--")], flags)
        self.assertEqual(files.index("--tgt"), 3)
        self.assertTrue(
            files[1].endswith("multi30k/train.de") and files[2].endswith("tatoeba/train.de")
        )
        self.assertTrue(files[-1].endswith("tatoeba/test.en") and files[-2].endswith("test2016.en"))
        self.assertEqual(len(one), 12)
        # `printf N | sha256sum` orders 0 to 7 as 4 3 0 1 7 2 6 5
        sides = [path.read_text().split()[::2] for path in (cut[1], cut[3])]
        self.assertEqual(sides[0], sides[1])
        self.assertEqual(len(sides[0]), 5)
        self.assertEqual({word[:-1] for word in sides[0]}, {"multi30k", "tatoeba"})

    def test_bleu_of_each_test_set_with_a_beam(self):
        context, asked = unittest.mock.Mock(data=self.folder), []
        folders = {}
        for corpus, lines in (("multi30k", ["a b c d e", "f g h i j"]), ("tatoeba", ["k l m n"])):
            name = setups.PARALLEL[corpus][2]
            folders[corpus] = self.folder / corpus
            folders[corpus].mkdir()
            for side in ("de", "en"):
                (folders[corpus] / f"{name}.{side}").write_text("".join(x + "\n" for x in lines))
        context.pairs = lambda corpora: {k: folders[k] for k in corpora.split("+")}

        def program(_context, name, *arguments, **_):
            asked.append((name, *map(str, arguments)))
            return pathlib.Path(arguments[3]).read_text().replace("k l", "k x")

        measure = unittest.mock.Mock(needs=(unittest.mock.Mock(setup=translated.WHOLE),))
        with unittest.mock.patch.object(measures, "run_program", program):
            events = measures.beam_translations(context, measure)
        self.assertEqual([e["test"] for e in events], ["multi30k", "tatoeba"])
        self.assertEqual(events[0]["bleu"], 100)
        self.assertLess(events[1]["bleu"], 100)
        beams, longest = ([a[a.index(k) + 1] for a in asked] for k in ("--beam", "--max-length"))
        self.assertEqual((beams, longest), (["5", "5"], ["12", "10"]))

    def test_bounds_are_the_paper_s(self):
        """Table 1 has pol at 31.7 beside lin's 34.3; all that fail are below 1."""
        self.assertAlmostEqual(measured.SAME_LEVEL, parts.MT_PAPER["lin"] - parts.MT_PAPER["pol"])
        self.assertEqual(
            [k for k, v in parts.MT_PAPER.items() if v < 1], ["log", "rbf", "hpb", "wav"]
        )
        self.assertEqual({*measured.BLEU_CLAIMS[measured.FAILS][1]}, {"log", "rbf", "hpb", "wav"})


if __name__ == "__main__":
    unittest.main()
