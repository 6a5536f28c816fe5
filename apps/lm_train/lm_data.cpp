#include "apps/lm_train/lm_data.h"

#include "apps/training/training_texts.h"
#include "core/crc32c.h"
#include "data/sample/sample.h"

namespace nine::app {
namespace {

// The vocabulary that was given, or that of the training text, which `counted` counts.
template <class Counted>
Vocabulary vocabulary_of(const LmOptions& o, Counted&& counted) {
  if (!o.vocab.empty()) return Vocabulary::read(o.vocab, Specials::kLanguageModel);
  return Vocabulary::build(counted(), Specials::kLanguageModel, o.vocabulary_limits());
}

LmData sample_data(const LmOptions& o) {
  const SampleLanguage language;
  const SampleCorpus train = language.generate(o.seed, "train", o.sample_sentences),
                     valid = language.generate(o.seed, "valid", kSampleHeldOut),
                     test = language.generate(o.seed, "test", kSampleHeldOut);
  Vocabulary vocabulary = vocabulary_of(o, [&] { return count_words_of_lines(train.lines); });
  Corpus train_ids = Corpus::of_lines(train.lines, vocabulary),
         valid_ids = Corpus::of_lines(valid.lines, vocabulary),
         test_ids = Corpus::of_lines(test.lines, vocabulary);
  // The language's perplexity is a lower bound only for a vocabulary of all words: a model with
  // <unk> need not predict the words that it stands for.
  const auto floor = [](const Corpus& ids, const SampleCorpus& text) {
    return ids.unknown() == 0 ? std::optional(text.perplexity()) : std::nullopt;
  };
  const std::optional<double> valid_floor = floor(valid_ids, valid),
                              test_floor = floor(test_ids, test);
  return {.vocabulary = std::move(vocabulary),
          .train = std::move(train_ids),
          .valid = std::move(valid_ids),
          .test = std::move(test_ids),
          .valid_floor = valid_floor,
          .test_floor = test_floor,
          .language_floor = language.perplexity()};
}

}  // namespace

RunInputs LmData::inputs(const LmOptions& o) const {
  RunInputs out;
  out.identity["train"] = train.checksum();
  if (valid) out.identity["valid"] = valid->checksum();
  if (test) out.identity["test"] = test->checksum();
  out.identity["vocab"] = vocabulary.word_checksum();
  out.add_model("init", o.init);
  const std::string words = vocabulary.dict_text();
  out.former = {
      {"train_crc32c", crc32c(train.id_checksum(), words.data(), words.size()), {"train", "vocab"}},
      {"valid_crc32c", valid ? valid->id_checksum() : 0, {"valid"}}};
  return out;
}

LmData load_lm_data(const LmOptions& o) {
  require_texts("--train", o.train);
  require_texts("--valid", o.valid);
  require_texts("--test", o.test);
  LmData data = [&] {
    if (o.sample) return sample_data(o);
    Vocabulary vocabulary = vocabulary_of(o, [&] { return count_words(o.train); });
    Corpus train(o.train, vocabulary);
    const auto optional = [&](const std::vector<std::string>& files) {
      return files.empty() ? std::nullopt : std::optional<Corpus>(Corpus(files, vocabulary));
    };
    std::optional<Corpus> valid = optional(o.valid), test = optional(o.test);
    return LmData{.vocabulary = std::move(vocabulary),
                  .train = std::move(train),
                  .valid = std::move(valid),
                  .test = std::move(test),
                  .valid_floor = {},
                  .test_floor = {},
                  .language_floor = {}};
  }();
  data.vocabulary.set_special_counts(data.train.sentences(), data.train.unknown());
  if (o.documents) data.train.join_documents();
  return data;
}

}  // namespace nine::app
