#!/usr/bin/env python3
"""Opens the pages of kernel_inspect --explain NAME --page in headless Chromium, and plays.

  page_browser.py KERNEL_INSPECT [PICTURES [NAME ...]]   screenshots go to PICTURES when given; NAMEs are all if none are

For each kernel: 400 random contexts in the page's own code against kernel_inspect --input, scores,
log-probabilities and gradients to 1e-12 of the largest term; both widths and themes as
report_browser.py checks them; points moved by pointer and by keys, a step of descent. The body is
set in Noto Sans, whose root sign does not grow: formulas must not depend on it. A root's pixels are
looked at in that font and in DejaVu Sans. As on paper, no formula is wider than a page. Each commit
opens a page in two of the four pairs of width and theme, and compares other contexts; given names,
a page is opened in all. Exit 0 fine, 1 wrong, or there is no Chromium.
"""
import json
import math
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from pixels import pixels  # noqa: E402
from report_browser import Browser, CHROMIUM, FLAWS, no_browser  # noqa: E402
from turn import turn  # noqa: E402

ROWS, BATCHES, WORDS = 200, 2, 3
# Pages with a plane. The numbers in the sliders are drawn at random for every batch.
PAGES = [
    "lin",
    "log",
    "pow",
    "pol",
    "rbf",
    "wav",
    "sig",
    "ssg",
    "ssg:variance=0.5",
    "ssg:pace=0.3",
    "mog",
    "mog:form=mixture",
    "mog:components=3:form=mixture:variance=0.7",
    "mog:components=3",
    "hpb",
    "hpb:ball=tanh",
    "hpb:ball=clip",
    "mog:form=mixture:scale=0.5",
    "hpb:ball=sigmoid",
    "expr:{s*tanh(z/s)}:s=3",
    "rbf:gamma=0.5:scale=learn",
    "mog:scale=0.5",
    "expr:{-log(1+q^(p/2))+erf(c)*k}:p=3:k=0.5",
    "expr:{where(q<2,softplus(z),-sqrt(ww+hh+1))+max(c,tanh(q))*atan(hh)-expm1(-q)*sigmoid(ww)}",
    "margin=cos:0.3",
    "margin=arc:0.5",
    "margin=lsm:3",
    "word_norm=uniform",
    "word_norm=const:2,margin=cos:0.2",
    "word_norm=unigram:2,1,margin=arc:0.4",
    "word_norm=log-rank:through",
    "context_norm=const:3",
    "context_norm=max",
    "word_norm=log-unigram:scaled:through,context_norm=max:through,margin=lsm:2",
    "mixture",
    "mix:lin,rbf",
    "mix:log,pow:p=3,ssg",
    "mix:mog:form=mixture:scale=0.5,hpb,expr:{s*tanh(z/s)+c}:s=3",
    "mix:hpb:ball=sigmoid,hpb:ball=tanh,rbf:gamma=0.5:scale=2",
    "mix1",
    "mixbig",
    "label_smoothing",
    "pi_reg",
    "weight_norm_reg",
]
LAYERS = ["softmax", "lstm", "attention", "layer_norm"]  # without a plane
PAINTED = ["hpb", "attention"]  # with roots
NAMES = {"offset": "c", "factor": "scale"}  # of sliders, in head strings


def with_values(component, values):
    """A component of a head string with the sliders' values."""
    base, _, given = (
        component.partition("}") if component.startswith("expr") else component.partition(":")
    )
    base, given = (base + "}", given.lstrip(":")) if component.startswith("expr") else (base, given)
    parameters = dict(p.split("=") for p in given.split(":") if p)
    parameters.update({NAMES.get(name, name): repr(value) for name, value in values.items()})
    return ":".join([base] + [f"{k}={v}" for k, v in parameters.items()])


PRESETS = {
    "mixture": "mix:lin,rbf",
    "mix1": "mix:lin,log,rbf,hpb,wav",
    "mixbig": "mix:lin,log,pow,pol,rbf,ssg,mog,hpb,wav",
}


def input_of(name, data, values, state):
    """What kernel_inspect --input takes: the head string and the options, with the sliders'
    values."""
    if "norm=" in name or name.startswith("margin="):
        parts, options, v = re.split(r",(?=[a-z_]+=)", name), {}, values[0]
        for part in parts:
            key, _, text = part.partition("=")
            kind = text.split(":")[0]
            if key == "margin":
                text = f"lsm:{state['pieces']}" if kind == "lsm" else f"{kind}:{v['m']!r}"
            if key == "word_norm" and kind in ("const", "unigram"):
                text = f"const:{v['F']!r}" if kind == "const" else f"unigram:{v['A']!r},{v['B']!r}"
            if key == "context_norm" and kind == "const":
                text = f"const:{v['G']!r}"
            options[key] = text
        return "lin", options
    if state.get("loss"):
        loss = state["loss"]
        if name == "label_smoothing":
            return "lin", {"label_smoothing": loss["epsilon"], "smoothing": loss["kind"]}
        if name == "weight_norm_reg":
            return "lin", {"weight_norm_reg": f"{loss['kind']}:{loss['rho']!r},{loss['nu']!r}"}
        lin, rbf = values
        return f"mix:{with_values('lin', lin)},{with_values('rbf', rbf)}", {
            "head_context": "none",
            "pi_reg": f"{loss['kind']}:{loss['rho']!r}",
        }
    name = PRESETS.get(name, name)
    if not name.startswith("mix:"):
        return with_values(name, values[0]), {}
    components = re.split(r",(?![^{]*})", name[4:])
    return "mix:" + ",".join(with_values(c, v) for c, v in zip(components, values)), {
        "head_context": "tanh" if data.get("C") else "none"
    }


def close(page, engine, largest):
    return abs(page - engine) <= 1e-12 * max(largest, abs(engine), 1e-3)


def length(vector):
    """Returns a vector's length rounded as the page rounds it: the page compares it with the
    longest other context, and the last bit decides whose gradient the norm is."""
    total = 0.0
    for x in vector:
        total += x * x
    return math.sqrt(total)


def compare(browser, program, name, rng):
    """The page's numbers against the program's; a list of sentences, and how far off the worst
    was."""
    data, state, flaws, worst = browser.value("nine.D"), browser.value("nine.state"), [], 0
    size, mixture, components = len(data["h"]), "m" in data, data["components"]
    by_angle = "norm=" in name or name.startswith("margin=")
    for batch in range(BATCHES + (40 if name == "pi_reg" else 0)):
        reach = 0.6 if data["ball"] else 1.5
        vector = lambda: [rng.uniform(-reach, reach) for _ in range(size)]
        values = []
        for c in components:
            values.append({})
            for s in c["sliders"]:
                x = rng.uniform(s["low"], s["high"])
                values[-1][s["name"]] = round(x) if s["step"] == 1 else x
        rows = ROWS
        if state.get("loss"):
            state["loss"] = {
                "kind": rng.choice(data["loss"]["kinds"]),
                **{s["name"]: rng.uniform(s["low"], s["high"]) for s in data["loss"]["sliders"]},
            }
            if name == "pi_reg":  # cv2 is one of a whole batch, the page's of one context
                state["loss"]["kind"] = "variance" if batch < BATCHES else "cv2"
                rows = ROWS if batch < BATCHES else 1
        if state["margin"] == "lsm":
            state["pieces"] = rng.randint(1, data["most_pieces"])
        # pol's powers of large scores: where one word has all, the others' probabilities have no
        # digits to compare.
        head, options = input_of(
            name,
            data,
            [
                {k: v for k, v in of.items() if k in used(name, c)}
                for of, c in zip(values, components)
            ]
            if not by_angle
            else values,
            state,
        )
        W = [vector() for _ in range(WORDS)]
        H = [vector() for _ in range(rows)]
        # next to the direction of a word, where the cosine has no digits for the angle
        for r in range(0, ROWS, 10) if by_angle else ():
            turn, long, w = (
                10 ** rng.uniform(-7, -1) * rng.choice((-1, 1)),
                rng.uniform(0.3, 2),
                rng.choice(W),
            )
            H[r] = [
                long * (w[0] * math.cos(turn) - w[1] * math.sin(turn)),
                long * (w[0] * math.sin(turn) + w[1] * math.cos(turn)),
            ]
        targets = [rng.randrange(WORDS) for _ in range(rows)]
        given = {"head": head, "H": H, "W": W, "targets": targets, "options": options}
        if mixture:
            given["M"] = list(map(list, zip(*(vector() for _ in components))))
        columns = [[vector() for _ in range(size)] for _ in components] if data.get("C") else None
        if columns:
            given["C"] = [list(map(list, zip(*c))) for c in columns]
        if "word_norm" in name and "word_norm=const" not in name:
            given["counts"] = [6, 3, 1]
        longest = max(range(rows), key=lambda r: length(H[r]))
        if "longest other context" in values[0]:  # the batch is these rows
            values[0]["longest other context"] = length(H[longest])
        engine = subprocess.Popen(
            [program, "--input", "-"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        engine.stdin.write(json.dumps(given))
        engine.stdin.flush()  # it computes while the page does; it ends at the end of its input
        ours = {
            "W": W,
            "P": values,
            "m": list(map(list, zip(*given["M"]))) if mixture else None,
            "C": columns,
            "targets": targets,
            "H": H,
            "pieces": state["pieces"],
            "loss": state.get("loss"),
        }
        page = browser.value(
            f"""(({{H, W, targets, P, m, C, pieces, loss}}) => H.map((h, r) => nine.compute({{
          h, w: W, P, T: 1, margin: nine.state.margin, pieces, loss, target: targets[r], m: m ?? undefined, C: C ?? undefined }})))({json.dumps(ours)})"""
        )
        said, errors = engine.communicate()
        if engine.returncode != 0:
            return [f"{head}: {errors.strip()}"], worst
        engine = json.loads(said)
        scores = engine["scores"] if mixture else [engine["scores"]]
        sums, sizes = {}, {}

        def add(key, gradients, term):
            flat = list(flatten(gradients))
            before = sums.setdefault(key, [0.0] * len(flat))
            sums[key] = [a + b / rows for a, b in zip(before, flat)]
            sizes[key] = max(sizes.get(key, 0), term)

        by_longest = (
            sum(o["dG"] for r, o in enumerate(page) if r != longest) if "max:through" in name else 0
        )
        for r, o in enumerate(page):
            y = targets[r]
            lengths = [sum(a * a for a in H[r]) + sum(a * a for a in w) for w in W]
            biggest = max(
                [1.0]
                + [abs(x) for row in o["S"] for x in row]
                + lengths
                + [c["parts"] ** 2 * abs(x) for c, row in zip(components, o["S"]) for x in row]
            )
            term = (
                max(
                    [1.0]
                    + [abs(x) for v in o["dw"] for x in v]
                    + [abs(x) for v in (o["dm"] or []) for x in v]
                    + [abs(x) for x in flatten(o["dC"] or [])]
                )
                * biggest
            )
            # the slope's terms divide by the sine of the target's angle
            if "arc" in options.get("margin", ""):
                w = W[y]
                term /= max(
                    1e-9, abs(w[0] * H[r][1] - w[1] * H[r][0]) / math.hypot(*w) / math.hypot(*H[r])
                )
            # the slope's terms divide by a distance, whose digits are few where it is small
            if name.startswith("hpb"):
                apart = (
                    map(abs, flatten(o["S"]))
                    if "sigmoid" in name
                    else (math.dist(H[r], w) for w in W)
                )
                term /= min(1, min(apart))
            pairs = []
            for k, row in enumerate(o["S"]):
                for v, x in enumerate(row):
                    wanted = scores[k][r][v]
                    if v == y and "psi" in engine and state["margin"] != "score":
                        # The target's score with its margin is the other one with psi in place of
                        # the cosine, where that has digits.
                        c = engine["cos"][r]
                        if abs(c) < 1e-3:
                            continue
                        wanted = wanted / c * engine["psi"][r]
                        pairs.append((x, wanted, biggest / abs(c)))
                        continue
                    pairs.append((x, wanted, biggest))
            if "margin" not in options:
                if not state.get("loss"):
                    pairs.append((o["L"], -engine["log_probs"][r][y], biggest))
                pairs += [
                    (math.log(p), q, biggest)
                    for p, q in zip(o["p"], engine["log_probs"][r])
                    if p > 1e-300
                ]
            if mixture:
                pairs += [(a, b, 1) for a, b in zip(o["pi"], engine["pi"][r])]
            of_h = list(o["dh"])
            if r == longest and by_longest:
                of_h = [g + by_longest * x / length(H[r]) for g, x in zip(of_h, H[r])]
                term = max(term, abs(by_longest))
            pairs += [(a, b * rows, term) for a, b in zip(of_h, engine["grad"]["H"][r])]
            for a, b, largest in pairs:
                worst = max(worst, abs(a - b) / max(largest, 1e-3))
                if not close(a, b, largest):
                    flaws.append(
                        f"{head}, {options}, h = {H[r]}, W = {W}: the page has {a}, kernel_inspect {b}"
                    )
            add("W", o["dw"], term)
            add("loss", [o["L"]], biggest)
            if mixture:
                add("M", o["dm"], term)
            if columns:
                add("C", o["dC"], term)
        grad = engine["grad"]
        wanted = {"W": grad["W"], "loss": [engine["loss"]]}
        if mixture:
            wanted["M"] = list(map(list, zip(*grad["M"])))
        if columns:
            wanted["C"] = [list(map(list, zip(*c))) for c in grad["C"]]
        for key, numbers in wanted.items():
            for a, b in zip(sums[key], flatten(numbers)):
                worst = max(worst, abs(a - b) / sizes[key])
                if not close(a, b, sizes[key]):
                    flaws.append(
                        f"{head}, {options}: the page's {key} has {a}, kernel_inspect's {b}"
                    )
    return flaws[:5], worst


def flatten(x):
    if isinstance(x, list):
        for y in x:
            yield from flatten(y)
    else:
        yield x


def used(name, component):
    """The sliders whose values a head string takes; the margin's is an option."""
    return [
        s["name"]
        for s in component["sliders"]
        if not (s["name"] == "m" and component["label"] == "lin")
    ]


def play(browser):
    """Moves points as a reader does; a list of sentences."""
    flaws = []
    loss = lambda: browser.value("nine.compute(nine.state).L")
    browser.value("document.querySelector('#board').scrollIntoView()")
    # The first part of h, or the next where a word lies on it.
    part, x, y = browser.value(
        """(() => {
      const all = [...document.querySelectorAll('.point.context')], middle = p => (b => [b.left + b.width / 2, b.top + b.height / 2])(p.getBoundingClientRect());
      const i = Math.max(0, all.findIndex(p => document.elementFromPoint(...middle(p)) === p));
      return [i, ...middle(all[i])];
    })()"""
    )
    place = f"nine.state.h.slice({part} * nine.D.size, {part} * nine.D.size + 2)"
    before = browser.value(place)
    for kind, dx in (
        ("mousePressed", 0),
        ("mouseMoved", 20),
        ("mouseMoved", 30),
        ("mouseReleased", 30),
    ):
        browser.call(
            "Input.dispatchMouseEvent",
            type=kind,
            x=x + dx,
            y=y - dx,
            button="left",
            buttons=0 if kind == "mouseReleased" else 1,
            clickCount=1,
        )
    after = browser.value(place)
    if not (after[0] > before[0] and after[1] > before[1]):
        flaws.append(f"the pointer moved h from {before} to {after}")
    x, y = x + 30, y - 30
    browser.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
    browser.call("Input.dispatchTouchEvent", type="touchMove", touchPoints=[{"x": x - 25, "y": y}])
    browser.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
    if not browser.value(place + "[0]") < after[0]:
        flaws.append("a finger does not move h")
    browser.value("document.querySelector('.point.c0').focus()")
    before = browser.value("nine.state.w[0]")
    browser.key("ArrowRight")
    browser.key("ArrowUp")
    after = browser.value("nine.state.w[0]")
    if not (after[0] > before[0] and after[1] > before[1]):
        flaws.append("arrow keys do not move w1")
    shown = browser.value("document.querySelector('#words td').textContent")
    first = browser.value("(o => nine.D.m ? o.p[0] : o.S[0][0])(nine.compute(nine.state))")
    if abs(float(shown) - first) > 1e-3 * max(1, abs(float(shown))):
        flaws.append(f"the table shows {shown}")
    for row in browser.value(
        "[...document.querySelectorAll('#numbers tbody tr')].map(r => [...r.querySelectorAll('td')].slice(1).map(c => Number(c.textContent)))"
    ):
        if abs(row[0] - row[1]) > 1e-4 * max(1, abs(row[0])):
            flaws.append(f"gradient and difference: {row}")
    browser.value(
        "(s => { s.value = s.min; s.dispatchEvent(new Event('input')); })([...document.querySelectorAll('input[type=range]')].pop())"
    )
    before = loss()
    browser.value("document.querySelector('.buttons button').click()")
    if not loss() < before + 1e-12:
        flaws.append(f"a step of descent takes the loss from {before} to {loss()}")
    if browser.value("document.querySelectorAll('.level').length") < 1:
        flaws.append("no level lines")
    browser.value("document.querySelectorAll('.buttons button')[1].click()")
    if browser.value("JSON.stringify(nine.state.h) !== JSON.stringify(nine.D.h)"):
        flaws.append("the beginning is not as it was")
    browser.value(
        "(i => { i.value = 0.125; i.dispatchEvent(new Event('input')); })(document.querySelector('#numbers input'))"
    )
    if browser.value("nine.state.h[0]") != 0.125:
        flaws.append("a typed number does not count")
    return flaws


# What is wrong with the formulas: signs that do not grow. ROOTS are the boxes of a root, and of what is under it.
ROOTS = """const box = e => e.getBoundingClientRect(), inner = e => [...e.children].map(box).reduce((a, b) =>
  ({ left: Math.min(a.left, b.left), right: Math.max(a.right, b.right), top: Math.min(a.top, b.top) }));"""
FORMULAS = (
    "document.fonts.ready.then(() => {"
    + ROOTS
    + """
  const flaws = [...document.fonts].filter(f => f.status !== 'loaded').map(f => `the font ${f.family} is ${f.status}`), size = e => parseFloat(getComputedStyle(e).fontSize);
  for (const e of document.querySelectorAll('msqrt')) if (inner(e).left - box(e).left < 0.4 * size(e)) flaws.push('a root without its sign: ' + e.textContent);
  for (const e of document.querySelectorAll('mtable')) if (box(e.previousElementSibling).height < 0.8 * box(e).height) flaws.push('a brace that did not grow: ' + e.textContent);
  return [...new Set(flaws)].slice(0, 5);
})"""
)
PAPER = """(() => {
  const A4 = 703;  // its width in pixels of CSS, without its margins
  document.body.style.width = A4 + 'px';
  dispatchEvent(new Event('beforeprint'));
  const flaws = [...document.querySelectorAll('math')].filter(m => m.getBoundingClientRect().right > A4 + 1).map(m => 'wider than paper: ' + m.textContent.slice(0, 60));
  for (const e of document.querySelectorAll('.scroll')) if (getComputedStyle(e).overflow !== 'visible') flaws.push('a box scrolls on paper');
  document.body.style.removeProperty('width');
  return [...new Set(flaws)].slice(0, 5);
})()"""


def paint_flaws(browser, file, name):
    """Looks at the pixels of a page's first root: the sign, the line over what is under it, the same in every font of the body."""
    seen = []
    for font in ("Noto Sans", "DejaVu Sans"):
        browser.open("file://" + file, 1280, 900, "light")
        sign, all_of_it, under = browser.value(
            "document.fonts.ready.then(() => {"
            + ROOTS
            + f"""
          const e = document.querySelector('msqrt'), math = e.closest('math');
          document.body.style.fontFamily = '{font}';
          Object.assign(math.style, {{ position: 'fixed', left: '20px', top: '20px', zIndex: 9, background: 'white', color: 'black' }});
          const b = box(e), i = inner(e);
          return [[b.left, b.top, i.left, b.bottom], [b.left, b.top, b.right, b.bottom], [i.left, b.top, i.right, i.top]];
        }})"""
        )
        shot = lambda b: pixels(browser.picture_of(b[0], b[1], b[2] - b[0], b[3] - b[1], 4))
        if sign[2] - sign[0] < 1 or under[3] - under[1] < 1:
            return [f"{name} in {font}: no room is left for the sign of a root"]
        dark = lambda row: sum(p < 128 for p in row) / len(row)
        if sum(dark(row) > 0 for row in shot(sign)) < 0.7 * len(shot(sign)):
            return [
                f"{name} in {font}: no sign is painted before the root of what begins at {under}"
            ]
        if max(map(dark, shot(under))) < 0.9:
            return [f"{name} in {font}: no line is painted over what is under the root"]
        seen.append(shot(all_of_it))
    return (
        []
        if seen[0] == seen[1]
        else [f"{name}: a root looks otherwise in another font of the body"]
    )


def looks(browser, file, name, pictures, views):
    flaws = []
    browser.open("file://" + file, *views[0])
    browser.value("document.body.style.fontFamily = 'Noto Sans'")
    flaws += [f"{name}: {flaw}" for flaw in browser.value(FORMULAS)]
    browser.view(*views[0], media="print")
    flaws += [f"{name}: {flaw}" for flaw in browser.value(PAPER)]
    for width, height, theme in views:
        where = f"{name}, {width} wide, {theme}: "
        browser.view(width, height, theme)
        flaws += [where + flaw for flaw in browser.value(FLAWS.replace("WIDTH", str(width)))]
        beyond = browser.value(
            "(e => { if (!e) return 0; const b = e.getBoundingClientRect(); return [...document.querySelectorAll('.arrow, .point')].map(a => a.getBoundingClientRect())"
            ".filter(a => a.left < b.left - 8 || a.top < b.top - 8 || a.right > b.right + 8 || a.bottom > b.bottom + 8).length; })(document.querySelector('.plane'))"
        )
        if beyond:
            flaws.append(where + f"{beyond} points or arrows leave the plane")
        red = browser.value(
            "Number(getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0])"
        )
        if (red < 128) != (theme == "dark"):
            flaws.append(where + f"the ground is {red}")
        if pictures:
            browser.picture(
                os.path.join(
                    pictures,
                    "".join(c if c.isalnum() else "-" for c in name) + f"-{width}-{theme}.png",
                )
            )
    return flaws


def events(browser, file, name):
    flaws = []
    for event in browser.events:
        method, data = event.get("method", ""), event.get("params", {})
        if method in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
            flaws.append(f"{name}: " + json.dumps(data)[:300])
        if method == "Network.requestWillBeSent" and not data["request"]["url"].startswith(
            ("file://" + file, "data:font/")
        ):
            flaws.append(f"{name}: requests " + data["request"]["url"][:100])
    return flaws


def main():
    if CHROMIUM is None:
        return no_browser()
    if not subprocess.run(["fc-list", "Noto Sans"], capture_output=True).stdout:
        print("there is no Noto Sans here: make check installs it")
        return 1
    program, pictures = os.path.abspath(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else None
    names = sys.argv[3:] or [*PAGES, *LAYERS]
    views = [
        (width, height, theme)
        for width, height in ((390, 844), (1280, 900))
        for theme in ("light", "dark")
    ]
    wrong, flaws, worst, rng = 0, [], {}, random.Random(25 + turn(1000))
    with tempfile.TemporaryDirectory() as directory:
        browser = Browser(os.path.join(directory, "profile"))
        try:
            for index, name in enumerate(names):
                file = os.path.join(directory, f"page{index}.html")
                done = subprocess.run(
                    [program, "--explain", name, "--page", file], capture_output=True, text=True
                )
                if done.returncode != 0:
                    print(f"{name}: {done.stderr.strip()}", flush=True)
                    wrong += 1
                    continue
                if name in PAINTED:
                    flaws += paint_flaws(browser, file, name)
                seen = (
                    views
                    if sys.argv[3:]
                    else [views[(index + turn(2)) % 2], views[2 + (index + turn(2) + 1) % 2]]
                )
                flaws += looks(
                    browser,
                    file,
                    name,
                    pictures,
                    sorted(seen, key=lambda view: view[:2] != browser.size),
                )
                if name in PAGES:
                    found, worst[name] = compare(browser, program, name, rng)
                    flaws += found + [f"{name}: {flaw}" for flaw in play(browser)]
                flaws += events(browser, file, name)
                while flaws:  # as they are found
                    print(flaws.pop(0), flush=True)
                    wrong += 1
        finally:
            browser.close()
    print(
        f"{wrong} flaws"
        if wrong
        else f"{len(worst)} pages agree with kernel_inspect at {ROWS * BATCHES} points each, at most "
        f"{max(worst.values(), default=0):.1e} of the largest term apart; {len(names) - len(worst)} more are fine"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
