"""Copies the repository's Markdown pages for MkDocs: as they are, but for what GitHub and MkDocs
read differently. A link to a source file leads to a page with its text.
"""
import os
import pathlib
import posixpath
import re
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINK = re.compile(r"(!?\[[^\]]*\]\()([^)\s]+)(\))")
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


def outside_code(text, change):
    """The page with `change` made in what is neither a fenced block nor indented code."""
    out, fence, before = [], None, ""
    for line in text.split("\n"):
        mark = re.match(r"\s*(```|~~~)", line)
        if mark:
            fence = None if fence == mark[1] else fence or mark[1]
            out.append(line)
        elif fence or line.startswith("    ") and not before.strip():
            out.append(line)
        else:
            out.append(change(line, out[-1] if out else ""))
        before = line
    return "\n".join(out)


def for_mkdocs(line, before):
    """A list needs an empty line before it, and a nested item four blanks."""
    item = re.match(r"( *)([-*+]|\d+\.) ", line)
    if not item:
        return line
    if item[1]:
        return " " * (2 * len(item[1])) + line.lstrip() if len(item[1]) < 4 else line
    is_list = re.match(r"([-*+]|\d+\.) |\s|$", before)
    return line if is_list else "\n" + line


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
        text = outside_code((ROOT / path).read_text(), for_mkdocs)
        text = LINK.sub(lambda m: m[1] + self.target(path, m[2]) + m[3], text)
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
