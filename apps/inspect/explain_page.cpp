#include "apps/inspect/explain_page.h"

#include <algorithm>
#include <optional>

#include "apps/inspect/explain.h"
#include "apps/inspect/kernel_formulas.h"
#include "apps/report/page.h"
#include "apps/svg/text.h"
#include "kernels/expression/derivative.h"
#include "kernels/expression/javascript.h"
#include "kernels/expression/parse.h"
#include "kernels/head_formula.h"

namespace nine::app {
namespace {

constexpr double kMarginSize = 0.3;  // of the slider where no margin was asked for
constexpr int kMostPieces = 4;       // of lsm, in the list of margins

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
    if (typed.parameters[k] == "lw" || typed.parameters[k] == "lh")
      by.push_back(graph.parameter(static_cast<int>(k)));
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

std::string strings_json(const std::vector<std::string>& all) {
  std::string out;
  for (const std::string& s : all) out += (out.empty() ? "" : ",") + json_string(s);
  return "[" + out + "]";
}
std::string numbers_json(const Numbers& all) {
  std::string out;
  for (const double x : all) out += (out.empty() ? "" : ",") + json_number(x, 17);
  return "[" + out + "]";
}

// The object NINE of the page's script: a function for each form of score.
class Play {
 public:
  Play(const PageKernel& kernel, const Margin* margin) : kernel_(kernel) {
    add("score", kernel.formula);
    if (kernel.formula != "z") return;
    using Kind = Margin::Kind;
    for (const Kind kind : {Kind::cos, Kind::arc}) add(name_of(kind), margin_formula({kind, 0}));
    for (int m = 2; m <= kMostPieces; ++m) {
      const Margin lsm{Kind::lsm, static_cast<double>(m)};
      add(to_text(lsm), margin_formula(lsm));
    }
    double size = kMarginSize;
    if (margin != nullptr && *margin) {
      chosen_ = margin->kind == Kind::lsm ? to_text(*margin) : name_of(margin->kind);
      if (margin->kind == Kind::lsm &&
          std::find(names_.begin(), names_.end(), chosen_) == names_.end())
        add(chosen_, margin_formula(*margin));
      if (margin->kind != Kind::lsm) size = margin->size;
    }
    kernel_.sliders.push_back({"m", size, 0, 3.1, 0.05});
  }

  std::string script() const {
    return concat("'use strict';\nconst NINE = (() => {\n", expression::javascript_functions(),
                  "return {\n", functions_, "};\n})();\n");
  }
  // Vectors of the worked example, in parts of the plane.
  std::string data(const std::string& name) const {
    const int size = kernel_.parts * kernel_.size;
    const double scale = kernel_.ball > 0 ? 0.4 : 1;
    std::string sliders, words;
    for (const Slider& s : kernel_.sliders)
      sliders += concat(sliders.empty() ? "" : ",", "{\"name\":", json_string(s.name),
                        ",\"value\":", json_number(s.value, 17), ",\"low\":", json_number(s.low),
                        ",\"high\":", json_number(s.high), ",\"step\":", json_number(s.step), "}");
    const auto vector = [&](size_t first) {
      Numbers x = ShortNumbers()({size}, first).to_vector();
      for (double& v : x) v *= scale;
      return numbers_json(x);
    };
    for (size_t v = 0; v < 3; ++v)
      words += (v > 0 ? "," : "") + vector(2 + v * static_cast<size_t>(size));
    const char* combine = kernel_.combine == PageKernel::Combine::mixture ? "mixture" : "sum";
    return concat("{\"name\":", json_string(name), ",\"parts\":", kernel_.parts,
                  ",\"size\":", kernel_.size, ",\"extra\":", json_string(kernel_.extra),
                  ",\"combine\":\"", combine, "\",\"ball\":", json_number(kernel_.ball),
                  ",\"sliders\":[", sliders, "],\"margins\":", strings_json(names_),
                  ",\"margin\":", json_string(chosen_), ",\"h\":", vector(0), ",\"w\":[", words,
                  "]}");
  }

 private:
  static std::string name_of(Margin::Kind kind) {
    return kind == Margin::Kind::cos ? "cos" : "arc";
  }
  void add(const std::string& name, const std::string& formula) {
    std::vector<std::string> parameters;
    const std::string code = javascript_of(formula, parameters);
    functions_ += concat("// ", formula, "\n", json_string(name),
                         ": { names: ", strings_json(parameters), ", run: ", code, " },\n");
    names_.push_back(name);
  }

  PageKernel kernel_;
  std::string functions_, chosen_ = "score";
  std::vector<std::string> names_;
};

const char* const kPlay =
    "<section>\n<h2>A plane to play in</h2>\n<p class=\"lead\">Move the context h and the words by "
    "pointer, finger or arrow keys; the text goes on with the word that has the thick rim. Arrows "
    "are minus the exact gradient of the loss by each point. What is computed here comes from the "
    "same formula as the derivation below.</p>\n<div id=\"board\"></div>\n<div class=\"tables\">"
    "<div class=\"scroll\" id=\"words\"></div><div class=\"scroll\" id=\"numbers\"></div></div>\n"
    "</section>\n";

}  // namespace

std::string explain_page(const std::string& name) {
  const WorkedExample example = explain(name);
  // The formula; what follows on further lines is in the sections below.
  std::string title = example.lines().front().formula;
  title = title.substr(0, title.find('\n'));
  std::optional<Play> play;
  std::string derivation;
  const auto layers = layer_examples();
  if (const auto settings = margin_settings(name)) {
    const HeadConfig config = settings->head_config();
    if (!config.word_norm && !config.context_norm) {
      play.emplace(page_kernel(Score{}), &config.loss.margin);
      derivation = derivation_html(margin_formula(config.loss.margin));
    }
  } else if (std::find(layers.begin(), layers.end(), name) == layers.end()) {
    const PageKernel kernel = page_kernel(parse_head(name).components.front());
    play.emplace(kernel, nullptr);
    derivation = derivation_html(kernel.formula);
  }
  std::string body = concat("<header><p class=\"kicker\">kernel_inspect --explain ", escaped(name),
                            "</p>\n<h1>", escaped(name), "</h1>\n<p class=\"lead\">",
                            escaped(title), "</p></header>\n", play ? kPlay : "");
  if (!derivation.empty())
    body += concat(
        "<section>\n<h2>The slopes of the score, rule by rule</h2>\n<p class=\"lead\">z "
        "= w·h, q = |w − h|², ww = |w|², hh = |h|², c = z/(|w||h|) count as if they did "
        "not depend on each other.</p>\n",
        derivation, "</section>\n");
  body += concat("<section>\n<h2>In numbers, forward and backward</h2>\n", worked_html(example),
                 "</section>\n");
  if (play)
    body +=
        concat("<script type=\"application/json\" id=\"data\">", play->data(name), "</script>\n");
  return page_html(name, body, concat(kReportStyle, kExplainStyle),
                   play ? concat(play->script(), kExplainScript) : std::string());
}

}  // namespace nine::app
