#include "apps/inspect/check.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <sstream>

#include "apps/inspect/worked_example.h"
#include "autograd/gradcheck.h"
#include "checks/op_cases.h"
#include "kernels/loss/kernel_softmax.h"
#include "kernels/settings/head_fields.h"
#include "kernels/settings/learned_numbers.h"

namespace nine::app {
namespace {

constexpr double kLimit = 1e-6;
constexpr double kMostShapeNumbers = 1e9;  // of a shape

struct HeadShape {
  int64_t rows, words, size;
};

HeadShape shape_of(const CheckSettings& s, RandomStream& random) {
  const auto drawn = [&](int64_t low) {
    return low + static_cast<int64_t>(random.below(static_cast<uint64_t>(s.largest)));
  };
  if (s.shape.empty())
    // d is a multiple of 4, as mog needs 2 parts of at least 2 numbers.
    return {drawn(1), drawn(2), 4 * drawn(1)};
  char comma1 = 0, comma2 = 0, rest = 0;
  long long n = 0, v = 0, d = 0;
  const int read =
      std::sscanf(s.shape.c_str(), "%lld%c%lld%c%lld%c", &n, &comma1, &v, &comma2, &d, &rest);
  if (read != 5 || comma1 != ',' || comma2 != ',' || n < 1 || v < 1 || d < 1)
    throw UsageError(concat("--shape: ", s.shape,
                            " must be N,V,d, the numbers of contexts, of words and of a vector's "
                            "elements, such as 3,5,8"));
  // In floating point, as the products may not fit into an integer. A mixture has d x d weights.
  const auto size = static_cast<double>(d);
  if (static_cast<double>(n) * static_cast<double>(v) * size > kMostShapeNumbers ||
      size * size > kMostShapeNumbers)
    throw UsageError(concat("--shape: ", s.shape,
                            " is too large: N x V x d and d x d must be at most 1000000000"));
  return {n, v, d};
}

CheckRow row_of(const std::string& name, const GradcheckReport& r, bool is_head, size_t inputs) {
  CheckRow row{name, r.checked, r.worst, r.where, "", is_head};
  if (is_head) {
    const auto vanish = [&](size_t input) { return std::ranges::count(r.vanished, input) > 0; };
    const bool contexts = vanish(0), words = vanish(1);
    row.unchecked = contexts && words ? "contexts and of the word vectors"
                    : contexts        ? "contexts"
                    : words           ? "word vectors"
                                      : "";
  } else if (r.vanished.size() == inputs) {
    row.unchecked = "inputs";
  }
  return row;
}

CheckRow check_op(const checks::OpCase& c, const CheckSettings& s) {
  std::vector<Tensor> inputs, indices;
  const auto values = checks::random_values(c.inputs, s.seed);
  const auto ints = checks::random_indices(c.indices, s.seed);
  for (size_t i = 0; i < values.size(); ++i)
    inputs.push_back(checks::tensor_of(values[i], c.inputs[i].shape, DType::float64));
  for (size_t i = 0; i < ints.size(); ++i)
    indices.push_back(checks::tensor_of(ints[i], c.indices[i].shape));
  const auto run = [&](std::span<const Var> x) { return c.run(x, indices); };
  return row_of(c.name,
                gradcheck(run, inputs, {.eps = s.eps, .max_elements = c.checked, .seed = s.seed}),
                false, inputs.size());
}

// A head string and settings after it, with spaces between them: "lin margin=cos:0.2".
HeadConfig config_of(const std::string& text) {
  std::istringstream words(text);
  HeadSettings settings;
  words >> settings.head;
  for (std::string word; words >> word;) {
    const std::string name = word.substr(0, word.find('='));
    for (const HeadSetting& setting : head_settings())
      if (name == setting.name)
        setting.set(settings, name == word ? "true" : word.substr(name.size() + 1));
  }
  return settings.head_config();
}

CheckRow check_head(const std::string& text, const HeadShape& shape, const CheckSettings& s) {
  const HeadConfig config = config_of(text);
  const HeadSpec& head = config.spec;
  const bool untied = head.untied;
  const int64_t n = shape.rows, v = shape.words, d = shape.size;
  if (const std::string wrong = head.check(d); !wrong.empty())
    throw UsageError(concat("--shape: vectors of ", d, " numbers: ", wrong));
  // Vectors of length near 0.6 for any d: far apart, gradients of rbf and wav are too small for
  // differences to have digits, and on the rim of hpb's ball=clip differences step over a kink.
  const double most = std::sqrt(1.0 / static_cast<double>(d));
  std::vector<checks::Input> inputs{
      {{n, d}, -most, most}, {untied ? Shape{head.size(), v, d} : Shape{v, d}, -most, most}, {{v}}};
  if (head.mixture) inputs.push_back({{head.size(), d}});
  if (head.contexts) inputs.push_back({{head.size() * d, d}});
  std::vector<Tensor> tensors;
  const auto values = checks::random_values(inputs, s.seed);
  for (size_t i = 0; i < inputs.size(); ++i)
    tensors.push_back(checks::tensor_of(values[i], inputs[i].shape, DType::float64));
  const auto first_number = static_cast<int64_t>(tensors.size());
  for (const LearnedNumber& number : learned_numbers(head))
    tensors.push_back(Tensor::from<double>({number.stored(number.start)}, {1}));
  const Tensor targets = checks::tensor_of(
      checks::random_indices({{{n}, 0, static_cast<int32_t>(v)}}, s.seed)[0], {n});
  HeadLoss loss = config.loss;
  loss.smoothing.epsilon = 0.1;
  HeadNorms norms{config.norms};
  norms.follow(checks::random_values({{{v}, 0, 50}}, s.seed)[0]);
  const auto run = [&](std::span<const Var> x) {
    HeadWeights weights{.w = {x[1]}, .bias = x[2], .norms = norms};
    if (head.mixture) weights.prior = x[3];
    if (head.contexts) weights.latent = x[4];
    weights.numbers.assign(x.begin() + first_number, x.end());
    return kernel_softmax(head, x[0], weights, targets, 1.0 / static_cast<double>(n), loss).loss;
  };
  return row_of(concat("head ", text, " ", n, "x", v, "x", d),
                gradcheck(run, tensors, {.eps = s.eps, .max_elements = 40, .seed = s.seed}), true,
                tensors.size());
}

// What is not checked of a mixture's components: in a mixture the gradients of the other components
// hide it. Empty if something of each was checked.
std::string unchecked_component(const HeadSpec& head, const HeadShape& shape,
                                const CheckSettings& s) {
  for (const Score& score : head.components) {
    const std::string text = to_text(score), unchecked = check_head(text, shape, s).unchecked;
    if (!unchecked.empty()) return concat(unchecked, ", of its component ", text, " alone,");
  }
  return "";
}

// The heads of --kernels, each written out: a formula without spaces. A mixture takes the rest of
// the list, because commas separate its components too.
std::vector<std::string> listed_heads(const CheckSettings& s) {
  std::vector<std::string> heads;
  for (std::string_view name : split_head(s.kernels, ',')) {
    const bool mixture = name.starts_with("mix:");
    if (mixture)
      name =
          std::string_view(s.kernels).substr(static_cast<size_t>(name.data() - s.kernels.data()));
    try {
      heads.push_back(parse_head(name).to_text());
    } catch (const UsageError& e) {
      throw UsageError(concat("--kernels ", s.kernels, ": ", e.what()));
    }
    if (mixture) break;
  }
  return heads;
}

std::string scientific(double x) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%8.1e", x);
  return text.data();
}

std::string unchecked_text(const CheckRow& r) {
  return concat("not checked: ", r.name, ": all gradients of the ", r.unchecked,
                " are below 1e-7, and 0 agrees with 0",
                r.is_head ? "; give the kernel other numbers, or another --shape\n" : "\n");
}

}  // namespace

std::vector<std::string> checked_heads() {
  std::vector<std::string> heads;
  for (const KernelInfo& k : kernel_table()) heads.emplace_back(k.name);
  for (const char* more :
       {"log:p=0.7", "pow:p=1", "pow:p=3", "pol:alpha=0.5:c=0.3:p=3", "ssg:variance=0.5",
        "mog:form=mixture", "hpb:ball=tanh", "hpb:ball=clip", "hpb:ball=sigmoid", "wav:a=2:b=3",
        "rbf:gamma=learn:0.5:scale=learn:2", "mog:form=mixture:variance=learn:0.7"})
    heads.emplace_back(more);
  for (const HeadPreset& p : head_presets()) heads.emplace_back(p.name);
  heads.emplace_back("mix1 untied");
  for (const char* formula :
       {"expr:{s*tanh(z/s)}:s=3", "expr:{-log(1+q^(p/2))}:p=1.5", "expr:{2*c-acosh(1+q)+0.1*ww}",
        "mix:lin,expr:{where(z<0,z,log1p(z))}"})
    heads.emplace_back(formula);
  // Gradients that do not pass through a norm are no derivatives of the loss: here all do.
  for (const char* more :
       {"lin margin=cos:0.2", "lin margin=arc:0.5", "lin margin=lsm:3",
        "lin margin=cos:0.2 word_norm=log-rank:through context_norm=max:through",
        "lin margin=lsm:2 word_norm=unigram:2,1 context_norm=const:3",
        "mix:2*lin margin=arc:0.3 word_norm=uniform:through context_norm=max:through",
        "mix:2*lin untied margin=cos:0.1 word_norm=log-unigram:scaled:through"})
    heads.emplace_back(more);
  return heads;
}

std::vector<CheckRow> check_rows(const CheckSettings& s) {
  std::vector<CheckRow> rows;
  RandomStream random({.seed = s.seed, .op = stream_id("kernel_inspect.shapes")});
  std::vector<HeadShape> shapes;
  const std::vector<std::string> heads = s.kernels.empty() ? checked_heads() : listed_heads(s);
  for (size_t i = 0; i < heads.size(); ++i) shapes.push_back(shape_of(s, random));
  if (s.kernels.empty())
    for (const checks::OpCase& c : checks::random_op_cases(s.seed, s.largest))
      rows.push_back(check_op(c, s));
  for (size_t i = 0; i < shapes.size(); ++i) {
    CheckRow& row = rows.emplace_back(check_head(heads[i], shapes[i], s));
    if (s.kernels.empty() || !row.unchecked.empty()) continue;  // the table has each kernel alone
    if (const HeadSpec head = parse_head(heads[i]); head.mixture)
      row.unchecked = unchecked_component(head, shapes[i], s);
  }
  return rows;
}

std::string check_text(const std::vector<CheckRow>& rows) {
  size_t width = 0;
  for (const CheckRow& r : rows) width = std::max(width, r.name.size());
  std::string text = padded("op or head, with its shape", width) + "  numbers     worst  where\n";
  const auto line = [&](const CheckRow& r) {
    std::array<char, 16> count{};
    std::snprintf(count.data(), count.size(), "%7lld", static_cast<long long>(r.checked));
    return concat(padded(r.name, width), "  ", count.data(), "  ", scientific(r.worst), "  ",
                  r.where, "\n");
  };
  for (const CheckRow& r : rows) text += line(r);
  const auto worst =
      std::max_element(rows.begin(), rows.end(),
                       [](const CheckRow& a, const CheckRow& b) { return a.worst < b.worst; });
  const auto above = std::count_if(rows.begin(), rows.end(),
                                   [](const CheckRow& r) { return !(r.worst < kLimit); });
  text +=
      concat("\nworst of all:\n", line(*worst), above, " of ", rows.size(), " are above 1e-6\n");
  for (const CheckRow& r : rows)
    if (!r.unchecked.empty()) text += unchecked_text(r);
  return text;
}

bool passed(const std::vector<CheckRow>& rows) {
  return std::ranges::all_of(rows, [](const CheckRow& r) {
    return r.worst < kLimit && !(r.is_head && !r.unchecked.empty());
  });
}

}  // namespace nine::app
