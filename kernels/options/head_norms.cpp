#include "kernels/options/head_norms.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>

#include "core/error.h"
#include "core/quote.h"
#include "core/suggest.h"

namespace nine {
namespace {

constexpr const char* kWordForm =
    "none, const:X, uniform, log-rank, log-rank:ratio, unigram:A,B, log-unigram or "
    "log-unigram:scaled";
constexpr const char* kContextForm = "none, const:X, max or max:ema";
constexpr std::string_view kThrough = ":through";

// The names of the norms without numbers.
constexpr std::array<std::pair<WordNorm::Kind, std::string_view>, 6> kWordNames{
    {{WordNorm::Kind::none, "none"},
     {WordNorm::Kind::uniform, "uniform"},
     {WordNorm::Kind::log_rank, "log-rank"},
     {WordNorm::Kind::log_rank_ratio, "log-rank:ratio"},
     {WordNorm::Kind::log_unigram, "log-unigram"},
     {WordNorm::Kind::log_unigram_scaled, "log-unigram:scaled"}}};

// Returns the number that `part` of `text` consists of.
double number(const char* what, std::string_view text, std::string_view part) {
  double x = 0;
  const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), x);
  if (error != std::errc{} || end != part.data() + part.size() || !std::isfinite(x))
    fail_usage(what, " ", quote(text), ": ", quote(part), " is not a number");
  return x;
}

double positive(const char* what, std::string_view text, std::string_view part) {
  const double x = number(what, text, part);
  if (!(x > 0)) fail_usage(what, " ", quote(text), ": X must be above 0");
  return x;
}

// Removes `:through` from the end; returns true if it was there.
bool take_through(std::string_view& text) {
  if (!text.ends_with(kThrough)) return false;
  text.remove_suffix(kThrough.size());
  return true;
}

void read_unigram(WordNorm& n, std::string_view text, std::string_view numbers) {
  const size_t comma = numbers.find(',');
  if (comma == std::string_view::npos)
    fail_usage("word norm ", quote(text), ": unigram needs two numbers, unigram:A,B");
  n.kind = WordNorm::Kind::unigram;
  n.a = number("word norm", text, numbers.substr(0, comma));
  n.b = number("word norm", text, numbers.substr(comma + 1));
  if (!(n.a >= 0 && n.b >= 0 && n.a + n.b > 0))
    fail_usage("word norm ", quote(text), ": A and B must be at least 0, one of them above 0");
}

std::vector<int64_t> by_count(std::span<const double> counts) {
  require(!counts.empty(),
          "word norms that follow counts need the words' counts in the training targets, but no "
          "counts are given; use const:X, or give the counts");
  std::vector<int64_t> order(counts.size());
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](int64_t x, int64_t y) {
    return counts[static_cast<size_t>(x)] > counts[static_cast<size_t>(y)];
  });
  return order;
}

}  // namespace

bool WordNorm::multiplies_first() const {
  return kind == Kind::uniform || kind == Kind::log_rank || kind == Kind::log_rank_ratio ||
         kind == Kind::log_unigram_scaled;
}

std::string to_text(const WordNorm& n) {
  const std::string_view through = n.through ? kThrough : "";
  if (n.kind == WordNorm::Kind::constant) return concat("const:", n.a);
  if (n.kind == WordNorm::Kind::unigram) return concat("unigram:", n.a, ",", n.b);
  for (const auto& [kind, name] : kWordNames)
    if (kind == n.kind) return concat(name, through);
  fail("[word norm] a value without a name");
}

WordNorm word_norm_from_text(std::string_view text) {
  std::string_view rest = text;
  WordNorm n{.through = take_through(rest)};
  bool known = false;
  for (const auto& [kind, name] : kWordNames)
    if (rest == name) n.kind = kind, known = true;
  if (rest.starts_with("const:")) {
    n.kind = WordNorm::Kind::constant;
    n.a = positive("word norm", text, rest.substr(6));
  } else if (rest == "unigram" || rest.starts_with("unigram:")) {
    read_unigram(n, text, rest.substr(std::min<size_t>(8, rest.size())));
  } else if (!known) {
    fail_usage(
        "word norm ", quote(text), ": this norm is not known; write ", kWordForm,
        did_you_mean(rest, {"none", "const:1", "uniform", "log-rank", "unigram", "log-unigram"}));
  }
  if (n.through && !n.multiplies_first())
    fail_usage(
        "word norm ", quote(text),
        ": ':through' lets gradients pass through the norm of the most frequent word, which only "
        "uniform, log-rank, log-rank:ratio and log-unigram:scaled have; leave it out");
  return n;
}

int64_t most_frequent_word(std::span<const double> counts) { return by_count(counts).front(); }

std::vector<double> word_norm_ratios(const WordNorm& n, std::span<const double> counts) {
  using Kind = WordNorm::Kind;
  const std::vector<int64_t> order = by_count(counts);
  const auto words = static_cast<double>(counts.size());
  const auto count = [&](int64_t v) { return std::max(1.0, counts[static_cast<size_t>(v)]); };
  const double first = count(order.front()), log_first = std::log(first),
               log_words = std::log(words);
  double all = 0;
  for (int64_t v = 0; v < std::ssize(counts); ++v) all += count(v);
  require(std::isfinite(all), "the counts of words add up to more than a double holds");
  std::vector<double> out(counts.size());
  for (size_t i = 0; i < order.size(); ++i) {
    const double rank = static_cast<double>(i) + 1, c = count(order[i]);
    double& f = out[static_cast<size_t>(order[i])];
    switch (n.kind) {
      case Kind::none:
      case Kind::uniform:
        f = 1;
        break;
      case Kind::constant:
        f = n.a;
        break;
      case Kind::log_rank:
        f = words == 1 ? 1 : std::log(words - rank + 1) / log_words;
        break;
      case Kind::log_rank_ratio:
        f = words == 1 ? 1 : 1 - std::log(rank) / log_words;
        break;
      case Kind::unigram:
        f = n.a * c / all + n.b;
        break;
      case Kind::log_unigram:
        f = std::log(c);
        break;
      case Kind::log_unigram_scaled:
        f = first == 1 ? 1 : std::log(c) / log_first;
        break;
    }
  }
  return out;
}

std::string to_text(const ContextNorm& n) {
  const std::string_view through = n.through ? kThrough : "";
  switch (n.kind) {
    case ContextNorm::Kind::none:
      return "none";
    case ContextNorm::Kind::constant:
      return concat("const:", n.value);
    case ContextNorm::Kind::max:
      return concat("max", through);
    case ContextNorm::Kind::max_ema:
      return concat("max:ema", through);
  }
  fail("[context norm] a value without a name");
}

ContextNorm context_norm_from_text(std::string_view text) {
  std::string_view rest = text;
  ContextNorm n{.through = take_through(rest)};
  if (rest == "max") {
    n.kind = ContextNorm::Kind::max;
  } else if (rest == "max:ema") {
    n.kind = ContextNorm::Kind::max_ema;
  } else if (rest.starts_with("const:")) {
    n.kind = ContextNorm::Kind::constant;
    n.value = positive("context norm", text, rest.substr(6));
  } else if (rest != "none") {
    fail_usage("context norm ", quote(text), ": this norm is not known; write ", kContextForm,
               did_you_mean(rest, {"none", "const:64", "max", "max:ema"}));
  }
  if (n.through && !n.of_batch())
    fail_usage(
        "context norm ", quote(text),
        ": ':through' lets gradients pass through the largest norm, which only max and max:ema "
        "have; leave it out");
  return n;
}

void HeadNorms::follow(std::span<const double> counts, Device device) {
  if (!word) return;
  ratios = Tensor::from(word_norm_ratios(word, counts), {std::ssize(counts)}).to(device);
  first_word = word.multiplies_first() ? most_frequent_word(counts) : -1;
}

std::vector<double> HeadNorms::sizes(int64_t size) const {
  if (!context) return {};
  if (!context.of_batch()) return std::vector<double>(static_cast<size_t>(size), context.value);
  std::vector<double> all = running.to_vector();
  require(std::ssize(all) == size, "context norm ", to_text(context), ": ", all.size(),
          " running norms for ", size, " components");
  for (double& x : all) x = x > 0 ? x : 1;  // nothing was seen in training
  return all;
}

}  // namespace nine
