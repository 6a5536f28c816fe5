#!/usr/bin/env python3
"""Opens the report's pages in headless Chromium: two widths, two themes, by keyboard.

  report_browser.py BIN_DIR [PICTURES]   BIN_DIR holds lm_train, mt_train and nine_report; screenshots go to PICTURES when given
  report_browser.py --page FILE NAME PICTURES   only screenshots of a page that is there

Exit 0 fine, 1 wrong, or there is no Chromium.
"""
import base64
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile

CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)


def no_browser():
    """The exit status of a test without a browser, and a line that says so."""
    print("there is no Chromium here: make check installs it")
    return 1


class Browser:
    """Chromium over the DevTools protocol's pipe: JSON messages that end in a zero byte."""

    def __init__(self, profile):
        to_child, self.out = os.pipe()
        self.inp, from_child = os.pipe()

        def wire():  # the protocol reads descriptor 3 and writes descriptor 4
            read, write = os.dup(to_child), os.dup(from_child)
            os.dup2(read, 3)
            os.dup2(write, 4)

        self.process = subprocess.Popen(
            [
                CHROMIUM,
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--hide-scrollbars",
                "--no-first-run",
                "--disable-background-networking",
                "--remote-debugging-pipe",
                f"--user-data-dir={profile}",
                "about:blank",
            ],
            preexec_fn=wire,
            pass_fds=(3, 4),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_child)
        os.close(from_child)
        self.buffer, self.last, self.session, self.events, self.size = b"", 0, None, [], None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def message(self):
        while b"\0" not in self.buffer:
            more = os.read(self.inp, 1 << 20)
            if not more:
                raise RuntimeError("Chromium has ended")
            self.buffer += more
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **parameters):
        self.last += 1
        request = {"id": self.last, "method": method, "params": parameters}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.out, json.dumps(request).encode() + b"\0")
        while True:
            reply = self.message()
            if reply.get("id") == self.last:
                if "error" in reply:
                    raise RuntimeError(f"{method}: {reply['error']}")
                return reply["result"]
            self.events.append(reply)

    def view(self, width, height, theme, media="screen"):
        """Shows the page that is there in another width and theme, or as on paper."""
        if self.size != (width, height):  # which takes as long as opening a page
            self.call(
                "Emulation.setDeviceMetricsOverride",
                width=width,
                height=height,
                deviceScaleFactor=1,
                mobile=width < 600,
            )
            self.size = (width, height)
        self.call(
            "Emulation.setEmulatedMedia",
            media=media,
            features=[{"name": "prefers-color-scheme", "value": theme}],
        )

    def open(self, url, width, height, theme):
        self.view(width, height, theme)
        self.events = []
        self.call("Page.navigate", url=url)
        while not any(e.get("method") == "Page.loadEventFired" for e in self.events):
            self.events.append(self.message())

    def value(self, expression):
        result = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def key(self, name, shift=False):
        press = {"key": name, "code": name, "modifiers": 8 if shift else 0}
        if name == "Enter":  # what a button is pressed by is the character
            press.update(windowsVirtualKeyCode=13, text="\r", type="keyDown")
        self.call("Input.dispatchKeyEvent", **{"type": "rawKeyDown", **press})
        self.call("Input.dispatchKeyEvent", **{**press, "type": "keyUp"})

    def picture(self, file):
        # where the page has it
        self.value(
            "document.querySelector('.shared-legend')?.style.setProperty('position', 'static')"
        )
        height = self.value("document.documentElement.scrollHeight")
        width = self.value("document.documentElement.clientWidth")
        shot = self.call(
            "Page.captureScreenshot",
            captureBeyondViewport=True,
            clip={"x": 0, "y": 0, "width": width, "height": min(height, 8000), "scale": 1},
        )
        with open(file, "wb") as out:
            out.write(base64.b64decode(shot["data"]))
        self.value("document.querySelector('.shared-legend')?.style.removeProperty('position')")

    def picture_of(self, x, y, width, height, scale):
        """A part of the page as PNG."""
        return base64.b64decode(
            self.call(
                "Page.captureScreenshot",
                clip={"x": x, "y": y, "width": width, "height": height, "scale": scale},
            )["data"]
        )

    def close(self):
        try:
            self.call("Browser.close")
        except (RuntimeError, OSError):
            pass
        self.process.wait(timeout=30)


# Everything that is wrong with the page as it stands, as a list of sentences.
FLAWS = """(width => {
  const flaws = [], box = e => e.getBoundingClientRect(), seen = e => box(e).width > 0 && getComputedStyle(e).visibility === 'visible';
  if (document.scrollingElement.scrollWidth > width) {
    const wide = [...document.querySelectorAll('main *')].find(e => seen(e) && box(e).right > width + 1 && !e.closest('.scroll, pre, svg'));
    flaws.push(`the page is ${document.scrollingElement.scrollWidth} wide in a window of ${width}: ` + (wide ? wide.outerHTML.slice(0, 120) : '?'));
  }
  for (const e of document.querySelectorAll('.scroll'))
    if (seen(e) && (getComputedStyle(e).overflowY !== 'hidden' || e.scrollHeight > e.clientHeight + 1)) flaws.push(`a box scrolls or cuts upright: ${e.textContent.slice(0, 60)}`);
  const overlap = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3;
  for (const group of document.querySelectorAll('.plane, .ys, .xs, .ends')) {
    const labels = [...group.querySelectorAll(group.matches('.plane') ? '.at' : 'span')].filter(seen);
    labels.forEach((a, i) => labels.slice(i + 1).forEach(b => {
      if (overlap(box(a), box(b))) flaws.push(`labels overlap in ${group.className}: ${a.textContent} and ${b.textContent}`);
    }));
    for (const e of labels) if (box(e).left < -1 || box(e).right > width + 1) flaws.push(`a label is cut: ${e.textContent}`);
  }
  for (const svg of document.querySelectorAll('svg:not([aria-hidden])'))
    if (svg.getAttribute('role') !== 'img' || !svg.querySelector('title') || !svg.querySelector('desc')) flaws.push('an svg without name or description');
  for (const n of document.querySelectorAll('main, main section, main .pair'))
    for (const t of n.childNodes) if (t.nodeType === 3 && t.data.trim()) flaws.push('stray text: ' + t.data.trim());
  for (const input of document.querySelectorAll('input')) if (input.labels.length === 0) flaws.push('an input without label');
  for (const e of document.querySelectorAll('.hit')) if (e.tabIndex !== 0 || !e.getAttribute('aria-label')) flaws.push('a plot that the keyboard does not reach');
  if (document.documentElement.lang !== 'en' || !document.title) flaws.push('no language or title');
  const linear = c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  // rgb(r, g, b) goes to 255, color(srgb r g b) to 1.
  const luminance = text => { const [r, g, b] = text.match(/[\\d.]+/g).map(x => linear(Number(x) / (text.startsWith('rgb') ? 255 : 1))); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const grounds = new Map([[null, 'rgb(255,255,255)']]);
  const ground = e => {
    if (!grounds.has(e)) grounds.set(e, (c => c.endsWith(', 0)') ? ground(e.parentElement) : c)(getComputedStyle(e).backgroundColor));
    return grounds.get(e);
  };
  const low = new Set();
  for (const e of document.querySelectorAll('main *')) {
    if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()) || e.closest('svg, script') || !seen(e)) continue;
    const [a, b] = [luminance(getComputedStyle(e).color), luminance(ground(e))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) low.add(`${e.className || e.tagName}: contrast ${((a + 0.05) / (b + 0.05)).toFixed(2)}`);
  }
  return flaws.concat([...low]);
})(WIDTH)"""


# The charts whose CSV has not every value that the page holds, in its order.
SHORT_CSVS = """charts.filter(c => {
  const lines = c.as_csv().trimEnd().split('\\n').slice(1).map(line => line.split(','));
  return c.series.some((s, i) => lines.map(cells => cells[i + 1]).filter(y => y !== '').join() !== s.y.filter(y => y !== null).join());
}).map(c => c.figure.querySelector('h3').textContent)"""


def check_page(browser, file, name, pictures):
    flaws = []
    for width, height in ((390, 844), (1280, 900)):
        for theme in ("light", "dark"):
            where = f"{name}, {width} wide, {theme}: "
            browser.open("file://" + file, width, height, theme)
            browser.value("document.querySelectorAll('details').forEach(e => { e.open = true })")
            flaws += [where + flaw for flaw in browser.value(FLAWS.replace("WIDTH", str(width)))]
            red = browser.value(
                "Number(getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0])"
            )
            if (red < 128) != (theme == "dark"):
                flaws.append(where + f"the ground is {red}")
            flaws += [
                where + f"the CSV of {title} lacks values" for title in browser.value(SHORT_CSVS)
            ]
            if pictures:
                browser.picture(os.path.join(pictures, f"{name}-{width}-{theme}.png"))
            flaws += [where + flaw for flaw in keyboard_flaws(browser, width)]
            flaws += [
                where + flaw for flaw in tool_flaws(browser, pictures, f"{name}-{width}-{theme}")
            ]
            flaws += [
                where + flaw
                for flaw in legend_flaws(browser, width, pictures, f"{name}-{width}-{theme}")
            ]
            for event in browser.events:
                method, data = event.get("method", ""), event.get("params", {})
                if method in (
                    "Runtime.consoleAPICalled",
                    "Runtime.exceptionThrown",
                    "Log.entryAdded",
                ):
                    flaws.append(where + json.dumps(data)[:300])
                if (
                    method == "Network.requestWillBeSent"
                    and data["request"]["url"] != "file://" + file
                ):
                    flaws.append(where + "requests " + data["request"]["url"])
    return flaws


def keyboard_flaws(browser, width):
    flaws = []
    for i in range(browser.value("document.querySelectorAll('.hit').length")):
        tip = f"document.querySelectorAll('.hit')[{i}].parentElement.querySelector('.tip')"
        browser.value(f"document.querySelectorAll('.hit')[{i}].focus()")
        browser.key("Home")
        first = browser.value(tip + ".hidden ? '' : " + tip + ".textContent")
        browser.key("ArrowRight")
        second = browser.value(tip + ".textContent")
        outside = browser.value(
            f"(b => b.left < -1 || b.right > {width} + 1)({tip}.getBoundingClientRect())"
        )
        browser.key("Escape")
        if not first or first == second or outside or not browser.value(tip + ".hidden"):
            flaws.append(
                f"plot {i} by keyboard: '{first}', then '{second}'{', beyond the window' if outside else ''}"
            )
    for i in range(browser.value("document.querySelectorAll('figure.map:has(input)').length")):
        figure = f"document.querySelectorAll('figure.map:has(input)')[{i}]"
        for wanted, shown in (
            (f"JSON.parse({figure}.querySelector('script').textContent)[3][0]", True),
            ("'no such word'", False),
        ):
            browser.value(
                f"(f => {{ const e = f.querySelector('input'); e.value = {wanted}; e.dispatchEvent(new Event('input')); }})({figure})"
            )
            if browser.value(f"{figure}.querySelector('.tip').hidden") == shown:
                flaws.append(
                    f"map {i}: searching {'a word shows nothing' if shown else 'nonsense shows something'}"
                )
    return flaws


def tool_flaws(browser, pictures, name):
    """Axes, zoom and downloads of the first chart."""
    flaws, chart = [], "document.querySelector('figure.chart')"
    if browser.value(f"!{chart} || {chart}.querySelectorAll('.tools button').length < 3"):
        return []
    labels = f"[...{chart}.querySelectorAll('.ys span')].map(s => s.textContent).join()"
    steps = f"[...{chart}.querySelectorAll('.xs span')].map(s => s.textContent).join()"
    d = f"{chart}.querySelector('.plot path.line, .plot path.scatter').getAttribute('d')"
    before, xs, drawn = browser.value(labels), browser.value(steps), browser.value(d)
    press = lambda text: browser.value(
        f"(b => {{ if (b) b.click(); return !!b; }})([...{chart}.querySelectorAll('.tools button')].find(b => b.textContent === '{text}'))"
    )
    if press("log y") and browser.value(d) == drawn:
        flaws.append("log y draws the same")
    if browser.value(f"({labels}).split(',').length") < 2:
        flaws.append("an axis without labels after log y: " + browser.value(labels))
    press("log y")
    browser.value(f"{chart}.scrollIntoView()")
    left, top, width, height = browser.value(
        f"(b => [b.left, b.top, b.width, b.height])({chart}.querySelector('.hit').getBoundingClientRect())"
    )
    for kind, share in (
        ("mousePressed", 0.4),
        ("mouseMoved", 0.6),
        ("mouseMoved", 0.9),
        ("mouseReleased", 0.9),
    ):
        browser.call(
            "Input.dispatchMouseEvent",
            type=kind,
            x=left + share * width,
            y=top + height / 2,
            button="left",
            buttons=0 if kind == "mouseReleased" else 1,
            clickCount=1,
        )
    if browser.value(steps) == xs or browser.value(d) == drawn:
        flaws.append("dragging over a range does not zoom")
    if pictures:
        browser.picture(os.path.join(pictures, f"{name}-zoomed.png"))
    csv = browser.value(
        "(() => { let text; const make = URL.createObjectURL; URL.createObjectURL = b => { text = b; return make(b); };"
        f"[...{chart}.querySelectorAll('.tools button')].find(b => b.textContent === 'CSV').click(); URL.createObjectURL = make; return text.size; }})()"
    )
    if not csv > 20:
        flaws.append(f"the CSV has {csv} bytes")
    svg = browser.value(
        "(() => { let parts; const Before = Blob; Blob = class extends Before { constructor(p, o) { super(p, o); parts = p; } };"
        f"[...{chart}.querySelectorAll('.tools button')].find(b => b.textContent === 'SVG').click(); Blob = Before;"
        "const made = new DOMParser().parseFromString(parts[0], 'image/svg+xml'); return made.querySelector('parsererror') ? 0 : made.querySelectorAll('path').length; })()"
    )
    if not svg > 2:
        flaws.append(f"the SVG is none, or has {svg} paths")
    if (
        not press("whole range")
        or browser.value(labels) == ""
        or browser.value(d).count("L") < drawn.count("L") * 0.9
    ):
        flaws.append("the whole range does not come back")
    return flaws


# In each chart the names of its curves that are drawn, and of the others; each name's classes.
DRAWN = """charts.map(c => [c.all, c.series].map(s => s.map(x => x.name)).concat([c.figure.querySelectorAll('.plot path.line, .plot path.scatter').length]))"""


def legend_flaws(browser, width, pictures, name):
    """The legend of all charts: by pointer, by keyboard, and what it says to a screen reader."""
    names = browser.value("[...new Set(charts.flatMap(c => c.all.map(s => s.name)))]")
    buttons = "[...document.querySelectorAll('.shared-legend button:not(.everything)')]"
    if browser.value("charts.length") < 2 or len(names) < 2:
        return ["a legend of one curve"] if browser.value(buttons + ".length") else []
    flaws = []
    if browser.value(buttons + ".map(b => b.textContent)") != names:
        flaws.append(
            f"the legend has {browser.value(buttons + '.map(b => b.textContent)')}, the charts {names}"
        )
        return flaws
    if browser.value(
        "[...new Set(charts.flatMap(c => c.all.map(s => s.name + '|' + s.class)))].length"
    ) != len(names):
        flaws.append("a curve of one name has several colours")
    if browser.value("new Set(charts.flatMap(c => c.all.map(s => s.class))).size") < min(
        len(names), 18
    ):
        flaws.append("two curves have one colour")
    pressed = lambda: browser.value(buttons + ".map(b => b.getAttribute('aria-pressed'))")
    chosen = len(names) - 1

    def state(off):
        """What does not fit the switched-off names."""
        wanted = ["false" if n in off else "true" for n in names]
        if pressed() != wanted:
            flaws.append(f"pressed is {pressed()} without {off}")
        for every, drawn, paths in browser.value(DRAWN):
            if drawn != [n for n in every if n not in off] or paths != len(drawn):
                flaws.append(f"without {off} a chart of {every} draws {drawn} with {paths} lines")
        if browser.value("document.querySelector('.everything').hidden") != (not off):
            flaws.append("'show all' is there at the wrong time")

    browser.value(f"{buttons}[{chosen}].scrollIntoView({{block: 'center'}})")
    x, y = browser.value(
        f"(b => [b.left + b.width / 2, b.top + b.height / 2])({buttons}[{chosen}].getBoundingClientRect())"
    )
    for kind in ("mousePressed", "mouseReleased"):
        browser.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
    state([names[chosen]])
    said = browser.value(
        f"charts.filter(c => c.all.some(s => s.name === {json.dumps(names[chosen])})).map(c => c.figure.querySelector('desc').textContent)"
    )
    if not said or any(
        f"Switched off in the legend: {names[chosen]}." not in text for text in said
    ):
        flaws.append("no description says what is switched off")
    flaws += browser.value(FLAWS.replace("WIDTH", str(width)))
    csv = browser.value(
        f"charts.filter(c => c.all.some(s => s.name === {json.dumps(names[chosen])})).map(c => c.as_csv().split('\\n')[0])"
    )
    if any(names[chosen] in head for head in csv):
        flaws.append(f"the CSV keeps what is switched off: {csv}")
    if pictures:
        browser.picture(os.path.join(pictures, f"{name}-legend.png"))
    browser.value(f"{buttons}[{chosen}].focus()")
    browser.key("Enter")
    state([])
    browser.key("Enter", shift=True)
    state([n for n in names if n != names[chosen]])
    browser.value("document.querySelector('.everything').focus()")
    browser.key("Enter")
    state([])
    if browser.value(f"document.activeElement !== {buttons}[0]"):
        flaws.append("the focus is lost with 'show all'")
    # It stays in sight, and a chart that the keyboard goes to is not below it.
    browser.value("document.querySelector('figure.chart:last-of-type .hit').focus()")
    top, bottom, hit = browser.value(
        "[...(b => [b.top, b.bottom])(document.querySelector('.shared-legend').getBoundingClientRect()), document.activeElement.getBoundingClientRect().top]"
    )
    if not (-1 <= top and bottom < 420 and hit > bottom - 1):
        flaws.append(f"the legend is from {top} to {bottom}, the plot in focus begins at {hit}")
    browser.key("Escape")
    return flaws


def synthetic(directory, name, head, components, best, bleu=False):
    """A run directory with a log as trainers write it."""
    run = os.path.join(directory, name)
    os.makedirs(run)
    with open(os.path.join(run, "config.json"), "w") as out:
        json.dump(
            {
                "task": "translation" if bleu else "language model",
                "head": head,
                "layers": 2,
                "hidden": 512,
                "optimizer": "adam",
                "lr": 0.001,
                "dropout": 0.1,
                "batch": 32,
                "bptt": 35,
                "seed": 1,
                "device": "cpu",
                "train": ["data/train.en"],
            },
            out,
        )
    with open(os.path.join(run, "log.jsonl"), "w") as log:

        def line(event, step, **rest):
            log.write(
                json.dumps(
                    {
                        "event": event,
                        "step": step,
                        "epoch": step // 1000,
                        "time_s": step * 0.11,
                        **rest,
                    }
                )
                + "\n"
            )

        line("start", 0, parameters=12345678, vocab=10003)
        for step in range(20, 8001, 20):
            nll = math.log(best * 0.9) + 4.2 * math.exp(-step / 900) + 0.05 * math.sin(step * 1.7)
            pi = [math.exp(k * step / 9000) for k in range(components)]
            weights = {
                "pi_mean": [p / sum(pi) for p in pi],
                "pi_var": [
                    0.002 * (k + 1) * (1 - math.exp(-step / 2000)) for k in range(components)
                ],
            }
            line(
                "train",
                step,
                loss=nll,
                nll=nll,
                ppl=math.exp(nll),
                lr=0.001 * (0.5 if step > 5000 else 1),
                grad_norm=0.4 + 0.2 * math.sin(step),
                tokens_per_s=9800 + 300 * math.sin(step / 37),
                ms_per_step=110,
                peak_mib=812,
                **(weights if components else {}),
            )
            if step % 1000 == 0:
                valid = math.log(best) + 4.0 * math.exp(-step / 900) + max(0, step - 6000) * 4e-6
                line(
                    "valid",
                    step,
                    loss=valid,
                    nll=valid,
                    ppl=math.exp(valid),
                    tokens=13000,
                    **(weights if components else {}),
                    **({"bleu": 34 * (1 - math.exp(-step / 1500))} if bleu else {}),
                )
        line("done", 8000, best_valid_ppl=best, best_step=6000, stopped_early=False)
    return run


def make_pages(bin_dir, directory):
    def program(name, *arguments):
        done = subprocess.run(
            [os.path.join(bin_dir, name), *arguments], capture_output=True, text=True, cwd=directory
        )
        assert done.returncode == 0, done.stderr
        return done

    small = [
        "--sample",
        "--sample-sentences",
        "1500",
        "--layers",
        "1",
        "--batch",
        "8",
        "--bptt",
        "20",
        "--log-every",
        "5",
        "--after",
        "120u",
        "--valid-every",
        "40u",
    ]
    a, b = os.path.join(directory, "narrow"), os.path.join(directory, "wide")
    program("lm_train", *small, "--hidden", "16", "--embed", "16", "--run", a)
    program("lm_train", *small, "--hidden", "64", "--embed", "64", "--run", b)
    c = os.path.join(directory, "real-translation")
    program(
        "mt_train",
        "--sample",
        "--sample-pairs",
        "300",
        "--layers",
        "1",
        "--hidden",
        "16",
        "--ffn",
        "16",
        "--heads",
        "2",
        "--batch-tokens",
        "400",
        "--log-every",
        "5",
        "--after",
        "60u",
        "--valid-every",
        "30u",
        "--run",
        c,
    )
    d = os.path.join(directory, "margins")
    program(
        "lm_train",
        *small,
        "--hidden",
        "16",
        "--embed",
        "16",
        "--margin",
        "cos:0.1",
        "--word-norm",
        "log-rank",
        "--context-norm",
        "max",
        "--run",
        d,
    )
    mixture = synthetic(directory, "mixture", "mix:lin,log,pow,pol,rbf,ssg,mog,hpb,wav", 9, 61.2)
    others = [
        synthetic(directory, f"a-rather-long-name-of-a-run-{i}", "lin", 0, 60 + 3 * i)
        for i in range(3)
    ]
    translation = synthetic(directory, "translation", "mix:lin,rbf", 2, 6.1, bleu=True)
    pages = {}

    def page(name, *arguments):
        pages[name] = os.path.join(directory, name + ".html")
        program("nine_report", *arguments, "--output", pages[name], "--threads", "1")

    page("run", a)
    page("mixture", mixture)
    page("several", mixture, *others)
    page("translation", translation)
    page("real-translation", c)
    page("differences", a, b, "--differences")
    page("margins", d)
    page("words", "--words", b, "--iterations", "300")
    page("angles", "--words", a, b, "--angles", "--iterations", "300", "--permutations", "99")
    return pages


def main():
    if CHROMIUM is None:
        return no_browser()
    with tempfile.TemporaryDirectory() as directory:
        if sys.argv[1] == "--page":
            pages, pictures = {sys.argv[3]: os.path.abspath(sys.argv[2])}, sys.argv[4]
        else:
            pages, pictures = (
                make_pages(os.path.abspath(sys.argv[1]), directory),
                sys.argv[2] if len(sys.argv) > 2 else None,
            )
        browser, flaws = Browser(os.path.join(directory, "profile")), []
        try:
            for name, file in pages.items():
                flaws += check_page(browser, file, name, pictures)
        finally:
            browser.close()
    print(
        "\n".join(flaws) if flaws else f"{len(pages)} pages are fine in two widths and two themes"
    )
    return 1 if flaws else 0


if __name__ == "__main__":
    sys.exit(main())
