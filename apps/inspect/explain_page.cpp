#include "apps/inspect/explain_page.h"

#include <algorithm>
#include <optional>

#include "apps/inspect/explain.h"
#include "apps/inspect/explain_play.h"
#include "apps/inspect/kernel_formulas.h"
#include "apps/report/page.h"
#include "apps/svg/text.h"
#include "kernels/expression/derivative.h"
#include "kernels/expression/parse.h"
#include "kernels/expression/program.h"
#include "kernels/head_formula.h"

namespace nine::app {
namespace {

std::string math(const std::string& inside, bool block = false) {
  return concat("<math", block ? " display=\"block\"" : "", ">", inside, "</math>");
}
std::string equals(const std::string& left, const std::string& right) {
  return concat("<mrow>", left, "<mo>=</mo>", right, "</mrow>");
}

std::string step_html(const std::string& formula, const std::string& numbers,
                      const std::string& rule) {
  return concat("<li><div class=\"scroll\">", math(formula), "</div>",
                rule.empty() ? "" : concat("<div class=\"rule-text\">", escaped(rule), "</div>"),
                numbers.empty() ? "" : concat("<div class=\"result\">= ", numbers, "</div>"),
                "</li>\n");
}

std::string numbers_text(const Numbers& numbers) {
  std::string out;
  for (const double x : numbers) out += (out.empty() ? "" : ", ") + json_number(x, 6);
  return numbers.size() == 1 ? out : "(" + out + ")";
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
        out += concat("<h3>", escaped(heading), "</h3>\n<ol class=\"steps\">\n");
        open = true;
      }
      continue;
    }
    const bool check = l.symbol == "worst";
    std::string formula = symbol_mathml(l.symbol);
    if (check)
      formula = "<mtext>" + escaped(l.formula) + "</mtext>";
    else if (!l.formula.empty())
      formula = equals(formula, to_mathml(example.symbols().read(l.formula)));
    out += step_html(formula, numbers_text(l.numbers), l.rule);
  }
  return out + (open ? "</ol>\n" : "");
}

// The formula, and its derivative by each variable with the rule of each subexpression.
std::string derivation_html(const std::string& formula) {
  using namespace expression;
  const Parsed typed = parse(formula);
  Graph graph;
  const Id root = rebuild(typed.graph, typed.score, graph, {});
  SymbolTable symbols;
  for (const std::string& p : typed.parameters) symbols.set(p, {1});
  for (const char* v : {"z", "q", "ww", "hh", "c", "d"}) symbols.set(v, {1});
  const auto mathml = [&](const Graph& g, Id id) {
    return to_mathml(symbols.read(to_text(g, id, typed.parameters)));
  };
  std::string out =
      concat("<ol class=\"steps\">\n",
             step_html(equals("<mi>S</mi>", mathml(typed.graph, typed.score)), "", "the kernel"),
             step_html(equals("<mi>S</mi>", mathml(graph, root)), "", "simplified"), "</ol>\n");
  std::vector<Id> by;
  for (int v = 0; v < kPairVariables; ++v) by.push_back(graph.variable(static_cast<Variable>(v)));
  for (size_t k = 0; k < typed.parameters.size(); ++k)
    for (const char* vector_number : {"lw", "lh", "F", "G", "s"})
      if (typed.parameters[k] == vector_number) by.push_back(graph.parameter(static_cast<int>(k)));
  for (const Id variable : by) {
    std::vector<expression::Step> steps;
    const Id slope = derivative(graph, root, variable, &steps);
    if (steps.empty()) continue;
    const std::string d = "<mo>∂</mo>", name = mathml(graph, variable);
    const auto by_variable = [&](const std::string& of) {
      return concat("<mfrac><mrow>", d, of, "</mrow><mrow>", d, name, "</mrow></mfrac>");
    };
    out += concat("<h3>By ", to_text(graph, variable, typed.parameters),
                  "</h3>\n<ol class=\"steps\">\n");
    for (const expression::Step& s : steps)
      out += step_html(equals(concat(by_variable(""), "<mrow><mo>(</mo>", mathml(graph, s.of),
                                     "<mo>)</mo></mrow>"),
                              mathml(graph, s.derivative)),
                       "", s.rule);
    out += step_html(equals(by_variable("<mi>S</mi>"), mathml(graph, slope)), "", "together") +
           "</ol>\n";
  }
  return out;
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

// Of each kernel of a head, equal ones once.
std::string derivations_html(const HeadSpec& head) {
  if (!head.mixture) return derivation_html(page_kernel(head.components.front()).formula);
  std::string out;
  std::vector<std::string> seen;
  for (const Score& score : head.components) {
    const std::string formula = page_kernel(score).formula;
    if (std::find(seen.begin(), seen.end(), formula) != seen.end()) continue;
    seen.push_back(formula);
    out += concat("<h3 class=\"kernel\">", escaped(kernel_info(score).name), "</h3>\n",
                  derivation_html(formula));
  }
  return out;
}

}  // namespace

std::string explain_page(const std::string& name) {
  const WorkedExample example = explain(name);
  // The formula; what follows on further lines is in the sections below.
  std::string title = example.lines().front().formula;
  title = title.substr(0, title.find('\n'));
  std::optional<PagePlay> play;
  std::string derivation, variables = kVariables;
  const auto layers = layer_examples();
  if (const auto settings = margin_settings(name)) {
    const HeadConfig config = settings->head_config();
    play.emplace(config);
    variables = kAngleVariables;
    derivation = derivation_html(margin_formula(config.loss.margin));
  } else if (name == "mixture" || std::find(layers.begin(), layers.end(), name) == layers.end()) {
    const HeadSpec head = name == "mixture" ? mixture_example_head() : parse_head(name);
    play.emplace(head);
    derivation = derivations_html(head);
  }
  std::string body = concat("<header><p class=\"kicker\">kernel_inspect --explain ", escaped(name),
                            "</p>\n<h1>", escaped(name), "</h1>\n<p class=\"lead\">",
                            escaped(title), "</p></header>\n", play ? kPlay : "");
  if (!derivation.empty())
    body += concat("<section>\n<h2>The slopes of the score, rule by rule</h2>\n<p class=\"lead\">",
                   variables, "</p>\n", derivation, "</section>\n");
  body += concat("<section>\n<h2>In numbers, forward and backward</h2>\n", worked_html(example),
                 "</section>\n");
  if (play)
    body +=
        concat("<script type=\"application/json\" id=\"data\">", play->data(name), "</script>\n");
  return page_html(name, body, concat(kReportStyle, kExplainStyle),
                   play ? concat(play->script(), kExplainCompute, kExplainScript) : std::string());
}

}  // namespace nine::app
