"""MkDocs' hooks: tabs in code stay tabs; in the library's reference, links to specialisations of
templates, whose headings the table of contents numbers and mkdoxy names."""
import collections
import html
import re

from markdown.extensions import Extension
from markdown.preprocessors import NormalizeWhitespace
from pymdownx.slugs import slugify


class KeepTabs(Extension, NormalizeWhitespace):
    """Without it tabs in code become blanks, and a table or a Makefile cannot be copied."""

    def __init__(self):
        Extension.__init__(self)

    def extendMarkdown(self, md):
        self.md = md
        md.preprocessors.register(self, "normalize_whitespace", 30)

    def run(self, lines):
        tab = "\ue009"  # a character of private use
        lines = super().run([line.replace("\t", tab) for line in lines])
        return [line.replace(tab, "\t") for line in lines]


def on_config(config):
    config["markdown_extensions"].append(KeepTabs())


slug = slugify(case="lower")


def bare(text):
    return re.sub(r"\W", "", html.unescape(text).lower())


def on_page_markdown(markdown, page, **_):
    if not page.file.src_uri.startswith("api/"):
        return markdown
    seen, anchors = collections.Counter(), {}
    for heading in re.findall(r"^#+ +(.+?) *$", markdown, re.M):
        base = slug(re.sub(r"<[^>]*>|[`*]", "", html.unescape(heading)).strip(), "-")
        anchors.setdefault(bare(heading), f"{base}_{seen[base]}" if seen[base] else base)
        seen[base] += 1

    def mended(match):
        anchor = anchors.get(bare(match[1]))
        return f"(#{anchor})" if anchor else match[0]

    return re.sub(r"\(#((?:variable|function)-[^)\s]+)\)", mended, markdown)
