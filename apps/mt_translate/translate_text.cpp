#include "apps/mt_translate/translate_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/number_format.h"
#include "data/tokenize_13a.h"
#include "nn/training/translation_validation.h"

namespace nine::app {

TokenReader::TokenReader(const SegmentationOptions& o) : raw_(o.raw) {
  if (o.codes.empty()) return;
  SegmentOptions options{.glossaries = Glossaries(o.glossaries)};
  if (!o.vocabulary.empty())
    options.vocabulary = read_bpe_vocabulary(o.vocabulary, o.vocabulary_threshold);
  segmenter_.emplace(BpeCodes::read(o.codes), std::move(options));
}

std::string TokenReader::tokens(const std::string& line, BpeCache& cache) const {
  std::string words = raw_ ? tokenize_13a(line) : line;
  std::replace(words.begin(), words.end(), '\t', ' ');  // for the segmenter only spaces separate
  if (!segmenter_) return words;
  std::string cut;
  segmenter_->segment(words, cut, cache);
  return cut;
}

std::vector<Translator::Ids> TokenReader::ids(const std::vector<std::string>& lines,
                                              const Vocabulary& dictionary, int64_t most,
                                              const std::string& name) const {
  std::vector<Translator::Ids> all;
  BpeCache cache;
  for (const std::string& line : lines) {
    all.push_back(dictionary.encode(tokens(line, cache)));  // the translator adds </s>
    require(static_cast<int64_t>(all.back().size()) <= most, name, ", line ", all.size(), " has ",
            all.back().size(), " tokens, but the model has positions for ", most,
            ": cut it into several lines");
  }
  return all;
}

std::string text_of(const Translator::Ids& ids, const Vocabulary& dictionary, bool join) {
  return join ? nine::text_of(dictionary, ids) : tokens_of(dictionary, ids);
}

void write_translations(std::span<const Translation> found, const Vocabulary& target,
                        const TranslationFormat& format, std::ostream& out) {
  for (size_t i = 0; i < found.size(); ++i)
    for (const Hypothesis& h : found[i]) {
      const std::string words = text_of(h.words, target, format.join);
      if (!format.n_best) {
        out << words << '\n';
        break;
      }
      out << format.first + static_cast<int64_t>(i) << " ||| " << words << " ||| "
          << shortest(h.score) << '\n';
    }
}

void write_attention(std::span<const Translation> found, std::span<const Translator::Ids> sources,
                     const Vocabulary& source, const Vocabulary& target, int64_t first,
                     std::ostream& out) {
  const auto words = [](const Translator::Ids& ids, const Vocabulary& dictionary) {
    std::vector<std::string> all;
    for (const int32_t id : ids) all.push_back(dictionary.word(id));
    return all;
  };
  for (size_t i = 0; i < found.size(); ++i) {
    const Hypothesis& h = found[i].front();
    std::vector<std::string> from = words(sources[i], source);
    from.push_back(source.word(Specials::kTranslation.end));
    auto rows = nlohmann::ordered_json::array();
    for (size_t t = 0; t < h.words.size(); ++t) {
      const auto begin = h.attention.begin() + static_cast<int64_t>(t * from.size());
      rows.push_back(std::vector<float>(begin, begin + static_cast<int64_t>(from.size())));
    }
    const nlohmann::ordered_json line{{"line", first + static_cast<int64_t>(i)},
                                      {"source", from},
                                      {"target", words(h.words, target)},
                                      {"attention", rows}};
    out << line.dump() << '\n';
  }
}

void write_log_probs(std::span<const std::vector<double>> scores, bool tokens, std::ostream& out) {
  for (const std::vector<double>& line : scores) {
    if (!tokens) {
      out << shortest(std::accumulate(line.begin(), line.end(), 0.0)) << '\n';
      continue;
    }
    for (size_t i = 0; i < line.size(); ++i) out << (i > 0 ? " " : "") << shortest(line[i]);
    out << '\n';
  }
}

}  // namespace nine::app
