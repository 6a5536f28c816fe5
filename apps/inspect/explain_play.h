// What a page's plane plays with: the data and the generated functions of a head.
#pragma once

#include <string>
#include <vector>

#include "apps/inspect/kernel_formulas.h"
#include "kernels/settings/head_config.h"

namespace nine::app {

/// The plane of a page: one context and three words, by a kernel, a mixture of kernels, or lin with
/// margins and norms of its own. Both texts go into the page's scripts.
class PagePlay {
 public:
  /// Any head of kernels.
  explicit PagePlay(const HeadSpec& head);
  /// The same with what an option changes in the loss: "label_smoothing", "pi_reg" (of a mixture)
  /// or "weight_norm_reg". Margins are not offered then.
  PagePlay(const HeadSpec& head, const std::string& option);
  /// lin with a margin or norms; words' counts are those of the worked example.
  explicit PagePlay(const HeadConfig& by_angle);

  /// The object NINE: one function for each form of score.
  std::string script() const;
  /// The numbers that the page begins with, as JSON.
  std::string data(const std::string& name) const;

 private:
  struct Component {
    std::string label, function;
    PageKernel kernel;
  };

  void add(const std::string& name, const std::string& formula);
  void add_margins(const Margin& margin);
  void add_norms(const HeadConfig& config);
  std::string component_json(const Component& component) const;
  std::string vectors_json() const;

  HeadSpec head_;
  int64_t size_ = 2;  ///< of a vector
  std::vector<Component> components_;
  std::vector<std::string> margins_;  ///< what the list of margins offers
  std::string margin_ = "score", norms_ = "null", loss_ = "null", functions_;
  int pieces_ = 2;  ///< of lsm
};

}  // namespace nine::app
