#include "apps/lm_score/lm_top_k.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "core/ops.h"
#include "data/text.h"

namespace nine::app {
namespace {

struct Position {
  double log_p = 0;  // of the text's own word
  int64_t rank = 0;
  std::vector<int32_t> top;
  std::vector<double> top_log_p;
};

// What one row of log-probabilities says about the word that came; ties go to the word with the
// lower number.
Position look(std::span<const double> log_p, int32_t target, size_t count) {
  const auto at = [&](int32_t v) { return log_p[static_cast<size_t>(v)]; };
  const auto likelier = [&](int32_t a, int32_t b) {
    return at(a) != at(b) ? at(a) > at(b) : a < b;
  };
  Position p{at(target), 1, std::vector<int32_t>(log_p.size()), {}};
  std::iota(p.top.begin(), p.top.end(), 0);
  p.rank +=
      std::count_if(p.top.begin(), p.top.end(), [&](int32_t v) { return likelier(v, target); });
  std::partial_sort(p.top.begin(), p.top.begin() + static_cast<std::ptrdiff_t>(count), p.top.end(),
                    likelier);
  p.top.resize(count);
  p.top.shrink_to_fit();
  for (const int32_t v : p.top) p.top_log_p.push_back(at(v));
  return p;
}

// Every position of a batch, row by row; a few rows of log-probabilities at a time.
std::vector<Position> look_at(const LanguageModel& model, const EncodedSentences& batch,
                              size_t count) {
  const int32_t* target = batch.targets.data<int32_t>();
  const int64_t rows = batch.targets.elements(), words = model.config().vocab;
  std::vector<Position> positions(static_cast<size_t>(rows));
  for (int64_t first = 0; first < rows; first += ops::kHeadPanel) {
    const int64_t part = std::min(ops::kHeadPanel, rows - first);
    const Tensor log_p = model.log_probabilities(row_range(batch.hidden, first, part));
    for (int64_t r = 0; r < part; ++r)
      if (target[first + r] >= 0)
        positions[static_cast<size_t>(first + r)] =
            look({log_p.data<double>() + r * words, static_cast<size_t>(words)}, target[first + r],
                 count);
  }
  return positions;
}

class TopWriter {
 public:
  TopWriter(const Vocabulary& vocabulary, std::ostream& out) : vocabulary_(vocabulary), out_(out) {}

  void header(size_t count) {
    out_ << "line\tposition\tword\tprobability\trank";
    for (size_t i = 1; i <= count; ++i) out_ << "\tword." << i << "\tp." << i;
    out_ << '\n';
  }
  void write(int64_t line, int64_t position, std::string_view word, bool known, const Position& p) {
    out_ << line << '\t' << position << '\t' << word << (known ? "" : " (<unk>)");
    probability(p.log_p);
    out_ << '\t' << p.rank;
    for (size_t i = 0; i < p.top.size(); ++i) {
      out_ << '\t' << vocabulary_.word(p.top[i]);
      probability(p.top_log_p[i]);
    }
    out_ << '\n';
  }

 private:
  void probability(double log_p) {
    char text[32];
    std::snprintf(text, sizeof text, "\t%.6g", std::exp(log_p));
    out_ << text;
  }
  const Vocabulary& vocabulary_;
  std::ostream& out_;
};

}  // namespace

void write_top_words(const SavedLanguageModel& saved, std::span<const std::string> lines,
                     int64_t count, int64_t batch_tokens, std::ostream& out) {
  const Vocabulary& vocabulary = saved.vocabulary();
  const Corpus text = Corpus::of_lines(lines, vocabulary);
  const auto shown = static_cast<size_t>(std::min<int64_t>(count, vocabulary.size()));
  TopWriter writer(vocabulary, out);
  writer.header(shown);
  Arena arena("score", saved.device());
  Tape tape(arena);
  std::vector<std::string_view> words;
  encode_sentences(saved.model(), tape, text, batch_tokens, [&](const EncodedSentences& batch) {
    const std::vector<Position> positions = look_at(saved.model(), batch, shown);
    for (int64_t c = 0; c < batch.count; ++c) {
      const int64_t s = batch.first + c;
      if (batch.begin == 0) {
        split_words(lines[static_cast<size_t>(s)], words);
        words.push_back(Specials::kLanguageModel.text(Specials::kLanguageModel.end));
      }
      for (int64_t t = batch.begin; t < std::min(batch.begin + batch.rows, std::ssize(words));
           ++t) {
        const std::string_view word = words[static_cast<size_t>(t)];
        const bool known =
            text.sentence(s)[static_cast<size_t>(t)] != Specials::kLanguageModel.unknown ||
            word == Specials::kLanguageModel.text(Specials::kLanguageModel.unknown);
        writer.write(s + 1, t + 1, word, known,
                     positions[static_cast<size_t>((t - batch.begin) * batch.count + c)]);
      }
    }
  });
}

}  // namespace nine::app
