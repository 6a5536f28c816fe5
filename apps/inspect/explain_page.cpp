#include "apps/inspect/explain_page.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <optional>

#include "apps/inspect/explain.h"
#include "apps/inspect/explain_derivation.h"
#include "apps/inspect/explain_play.h"
#include "apps/inspect/kernel_formulas.h"
#include "apps/report/page.h"
#include "apps/svg/text.h"
#include "kernels/settings/head_fields.h"

namespace nine::app {
namespace {

std::string numbers_text(const Numbers& numbers) {
  std::string out;
  for (const double x : numbers) out += (out.empty() ? "" : ", ") + json_number(x, 6);
  return numbers.size() == 1 ? out : "(" + out + ")";
}

// "w_1" in a sentence as a reader expects it.
std::string with_subscripts(const std::string& text) {
  static const std::array<const char*, 10> kDigits{"₀", "₁", "₂", "₃", "₄",
                                                   "₅", "₆", "₇", "₈", "₉"};
  std::string out;
  for (size_t k = 0; k < text.size(); ++k) {
    const bool subscript = text[k] == '_' && k > 0 && std::isalpha(text[k - 1]) != 0 &&
                           k + 1 < text.size() && std::isdigit(text[k + 1]) != 0;
    if (!subscript) {
      out += text[k];
      continue;
    }
    while (k + 1 < text.size() && std::isdigit(text[k + 1]) != 0)
      out += kDigits[static_cast<size_t>(text[++k] - '0')];
  }
  return out;
}

// The worked example, a list a section.
std::string worked_html(const WorkedExample& example) {
  std::string out;
  bool open = false;
  for (const WorkedExample::Line& l : example.lines()) {
    if (l.numbers.empty()) {
      if (open) out += "</ol>\n";
      open = false;
      if (!out.empty() || &l != &example.lines().front()) {
        std::string heading = l.formula.substr(l.formula.find_first_not_of('\n'));
        // The derivation of a formula has a section of its own.
        if (heading.starts_with("As typed:")) continue;
        out += concat("<h3>", escaped(with_subscripts(heading)), "</h3>\n<ol class=\"steps\">\n");
        open = true;
      }
      continue;
    }
    const bool check = l.symbol == "worst";
    std::vector<std::string> formula{symbol_mathml(l.symbol)};
    if (check)
      formula = {"<mtext>" + escaped(l.formula) + "</mtext>"};
    else if (!l.formula.empty())
      formula = equals_mathml(formula[0], mathml_parts(example.symbols().read(l.formula)));
    out += step_html(formula, numbers_text(l.numbers), with_subscripts(l.rule));
  }
  return out + (open ? "</ol>\n" : "");
}

const char* const kPlay =
    "<section>\n<h2>A plane to play in</h2>\n<p class=\"lead\">Move the context h and the words by "
    "pointer, finger or arrow keys; the text goes on with the word that has the thick rim. Arrows "
    "are minus the exact gradient of the loss by each point. What is computed here comes from the "
    "same formula as the derivation below.</p>\n<div id=\"board\"></div>\n<div class=\"tables\">"
    "<div class=\"scroll\" id=\"words\"></div><div class=\"scroll\" id=\"numbers\"></div></div>\n"
    "</section>\n";

const char* const kVariables =
    "z = w·h, q = |w − h|², ww = |w|², hh = |h|², c = z/(|w||h|) count as if they did not depend "
    "on "
    "each other; d is the number of numbers in w. From a slope by them to the vectors: z has the "
    "slope h by w, q has 2 (w − h), ww has 2 w, c has (h/|h| − c w/|w|)/|w|; by h the same with w "
    "and h exchanged.";
const char* const kAngleVariables =
    "c = cos θ = w·h/(|w||h|), s = sin θ, F and G the norms that the score gives to w and h, which "
    "are |w| and |h| unless a norm is set. They count as if they did not depend on each other: "
    "ds/dc "
    "= −c/s, c has the slope (h/|h| − c w/|w|)/|w| by w, |w| has w/|w|; by h the same with w and h "
    "exchanged.";

// How a kernel of several parts joins them, and what the vectors' last numbers are.
std::string kernel_notes(const KernelExpression& kernel) {
  std::string out;
  if (!kernel.extra.empty())
    out += concat("lw and lh are the last numbers of w and of h, each a ", kernel.extra,
                  "; the others are the vector of which d, z, q and the rest are. ");
  if (kernel.parts > 1)
    out +=
        kernel.combine == Combine::mixture
            ? concat("A vector is ", kernel.parts,
                     " such parts. With s_ij the score below of part "
                     "i of w and part j of h, S = ln(Σ_ij e^s_ij / ",
                     kernel.parts * kernel.parts,
                     "): ln has the slope 1/x, so by s_ij it has the share e^s_ij / Σ e^s_ij, and "
                     "the slopes of each pair count by its share. ")
            : concat("A vector is ", kernel.parts,
                     " such parts, and S is the sum of the score "
                     "below over all pairs of a part of w and a part of h: so are its slopes. ");
  return out.empty() ? out : concat("<p class=\"lead\">", escaped(out), "</p>\n");
}

std::string kernel_html(const Score& score) {
  const PageKernel kernel = page_kernel(score);
  const expression::KernelLines lines(kernel.expression, kernel_info(score).parameters);
  return kernel_notes(kernel.expression) + (lines.one_formula() == kernel.formula
                                                ? derivation_html(lines)
                                                : derivation_html(kernel.formula));
}

// Of each kernel of a head, equal ones once.
std::string derivations_html(const HeadSpec& head) {
  if (!head.mixture) return kernel_html(head.components.front());
  std::string out;
  std::vector<std::string> seen;
  for (const Score& score : head.components) {
    const std::string formula = page_kernel(score).formula;
    if (std::find(seen.begin(), seen.end(), formula) != seen.end()) continue;
    seen.push_back(formula);
    out += concat("<h3 class=\"kernel\">", escaped(kernel_info(score).name), "</h3>\n",
                  kernel_html(score));
  }
  return out;
}

// The head that shows what an option does to the loss; nothing for other names.
std::optional<HeadSpec> head_of_loss(const std::string& name) {
  if (name == "label_smoothing" || name == "weight_norm_reg") return parse_head("lin");
  if (name == "pi_reg") return parse_head("mix:lin,rbf", {.head_context = "none"});
  return std::nullopt;
}

bool is_head(const std::string& name) {
  const auto layers = layer_examples();
  return name == "mixture" ||
         (!margin_settings(name) && std::find(layers.begin(), layers.end(), name) == layers.end());
}

void append(const std::vector<std::vector<double>>& rows, int64_t count, int64_t size,
            const char* what, std::vector<double>& all) {
  if (std::ssize(rows) != count)
    fail_usage(what, " has ", rows.size(), " rows, and ", count, " were expected");
  for (const std::vector<double>& r : rows) {
    if (std::ssize(r) != size)
      fail_usage("a row of ", what, " has ", r.size(), " numbers, and ", size,
                 ", as in h, were expected");
    all.insert(all.end(), r.begin(), r.end());
  }
}

WorkedExample explain(const std::string& name, const ExampleNumbers& given) {
  if (given.h.empty()) return app::explain(name);
  if (!is_head(name))
    fail_usage(name, " is no head of kernels, so its example takes no numbers of yours");
  const HeadSpec head = name == "mixture" ? mixture_example_head() : parse_head(name);
  const ExampleSizes sizes{
      .words = std::ssize(given.w), .size = std::ssize(given.h), .target = given.target};
  if (sizes.words < 1 || sizes.words > kMostExampleWords || sizes.size > kMostExampleSize)
    fail_usage("an example has 1 to ", kMostExampleWords, " words and vectors of at most ",
               kMostExampleSize, " numbers, not ", sizes.words, " words and ", sizes.size,
               " numbers");
  if (sizes.target < 0 || sizes.target >= sizes.words)
    fail_usage("the target ", sizes.target, " is outside of the ", sizes.words, " words");
  if (const std::string wrong = head.check(sizes.size); !wrong.empty())
    fail_usage("head ", name, ": ", wrong);
  std::vector<double> all = given.h;
  append(given.w, sizes.words, sizes.size, "w", all);
  append(given.prior, head.mixture ? head.size() : 0, sizes.size, "the prior", all);
  append(given.context, head.contexts ? head.size() * sizes.size : 0, sizes.size, "context", all);
  if (!std::ranges::all_of(all, [](double x) { return std::isfinite(x); }))
    fail_usage("a number of the example is not finite");
  return app::explain(name, ShortNumbers(std::move(all), sizes));
}

}  // namespace

std::vector<ExampleResult> example_results(const std::string& name, const ExampleNumbers& numbers) {
  const WorkedExample example = explain(name, numbers);
  std::vector<ExampleResult> results;
  for (const std::string& symbol : example.results())
    results.push_back({symbol, example.at(symbol)});
  return results;
}

std::string explain_text(const std::string& name, const ExampleNumbers& numbers) {
  return explain(name, numbers).text();
}

std::string explain_page(const std::string& name, const ExampleNumbers& numbers) {
  const WorkedExample example = explain(name, numbers);
  const bool own = !numbers.h.empty();
  // The formula; what follows on further lines is in the sections below.
  std::string title = example.lines().front().formula;
  title = title.substr(0, title.find('\n'));
  std::optional<PagePlay> play;
  std::string derivation, variables = kVariables;
  if (const auto settings = margin_settings(name)) {
    const HeadConfig config = settings->head_config();
    play.emplace(config);
    variables = kAngleVariables;
    derivation = derivation_html(margin_formula(config.loss.margin));
  } else if (const auto shown = head_of_loss(name)) {
    play.emplace(*shown, name);
    derivation = derivations_html(*shown);
  } else if (is_head(name)) {
    const HeadSpec head = name == "mixture" ? mixture_example_head() : parse_head(name);
    if (!own) play.emplace(head);
    derivation = derivations_html(head);
  }
  std::string body =
      concat("<header><p class=\"kicker\">", own ? "nine.explain " : "kernel_inspect --explain ",
             escaped(name), "</p>\n<h1", name.size() > 30 ? " class=\"long\">" : ">", escaped(name),
             "</h1>\n<p class=\"lead\">", escaped(title), "</p>",
             play || own ? ""
                         : "<p class=\"lead\">There is no plane to play in here: it would "
                           "have no context and no words to move. The derivation is "
                           "complete.</p>",
             "</header>\n", play ? kPlay : "");
  if (!derivation.empty())
    body += concat("<section>\n<h2>The slopes of the score, rule by rule</h2>\n<p class=\"lead\">",
                   variables, "</p>\n", derivation, "</section>\n");
  body += concat("<section>\n<h2>In numbers, forward and backward</h2>\n", worked_html(example),
                 "</section>\n");
  if (play)
    body +=
        concat("<script type=\"application/json\" id=\"data\">", play->data(name), "</script>\n");
  return page_html(
      name, body, concat(kReportStyle, kExplainStyle, kMathFont),
      concat(play ? concat(play->script(), kExplainCompute, kExplainScript) : "", kExplainPrint));
}

}  // namespace nine::app
