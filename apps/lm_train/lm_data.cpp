#include "apps/lm_train/lm_data.h"

#include "apps/lm_train/start_vectors.h"
#include "apps/training/training_texts.h"
#include "core/crc32c.h"
#include "core/error.h"
#include "core/notice.h"
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

// Says how often a text has GPT-2's marker of the end of a document, which is text here.
void say_end_markers(const RawText& text, std::string_view flag) {
  constexpr std::string_view kMarker = "<|endoftext|>";
  int64_t count = 0;
  for (size_t at = text.bytes.find(kMarker); at != std::string::npos;
       at = text.bytes.find(kMarker, at + kMarker.size()))
    ++count;
  if (count > 0)
    notice(concat(flag, " has ", kMarker, " ", count, count == 1 ? " time" : " times",
                  ", and it is text like any other: blank lines end documents, or lines in a text "
                  "without blank lines. Give the text without the marker"));
}

// Raw texts, their tokenizer, and what is held out for validation.
LmData raw_data(const LmOptions& o) {
  constexpr size_t kHeldOutShare = 20;
  const RawText text = RawText::read(o.text);
  say_end_markers(text, "--text");
  const DocumentEnds ends = text.ends();
  std::vector<RawPart> train = text.documents(ends), held_out;
  std::string message;
  if (o.valid.empty()) {
    const char* const units = ends == DocumentEnds::lines ? "lines" : "documents";
    require(train.size() >= 2, "--text ", o.text[0], " has a single ",
            ends == DocumentEnds::lines ? "line" : "document",
            ", of which nothing can be held out: give a validation text as --valid");
    const size_t all = train.size(), held = std::max<size_t>(1, all / kHeldOutShare);
    held_out.assign(train.end() - static_cast<std::ptrdiff_t>(held), train.end());
    train.resize(all - held);
    message = concat("validation text: the last ", held, " of ", all, " ", units,
                     " of --text, which are not trained on (--valid gives another text)");
  }
  // The tokenizer is learned from what is trained on, file by file.
  std::vector<std::string_view> learned_from;
  const size_t end =
      static_cast<size_t>(train.back().text.data() - text.bytes.data()) + train.back().text.size();
  size_t begin = 0;
  for (const size_t file : text.files) {
    const size_t stop = std::min(file, end);
    if (stop > begin)
      learned_from.push_back(std::string_view(text.bytes).substr(begin, stop - begin));
    begin = std::max(begin, stop);
  }
  const std::optional<ModelTokenizer> of_init = o.tokenizer_of_init();
  const ModelTokenizer tokenizer =
      of_init ? *of_init
              : o.raw_tokenizer.make(learned_from, concat("--text ", o.text[0]), o.vocab_size,
                                     Specials::kLanguageModel);
  const auto optional = [&](const char* flag,
                            const std::vector<std::string>& files) -> std::optional<Corpus> {
    if (files.empty()) return std::nullopt;
    const RawText other = RawText::read(files);
    say_end_markers(other, flag);
    return encode_parts(tokenizer, other.documents(ends));
  };
  return {
      .vocabulary = tokenizer.dictionary(),
      .train = encode_parts(tokenizer, train),
      .valid = o.valid.empty() ? encode_parts(tokenizer, held_out) : optional("--valid", o.valid),
      .test = optional("--test", o.test),
      .tokenizer = tokenizer,
      .ends = ends,
      .raw_message = message};
}

}  // namespace

RunInputs LmData::inputs(const LmOptions& o) const {
  RunInputs out;
  out.identity[o.is_raw() ? "text" : "train"] = train.checksum();
  if (valid) out.identity["valid"] = valid->checksum();
  if (test) out.identity["test"] = test->checksum();
  out.identity["vocab"] = vocabulary.word_checksum();
  if (tokenizer) out.identity["tokenizer"] = tokenizer->checksum();
  out.add_files("token_weights", o.token_weights);
  if (!o.class_weights.empty()) out.add_files("class_weights", {o.class_weights});
  std::vector<std::string> vectors;
  for (const std::string& value : o.vectors) vectors.push_back(vectors_of_table(value).file);
  out.add_files("vectors", vectors);
  out.add_model("init", o.init);
  const std::string words = vocabulary.dict_text();
  out.former = {
      {"train_crc32c", crc32c(train.id_checksum(), words.data(), words.size()), {"train", "vocab"}},
      {"valid_crc32c", valid ? valid->id_checksum() : 0, {"valid"}}};
  return out;
}

LmData load_lm_data(const LmOptions& o) {
  if (o.is_raw()) return raw_data(o);
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
                  .test = std::move(test)};
  }();
  data.vocabulary.set_special_counts(data.train.sentences(), data.train.unknown());
  if (o.has_weights())
    data.train.set_weights(o.weights(data.train.flat(), data.vocabulary, data.train.sentences(),
                                     [&](int64_t i) { return data.train.length(i); }));
  if (o.documents) data.train.join_documents();
  return data;
}

}  // namespace nine::app
