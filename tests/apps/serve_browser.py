#!/usr/bin/env python3
"""Opens nine_serve's page in headless Chromium: two widths, two themes, by keyboard.

  serve_browser.py BIN_DIR [PICTURES]   BIN_DIR holds the programs; screenshots go to PICTURES when given

Types a text and takes a likely word, continues, translates with attention, and compares two models;
the numbers are those that the server answers. The page asks no other server. A server with a token
file first asks for the token. Exit 0 fine, 1 wrong, or there is no Chromium.
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

from report_browser import Browser, CHROMIUM, FLAWS, no_browser

TOKEN = "a-token-for-this-test"
failures = []


def check(good, what):
    if not good:
        print(f"WRONG: {what}")
        failures.append(what)


def run(*command):
    done = subprocess.run(
        [str(x) for x in command], capture_output=True, text=True, timeout=600, check=False
    )
    if done.returncode != 0:
        sys.exit(f"{command[0]}: {done.stderr}")


def soon(browser, expression):
    """Waits until an expression holds."""
    for _ in range(600):
        if browser.value(expression):
            return True
        time.sleep(0.05)
    return False


def ask(url, path, body):
    request = urllib.request.Request(
        url + path,
        json.dumps(body).encode(),
        {"Content-Type": "application/json", "Authorization": "Bearer " + TOKEN},
    )
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def write(browser, field, text):
    browser.value(f"document.getElementById('{field}').focus()")
    browser.call("Input.insertText", text=text)


def press(browser, button):
    """Presses a button by the keyboard."""
    browser.value(f"document.getElementById('{button}').focus()")
    browser.key("Enter")


def play(browser, url, place):
    check(soon(browser, "!document.getElementById('access').hidden"), f"{place}: asks for a token")
    check(
        browser.value("document.activeElement.id") == "token", f"{place}: the token has the focus"
    )
    browser.call("Input.insertText", text="wrong")
    browser.key("Enter")
    check(
        soon(browser, "document.getElementById('note').textContent.includes('wrong')"),
        f"{place}: a wrong token is said",
    )
    browser.value("document.getElementById('token').value = ''")
    browser.call("Input.insertText", text=TOKEN)
    browser.key("Enter")
    check(soon(browser, "document.querySelectorAll('#likeliest li').length > 5"), f"{place}: words")

    write(browser, "prompt", "the cat")
    wanted = ask(
        url,
        "/v1/completions",
        {"model": "lin", "prompt": "the cat", "max_tokens": 1, "temperature": 0, "logprobs": 12},
    )["choices"][0]["logprobs"]["top_logprobs"][0]
    first = next(w for w in wanted if w != "</s>").strip()
    shown = "[...document.querySelectorAll('#likeliest button:enabled span:first-child')]"
    check(
        soon(browser, f"({shown}[0] || {{}}).textContent === {json.dumps(first)}"),
        f"{place}: the likeliest word is {first}",
    )
    check(
        browser.value("document.querySelectorAll('#likeliest li').length") == len(wanted),
        f"{place}: all likely words are there",
    )
    browser.value("document.querySelector('#likeliest button:enabled').focus()")
    browser.key("Enter")
    check(
        soon(browser, f"document.getElementById('prompt').value === 'the cat {first}'"),
        f"{place}: a word is added",
    )
    before = browser.value("document.getElementById('prompt').value.length")
    for _ in range(20):  # a continuation may be empty
        press(browser, "continue")
        time.sleep(0.1)
        if browser.value("document.getElementById('prompt').value.length") > before:
            break
    check(
        browser.value("document.getElementById('prompt').value.length") > before,
        f"{place}: the text goes on",
    )

    write(browser, "source", "ein hund")
    press(browser, "translate")
    translated = ask(url, "/translate", {"q": "ein hund", "attention": True})
    check(
        soon(
            browser,
            "document.getElementById('translated').textContent === "
            + json.dumps(translated["translatedText"]),
        ),
        f"{place}: the translation",
    )
    check(
        browser.value("document.querySelectorAll('#attention td.weight').length")
        == sum(map(len, translated["attention"][0]["weights"])),
        f"{place}: a weight for each pair",
    )

    write(browser, "compared", "the cat saw him")
    press(browser, "run-compare")
    check(
        soon(browser, "document.querySelectorAll('#comparison tbody tr').length === 5"),
        f"{place}: a row for each word and </s>",
    )
    check(
        soon(browser, "document.getElementById('compare-note').textContent.includes('is better')"),
        f"{place}: which model is better",
    )


def main():
    if CHROMIUM is None:
        return no_browser()
    bins = pathlib.Path(sys.argv[1]).resolve()
    pictures = sys.argv[2] if len(sys.argv) > 2 else None
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        words = [
            f"{a} {b} {c}"
            for a in ("the cat", "a dog", "she")
            for b in ("saw", "heard")
            for c in ("him", "the dog", "a cat")
        ]
        (work / "text").write_text("\n".join(words * 20) + "\n")
        small = ("--train", work / "text", "--valid", work / "text", "--layers", 1, "--batch", 4)
        small += ("--hidden", 16, "--embed", 16, "--lr", 0.01, "--after", "60u")
        run(bins / "lm_train", *small, "--run", work / "lin")
        run(bins / "lm_train", *small, "--run", work / "log", "--head", "log:p=8")
        run(
            *(bins / "mt_train", "--sample", "--run", work / "mt", "--layers", 1, "--hidden", 32),
            *("--ffn", 64, "--batch-tokens", 512, "--lr", 0.003, "--warmup", 50),
            *("--after", "200u"),
        )
        token = work / "token"
        token.write_text(TOKEN + "\n")
        token.chmod(0o600)
        server = subprocess.Popen(
            [bins / "nine_serve", work / "lin", work / "log", f"mt:de-en={work}/mt"]
            + ["--port", "0", "--token-file", token],
            stdout=subprocess.PIPE,
            text=True,
        )
        browser = Browser(work / "profile")
        try:
            url = server.stdout.readline().split()[-1]
            for width, height, theme in [
                (390, 844, "light"),
                (390, 844, "dark"),
                (1280, 900, "light"),
                (1280, 900, "dark"),
            ]:
                place = f"{width} wide, {theme}"
                browser.open(url + "/", width, height, theme)
                play(browser, url, place)
                for flaw in browser.value(FLAWS.replace("WIDTH", str(width))):
                    check(False, f"{place}: {flaw}")
                for event in browser.events:
                    if event.get("method") == "Network.requestWillBeSent":
                        asked = event["params"]["request"]["url"]
                        check(asked.startswith(url + "/"), f"{place}: asks {asked}")
                    if event.get("method") == "Runtime.exceptionThrown":
                        check(False, f"{place}: {event['params']['exceptionDetails']}")
                if pictures:
                    os.makedirs(pictures, exist_ok=True)
                    browser.picture(os.path.join(pictures, f"serve-{width}-{theme}.png"))
        finally:
            browser.close()
            server.send_signal(signal.SIGTERM)
            check(server.wait(60) == 0, "the server ends")
    return 1 if failures else 0


sys.exit(main())
