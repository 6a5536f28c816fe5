#!/usr/bin/env python3
"""Opens the pages of kernel_inspect --explain NAME --page in headless Chromium, and plays.

  page_browser.py KERNEL_INSPECT [PICTURES [NAME ...]]   screenshots go to PICTURES when given; NAMEs are all if none are

For each kernel: 1,000 random contexts in the page's own code against kernel_inspect --input, scores, log-probabilities and gradients to
1e-12 of the largest term; both widths and themes as report_browser.py checks them; points moved by pointer and by keys, a step of descent.
Exit 0 fine, 1 wrong, 77 skipped: there is no Chromium (1 where NINE_BROWSER is "required", as in CI).
"""
import json
import math
import os
import random
import subprocess
import sys
import tempfile

from report_browser import Browser, CHROMIUM, FLAWS, no_browser

ROWS, BATCHES, WORDS = 200, 5, 3
# Pages, and how the page's sliders are named in a head string. The numbers in the sliders are drawn at random for every batch.
PAGES = {"lin": {}, "log": {"p": "p"}, "pow": {"p": "p"}, "pol": {"alpha": "alpha", "offset": "c", "p": "p"}, "rbf": {"gamma": "gamma"},
         "wav": {"a": "a", "b": "b"}, "sig": {}, "ssg": {}, "ssg:variance=0.5": {"variance": "variance"}, "mog": {}, "mog:form=mixture": {},
         "mog:components=3:form=mixture:variance=0.7": {"variance": "variance"}, "mog:components=3": {}, "hpb": {}, "hpb:ball=tanh": {},
         "hpb:ball=clip": {}, "hpb:ball=sigmoid": {"shift": "shift"}, "expr:{s*tanh(z/s)}:s=3": {"s": "s"},
         "rbf:gamma=0.5:scale=learn": {"gamma": "gamma", "factor": "scale"}, "mog:scale=0.5": {"factor": "scale"},
         "expr:{-log(1+q^(p/2))+erf(c)*k}:p=3:k=0.5": {"p": "p", "k": "k"},
         "expr:{where(q<2,softplus(z),-sqrt(ww+hh+1))+max(c,tanh(q))*atan(hh)-expm1(-q)*sigmoid(ww)}": {},
         "margin=cos:0.3": {"m": ""}, "margin=arc:0.5": {"m": ""}, "margin=lsm:3": {}}
LAYERS = ["softmax", "mixture", "lstm", "attention", "layer_norm", "pi_reg", "word_norm=uniform"]


def head_of(name, sliders, values):
    """The head string with the sliders' values, and the margin."""
    if name.startswith("margin="):
        kind = name[len("margin="):]
        return "lin", kind if kind.startswith("lsm") else f"{kind.split(':')[0]}:{values['m']!r}"
    base, _, given = name.partition("}") if name.startswith("expr") else name.partition(":")
    base, given = (base + "}", given.lstrip(":")) if name.startswith("expr") else (base, given)
    parameters = dict(p.split("=") for p in given.split(":") if p)
    parameters.update({theirs: repr(values[ours]) for ours, theirs in sliders.items()})
    return ":".join([base] + [f"{k}={v}" for k, v in parameters.items()]), "none"


def close(page, engine, largest):
    return abs(page - engine) <= 1e-12 * max(largest, abs(engine), 1e-3)


def compare(browser, program, name, sliders, rng):
    """The page's numbers against the program's; a list of sentences, and how far off the worst was."""
    data, flaws, worst = browser.value("nine.D"), [], 0
    size = data["parts"] * data["size"]
    for batch in range(BATCHES):
        reach = 0.6 if data["ball"] else 1.5
        vector = lambda: [rng.uniform(-reach, reach) for _ in range(size)]
        values = {}
        for s in data["sliders"]:
            x = rng.uniform(s["low"], s["high"])
            values[s["name"]] = round(x) if s["step"] == 1 else x
        # Slow decays: where all scores vanish there is nothing to compare.
        head, margin = head_of(name, sliders, values)
        H, W = [vector() for _ in range(ROWS)], [vector() for _ in range(WORDS)]
        targets = [rng.randrange(WORDS) for _ in range(ROWS)]
        options = {"margin": margin} if margin != "none" else {}
        done = subprocess.run([program, "--input", "-"], input=json.dumps({"head": head, "H": H, "W": W, "targets": targets, "options": options}),
                              capture_output=True, text=True)
        if done.returncode != 0:
            return [f"{head}: {done.stderr.strip()}"], worst
        engine = json.loads(done.stdout)
        page = browser.value(f"""(({{H, W, targets, P}}) => H.map((h, r) => {{
          const o = nine.compute({{ h, w: W, P, T: 1, margin: nine.state.margin, target: targets[r] }});
          return [o.S, o.p, o.L, o.dw, o.dh];
        }}))({json.dumps({"H": H, "W": W, "targets": targets, "P": values})})""")
        narrow = False
        dw_sum, dw_size = [[0.0] * size for _ in range(WORDS)], 0
        for r, (S, p, L, dw, dh) in enumerate(page):
            # The slope of arc divides by sin theta, which a formula of c has without digits where theta is small.
            apart = min(1 - (sum(a * b for a, b in zip(H[r], w)) / math.hypot(*H[r]) / math.hypot(*w)) ** 2 for w in W)
            if margin.startswith("arc") and apart < 0.01:
                narrow = True
                continue
            biggest = max([1.0] + [abs(x) for x in S] + [sum(a * a for a in H[r]) + sum(a * a for a in w) for w in W]
                          + [abs(data["parts"] ** 2 * x) for x in S])
            term = max([1.0] + [abs(x) for v in dw for x in v]) * biggest
            pairs = [(L, -engine["log_probs"][r][targets[r]], biggest)] if margin == "none" else []
            for v in range(WORDS):
                if margin == "none" or v != targets[r]:
                    pairs.append((S[v], engine["scores"][r][v], biggest))
                if margin == "none" and p[v] > 1e-300:
                    pairs.append((math.log(p[v]), engine["log_probs"][r][v], biggest))
            pairs += [(a, b * ROWS, term) for a, b in zip(dh, engine["grad"]["H"][r])]
            for a, b, largest in pairs:
                worst = max(worst, abs(a - b) / max(largest, 1e-3))
                if not close(a, b, largest):
                    flaws.append(f"{head}, h = {H[r]}, W = {W}: the page has {a}, kernel_inspect {b}")
            for v in range(WORDS):
                for k in range(size):
                    dw_sum[v][k] += dw[v][k] / ROWS
            dw_size = max(dw_size, term)
        for v in range(0 if narrow else WORDS):
            for a, b in zip(dw_sum[v], engine["grad"]["W"][v]):
                worst = max(worst, abs(a - b) / dw_size)
                if not close(a, b, dw_size):
                    flaws.append(f"{head}, w = {W[v]}: the page's gradient is {a}, kernel_inspect's {b}")
    return flaws[:5], worst


def play(browser):
    """Moves points as a reader does; a list of sentences."""
    flaws = []
    loss = lambda: browser.value("nine.compute(nine.state).L")
    browser.value("document.querySelector('#board').scrollIntoView()")
    # The first part of h, or the next where a word lies on it.
    part, x, y = browser.value("""(() => {
      const all = [...document.querySelectorAll('.point.context')], middle = p => (b => [b.left + b.width / 2, b.top + b.height / 2])(p.getBoundingClientRect());
      const i = Math.max(0, all.findIndex(p => document.elementFromPoint(...middle(p)) === p));
      return [i, ...middle(all[i])];
    })()""")
    place = f"nine.state.h.slice({part} * nine.D.size, {part} * nine.D.size + 2)"
    before = browser.value(place)
    for kind, dx in (("mousePressed", 0), ("mouseMoved", 20), ("mouseMoved", 30), ("mouseReleased", 30)):
        browser.call("Input.dispatchMouseEvent", type=kind, x=x + dx, y=y - dx, button="left", buttons=0 if kind == "mouseReleased" else 1, clickCount=1)
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
    if abs(float(shown) - browser.value("nine.compute(nine.state).S[0]")) > 1e-3 * max(1, abs(float(shown))):
        flaws.append(f"the table shows {shown}")
    for row in browser.value("[...document.querySelectorAll('#numbers tbody tr')].map(r => [...r.querySelectorAll('td')].slice(1).map(c => Number(c.textContent)))"):
        if abs(row[0] - row[1]) > 1e-4 * max(1, abs(row[0])):
            flaws.append(f"gradient and difference: {row}")
    browser.value("(s => { s.value = s.min; s.dispatchEvent(new Event('input')); })([...document.querySelectorAll('input[type=range]')].pop())")
    before = loss()
    browser.value("document.querySelector('.buttons button').click()")
    if not loss() < before + 1e-12:
        flaws.append(f"a step of descent takes the loss from {before} to {loss()}")
    if browser.value("document.querySelectorAll('.level').length") < 1:
        flaws.append("no level lines")
    browser.value("document.querySelectorAll('.buttons button')[1].click()")
    if browser.value("JSON.stringify(nine.state.h) !== JSON.stringify(nine.D.h)"):
        flaws.append("the beginning is not as it was")
    browser.value("(i => { i.value = 0.125; i.dispatchEvent(new Event('input')); })(document.querySelector('#numbers input'))")
    if browser.value("nine.state.h[0]") != 0.125:
        flaws.append("a typed number does not count")
    return flaws


def looks(browser, file, name, pictures):
    flaws = []
    for width, height in ((390, 844), (1280, 900)):
        for theme in ("light", "dark"):
            where = f"{name}, {width} wide, {theme}: "
            browser.open("file://" + file, width, height, theme)
            flaws += [where + flaw for flaw in browser.value(FLAWS.replace("WIDTH", str(width)))]
            red = browser.value("Number(getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0])")
            if (red < 128) != (theme == "dark"):
                flaws.append(where + f"the ground is {red}")
            if pictures:
                browser.picture(os.path.join(pictures, "".join(c if c.isalnum() else "-" for c in name) + f"-{width}-{theme}.png"))
    return flaws


def events(browser, file, name):
    flaws = []
    for event in browser.events:
        method, data = event.get("method", ""), event.get("params", {})
        if method in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
            flaws.append(f"{name}: " + json.dumps(data)[:300])
        if method == "Network.requestWillBeSent" and data["request"]["url"] != "file://" + file:
            flaws.append(f"{name}: requests " + data["request"]["url"])
    return flaws


def main():
    if CHROMIUM is None:
        return no_browser()
    program, pictures = os.path.abspath(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else None
    names = sys.argv[3:] or [*PAGES, *LAYERS]
    wrong, flaws, worst, rng = 0, [], {}, random.Random(25)
    with tempfile.TemporaryDirectory() as directory:
        browser = Browser(os.path.join(directory, "profile"))
        try:
            for index, name in enumerate(names):
                file = os.path.join(directory, f"page{index}.html")
                done = subprocess.run([program, "--explain", name, "--page", file], capture_output=True, text=True)
                if done.returncode != 0:
                    print(f"{name}: {done.stderr.strip()}", flush=True)
                    wrong += 1
                    continue
                flaws += looks(browser, file, name, pictures)
                if name in PAGES:
                    found, worst[name] = compare(browser, program, name, PAGES[name], rng)
                    flaws += found + [f"{name}: {flaw}" for flaw in play(browser)]
                flaws += events(browser, file, name)
                while flaws:  # as they are found
                    print(flaws.pop(0), flush=True)
                    wrong += 1
        finally:
            browser.close()
    print(f"{wrong} flaws" if wrong else f"{len(worst)} pages agree with kernel_inspect at {ROWS * BATCHES} points each, at most "
          f"{max(worst.values(), default=0):.1e} of the largest term apart; {len(names) - len(worst)} more are fine")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
