#include "tests/apps/report_pages.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "apps/report/report.h"

namespace nine::tests {

std::string page_of(const TempDir& dir, const std::vector<std::filesystem::path>& runs) {
  app::write_report(runs, dir.path() / "page.html");
  return slurp(dir.path() / "page.html");
}

std::string train(int step, double ppl) {
  return Json{{"event", "train"},
              {"step", step},
              {"epoch", 1},
              {"time_s", step * 0.5},
              {"loss", std::log(ppl)},
              {"nll", std::log(ppl)},
              {"ppl", ppl},
              {"lr", 1e-3},
              {"grad_norm", 0.5},
              {"tokens_per_s", 1000 + step},
              {"ms_per_step", 500},
              {"peak_mib", 64}}
             .dump() +
         "\n";
}

std::string valid(int step, double ppl, const char* event) {
  return Json{{"event", event},        {"step", step},         {"epoch", 1}, {"time_s", step * 0.5},
              {"loss", std::log(ppl)}, {"nll", std::log(ppl)}, {"ppl", ppl}, {"tokens", 99}}
             .dump() +
         "\n";
}

const std::string kStart =
    R"({"event":"start","step":0,"epoch":0,"time_s":0.1,"parameters":123456,"vocab":100,"entropy_floor_ppl":21.5})"
    "\n";

int times(const std::string& text, const std::string& part) {
  int n = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size()))
    ++n;
  return n;
}

std::string first_flaw(const std::string& html) {
  std::vector<std::string> open;
  std::set<std::string> ids;
  for (size_t at = html.find('<'); at != std::string::npos; at = html.find('<', at)) {
    const size_t end = html.find('>', at);
    if (end == std::string::npos) return "a tag without end";
    const std::string tag = html.substr(at + 1, end - at - 1);
    at = end + 1;
    if (tag.starts_with('!')) continue;
    if (tag.starts_with('/')) {
      if (open.empty() || open.back() != tag.substr(1))
        return "</" + tag.substr(1) + "> closes " + (open.empty() ? "nothing" : open.back());
      open.pop_back();
      continue;
    }
    const std::string name = tag.substr(0, tag.find_first_of(" /\n"));
    if (std::count(tag.begin(), tag.end(), '"') % 2 != 0 || has(tag, "<"))
      return "unbalanced: <" + tag + ">";
    if (const size_t id = tag.find(" id=\""); id != std::string::npos)
      if (!ids.insert(tag.substr(id + 5, tag.find('"', id + 5) - id - 5)).second)
        return "an id twice: <" + tag + ">";
    if (tag.ends_with('/') || name == "meta" || name == "br") continue;
    open.push_back(name);
    if (name == "script" || name == "style") {  // raw text: no tags inside
      at = html.find("</" + name, at);
      if (at == std::string::npos) return name + " without end";
    }
  }
  return open.empty() ? "" : "never closed: " + open.back();
}

// Nothing that a browser would load from elsewhere.
static void check_self_contained(const std::string& html) {
  for (const char* part :
       {"http://", "https://", "<link", " src=", "url(", "@import", "<img", "<iframe", "fetch("}) {
    CAPTURE(part);
    CHECK_FALSE(has(html, part));
  }
}

void check_page(const std::string& html) {
  CHECK(first_flaw(html) == "");
  check_self_contained(html);
  for (const char* wrong : {"nan", "inf\"", ">-nan<", ">inf<", ">nan<"})
    CHECK_FALSE(has(
        html.substr(html.find("<body>"), html.find("'use strict'") - html.find("<body>")), wrong));
}

Json chart_data(const std::string& html, const std::string& title) {
  const size_t heading = html.find("<h3>" + title + "</h3>");
  REQUIRE(heading != std::string::npos);
  const std::string opening = "<script type=\"application/json\">";
  const size_t begin = html.find(opening, heading) + opening.size();
  return Json::parse(html.substr(begin, html.find("</script>", begin) - begin));
}

const Json& series(const Json& chart, const std::string& name) {
  for (const Json& s : chart["series"])
    if (s["name"] == name) return s;
  FAIL("no curve is called " << name);
  return chart;
}

double largest(const Json& numbers) {
  double best = -INFINITY;
  for (const Json& n : numbers)
    if (!n.is_null()) best = std::max(best, n.get<double>());
  return best;
}

}  // namespace nine::tests
