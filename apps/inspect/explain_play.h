// The data and the generated functions of a head for the plane of a page.
#pragma once

#include <string>
#include <vector>

#include "apps/inspect/kernel_formulas.h"
#include "kernels/settings/head_config.h"

namespace nine::app {

/// The plane of a page: one context and three words, with a kernel, a mixture of kernels, or lin
/// with margins and norms. Both texts go into the page's scripts.
class PagePlay {
 public:
  /// Takes any head of kernels.
  explicit PagePlay(const HeadSpec& head);
  /// Does the same with an option that changes the loss: "label_smoothing", "pi_reg" (of a mixture)
  /// or "weight_norm_reg". The page then offers no margins.
  PagePlay(const HeadSpec& head, const std::string& option);
  /// Takes lin with a margin or norms. The words' counts are those of the worked example.
  explicit PagePlay(const HeadConfig& by_angle);

  /// Returns the script of the object NINE, which has one function for each form of score.
  std::string script() const;
  /// Returns the numbers with which the page begins, as JSON.
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
  std::vector<std::string> margins_;  ///< the margins that the page offers
  std::string margin_ = "score", norms_ = "null", loss_ = "null", functions_;
  int pieces_ = 2;  ///< of lsm
};

}  // namespace nine::app
