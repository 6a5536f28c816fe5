#!/usr/bin/env python3
"""Recomputes every number that kernel_inspect --explain prints, from the printed numbers above
it.

  explain_by_hand.py KERNEL_INSPECT examples|exercises [NAME ...]

A search for an exercise takes seconds, so without names every third exercise is made, others with
the next commit.

Reads the text as a person would: each line is symbol = formula = numbers (rule). The formula is
computed with the numbers as they are printed, and must give the line's to the digits that it shows:
half a unit of its last digit, and what half a unit of each number above may change. Every line of
"Backward" names its rule; none says only where to look.
"""
import functools
import math
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from turn import turn  # noqa: E402

KERNELS = [
    "lin",
    "log",
    "log:p=0.7",
    "log:p=3",
    "pow",
    "pow:p=1",
    "pol",
    "pol:alpha=0.5:p=3",
    "pol:p=1",
    "rbf",
    "rbf:gamma=0.3",
    "wav",
    "wav:a=-2:b=3",
    "sig",
    "ssg",
    "ssg:variance=0.5",
    "ssg:pace=0.3",
    "mog",
    "mog:pace=2",
    "mog:form=mixture",
    "mog:components=3:form=mixture",
    "mog:components=1",
    "mog:variance=2",
    "mog:form=mixture:variance=0.5",
    "hpb",
    "hpb:ball=tanh",
    "hpb:ball=clip",
    "hpb:ball=sigmoid",
    "hpb:ball=sigmoid:shift=0.5",
    "expr:{s*tanh(z/s)}:s=30",
    "expr:{-log(1+q^(p/2))}:p=3",
    "expr:{c*sqrt(ww*hh)-q/d}",
    "expr:{where(q<2,z,erf(c))+abs(z)+min(ww,hh)}",
    "expr:{1}",
    "lin:scale=2",
    "rbf:gamma=learn:0.5:scale=learn:2",
    "log:p=learn:3",
    "pow:p=learn:1.5:scale=0.5",
    "pol:alpha=learn:0.5:c=learn:0.3",
    "wav:a=learn:2:b=learn:3",
    "ssg:variance=learn:0.5",
    "hpb:ball=sigmoid:shift=learn:-1:scale=learn",
    "mog:variance=learn:2",
    "mog:form=mixture:components=3:variance=learn:0.7:scale=learn:2",
    "sig:scale=learn",
    "expr:{s*tanh(z/s)}:s=learn:3:scale=2",
]
MIXTURES = [
    "mix:lin,rbf",
    "mix:2*lin",
    "mix1",
    "mix:ssg,mog:form=mixture,hpb",
    "mix:ssg:variance=0.5,log:p=3,pow:p=1,sig",
    "mix:wav,pol:p=3,mog:components=3",
    "mix:hpb:ball=clip,hpb:ball=sigmoid,hpb:ball=tanh",
    "mix:lin",
    "mix:rbf:gamma=learn:0.5:scale=learn:2,log:p=learn:3,rbf:gamma=learn:1",
    "mix:expr:{c*sqrt(ww*hh)-q/d+tanh(hh)},expr:{s*tanh(z/s)}:s=learn:3",
    "mixbig",
]
LAYERS = [
    "softmax",
    "mixture",
    "label_smoothing",
    "z_loss",
    "pi_reg",
    "weight_norm_reg",
    "layer_norm",
    "rms_norm",
    "swiglu",
    "geglu",
    "rotary",
    "lstm",
    "attention",
    "grouped_attention",
]
MARGINS = [
    "margin=none",
    "margin=cos:0.3",
    "margin=arc:0.5",
    "margin=arc:2",
    "margin=lsm:2",
    "margin=lsm:5",
    "word_norm=const:2",
    "word_norm=uniform",
    "word_norm=uniform:through",
    "word_norm=log-rank",
    "word_norm=log-rank:ratio:through",
    "word_norm=unigram:2,1",
    "word_norm=log-unigram",
    "word_norm=log-unigram:scaled:through",
    "context_norm=const:3",
    "context_norm=max",
    "context_norm=max:through",
    "margin=arc:0.5,word_norm=log-rank:through,context_norm=max:through",
    "margin=cos:0.2,word_norm=const:1,context_norm=const:4",
]
NOT_A_RULE = re.compile(r"\bexact\b|docs/|\.md\b|\bsee\b|as usual|obvious", re.IGNORECASE)


class Vector(list):
    """Numbers with operators element by element; one number meets every element."""

    def map(self, other, f):
        other = other if isinstance(other, Vector) else Vector([other])
        n = max(len(self), len(other))
        assert len(self) in (1, n) and len(other) in (1, n)
        return Vector(
            f(self[k if len(self) > 1 else 0], other[k if len(other) > 1 else 0]) for k in range(n)
        )

    def __add__(self, other):
        return self.map(other, lambda a, b: a + b)

    def __sub__(self, other):
        return self.map(other, lambda a, b: a - b)

    def __mul__(self, other):
        return self.map(other, lambda a, b: a * b)

    def __truediv__(self, other):
        return self.map(other, lambda a, b: a / b)

    def __pow__(self, other):
        return self.map(other, lambda a, b: a**b)

    def __matmul__(self, other):
        return Vector([sum(self * other)])

    def __neg__(self):
        return Vector(-a for a in self)

    def __lt__(self, other):
        return self[0] < other[0]

    def __le__(self, other):
        return self[0] <= other[0]


def each(f):
    return lambda x: Vector(f(a) for a in x)


def join(*parts):
    return Vector(a for p in parts for a in p)


FUNCTIONS = {
    "exp": each(math.exp),
    "ln": each(math.log),
    "log": each(math.log),
    "log1p": each(math.log1p),
    "expm1": each(math.expm1),
    "sqrt": each(math.sqrt),
    "abs": each(abs),
    "sign": each(lambda a: (a > 0) - (a < 0)),
    "tanh": each(math.tanh),
    "sigmoid": each(lambda a: 1 / (1 + math.exp(-a))),
    "softplus": each(lambda a: max(a, 0) + math.log1p(math.exp(-abs(a)))),
    "sin": each(math.sin),
    "cos": each(math.cos),
    "acos": each(math.acos),
    "arccos": each(lambda a: math.acos(max(-1, min(1, a)))),
    "acosh": each(math.acosh),
    "arcosh": each(math.acosh),
    "atan": each(math.atan),
    "erf": each(math.erf),
    "detach": each(lambda a: a),
    "sum": lambda x: Vector([sum(x)]),
    "norm": lambda x: Vector([math.sqrt(sum(a * a for a in x))]),
    "max": lambda x, *y: x.map(y[0], max) if y else Vector([max(x)]),
    "min": lambda x, y: x.map(y, min),
    "where": lambda condition, x, y: x if condition else y,
}


def python_of(formula, symbols):
    """The formula as a Python expression; symbols become v[...], numbers n(...)."""
    out, k, bars = "", 0, 0
    while k < len(formula):
        c = formula[k]
        if re.match(r"[A-Za-z]", c):
            word = max(
                (
                    s
                    for s in symbols
                    if formula.startswith(s, k)
                    and not re.match(r"[\w']", formula[k + len(s) : k + len(s) + 1])
                ),
                key=len,
                default="",
            )
            if word:
                out += f"v[{word!r}]"
            else:
                word = re.match(r"\w+", formula[k:])[0]
                out += {"pi": "n(math.pi)", "e": "n(math.e)"}.get(word) or f"f[{word!r}]"
                assert word in FUNCTIONS or word in ("pi", "e"), f"{word} in {formula}"
            k += len(word)
        elif re.match(r"\d", c):
            word = re.match(r"\d+(\.\d+)?(e[-+]?\d+)?", formula[k:])[0]
            out += f"n({word})"
            k += len(word)
        elif c == "|":
            bars += 1
            out += "f['norm'](" if bars % 2 else ")"
            k += 1
        elif c == "[" and re.search(r"[\w)\]']$", formula[:k]):
            begin, end = re.match(r"\[(\d+)(?:\.\.(\d+))?\]", formula[k:]).groups()
            # replaced below: a part of what stands before
            out += f".__class__(_[{int(begin) - 1}:{end or begin}])"
            k = formula.index("]", k) + 1
        else:
            out += {"[": "join(", "]": ")", "^": "**", ".": "@"}.get(c, c)
            k += 1
    return re.sub(r"(v\['[^\]]*\])\.__class__\(_(\[[^\]]*\])\)", r"Vector(\1\2)", out)


@functools.cache
def compiled(formula, symbols):
    """The formula's code, and the symbols that are in it."""
    text = python_of(formula, symbols)
    return compile(text, formula, "eval"), [s for s in symbols if f"v[{s!r}]" in text]


def value(code, symbols):
    return eval(
        code,
        {
            "v": symbols,
            "f": FUNCTIONS,
            "n": lambda a: Vector([a]),
            "join": join,
            "Vector": Vector,
            "math": math,
        },
    )


def half_unit(text):
    digits, _, exponent = text.partition("e")
    return 0.5 * 10.0 ** (-len(digits.partition(".")[2]) + int(exponent or 0))


def exact_forms(rule, count):
    """The numbers that a solution writes out behind its rule, "(chain rule; -1/28, ln(2))"; none
    where it writes none."""
    forms = (rule or "").rpartition("; ")[2].split(", ")
    try:
        return (
            [value(compiled(form, ())[0], {})[0] for form in forms] if len(forms) == count else []
        )
    except (AssertionError, SyntaxError, NameError, TypeError, AttributeError, KeyError):  # words
        return []


NUMBER = r"-?\d+\.\d+(?:e[-+]\d+)?"
LINE = re.compile(rf"  (\S+(?: \S+)*?) +=(?: (.*?) +=)?((?: *{NUMBER})+)(?:   \((.*)\))?$")


class Reader:
    """Reads an example line by line, recomputes each and knows what stands above it."""

    def __init__(self):
        self.symbols, self.units, self.section, self.steps, self.checks = {}, {}, "", 0, 0

    def read(self, line):
        """The flaws of the next line."""
        found = LINE.match(line)
        flaws = (
            [f"points elsewhere: {line}"]
            if NOT_A_RULE.search(line) and (found or not line.startswith(" "))
            else []
        )
        if not found:
            if line and not line.startswith(" "):
                self.section = line
            elif line and self.section.startswith(("Forward", "Backward", "Check")):
                flaws.append(f"not understood: {line}")
            return flaws
        symbol, formula, numbers, rule = found.groups()
        texts = re.findall(NUMBER, numbers)
        shown = Vector(float(t) for t in texts)
        if self.section.startswith("Check"):
            self.checks += symbol == "worst"
            return flaws if shown[0] <= 1e-6 else [*flaws, line]
        if (
            formula is None
            and self.section.startswith(("Forward", "Backward"))
            and not symbol.startswith("dL/dy")
        ):
            flaws.append(f"a number without a formula: {line}")
        if formula is not None:
            if self.section.startswith("Backward") and not rule:
                flaws.append(f"no rule: {line}")
            self.steps += 1
            try:
                again, slack = self.recomputed(formula)
            except Exception as e:
                return [*flaws, f"{e}: {line}"]
            if len(again) != len(shown):
                flaws.append(f"{len(again)} numbers: {line}")
            for a, b, t, more in zip(again, shown, texts, slack):
                if not abs(a - b) <= 1.0001 * half_unit(t) + 1.5 * more + 1e-12:
                    flaws.append(f"{a} from the numbers above: {line}")
        for form, b, t in zip(exact_forms(rule, len(texts)), shown, texts):
            # which a solution takes for what rounding leaves of 0
            if not abs(form - b) <= max(1.0001 * half_unit(t), 1e-13):
                flaws.append(f"{form} is no exact form: {line}")
        self.symbols[symbol] = shown
        # Given numbers are exact as they are printed.
        self.units[symbol] = [half_unit(t) if formula is not None else 0.0 for t in texts]
        return flaws

    def recomputed(self, formula):
        """The formula's numbers, and what half a unit of each number above may change of them."""
        code, inside = compiled(formula, tuple(self.symbols))
        again = value(code, self.symbols)
        slack = [0.0] * len(again)
        for s in inside:
            numbers = self.symbols[s]
            for k, (before, unit) in enumerate(zip(numbers, self.units[s])):
                if unit == 0:
                    continue
                numbers[k] = before + unit
                try:
                    slack = [
                        a + abs(b - c) for a, b, c in zip(slack, value(code, self.symbols), again)
                    ]
                # arcosh at 1 and the like: no digits to tell
                except (ValueError, ZeroDivisionError):
                    slack = [math.inf] * len(again)
                numbers[k] = before
        return again, slack

    def notices(self, line):
        """Whether one number of this line, moved, would be a flaw."""
        moved = re.sub(
            r"(-?\d+\.\d+(?:e[-+]\d+)?)(   \()",
            lambda m: f"{float(m[1]) + 0.5 * (1 + abs(float(m[1]))):.5f}{m[2]}",
            line,
        )
        kept = dict(self.symbols), dict(self.units), self.steps
        flaws = self.read(moved)
        self.symbols, self.units, self.steps = kept
        return bool(flaws)


def check(text):
    """The flaws of an example, among them that a wrong number in its last line with a rule is not
    noticed."""
    lines, reader, flaws = text.splitlines(), Reader(), []
    end = next((k for k, line in enumerate(lines) if line.startswith("Check")), len(lines))
    last = max((k for k in range(end) if re.search(r"\d  +\(", lines[k])), default=-1)
    for k, line in enumerate(lines):
        if k == last and not reader.notices(line):
            flaws.append(f"a wrong number is not noticed: {line}")
        flaws += reader.read(line)
    if reader.checks != 1:
        flaws.append(f"{reader.checks} lines compare with finite differences")
    if reader.steps < 4:
        flaws.append(f"only {reader.steps} lines were understood")
    return flaws, reader.steps


def main():
    what, names = sys.argv[2], sys.argv[3:] or KERNELS + MIXTURES + LAYERS + MARGINS
    if what == "examples":
        runs = [(name, ["--explain", name]) for name in names]
    else:
        names = names if sys.argv[3:] else names[turn(3) :: 3]
        runs = [
            (f"{name}, exercise", ["--exercise", name, "--seed", "5", "--solution"])
            for name in names
        ]
    wrong, total = 0, 0
    for name, arguments in runs:
        done = subprocess.run([sys.argv[1], *arguments], capture_output=True, text=True)
        flaws, steps = check(done.stdout) if done.returncode == 0 else ([done.stderr.strip()], 0)
        total += steps
        for flaw in flaws:
            print(f"{name}: {flaw}")
        wrong += len(flaws)
    print(
        f"{wrong} lines are wrong"
        if wrong
        else f"{len(runs)} examples, {total} lines follow from those above them"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
