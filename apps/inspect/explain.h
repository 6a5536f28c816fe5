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

/// Returns the names of the examples that are not kernels: softmax, lstm, ...
std::vector<std::string> layer_examples();

/// Returns examples of what margin_settings() reads, for the help: "margin=cos:0.3, ... or ...".
std::string margin_examples();
/// Reads "margin=cos:0.3,word_norm=unigram:2,1" as settings of a head. Returns nothing for a name
/// of another form.
std::optional<HeadSettings> margin_settings(const std::string& name);

/// Returns the example of a kernel with its parameters ("pow:p=1"), of a mixture ("mix:lin,rbf"),
/// of one of layer_examples(), or of lin with margin_settings(). UsageError: another name.
/// `numbers` replace the numbers of the example; layer_norm, lstm and attention take them in the
/// order of exercise_draws.h.
WorkedExample explain(const std::string& name, const ShortNumbers& numbers = {});

/// Returns row r of a matrix.
inline std::vector<double> row(const Tensor& t, int64_t r) { return t.row_range(r, 1).to_vector(); }

enum class KernelPart : uint8_t { forward, backward };
/// Adds the lines of S, or of its gradients, for every row of `w` and the context's numbers `h`,
/// and compares them with the kernel's own results. The words' subscripts are those of the rows;
/// the word in `names` does not matter.
void kernel_lines(WorkedExample& example, const Score& score, Subscripts names, const Tensor& w,
                  Numbers h, KernelPart part);
/// Adds the lines of the gradient `grad` by a learned number and, if the number is learned as its
/// logarithm, by the logarithm. `component` is the subscript.
void learned_lines(WorkedExample& example, const LearnedNumber& number,
                   const std::string& component, const Tensor& grad, int64_t words = kExampleWords);
/// Returns a number of words as text: "three words".
std::string words_text(int64_t words);
/// Returns "[1, 0, 0]": 1 at the target, 0 at the other words.
std::string target_text(const ExampleSizes& sizes);
/// True if a component has a ball that ordinary vectors do not fit into, because they are longer
/// than its radius.
bool needs_short_vectors(const HeadSpec& head);
/// Returns the softmax of a symbol, whose numbers are `scores`, as a formula that does not
/// overflow.
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
WorkedExample explain_z_loss(const ShortNumbers& numbers);
WorkedExample explain_layer_norm(const ShortNumbers& numbers);
WorkedExample explain_rms_norm(const ShortNumbers& numbers);
WorkedExample explain_swiglu(const ShortNumbers& numbers);
WorkedExample explain_geglu(const ShortNumbers& numbers);
WorkedExample explain_rotary(const ShortNumbers& numbers);
WorkedExample explain_lstm(const ShortNumbers& numbers);
WorkedExample explain_attention(const ShortNumbers& numbers);
WorkedExample explain_grouped_attention(const ShortNumbers& numbers);
/// Explains lin with the margin and the norms of a configuration.
WorkedExample explain_margin(const HeadConfig& by_angle, const ShortNumbers& numbers);

}  // namespace nine::app
