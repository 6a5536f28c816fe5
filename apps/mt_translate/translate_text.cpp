#include "apps/mt_translate/translate_text.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string_view>

#include "core/error.h"
#include "core/json.h"
#include "core/number_format.h"

namespace nine::app {
namespace {

// Words in an n-best list, where ||| separates: | is written as Moses writes it in its texts.
std::string without_separator(std::string words) {
  constexpr std::string_view separator = "|||", written = "&#124;&#124;&#124;";
  for (size_t at = 0; (at = words.find(separator, at)) != std::string::npos; at += written.size())
    words.replace(at, separator.size(), written);
  return words;
}

// Calls f(translation's index, hypothesis) for those that the format shows.
template <class F>
void for_hypotheses(std::span<const Translation> found, const TranslationFormat& format, F&& f) {
  for (size_t i = 0; i < found.size(); ++i)
    for (size_t h = 0; h < (format.n_best || format.all ? found[i].size() : 1); ++h)
      f(i, found[i][h]);
}

void write_numbers(std::span<const double> numbers, std::ostream& out) {
  for (size_t i = 0; i < numbers.size(); ++i) out << (i > 0 ? " " : "") << shortest(numbers[i]);
  out << '\n';
}

}  // namespace

void write_translations(std::span<const Translation> found, const Translator& translator,
                        const TranslationFormat& format, std::ostream& out) {
  for_hypotheses(found, format, [&](size_t i, const Hypothesis& h) {
    const std::string words = translator.text(h.words);
    if (format.n_best) {
      out << format.first + static_cast<int64_t>(i) << " ||| " << without_separator(words)
          << " ||| " << shortest(h.score) << '\n';
    } else {
      out << words << '\n';
    }
  });
}

void write_attention(std::span<const Translation> found, std::span<const BeamSearch::Ids> sources,
                     const Translator& translator, const TranslationFormat& format,
                     std::ostream& out) {
  const auto words = [](const BeamSearch::Ids& ids, const Vocabulary& dictionary) {
    std::vector<std::string> all;
    for (const int32_t id : ids) all.push_back(dictionary.word(id));
    return all;
  };
  for_hypotheses(found, {.all = format.all}, [&](size_t i, const Hypothesis& h) {
    std::vector<std::string> from = words(sources[i], translator.source());
    from.push_back(translator.source().word(Specials::kTranslation.end));
    auto rows = Json::array();
    for (size_t t = 0; t < h.words.size(); ++t) {
      const auto begin = h.attention.begin() + static_cast<int64_t>(t * from.size());
      rows.push_back(std::vector<float>(begin, begin + static_cast<int64_t>(from.size())));
    }
    const Json line{{"line", format.first + static_cast<int64_t>(i)},
                    {"source", from},
                    {"target", words(h.words, translator.target())},
                    {"attention", rows}};
    out << json_text(line) << '\n';
  });
}

void write_token_pairs(std::span<const Translation> found, std::span<const BeamSearch::Ids> sources,
                       const Translator& translator, const TranslationFormat& format,
                       std::ostream& out) {
  const auto tokens = [](const Vocabulary& dictionary, const BeamSearch::Ids& ids) {
    return without_separator(text_of(dictionary, ids, false));
  };
  for_hypotheses(found, {.all = format.all}, [&](size_t i, const Hypothesis& h) {
    out << tokens(translator.source(), sources[i]) << " ||| "
        << tokens(translator.target(), h.words) << '\n';
  });
}

void write_alignment(std::span<const Translation> found, const TranslationFormat& format,
                     std::ostream& out) {
  for_hypotheses(found, {.all = format.all}, [&](size_t, const Hypothesis& h) {
    const std::vector<int64_t> sources = alignment(h);
    for (size_t t = 0; t < sources.size(); ++t) out << (t > 0 ? " " : "") << sources[t] << '-' << t;
    out << '\n';
  });
}

void write_word_scores(std::span<const Translation> found, const TranslationFormat& format,
                       std::ostream& out) {
  for_hypotheses(found, {.all = format.all},
                 [&](size_t, const Hypothesis& h) { write_numbers(h.word_log_probs, out); });
}

void write_log_probs(std::span<const std::vector<double>> scores, bool tokens, std::ostream& out) {
  for (const std::vector<double>& line : scores) {
    if (!tokens) {
      const double sum = std::accumulate(line.begin(), line.end(), 0.0);
      require(
          std::isfinite(sum) ||
              !std::ranges::all_of(line, [](double x) { return std::isfinite(x); }),
          "the log-probabilities of a translation add up to more than a number holds: the model's "
          "weights are too large");
      out << shortest(sum) << '\n';
      continue;
    }
    write_numbers(line, out);
  }
}

}  // namespace nine::app
