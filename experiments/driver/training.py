"""Trains and measures what has no record: one thing after the other, each run resumable to the same
bits."""
import collections
import dataclasses
import functools
import hashlib
import itertools
import json
import lzma
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import time

from . import beyond, locks, machine, measures, older, records, search, text, tuned, zipf
from .setups import CORPORA, PARALLEL, SETUPS, Measure, Part, Run, corpus_of

# of lin on S, one thread of a shared AVX2 core, where nothing has been measured yet
SECONDS_AN_EPOCH = 50
SIDES = ("de", "en")


def all_parts(folder=None):
    """By name: docs/results' parts in the order in which they are run, with what the searches in
    `folder` chose."""
    return beyond.all_parts(search, folder)


def known(folder=None):
    """All parts, those of the older pages too."""
    return all_parts(folder) | older.all_parts()


def missing(name, folder=None, only=None):
    """A part's jobs without a record: the next steps of a search that comes before, or, when it is
    done, runs and what is measured of them, with the runs that these need; one seed of every row,
    then the next. `only` is a row's label; into a folder of one's own it is trained as the page has
    it."""
    pending = [] if only and folder else search.waiting(name, folder)
    if pending and name != "Curve":
        return pending
    # a text of Curve is done before the next is begun
    unsettled, todo = {run.setup for run in pending}, []
    # made when no search waits: other workers end searches too, and rows made before that have no
    # choices
    for job in known(None if only else folder)[name].jobs():
        needed = getattr(job, "needs", (job,))
        if unsettled.intersection(run.setup for run in needed):
            continue
        if only in (None, job.row.label) and not records.find(job, folder):
            todo += [
                run
                for run in dict.fromkeys((*needed, job))
                if run not in todo and not records.find(run, folder)
            ]
    return todo + pending


def components(options):
    """How many components a head or a line of options has, by which an epoch's cost grows."""
    head = (re.search(r"--head (\S+)", options) or re.search(r"(\S+)", options))[1]
    head = {"mos": "mix:9*lin", "mixbig": "mix:9*lin", "mix1": "mix:5*lin"}.get(head, head)
    if head.startswith("mix:"):
        return sum(int(re.match(r"(\d+)\*|", c)[1] or 1) for c in head[4:].split(","))
    return 4 if head.startswith("mix") else 1


def cost(options):
    """An epoch's cost, one kernel's being 1: in Dec's scoring four components cost about 2.4 and
    nine 4.3."""
    return (1 + 0.43 * (components(options) - 1)) * (0.3 if "--sampled-softmax" in options else 1)


@functools.lru_cache(maxsize=None)
def seconds_an_epoch(setup):
    """CPU seconds of an epoch of one kernel: the median over all records of a set-up, else in
    proportion to that on S, else the constant above."""
    measured = []
    for record in records.trained():
        config, epochs = next(iter(record.of("config")), {}), record.last("done", "epoch")
        options, own = config.get("options", {}), config.get("setup", "S") == setup
        if options and options.get("device", "cpu") == "cpu" and own and epochs:
            sampled = " --sampled-softmax" * bool(options.get("sampled_softmax"))
            measured.append(config["cpu_s"] / epochs / cost(f"--head {options['head']}{sampled}"))
    if measured:
        return sorted(measured)[len(measured) // 2]
    return SECONDS_AN_EPOCH if setup == "S" else seconds_an_epoch("S") * SETUPS[setup].cost


def seconds(job):
    """CPU seconds that a job will take."""
    if isinstance(job, Measure):
        return job.cost * seconds_an_epoch(job.needs[0].setup) * cost(job.needs[0].row.options)
    return seconds_an_epoch(job.setup) * job.epochs * cost(job.row.options)


def say(told):
    print(f"{time.strftime('%H:%M:%S')} {told}", flush=True)


def cpu_of_children():
    """CPU seconds of the programs that ended."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def shuffled(lines):
    """The lines in an order that does not depend on what they say, nor on Python's version: that of
    their numbers' hashes."""
    hashed = lambda i: hashlib.sha256(str(i).encode()).digest()
    return [lines[i] for i in sorted(range(len(lines)), key=hashed)]


def written(path, make):
    """A text that is there whole or not at all; `make()` gives its lines."""
    if not path.exists():
        path.with_suffix(".part").write_text("".join(make()), encoding="utf-8")
        path.with_suffix(".part").rename(path)
    return path


def prepare(runs, data, lines=10000, random=False, corpus="captions"):
    """The first lines of a corpus' training text (None: all), or the first in a random order."""
    source = data / corpus / CORPORA[corpus].train
    named = "" if corpus == "captions" else f"-{corpus}"
    ending = source.name.removesuffix(".xz").partition(".")[2]
    text = runs / f"train{named}{'' if lines is None else f'-{lines}'}{'-random' * random}.{ending}"
    opened = lzma.open if source.suffix == ".xz" else open

    def made():
        with opened(source, "rt", encoding="utf-8") as whole:
            yield from itertools.islice(shuffled(list(whole)) if random else whole, lines)

    with locks.held(runs / "texts.lock"):
        return written(text, made)


def dictionary(runs, data, least=3):
    """The words that all captions have so many times or more, most frequent first."""
    lines = lambda: text.sentences(data / "captions" / "train.en")
    counted = lambda: collections.Counter(itertools.chain.from_iterable(lines())).most_common()
    kept = lambda: (f"{word} {n}\n" for word, n in counted() if n >= least)
    with locks.held(runs / "texts.lock"):
        return written(runs / "captions.dict.txt", kept)


def prepare_pairs(programs, runs, data, corpora="multi30k"):
    """{corpus: the folder of its texts} of corpora with "+" between, in subwords of 10,000 merges,
    joint for both languages and all corpora."""
    folder, names = runs / corpora, corpora.split("+")
    folders = {name: folder / name if len(names) > 1 else folder for name in names}
    codes = folder / "codes"

    def bpe(command, *files, text=None):
        asked = [programs / "bpe", *command.split(), *files]
        subprocess.run(asked, input=text, text=True, check=True, stderr=subprocess.DEVNULL)

    for own in folders.values():
        own.mkdir(parents=True, exist_ok=True)
    if not codes.exists():
        texts = (data / name / f"train.{side}" for side in SIDES for name in names)
        both = "".join(path.read_text(encoding="utf-8") for path in texts)
        bpe("learn --merges 10000", "--output", codes, text=both)
    for corpus, own in folders.items():
        for name in (f"{text}.{side}" for text in PARALLEL[corpus] for side in SIDES):
            if not (own / name).exists():
                source = data / corpus / name
                bpe("apply", "--codes", codes, "--input", source, "--output", own / "part")
                (own / "part").rename(own / name)
    return folders


def first_of(texts, target, lines):
    """The first lines, in a random order, of texts after each other."""

    def whole():
        for text in texts:
            with open(text, encoding="utf-8") as opened:
                yield from opened

    return written(target, lambda: shuffled(list(whole()))[:lines])


@dataclasses.dataclass
class Context:
    """Where programs, runs and data are, and where records go (None: the repository's)."""

    programs: pathlib.Path
    runs: pathlib.Path
    data: pathlib.Path
    folder: pathlib.Path | None = None
    deadline: float | None = None
    device: str = "cpu"

    def text(self, setup):
        """The training text of a set-up on lines of English."""
        corpus, *lines = SETUPS[setup].text.split()
        packed = CORPORA[corpus].train.endswith(".xz")
        if lines or packed:
            first = int(lines[0]) if lines else None
            return prepare(self.runs, self.data, first, "random" in lines, corpus)
        return self.data / corpus / CORPORA[corpus].train

    def pairs(self, corpora="multi30k"):
        """{corpus: the folder of its texts in subwords}"""
        with locks.held(self.runs / "texts.lock"):
            return prepare_pairs(self.programs, self.runs, self.data, corpora)

    def pair_files(self, corpora, lines=None):
        """The translator's options that name texts; of the training text `lines`, else all."""
        folders, files = self.pairs(corpora), []
        for place, flag in enumerate(("--", "--valid-", "--test-")):
            for option, side in zip(("src", "tgt"), SIDES):
                texts = [own / f"{PARALLEL[k][place]}.{side}" for k, own in folders.items()]
                if lines and flag == "--":
                    cut = self.runs / corpora / f"train-{lines}-random.{side}"
                    with locks.held(self.runs / "texts.lock"):
                        texts = [first_of(texts, cut, lines)]
                files += [f"{flag}{option}", *texts]
        return files

    def generated(self):
        """The folder of SS' language: train.txt, valid.txt, test.txt, dict.txt."""
        with locks.held(self.runs / "texts.lock"):
            return zipf.prepare(self.runs / "zipf")

    def files(self, setup):
        """The trainer's options that name texts."""
        text = SETUPS[setup].text
        if text == "sample":
            return []
        corpora, *cut = text.split()
        if corpora.split("+")[0] in PARALLEL:
            return self.pair_files(corpora, int(cut[0]) if cut else None)
        if text == "zipf":
            folder = self.generated()
            files = {k: folder / f"{k}.txt" for k in ("train", "valid", "test")}
            files["vocab"] = folder / "dict.txt"
        else:
            name, corpus = corpus_of(setup)
            own = {k: getattr(corpus, k) for k in ("valid", "test", "vocab")}
            held = {k: self.data / name / file for k, file in own.items() if file}
            files = {"train": self.text(setup), **held}
            if "dictionary" in text.split():
                files["vocab"] = dictionary(self.runs, self.data)
        return [x for option, file in files.items() for x in (f"--{option}", file)]

    def late(self):
        return self.deadline is not None and time.monotonic() >= self.deadline

    def alone(self, job, wait=False):
        """Whether no other worker has a run or a measurement, for as long as the block lasts."""
        return locks.held(self.runs / job.name / "worker.lock", self.late, wait)

    def kept(self, run):
        """The directory that has a run's best checkpoint, the run's own or that of the run whose
        record it has; None where there is none."""
        record = records.find(run, self.folder)
        directory = self.runs / (
            record.last("config", "same_run_as", run.name) if record else run.name
        )
        return directory if finished(directory) else None

    def model(self, run):
        """A directory with a run's best checkpoint; where none is on this machine the run is
        trained (again), to the same bits."""
        directory = self.runs / run.name
        if kept := self.kept(run):
            return kept
        with self.alone(run, wait=True) as mine:
            if mine and not finished(directory):
                say(f"{run.name} has no checkpoint here and is trained")
                mine = train(run, self)
                if mine:
                    same_model(run, directory, self.folder)
            if not mine:
                raise TimeoutError
        return directory


def finished(directory):
    """Whether a run ended there and its best checkpoint is kept."""
    return (directory / "checkpoints" / "best").exists() and '"event":"done"' in (
        directory / "log.jsonl"
    ).read_text()


def lighten(directory):
    """Of a finished run only the best model stays: nothing goes on from there, and with what an
    optimiser keeps the runs of a part would fill a disk."""
    checkpoints = directory / "checkpoints"
    best = checkpoints / "best"
    if not best.exists():
        return
    kept = best.resolve()
    (kept / "optimizer.safetensors").unlink(missing_ok=True)
    for other in list(checkpoints.iterdir()):
        if other.resolve() == kept:
            continue
        if other.is_symlink():
            other.unlink()
        else:
            shutil.rmtree(other)


def same_model(run, directory, folder=None):
    """SystemExit where a run that was trained again is not the one of its record: on a GPU, or with
    other instructions, it is another model."""
    found, recorded = (
        record.valid_ppl()
        for record in (records.read(directory / "log.jsonl"), records.find(run, folder))
    )
    if abs(found / recorded - 1) > 0.001:
        raise SystemExit(
            f"{run.name}, trained again for what is measured of it, has validation perplexity"
            f" {found:.3f}, its record {recorded:.3f}: measure it where it was trained"
            f" ({directory} is another model), or train all of the part into --records of your own"
        )


def turn(job, context):
    """What is measured of models that are here comes first, for checkpoints may not outlive the
    machine; of models that are not, last."""
    if isinstance(job, Run):
        return 1
    return 0 if all(context.kept(run) for run in job.needs) else 2


def trainer_ended(run, context, directory, environment):
    """The exit code of the run's trainer, which is started, or goes on, until it ends or the
    deadline comes."""
    deadline = context.deadline
    # a GPU makes 25 updates of L in less time than they take to be written
    saved = SETUPS[run.setup].saved if context.device == "cpu" else "1e"
    command = [context.programs / SETUPS[run.setup].program, *context.files(run.setup)]
    command += [*run.arguments, *f"--device {context.device} --keep 1 --save-every {saved}".split()]
    command += ["--run", directory]
    before = cpu_of_children()
    with open(directory / "out.txt", "a") as out:
        # On a GPU workers share its memory; nine softmaxes of L, the largest of T3-L, need 0.01 of
        # an H100.
        child = subprocess.Popen(
            [str(c) for c in command],
            stdout=out,
            stderr=out,
            env={"NINE_CUDA_MEMORY": "0.07"} | environment,
        )
        try:
            child.wait(None if deadline is None else max(1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            pass
        finally:  # of an interruption too
            if child.poll() is None:
                child.send_signal(signal.SIGTERM)
            code = child.wait()
            spent = directory / "cpu_s"  # of all the run's beginnings and goings on
            cpu = (float(spent.read_text()) if spent.exists() else 0.0) + cpu_of_children() - before
            spent.write_text(f"{cpu:.1f}\n")
    return code


def train(run, context):
    """True when the run is finished and recorded, False when the deadline came first: what it lost
    is trained again, to the same bits."""
    directory = context.runs / run.name
    environment = machine.environment(run.name, run.arguments, context.device)
    directory.mkdir(parents=True, exist_ok=True)
    # what is finished has nothing to go on from
    done = finished(directory)
    code = 0 if done else trainer_ended(run, context, directory, environment)
    if code == 0 and '"event":"done"' in (directory / "log.jsonl").read_text():
        if not records.find(run, context.folder):
            anchors = context.runs / "zipf" / "anchors.json"
            more = json.loads(anchors.read_text()) if run.setup == "zipf" else {}
            described = machine.described(environment)
            cpu = float((directory / "cpu_s").read_text())
            records.write(run, directory, described, cpu, context.folder, **more)
        lighten(directory)
        return True
    if code and not context.late():
        tail = " ".join((directory / "out.txt").read_text().strip().splitlines()[-2:])
        ended = "failed" if code > 0 else f"was ended by signal {-code}"
        raise SystemExit(f"{run.name} {ended}: {tail}")
    return False


def twin(run, folder=None, device="cpu"):
    """A run of another part, or of a search that its own part takes choices from, that trains the
    same on the same kind of device and has a record, or None: M1's, M2's and M3's base."""
    of_parts = (
        other
        for part in all_parts(folder).values()
        if part.name != run.part
        for row in part.rows
        for other in part.runs_of(row)
    )
    chosen = (
        tuning.rate_run(*search.best_of(tuning, kernel, folder))
        for kernel, tuning in search.choices(run.part)
    )
    others = (
        other
        for other in itertools.chain(chosen, of_parts)
        if (other.seed, other.setup) == (run.seed, run.setup) and other.arguments == run.arguments
    )
    trained = lambda other: records.named(other.name, folder) and records.find(other, folder)
    on = lambda record: record and record.options.get("device", "cpu")
    return next((other for other in others if on(trained(other)) == device), None)


def do(job, context):
    """Trains or measures; False when the deadline came first."""
    if isinstance(job, Run):
        other = twin(job, context.folder, context.device)
        if other:
            say(f"{job.name} is {other.name}")
            records.take(job, other, context.folder)
            return True
        return train(job, context)
    before = cpu_of_children()
    spent = lambda: round(cpu_of_children() - before, 1)
    try:
        measures.write(context, job, machine.described(os.environ), spent)
    except TimeoutError:
        return False
    return True


def step(name, context, only):
    """Trains or measures the first thing missing of a part that no other worker is at: True. False
    when time is up before it is finished, None when there is no such thing."""
    todo = missing(name, context.folder, only)
    for job in sorted(todo, key=lambda job: turn(job, context)):
        with context.alone(job) as mine:
            # the record may be younger than the list
            if mine and not records.find(job, context.folder):
                hours = sum(map(seconds, todo)) / 3600
                left = f"{len(todo)} runs are missing, about {hours:.1f} core-hours"
                say(f"{name}: {left}; next {job.name}")
                return not context.late() and do(job, context)
    return None


def go(names, context, only=None):
    """Works at parts, each as far as others leave something of it, until nothing is missing or time
    is up; `only` is a row's label."""
    names = list(names)
    while names:
        for name in names:
            worked = step(name, context, only)
            if worked:
                break
            if worked is False or context.late():
                return say(f"{name}: time is up; the same command goes on")
            if not missing(name, context.folder, only):
                print(f"{name}: nothing is missing", flush=True)
                names.remove(name)
                break
        else:  # others are at all that is missing, and more may follow from it
            time.sleep(locks.POLL_SECONDS)
