#include "apps/lm_score/lm_top_k.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <sstream>

#include "core/shared_parts.h"
#include "data/text.h"
#include "nn/models/word_expectations.h"

namespace nine::app {
namespace {

class TopWriter {
 public:
  TopWriter(const Vocabulary& vocabulary, std::ostream& out) : vocabulary_(vocabulary), out_(out) {}

  void header(size_t count) {
    out_ << "line\tposition\tword\tprobability\trank";
    for (size_t i = 1; i <= count; ++i) out_ << "\tword." << i << "\tp." << i;
    out_ << '\n';
  }
  void write(int64_t line, int64_t position, std::string_view word, bool known,
             const WordExpectation& p) {
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

void write_top_words(const LanguageModel& model, const EncodedLines& input, int64_t count,
                     int64_t batch_tokens, std::ostream& out, Communicator& communicator) {
  const Vocabulary& vocabulary = model.vocabulary();
  const Corpus& text = input.text();
  if (input.first() == 0)
    TopWriter(vocabulary, out)
        .header(static_cast<size_t>(std::min<int64_t>(count, vocabulary.size())));
  const std::vector<SentenceRange> batches =
      sentence_batches(model.network(), text, batch_tokens, {.before = input.first()});
  const auto make = [&](int64_t i) {
    std::ostringstream part;
    TopWriter writer(vocabulary, part);
    std::vector<std::string_view> words;
    word_expectations(
        model, text, count, batch_tokens,
        [&](int64_t s, int64_t t, const WordExpectation& expectation) {
          if (t == 0) {
            words.clear();
            if (model.tokenizer() != nullptr) {
              for (const int32_t id : text.sentence(s)) words.push_back(vocabulary.word(id));
            } else {
              split_words(input.lines()[static_cast<size_t>(s)], words);
              words.push_back(Specials::kLanguageModel.text(Specials::kLanguageModel.end));
            }
          }
          const std::string_view word = words[static_cast<size_t>(t)];
          const bool known =
              text.sentence(s)[static_cast<size_t>(t)] != model.unknown() ||
              word == Specials::kLanguageModel.text(Specials::kLanguageModel.unknown);
          writer.write(input.first() + s + 1, t + 1, word, known, expectation);
        },
        batches[static_cast<size_t>(i)]);
    return part.str();
  };
  for_shared_parts(communicator, std::ssize(batches), make,
                   [&](std::string_view part) { out << part; });
}

}  // namespace nine::app
