// What the pages and the code's comments cite is there: linked files and headings, paths in
// backticks, pages and their sections. Each checker is first tried on made-up texts.
#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/repository/citations.h"
#include "tests/repository/pages.h"

namespace nine::tests::test_citations {
namespace {

using Strings = std::vector<std::string>;

void check_none(const Strings& complaints) {
  for (const std::string& complaint : complaints) CHECK_MESSAGE(false, complaint);
}

// ---- A made-up tree ----

Tree made_up() {
  return {{{"README.md", "# Top\n\n[map](docs/README.md) [core](core/)\n"},
           {"docs/README.md", "# Map\n\n- [a](a.md#the-s-of-w-h) and [b](b.md), ![p](p.png)\n"},
           {"docs/a.md", "# A\n\n## The S of `(w, h)`\n\n`core/x.h`, `core/`, `core/NAME.h`\n"},
           {"docs/b.md", "# B\n\n**A floor.** Text.\n\n## 2. Two\n\n### 2.1 More\n\n[up](#b)\n"},
           {"docs/p.png", ""},
           {"core/x.h", "// docs/b.md, \"A floor\"; docs/b.md (section 2.1), docs/a.md\n"}}};
}

Strings all_complaints(const Tree& tree) {
  Strings all;
  for (const auto checker : {broken_links, missing_paths, missing_citations, outside_paths,
                             unreached_pages, bad_names, words_of_history})
    for (std::string& c : checker(tree)) all.push_back(std::move(c));
  return all;
}

// The one complaint of a tree in which a file is replaced or added.
std::string complaint(const std::string& path, const std::string& text) {
  Tree tree = made_up();
  tree.files[path] = text;
  const Strings all = all_complaints(tree);
  std::string joined;
  for (const std::string& c : all) joined += (joined.empty() ? "" : " | ") + c;
  return joined;
}

}  // namespace

TEST_CASE("citations, the checker: a sound tree has no complaint") {
  check_none(all_complaints(made_up()));
}

TEST_CASE("citations, the checker: links") {
  CHECK(complaint("README.md", "[a](docs/gone.md)") ==
        "README.md:1: link: docs/gone.md is not there");
  CHECK(complaint("README.md", "\n\n[a](docs/a.md#gone)") ==
        "README.md:3: link: docs/a.md has no heading #gone");
  CHECK(complaint("README.md", "[a](../x)") == "README.md:1: link: ../x leaves the source tree");
  CHECK(complaint("README.md", "[a]: docs/gone.md") ==
        "README.md:1: link: docs/gone.md is not there");
  CHECK(complaint("README.md", "# One\n[a](#two)") ==
        "README.md:2: link: README.md has no heading #two");
  CHECK(complaint("CHANGELOG.md", "![a](b.png)") == "CHANGELOG.md:1: link: b.png is not there");
  // Code has none, and other sites are not visited.
  CHECK(
      complaint("README.md", "`[a](b)` [c](https://d.e/f#g)\n\n    [&](int x)\n\n```\n[h](i)\n```")
          .empty());
}

TEST_CASE("citations, the checker: GitHub's anchors") {
  CHECK(slug("The paper's formulas, and where they are") ==
        "the-papers-formulas-and-where-they-are");
  CHECK(slug(shown("`lm_train` – [a](b.md) × 2.1")) == "lm_train--a--21");
  CHECK(slug(shown("π and ε: *both*")) == "π-and-ε-both");
  const Page page = read_page("# One\n## One\n```\n# Two\n```\n<a id=\"three\"></a>\n");
  CHECK(page.anchors == std::set<std::string>{"one", "one-1", "three"});
}

TEST_CASE("citations, the checker: paths in backticks") {
  CHECK(complaint("docs/a.md", "# The S of (w, h)\n`core/y.h`") ==
        "docs/a.md:2: `core/y.h` is not there");
  CHECK(complaint("docs/a.md", "# The S of (w, h)\n`core/gone/`") ==
        "docs/a.md:2: `core/gone/` is not there");
  CHECK(complaint("docs/a.md", "# The S of (w, h)\n`core/x.h:12` `runs/lm/x.json` `a/b` `core/*.h`")
            .empty());
}

TEST_CASE("citations, the checker: pages and sections in comments") {
  CHECK(complaint("core/y.h", "//\n// see docs/gone.md") ==
        "core/y.h:2: docs/gone.md is not there");
  CHECK(complaint("Makefile", "# docs/b.md (\"The floor\")") ==
        "Makefile:1: docs/b.md has no section \"The floor\"");
  CHECK(complaint("core/y.h", "// docs/b.md, section 3.2.\n") ==
        "core/y.h:1: docs/b.md has no section 3.2");
  CHECK(complaint("core/y.h", "// docs/a.md#gone.\n") ==
        "core/y.h:1: docs/a.md has no heading #gone");
  CHECK(complaint("core/y.h", "// (docs/b.md,\n//   \"a\n// ceiling\")") ==
        "core/y.h:1: docs/b.md has no section \"a ceiling\"");
  CHECK(
      complaint("core/y.h", "// docs/b.md,\n/// \"a floor\"; docs/a.md#the-s-of-w-h, docs/NAME.md")
          .empty());
}

TEST_CASE("citations, the checker: paths outside of the repository") {
  const std::string shared = std::string("../") + "shared", here = std::string("/wo") + "rk/x";
  CHECK(complaint("core/y.h", "\n" + shared + "/data") ==
        "core/y.h:2: names " + shared + ", which is not in the repository");
  CHECK(complaint("core/y.h", "cd " + here).starts_with("core/y.h:1: names "));
  CHECK(complaint(".ci/run", shared).empty());
  CHECK(complaint("core/y.h", "$network/work/x").empty());
}

TEST_CASE("citations, the checker: a page without a way to it") {
  CHECK(complaint("docs/c.md", "# C") == "docs/c.md:1: no link leads here from docs/README.md");
  CHECK(complaint("experiments/c.html", "") ==
        "experiments/c.html:1: no link leads here from docs/README.md");
}

TEST_CASE("citations, the checker: names of files") {
  CHECK(complaint("core/a b.h", "") == "core/a b.h: a name has only A-Z a-z 0-9 . _ -");
  CHECK(complaint("core/X.h", "") == "core/x.h: differs from core/X.h in case only");
  CHECK(complaint("Core/y.h", "").ends_with(" in case only"));
}

TEST_CASE("citations, the checker: words of git's history") {
  CHECK(complaint("docs/a.md", "# The S of (w, h)\nIn one\nsitting.") ==
        "docs/a.md:2: \"one sitting\", which belongs to git's history");
  CHECK(complaint("docs/a.md", "# The S of (w, h)\n`cc95835`") ==
        "docs/a.md:2: the commit id cc95835, which belongs to git's history");
  CHECK(complaint("docs/a.md", "# The S of (w, h)\nat commit cc95835a") ==
        "docs/a.md:2: the commit id cc95835a, which belongs to git's history");
  CHECK(
      complaint("docs/a.md", "# The S of (w, h)\n`1234567` `effaced` cc95835 is sitting").empty());
}

TEST_CASE("citations: links lead to files and headings") {
  const auto pages = read_pages(this_tree());
  size_t links = 0;
  for (const auto& [path, page] : pages) links += page.links.size();
  CHECK(pages.size() > 30);
  CHECK(links > 100);
  check_none(broken_links(this_tree()));
}

TEST_CASE("citations: paths in backticks are there") { check_none(missing_paths(this_tree())); }

TEST_CASE("citations: pages and sections that code names are there") {
  check_none(missing_citations(this_tree()));
}

TEST_CASE("citations: nothing lies outside of the repository") {
  check_none(outside_paths(this_tree()));
}

TEST_CASE("citations: docs/README.md leads to every page") {
  check_none(unreached_pages(this_tree()));
}

TEST_CASE("citations: names of files are plain") { check_none(bad_names(this_tree())); }

TEST_CASE("citations: pages say what is so now") { check_none(words_of_history(this_tree())); }

}  // namespace nine::tests::test_citations
