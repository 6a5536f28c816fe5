#!/usr/bin/env python3
"""Builds the site: pages, interactive pages of kernels, reports, the library's reference.

  build.py BIN_DIR SITE      SITE: a folder of static files, replaced

Run by `make site` with the Python of an environment that has requirements.txt. Opens from the file
system as from a web server; no page asks another server for anything. Exit 0 fine, 1 a broken
link, a request to elsewhere, or a page that shows something else than GitHub does.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.parse

import compare
import yaml
from stage import ROOT, Stage

HERE = pathlib.Path(__file__).resolve().parent
FONTS = [
    "/usr/share/fonts/truetype/roboto/unhinted/RobotoTTF/Roboto-Regular.ttf",
    "/usr/share/fonts/truetype/roboto/unhinted/RobotoTTF/Roboto-Bold.ttf",
    "/usr/share/fonts/truetype/roboto/unhinted/RobotoTTF/Roboto-Italic.ttf",
    "/usr/share/fonts/truetype/jetbrains-mono/JetBrainsMono-Regular.ttf",
]
KATEX = pathlib.Path("/usr/share/javascript/katex")
# Besides the kernels of kernel_inspect's table.
EXAMPLES = [
    "margin=cos:0.3",
    "margin=arc:0.5",
    "margin=lsm:3",
    "word_norm=uniform",
    "context_norm=max",
    "mixture",
    "label_smoothing",
    "pi_reg",
    "weight_norm_reg",
    "softmax",
    "layer_norm",
    "lstm",
    "attention",
]
# MkDocs' readers of Markdown, with their settings; `toc` is a further one.
EXTENSIONS = {
    "tables": {},
    "admonition": {},
    "pymdownx.superfences": {},
    "pymdownx.highlight": {},
    "pymdownx.arithmatex": {"generic": True},
}


def run(*command):
    """Shows what it said where it fails."""
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stderr}")


def kernel_pages(programs, folder):
    """[(what it explains, file)] of kernel_inspect's pages."""
    inspect = programs / "kernel_inspect"
    table = subprocess.run([inspect], capture_output=True, text=True, check=True).stdout
    kernels = re.findall(r"^(\w+) +S = ", table, re.M)
    pages = []
    for name in kernels + EXAMPLES:
        page = folder / (re.sub(r"[=:.]", "-", name) + ".html")
        run(inspect, "--explain", name, "--page", page, "--output", "/dev/null")
        pages.append((name, page.name))
    return pages


def reports(programs, folder, runs):
    """[(what it shows, file)] of a report of each kind, of short runs on the built-in texts."""
    small = ["--hidden", "32"]
    for name, head in (("lin", "lin"), ("mixture", "mix:lin,log,pol")):
        run(
            *[programs / "lm_train", "--sample", "--run", runs / name, "--head", head],
            *["--layers", "1", "--embed", "32", "--after", "1e", *small],
        )
    run(
        *[programs / "mt_train", "--sample", "--run", runs / "translation"],
        *["--layers", "1", "--ffn", "64", "--after", "1e", *small],
    )
    report = programs / "nine_report"
    made = [
        ("a language model's run", "run", [runs / "mixture"]),
        ("two runs compared", "runs", [runs / "lin", runs / "mixture", "--differences"]),
        ("a translation model's run", "translation", [runs / "translation"]),
        ("word vectors", "words", ["--words", runs / "lin", "--most-frequent", "200"]),
        (
            "angles of word vectors",
            "angles",
            ["--words", runs / "lin", runs / "mixture", "--angles", "--permutations", "99"],
        ),
    ]
    for _, name, arguments in made:
        run(report, *arguments, "--output", folder / f"{name}.html")
    run(programs / "kernel_inspect", "--plot", folder / "kernels.svg")
    return [(title, f"{name}.html") for title, name, _ in made]


def configuration(stage, site, headers):
    """mkdocs.yml, with its sections from docs/README.md."""
    theme = {
        "name": "material",
        "font": False,
        "features": ["navigation.indexes", "navigation.top", "toc.follow", "content.code.copy"],
        # By the system's setting, until the reader chooses.
        "palette": [
            {
                "media": f"(prefers-color-scheme{scheme})",
                **({"scheme": colours} if colours else {}),
                "primary": "indigo",
                "toggle": {"icon": f"material/{icon}", "name": f"Now {now}"},
            }
            for scheme, colours, icon, now in (
                ("", None, "brightness-auto", "as the system"),
                (": light", "default", "weather-sunny", "light"),
                (": dark", "slate", "weather-night", "dark"),
            )
        ],
    }
    return {
        "site_name": "Nine",
        "docs_dir": str(stage.folder),
        "site_dir": str(site),
        "use_directory_urls": False,
        "theme": theme,
        "plugins": [
            "search",
            "offline",
            {
                "mkdoxy": {
                    "projects": {
                        "api": {
                            "src-dirs": str(headers),
                            "full-doc": True,
                            "doxy-cfg": {
                                "FILE_PATTERNS": "*.h",
                                "RECURSIVE": True,
                                "EXTRACT_ALL": True,
                                "JAVADOC_AUTOBRIEF": True,
                                "INLINE_SOURCES": False,
                                "EXCLUDE_SYMBOLS": "decltype*",
                            },
                        }
                    }
                }
            },
        ],
        "hooks": [str(HERE / "hooks.py")],
        "markdown_extensions": [
            *({name: settings} for name, settings in EXTENSIONS.items()),
            {"toc": {"permalink": True, "slugify": SLUGIFY}},
        ],
        "extra_css": ["assets/site.css", "assets/katex/katex.min.css"],
        "extra_javascript": [
            "assets/katex/katex.min.js",
            "assets/katex/auto-render.js",
            "assets/formulas.js",
        ],
        "nav": stage.navigation()
        + [{"Kernels, reports": ["gallery.md"]}, {"The library": ["api/annotated.md"]}],
        "validation": {
            "omitted_files": "ignore",
            "absolute_links": "warn",
            "unrecognized_links": "warn",
            "links": {"not_found": "warn", "anchors": "warn"},
        },
        "extra": {"generator": False, "polyfills": ["assets/iframe-worker.js"]},
    }


class Tag:
    """A name that YAML writes as !!python/object/apply:..., as MkDocs wants a function."""


SLUGIFY = Tag()
yaml.add_representer(
    Tag,
    lambda dumper, _: dumper.represent_mapping(
        "tag:yaml.org,2002:python/object/apply:pymdownx.slugs.slugify", {"kwds": {"case": "lower"}}
    ),
)


def complaints(site):
    """Broken links of the finished pages, and requests to other servers."""
    found, ids = [], {}

    def anchors(page):
        if page not in ids:
            ids[page] = set(re.findall(r'\b(?:id|name)="([^"]+)"', page.read_text()))
        return ids[page]

    for page in sorted(site.rglob("*.html")):
        text = re.sub(r"<script.*?</script>", "", page.read_text(), flags=re.S)
        for tag, link in re.findall(r'<(\w+)[^>]*?\s(?:href|src)="([^"]*)"', text):
            link = link.replace("&amp;", "&")
            if re.match(r"(https?:)?//", link):
                if tag != "a":
                    found.append(f"{page.relative_to(site)}: {tag} asks for {link}")
                continue
            if re.match(r"data:|mailto:|javascript:|blob:", link) or not link:
                continue
            path, _, anchor = link.partition("#")
            target = (page.parent / urllib.parse.unquote(path)).resolve() if path else page
            if target.is_dir():
                target /= "index.html"
            if not target.exists():
                found.append(f"{page.relative_to(site)}: {link} is not there")
            elif anchor and target.suffix == ".html":
                if urllib.parse.unquote(anchor) not in anchors(target):
                    found.append(f"{page.relative_to(site)}: {link} has no such heading")
    return found


def misread(site, stage):
    """Where finished pages show something else than GitHub does."""
    found = []
    for path in sorted(f for f in stage.files if f.endswith(".md")):
        page = re.sub(r"README$", "index", path.removesuffix(".md")) + ".html"
        article = re.search(r"<article[^>]*>(.*)</article>", (site / page).read_text(), re.S)[1]
        differences = compare.differences((ROOT / path).read_text(), article)
        found += [f"{page}: {line}" for line in differences]
    return found


def main():
    programs, site = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    work = site.parent / "site-pages"
    shutil.rmtree(work, ignore_errors=True)
    stage = Stage(work / "pages")
    stage.everything()
    assets = stage.folder / "assets"
    (assets / "fonts").mkdir(parents=True)
    for file in FONTS:
        shutil.copy(file, assets / "fonts")
    shutil.copytree(KATEX / "fonts", assets / "katex/fonts")
    for file in ("katex.min.css", "katex.min.js", "contrib/auto-render.js"):
        shutil.copy(KATEX / file, assets / "katex")
    for file in ("site.css", "formulas.js", "iframe-worker.js"):
        shutil.copy(HERE / file, assets)

    gallery = stage.folder / "gallery"
    gallery.mkdir()
    lines = ["# Kernels to play with, and reports", "", "## Kernels and layers", ""]
    lines += ["![The kernels over the distance](gallery/kernels.svg)", ""]
    lines += [f"- [{name}](gallery/{file})" for name, file in kernel_pages(programs, gallery)]
    lines += ["", "## Reports", ""]
    lines += [f"- [{t}](gallery/{f})" for t, f in reports(programs, gallery, work / "runs")]
    (stage.folder / "gallery.md").write_text("\n".join(lines) + "\n")

    headers = work / "headers"
    listed = (ROOT / "cmake/public_headers.cmake").read_text()
    for header in re.findall(r"^ +(\S+\.h)\)?$", listed, re.M):
        (headers / header).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / header, headers / header)

    (work / "mkdocs.yml").write_text(yaml.dump(configuration(stage, site, headers)))
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "-q", "--strict", "-f", work / "mkdocs.yml"],
        check=True,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )
    (site / "404.html").unlink()  # of a server; its links begin at the server's root
    found = complaints(site) + misread(site, stage)
    for complaint in found:
        print(complaint)
    print(f"{site}/index.html: {len(list(site.rglob('*.html')))} pages")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
