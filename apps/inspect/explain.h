// kernel_inspect --explain: a small numeric example through forward and backward, computed by the
// library's own ops. Examples of heads are in explain_kernel.cpp and explain_mixture.cpp, those of
// layers in explain_layers.cpp.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "apps/inspect/kernel_steps.h"
#include "apps/inspect/worked_example.h"
#include "kernels/settings/head.h"
#include "kernels/settings/head_config.h"
#include "kernels/settings/learned_numbers.h"

namespace nine::app {

/// The names of the examples that are not kernels: softmax, lstm, ...
std::vector<std::string> layer_examples();

/// What margin_settings() reads, for a help page: "margin=cos:0.3, ... or ...".
std::string margin_examples();
/// "margin=cos:0.3,word_norm=unigram:2,1" as settings of a head; nothing where the name has another
/// form.
std::optional<HeadSettings> margin_settings(const std::string& name);

/// The example of a kernel with its parameters ("pow:p=1"), of a mixture of them
/// ("mix:lin,rbf"), of one of layer_examples(), or of lin with margin_settings(). UsageError: none
/// of these.
/// `numbers` replace its own; layer_norm, lstm and attention take them as exercise_draws.h has
/// them.
WorkedExample explain(const std::string& name, const ShortNumbers& numbers = {});

/// Row r of a matrix.
inline std::vector<double> row(const Tensor& t, int64_t r) { return t.row_range(r, 1).to_vector(); }

enum class KernelPart : uint8_t { forward, backward };
/// The lines of S of every row of `w` with the context's numbers `h`, or those of its gradients,
/// compared with the kernel's own. The words' subscripts are those of the rows, whatever `names`
/// says.
void kernel_lines(WorkedExample& example, const Score& score, Subscripts names, const Tensor& w,
                  Numbers h, KernelPart part);
/// The gradient by a learned number, `grad`, and where that is learned as its logarithm by it.
/// `component` is its subscript.
void learned_lines(WorkedExample& example, const LearnedNumber& number,
                   const std::string& component, const Tensor& grad);
/// Whether a component has a ball whose rim vectors of ordinary length are beyond.
bool needs_short_vectors(const HeadSpec& head);
/// The softmax of a symbol, whose numbers are `scores`, as a formula that does not overflow.
std::string softmax_formula(const Numbers& scores, const std::string& symbol);

/// The counts of the words in the example of margins and norms.
inline const std::vector<double> kExampleCounts{6, 3, 1};
/// The head of the example "mixture".
HeadSpec mixture_example_head();

/// The examples themselves.
WorkedExample explain_kernel(const Score& score, const ShortNumbers& numbers);
WorkedExample explain_softmax(const ShortNumbers& numbers);
WorkedExample explain_mixture(const ShortNumbers& numbers);
WorkedExample explain_mixture_head(const HeadSpec& head, const ShortNumbers& numbers);
WorkedExample explain_prior_penalty(const ShortNumbers& numbers);
WorkedExample explain_norm_penalty(const ShortNumbers& numbers);
WorkedExample explain_label_smoothing(const ShortNumbers& numbers);
WorkedExample explain_layer_norm(const ShortNumbers& numbers);
WorkedExample explain_lstm(const ShortNumbers& numbers);
WorkedExample explain_attention(const ShortNumbers& numbers);
/// Of lin with the margin and the norms of a configuration.
WorkedExample explain_margin(const HeadConfig& by_angle, const ShortNumbers& numbers);

}  // namespace nine::app
