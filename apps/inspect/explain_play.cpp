#include "apps/inspect/explain_play.h"

#include <algorithm>
#include <span>

#include "apps/inspect/explain.h"
#include "apps/inspect/score_at.h"
#include "apps/svg/text.h"
#include "kernels/expression/javascript.h"

namespace nine::app {
namespace {

constexpr double kMarginSize = 0.3;  // of the sliders where no margin was asked for
constexpr int kMostPieces = 8;       // of lsm, on its slider
constexpr int64_t kPlayWords = 3;

std::string numbers_json(std::span<const double> all) {
  std::string out;
  for (const double x : all) out += (out.empty() ? "" : ",") + json_number(x, 17);
  return "[" + out + "]";
}
std::string strings_json(const std::vector<std::string>& all) {
  std::string out;
  for (const std::string& s : all) out += (out.empty() ? "" : ",") + json_string(s);
  return "[" + out + "]";
}
std::string slider_json(const Slider& s) {
  return concat("{\"name\":", json_string(s.name), ",\"value\":", json_number(s.value, 17),
                ",\"low\":", json_number(s.low), ",\"high\":", json_number(s.high),
                ",\"step\":", json_number(s.step), "}");
}
std::string pieces_name(int m) { return concat("lsm:", m); }

// The vectors of the page, those of the worked example.
std::vector<double> vector_at(int64_t size, int64_t first, double scale) {
  std::vector<double> x = ShortNumbers()({size}, static_cast<size_t>(first)).to_vector();
  for (double& v : x) v *= scale;
  return x;
}

}  // namespace

PagePlay::PagePlay(const HeadSpec& head) : PagePlay(head, "") {
  // Of inner products the page offers margins too.
  if (!head.mixture && components_.front().kernel.formula == "z") {
    add("plain", "F*G*c");
    add_margins({});
  }
}

PagePlay::PagePlay(const HeadSpec& head, const std::string& option)
    : head_(head), size_(example_size(head)) {
  for (size_t k = 0; k < head.components.size(); ++k) {
    const Score& score = head.components[k];
    const std::string name = head.mixture ? concat("score", k + 1) : "score",
                      label = kernel_info(score).name;
    components_.push_back(
        {head.mixture ? concat(k + 1, " ", label) : label, name, page_kernel(score)});
    add(name, components_.back().kernel.formula);
  }
  const auto loss = [&](const char* formula, const std::vector<std::string>& kinds,
                        const std::vector<Slider>& sliders) {
    std::string all;
    for (const Slider& s : sliders) all += (all.empty() ? "" : ",") + slider_json(s);
    loss_ = concat("{\"option\":", json_string(option), ",\"formula\":", json_string(formula),
                   ",\"kinds\":", strings_json(kinds), ",\"sliders\":[", all, "]}");
  };
  if (option == "label_smoothing")
    loss("-Σ t_v ln p(w_v)", {"uniform", "others"}, {{"epsilon", 0.1, 0, 0.9, 0.01}});
  else if (option == "pi_reg")
    loss("-ln p + ρ R(π)", {"variance", "cv2"}, {{"rho", 0.5, 0, 5, 0.05}});
  else if (option == "weight_norm_reg")
    loss("-ln p + ρ R(w)", {"squared", "root"}, {{"rho", 0.1, 0, 2, 0.01}, {"nu", 1, 0, 3, 0.05}});
}

PagePlay::PagePlay(const HeadConfig& by_angle) : PagePlay(parse_head("lin")) {
  if (by_angle.loss.margin) {
    std::vector<Slider>& sliders = components_.front().kernel.sliders;
    const Margin& margin = by_angle.loss.margin;
    if (margin.kind == Margin::Kind::lsm) {
      margin_ = "lsm";
      pieces_ = static_cast<int>(margin.size);
      for (int m = kMostPieces + 1; m <= pieces_; ++m)
        add(pieces_name(m), margin_formula({Margin::Kind::lsm, static_cast<double>(m)}));
    } else {
      margin_ = margin.kind == Margin::Kind::cos ? "cos" : "arc";
      for (Slider& s : sliders)
        if (s.name == "m") s.value = margin.size;
    }
  }
  add_norms(by_angle);
}

void PagePlay::add(const std::string& name, const std::string& formula) {
  const JavascriptFunction f = javascript_of(formula);
  functions_ +=
      concat("// ", formula, "\n", json_string(name), ": { names: ", strings_json(f.names),
             ", by: ", strings_json(f.slopes_by), ", run: ", f.code, " },\n");
}

void PagePlay::add_margins(const Margin& margin) {
  margins_ = {"score", "cos", "arc", "lsm"};
  add("cos", margin_formula({Margin::Kind::cos, 0}));
  add("arc", margin_formula({Margin::Kind::arc, 0}));
  for (int m = 1; m <= kMostPieces; ++m)
    add(pieces_name(m), margin_formula({Margin::Kind::lsm, static_cast<double>(m)}));
  components_.front().kernel.sliders.push_back(
      {"m", margin ? margin.size : kMarginSize, 0, 3.1, 0.05});
}

// F_v is a sum over sliders of multiples of fixed shares, and where it follows the first word times
// its length.
void PagePlay::add_norms(const HeadConfig& config) {
  const WordNorm& word = config.norms.word;
  const ContextNorm& context = config.norms.context;
  if (!config.norms) return;
  components_.front().function = "plain";
  std::vector<Slider>& sliders = components_.front().kernel.sliders;
  const auto shares = [&](const WordNorm& of) {
    return numbers_json(word_norm_ratios(of, kExampleCounts));
  };
  std::string f = "null", g = "null";
  if (word) {
    std::string by_slider, fixed = "[0,0,0]";
    if (word.kind == WordNorm::Kind::constant) {
      sliders.push_back({"F", word.a, 0.1, std::max(6.0, 2 * word.a), 0.1});
      by_slider = "\"F\":" + shares({.kind = word.kind, .a = 1});
    } else if (word.kind == WordNorm::Kind::unigram) {
      sliders.push_back({"A", word.a, 0, std::max(6.0, 2 * word.a), 0.1});
      sliders.push_back({"B", word.b, 0, std::max(6.0, 2 * word.b), 0.1});
      by_slider = concat("\"A\":", shares({.kind = word.kind, .a = 1, .b = 0}),
                         ",\"B\":", shares({.kind = word.kind, .a = 0, .b = 1}));
    } else {
      fixed = shares(word);
    }
    f = concat("{\"fixed\":", fixed, ",\"by\":{", by_slider,
               "},\"first\":", word.multiplies_first() ? "true" : "false",
               ",\"through\":", word.through ? "true" : "false", "}");
  }
  if (context) {
    if (!context.of_batch())
      sliders.push_back({"G", context.value, 0.1, std::max(6.0, 2 * context.value), 0.1});
    else
      sliders.push_back({"longest other context", 1.5, 0, 6, 0.05});
    g = concat("{\"largest\":", context.of_batch() ? "true" : "false",
               ",\"through\":", context.through ? "true" : "false", "}");
  }
  norms_ = concat("{\"word\":", f, ",\"context\":", g, "}");
}

std::string PagePlay::script() const {
  return concat("'use strict';\nconst NINE = (() => {\n", expression::javascript_functions(),
                "return {\n", functions_, "};\n})();\n");
}

std::string PagePlay::component_json(const Component& c) const {
  std::string sliders;
  for (const Slider& s : c.kernel.sliders) sliders += (sliders.empty() ? "" : ",") + slider_json(s);
  const int64_t part = size_ / c.kernel.expression.parts;
  const char* combine = c.kernel.expression.combine == Combine::mixture ? "mixture" : "sum";
  return concat("{\"label\":", json_string(c.label), ",\"run\":", json_string(c.function),
                ",\"parts\":", c.kernel.expression.parts, ",\"size\":", part,
                ",\"means\":", part - (c.kernel.expression.extra.empty() ? 0 : 1),
                ",\"combine\":\"", combine, "\",\"factor\":", json_string(c.kernel.factor),
                ",\"sliders\":[", sliders, "]}");
}

std::string PagePlay::vectors_json() const {
  const bool in_ball = std::any_of(components_.begin(), components_.end(),
                                   [](const Component& c) { return c.kernel.expression.ball > 0; });
  const double scale = in_ball ? 0.4 : 1;
  const int64_t d = size_, k = head_.size();
  std::string words, prior, contexts;
  for (int64_t v = 0; v < kPlayWords; ++v)
    words +=
        (v > 0 ? "," : "") + numbers_json(vector_at(d, (head_.mixture ? d : 2) + v * d, scale));
  std::string out = concat("\"h\":", numbers_json(vector_at(d, 0, scale)), ",\"w\":[", words, "]");
  if (!head_.mixture) return out;
  for (int64_t i = 0; i < k; ++i) {
    prior += (i > 0 ? "," : "") + numbers_json(vector_at(d, (4 + i) * d, 1));
    std::string columns;
    for (int64_t j = 0; j < d; ++j)
      columns += (j > 0 ? "," : "") + numbers_json(vector_at(d, (4 + k + i * d + j) * d, 1));
    contexts += concat(i > 0 ? "," : "", "[", columns, "]");
  }
  out += concat(",\"m\":[", prior, "]");
  return head_.contexts ? out + concat(",\"C\":[", contexts, "]") : out;
}

std::string PagePlay::data(const std::string& name) const {
  // The plane shows the parts of the component that has most of them.
  const Component& shown =
      *std::max_element(components_.begin(), components_.end(), [](const auto& a, const auto& b) {
        return a.kernel.expression.parts < b.kernel.expression.parts;
      });
  std::string components;
  double ball = 0;
  for (const Component& c : components_) {
    components += (components.empty() ? "" : ",") + component_json(c);
    ball = std::max(ball, c.kernel.expression.ball);
  }
  const bool single = components_.size() == 1;
  return concat("{\"name\":", json_string(name), ",\"parts\":", shown.kernel.expression.parts,
                ",\"size\":", size_ / shown.kernel.expression.parts,
                ",\"extra\":", json_string(single ? shown.kernel.expression.extra : std::string()),
                ",\"ball\":", json_number(ball), ",\"components\":[", components,
                "],\"margins\":", strings_json(margins_), ",\"margin\":", json_string(margin_),
                ",\"pieces\":", pieces_, ",\"most_pieces\":", std::max(pieces_, kMostPieces),
                ",\"norms\":", norms_, ",\"loss\":", loss_, ",", vectors_json(), "}");
}

}  // namespace nine::app
