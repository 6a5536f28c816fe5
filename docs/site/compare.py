"""Compares a page of the site with what GitHub shows: the blocks in their order, where each stands,
and its text. Colours, links' targets and the space between blocks are not compared.

GitHub's reading is that of markdown-it, a reader of CommonMark that shares no code with MkDocs.
"""
import difflib
import html.parser
import re

from markdown_it import MarkdownIt

BLOCKS = set("p ul ol li blockquote pre table tr th td h1 h2 h3 h4 h5 h6".split())
MARKS = {"em": "*", "strong": "**", "del": "~~"}
CODE, END = "⟦", "⟧"  # around code within a text
FORMULA = re.compile(r"\$\$[^$`]*\$\$|\$(?![\s$])[^$`]*[^$`\s\\]\$(?!\w)")


class Blocks(html.parser.HTMLParser):
    """The blocks of a page as lines: `ul/li/pre: TEXT`."""

    def __init__(self, page):
        super().__init__()
        self.found, self.text, self.path = [], "", []
        self.formula = self.permalink = False
        self.feed(page)
        self.close()
        self.end_block()

    def in_code(self):
        return "pre" in self.path

    def end_block(self):
        text = self.text if self.in_code() else " ".join(self.text.split())
        if text.strip():
            self.found.append("/".join(self.path) + ": " + text.rstrip("\n"))
        self.text = ""

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        names = (attributes.get("class") or "").split()
        if tag in BLOCKS | {"div", "hr"}:
            self.end_block()
        if tag in BLOCKS - {"p"}:
            self.path.append(tag)
        if tag in ("li", "tr", "hr"):
            self.found.append("/".join(self.path) + ": " + tag)
        self.formula |= "arithmatex" in names
        self.permalink |= "headerlink" in names
        if not self.in_code():
            self.text += CODE if tag == "code" else MARKS.get(tag, "")
            self.text += f"[{attributes.get('alt')}]" if tag == "img" else ""

    def handle_endtag(self, tag):
        if tag in BLOCKS | {"div"}:
            self.end_block()
        if tag in BLOCKS - {"p"}:
            self.path.pop()
        if tag == "code" and not self.in_code():
            before, _, code = self.text.rpartition(CODE)
            self.text = before + CODE + code.strip() + END
        elif not self.in_code():
            self.text += MARKS.get(tag, "")
        self.formula &= tag not in ("div", "span")
        self.permalink &= tag != "a"

    def handle_data(self, text):
        if self.formula:
            text = re.sub(r"\\[()\[\]]", "", text)
        self.text += "" if self.permalink else text


def formula(state, silent):
    """A rule of markdown-it: what stands between dollars is not read."""
    found = FORMULA.match(state.src, state.pos)
    if found and not silent:
        tag = "div" if found[0].startswith("$$") else "span"
        for kind, text in [
            ("html_inline", f'<{tag} class="arithmatex">'),
            ("text", found[0].strip("$")),
            ("html_inline", f"</{tag}>"),
        ]:
            state.push(kind, "", 0).content = text
    state.pos = found.end() if found else state.pos
    return bool(found)


GITHUB = MarkdownIt("commonmark").enable(["table", "strikethrough"])
GITHUB.inline.ruler.before("escape", "formula", formula)


def differences(markdown, page):
    """What `page`, the HTML of the site, shows in another way than GitHub shows `markdown`."""
    github, site = Blocks(GITHUB.render(markdown)).found, Blocks(page).found
    prose = (re.sub(f"{CODE}[^{END}]*{END}", "", b) for b in github if "pre: " not in b)
    found = [f"a backtick outside of code: {text}" for text in prose if "`" in text]
    lines = difflib.unified_diff(github, site, "GitHub", "the site", lineterm="", n=0)
    return found + [line for line in lines if not line.startswith(("---", "+++", "@@"))]
