#!/usr/bin/env python3
"""Builds the site and opens ten of its pages in headless Chromium, from the file system.

  site_browser.py PYTHON BIN_DIR SITE [PICTURES]   PYTHON has docs/site/requirements.txt; SITE is
                                                   written; screenshots go to PICTURES when given

Links are checked by docs/site/build.py. Each page: on a phone and a desktop, light and dark; no
error, no request to a server, nothing wider than the window. A word typed into the search box
finds its page. Exit 0 fine, 1 wrong, or there is no Chromium.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from report_browser import CHROMIUM, Browser, no_browser

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [
    "index.html",
    "docs/start.html",
    "docs/heads.html",
    "docs/gradients.html",
    "docs/architecture.html",
    "docs/results/index.html",
    "docs/tour.html",
    "gallery.html",
    "source/kernels/reference_head.cpp.html",
    "api/classnine_1_1Tensor.html",
]
SIZES = [(400, 800), (1280, 900)]
# What is wider than the window, but for what scrolls by itself.
TOO_WIDE = "document.documentElement.scrollWidth > document.documentElement.clientWidth + 1"
DARK = "getComputedStyle(document.body).backgroundColor"
FIND = """new Promise(done => {
  const box = document.querySelector('[data-md-component=search-query]');
  box.focus();
  box.value = 'sigsoftmax';
  box.dispatchEvent(new KeyboardEvent('keyup', {bubbles: true}));
  const look = left => {
    const found = [...document.querySelectorAll('.md-search-result__link')].map(a => a.href);
    if (found.length || !left) done(found.join(' ')); else setTimeout(look, 100, left - 1);
  };
  look(200);
})"""


def faults(browser):
    """Of the page that is open: errors, and requests to servers."""
    found = []
    for event in browser.events:
        method, what = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            found.append(what["exceptionDetails"].get("exception", {}).get("description", "error"))
        elif method == "Log.entryAdded" and what["entry"]["level"] == "error":
            found.append(what["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            url = what["request"]["url"]
            if not url.startswith(("file:", "data:", "blob:")):
                found.append(f"asks for {url}")
    return found


def main():
    python, programs, site = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    pictures = sys.argv[4] if len(sys.argv) > 4 else None
    if not CHROMIUM:
        return no_browser()
    subprocess.run([python, ROOT / "docs/site/build.py", programs, site], check=True)
    wrong = []
    with tempfile.TemporaryDirectory() as profile:
        browser = Browser(profile)
        for page in PAGES:
            url = (site / page).resolve().as_uri()
            colours = set()
            for width, height in SIZES:
                for theme in ("light", "dark"):
                    where = f"{page}, {width} wide, {theme}"
                    browser.open(url, width, height, theme)
                    colours.add(browser.value(DARK))
                    if browser.value(TOO_WIDE):
                        wrong.append(f"{where}: wider than the window")
                    wrong += [f"{where}: {fault}" for fault in faults(browser)]
                    if pictures:
                        os.makedirs(pictures, exist_ok=True)
                        name = page.replace("/", "-").removesuffix(".html")
                        browser.picture(os.path.join(pictures, f"{name}-{width}-{theme}.png"))
            if len(colours) != 2:
                wrong.append(f"{page}: light and dark look alike")
        browser.open((site / "index.html").resolve().as_uri(), 1280, 900, "light")
        time.sleep(0.5)
        found = browser.value(FIND)
        if "docs/heads.html" not in found:
            wrong.append(f"the search for sigsoftmax finds {found or 'nothing'}")
        browser.close()
    for fault in wrong:
        print(fault)
    print(f"{len(PAGES)} pages, {len(wrong)} faults")
    return 1 if wrong else 0


sys.exit(main())
