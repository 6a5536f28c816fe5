"""Copies the repository's Markdown pages for MkDocs: as they are, but for what GitHub and MkDocs
read differently. A link to a source file leads to a page with its text.
"""
import itertools
import os
import pathlib
import posixpath
import re
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINK = re.compile(r"(?P<text>!?\[[^\]]*\]\()(?P<to>[^)\s]+)(?P<end>\))")
# A span of code, within a paragraph, or a link.
SPAN = re.compile(rf"(?<!`)(`+)(?!`)(?:(?!\n\s*\n).)*?(?<!`)\1(?!`)|{LINK.pattern}", re.S)
LANGUAGES = {
    ".h": "cpp",
    ".cpp": "cpp",
    ".cu": "cpp",
    ".cuh": "cpp",
    ".py": "python",
    ".js": "javascript",
    ".css": "css",
    ".json": "json",
    ".sh": "bash",
    ".cmake": "cmake",
    "CMakeLists.txt": "cmake",
    "Makefile": "makefile",
}


def tracked():
    return subprocess.run(
        ["git", "-C", str(ROOT), "ls-files"], capture_output=True, text=True, check=True
    ).stdout.split()


class Lines:
    """A page's lines for MkDocs, which reads lists and cells in another way than GitHub.

    On GitHub what belongs to an item begins at the column of the item's text. In MkDocs it begins
    at a multiple of four, and a list comes after an empty line.
    """

    def __init__(self, text):
        self.lines = []  # (whether it is code, line)
        self.columns = []  # where the text of each open item begins
        self.loose = []  # whether each open item has an empty line
        self.fence = None  # the mark of the open fenced block
        self.open = None  # "item" or "text": what began the paragraph that the next line may go on
        for line in text.split("\n"):
            self.add(line)

    def text(self, link):
        """The page, with `link` of each link outside of code."""

        def changed(span):
            return span["text"] + link(span["to"]) + span["end"] if span["to"] else span[0]

        runs = itertools.groupby(self.lines, lambda line: line[0])
        parts = ((code, "\n".join(line for _, line in run)) for code, run in runs)
        return "\n".join(part if code else SPAN.sub(changed, part) for code, part in parts)

    def write(self, code, line):
        self.lines.append((code, " " * (4 * len(self.columns)) + line if line.strip() else ""))

    @staticmethod
    def span_of_row(span):
        """Code without the backslash before a bar, which MkDocs would show."""
        return span[0] if span["to"] else span[0].replace("\\|", "|")

    def column(self):
        return self.columns[-1] if self.columns else 0

    def begins_item(self, line, indent):
        """The match of an item's mark. Only 1 begins a list within a paragraph."""
        item = re.match(r" *(?:[-*+]|(\d+)[.)]) +(?=\S)", line)
        within = self.open and indent >= self.column()
        return None if item and within and item[1] not in (None, "1") else item

    def add(self, line):
        indent = len(line) - len(line.lstrip(" "))
        if not line.strip():
            self.write(bool(self.fence), "")
            self.open, self.loose = None, [True] * len(self.columns)
            return
        if self.fence:
            self.write(True, line[min(self.column(), indent) :])
            if re.fullmatch(rf"{self.fence}{self.fence[0]}*", line.strip()):
                self.fence = None
            return
        item, mark = self.begins_item(line, indent), re.match(r" *(`{3,}|~{3,})", line)
        loose = False
        if item or mark or not self.open:
            while self.columns and indent < self.column():
                self.columns.pop()
                loose = self.loose.pop()
        within = line[min(self.column(), indent) :]
        if within.startswith("    "):
            self.write(not self.open, within)
        elif mark:
            self.write(True, within)
            self.fence, self.open = mark[1], None
        elif item:
            if self.lines and self.lines[-1][1] and (loose or self.open != "item"):
                self.write(False, "")
            self.write(False, item[0].strip().replace(")", ".") + " " + line[item.end() :])
            self.columns.append(item.end())
            self.loose.append(False)
            self.open = "item"
        elif within.startswith("|"):
            self.write(False, SPAN.sub(self.span_of_row, within))
            self.open = "text"
        else:
            self.write(False, within.lstrip(" "))
            self.open = None if within.startswith(("#", "<!--")) else self.open or "text"


class Stage:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.files = set(tracked())
        self.folders = {parent for f in self.files for parent in self.parents(f)}
        self.sources = {}  # path in the repository: page

    @staticmethod
    def parents(path):
        while path := posixpath.dirname(path):
            yield path

    def source_page(self, path):
        if path not in self.sources:
            self.sources[path] = f"source/{path}.md"
            self.write_source(path)
        return self.sources[path]

    def write_source(self, path):
        target = self.folder / self.sources[path]
        target.parent.mkdir(parents=True, exist_ok=True)
        lines = ["---", "search:", "  exclude: true", f"title: {path}", "---", f"# {path}", ""]
        if path in self.folders:
            inside = sorted(
                {f[len(path) + 1 :].split("/")[0] for f in self.files if f.startswith(path + "/")}
            )
            lines += [f"- `{name}`" for name in inside]
        else:
            text = (ROOT / path).read_text(errors="replace")
            suffix = pathlib.Path(path).suffix
            language = LANGUAGES.get(suffix) or LANGUAGES.get(pathlib.Path(path).name, "text")
            fence = "`" * max([3] + [len(m) + 1 for m in re.findall(r"`{3,}", text)])
            lines += [f'{fence}{language} linenums="1"', text.rstrip("\n"), fence]
        target.write_text("\n".join(lines) + "\n")

    def target(self, page, link):
        """Where a link of a page leads in the site."""
        if re.match(r"[a-z]+:|#", link):
            return link
        path, mark, anchor = link.partition("#")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page), path))
        if path in self.folders and f"{path}/README.md" in self.files:
            path += "/README.md"
        elif path.rstrip("/") == ".":
            path = "README.md"
        elif (path in self.files or path in self.folders) and not path.endswith(
            (".md", ".svg", ".png")
        ):
            path = self.source_page(path)
        return posixpath.relpath(path, posixpath.dirname(page) or ".") + mark + anchor

    def page(self, path):
        text = Lines((ROOT / path).read_text()).text(lambda link: self.target(path, link))
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def everything(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        for path in sorted(self.files):
            if path.endswith(".md"):
                self.page(path)
            elif path.endswith((".svg", ".png")):
                target = self.folder / path
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / path, target)

    def navigation(self):
        """The sections of docs/README.md; then what it does not list."""
        sections, listed, name = [{"Nine": ["README.md", "docs/README.md"]}], {"README.md"}, None
        for line in (ROOT / "docs/README.md").read_text().split("\n"):
            heading = re.fullmatch(r"\*\*([^*]+)\*\*", line)
            if heading:
                name = heading[1]
                sections.append({name: []})
            for _, link, _ in LINK.findall(line) if name else []:
                page = posixpath.normpath(posixpath.join("docs", link.partition("#")[0]))
                if page in self.folders:
                    page += "/README.md"
                if page in self.files and page.endswith(".md") and page not in listed:
                    sections[-1][name].append(page)
                    listed.add(page)
        listed.add("docs/README.md")
        for title, start in [
            ("Lessons", "docs/course/"),
            ("The papers' claims", "docs/results/"),
            ("Experiments", "experiments/"),
            ("More", ""),
        ]:
            rest = sorted(f for f in self.files if f.endswith(".md") and f.startswith(start))
            rest = [f for f in rest if f not in listed]
            listed |= set(rest)
            if rest:
                sections.append({title: rest})
        return sections
