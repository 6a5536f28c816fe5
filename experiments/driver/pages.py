"""The generated blocks of docs/results/ and the plots beside them. What stands between the markers
is this program's, all else is prose."""
import re

from . import forest, records, search, tables, training
from .setups import SHAPES
from .views import VIEWS

PAGES = records.ROOT / "docs" / "results"
IMAGES = records.ROOT / "docs" / "images" / "results"
BEGIN, END = "<!-- {}: printed by experiments/table -->", "<!-- end of {} -->"


def plots(view, part):
    """[(the end of the file's name, what a reader who does not see it is told, SVG)]"""
    drawn = [(plot.ending, plot.told or part.title, plot.draw(part)) for plot in view.plots]
    return [plot for plot in drawn if plot[-1]]


def block(name, part, folder=None):
    """Of the repository's records with plots, of others' in `folder` without."""
    view = VIEWS[name]
    sections = [view.table(part, folder), tables.verdict(*view.rule(part, folder))]
    sections += [
        f"![{told}](../images/results/{name}{ending}.svg)"
        for ending, told, _ in (() if folder else plots(view, part))
    ]
    sections += [
        (text and text + "\n\n") + tables.searches(tuning, folder)
        for text, tuning in view.searches(folder)
    ]
    return "\n\n".join([*sections, view.commands(part)])


def rule(name):
    """The claim, the set-up and the rule of the row in rules.md."""
    row = next(
        line
        for line in (PAGES / "rules.md").read_text(encoding="utf-8").splitlines()
        if line.startswith(f"| {name} |")
    )
    runs, claim, wanted = (cell.strip() for cell in row.strip("| ").split(" | ")[1:])
    return (
        f"**The claim.** {claim[0].upper()}{claim[1:]}.\n\n**What is run.**"
        f" {runs[0].upper()}{runs[1:]}.\n\n**Reproduced, if** ([rules](rules.md#part-by-part),"
        f" [names](README.md#names)) {wanted}."
    )


def page(part):
    """A page's first text, where there is none: what it says is written by hand, later."""
    return f"# {part.name}: {part.title}\n\n{BEGIN.format(part.name)}\n{END.format(part.name)}\n"


# parts about matrix products, not about the papers: another page has their verdicts
PRODUCTS = "matmul-precision"
PRECISION = {name: view for name, view in VIEWS.items() if name.startswith("Precision")}


def precision():
    return summary(PRECISION, "results/")


def summary(views={k: view for k, view in VIEWS.items() if k not in PRECISION}, folder=""):
    """A line a part: claim, verdict and figure; `folder` is where its page lies from the table's."""
    made, lines = training.all_parts(), []
    for name, view in views.items():
        part = made.get(name)
        verdict, figure = view.rule(part)
        if verdict == "not run":
            figure = "; ".join(filter(None, (view.meanwhile(), planned(part))))
        linked = f"[{name}]({folder}{name}.md)" if has_page(name, part) else name
        lines.append([linked, SHAPES[name]["claim"], f"**{verdict}**", figure])
    return tables.markdown("part | claim | verdict | figure", lines)


def planned(part):
    return f"planned: {hours(part):.{int(hours(part) < 10)}f} core-hours" if part else ""


def hours(part):
    """Core-hours of what has no record, by the CPU time that the records measured."""
    return sum(training.seconds(job) for job in part.jobs() if not records.find(job)) / 3600


def plan():
    """What is missing of each part that the driver knows."""
    lines = []
    for part in training.all_parts().values():
        jobs, waiting = part.jobs(), len(search.waiting(part.name))
        missing = f"{sum(not records.find(job) for job in jobs)} of {len(jobs)}"
        before = f"{waiting} runs of its search" if waiting else ""
        lines.append([f"`experiments/run {part.name}`", missing, f"{hours(part):.1f}", before])
    return (
        tables.markdown(
            "part | runs and measurements missing | core-hours to go | before it", lines
        )
        + "\n\nA search (a kernel's ladder, then its rate) comes before a part's seeds. These hours"
        " do not count it. Hours of set-ups without a measurement are in proportion to products and"
        " tokens."
    )


def wrapped(content):
    """The paragraphs and items with lines of 100 columns at most; tables, figures and code as they
    are. A span of code stays on one line."""

    def line(text):
        if text.startswith(("|", "!", " ", "#")):
            return text
        lines, indent = [""], "  " if text.startswith("- ") else ""
        # a line that begins with "10." or "-" would be an item
        for word in re.findall(r"(?:`[^`]*`|[^\s`])+(?:\s+(?:[-*+]|\d+\.)(?!\S))*", text):
            if lines[-1].strip() and len(lines[-1]) + 1 + len(word) > 100:
                lines.append(indent)
            lines[-1] += f" {word}" if lines[-1].strip() else word
        return "\n".join(lines)

    return "\n".join(map(line, content.split("\n")))


def filled(text, marker, content):
    begin, end = BEGIN.format(marker), END.format(marker)
    if begin not in text or end not in text:
        raise SystemExit(f"the markers {begin} and {end} are missing on the page")
    return re.sub(
        re.escape(begin) + ".*?" + re.escape(end),
        lambda _: f"{begin}\n\n{content}\n\n{end}",
        text,
        flags=re.S,
    )


def has_page(name, part):
    return (PAGES / f"{name}.md").exists() or VIEWS[name].rule(part)[0] != "not run"


def outputs():
    """{path: text as it should be}: pages with their blocks filled, and plots."""

    def page_with(name, marker, content, folder=PAGES):
        path = folder / f"{name}.md"
        text = path.read_text(encoding="utf-8") if path.exists() else page(parts[name])
        return filled(text, marker, wrapped(content))

    parts, docs = training.all_parts(), PAGES.parent
    made = {
        PAGES / "README.md": page_with("README", "summary", summary()),
        PAGES / "plan.md": page_with("plan", "plan", plan()),
        docs / f"{PRODUCTS}.md": page_with(PRODUCTS, "precision", precision(), docs),
        IMAGES / "forest.svg": forest.draw(parts),
    }
    for name, view in VIEWS.items():
        part = parts.get(name)
        if has_page(name, part):
            made[PAGES / f"{name}.md"] = page_with(
                name, name, f"{rule(name)}\n\n{block(name, part)}"
            )
            made |= {IMAGES / f"{name}{ending}.svg": svg for ending, _, svg in plots(view, part)}
    return made
