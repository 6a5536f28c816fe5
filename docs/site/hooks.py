"""MkDocs' hooks: in the library's reference, links to specialisations of templates, whose headings
the table of contents numbers and mkdoxy names."""
import collections
import html
import re

from pymdownx.slugs import slugify

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
