#include "nn/models/language_model.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "data/corpus.h"
#include "data/tokenizers/raw_text.h"
#include "nn/models/generate_text.h"
#include "nn/models/language_config.h"
#include "nn/models/language_words.h"
#include "nn/models/model_directory.h"
#include "nn/models/score_text.h"
#include "nn/models/text_generator.h"
#include "nn/models/word_expectations.h"

namespace nine {

// The network holds references to the parameters, so the parts must not move.
struct LanguageModel::Parts {
  Parts(Vocabulary words, const ParameterOptions& options)
      : vocabulary(std::move(words)), parameters(options) {}

  Vocabulary vocabulary;
  std::optional<ModelTokenizer> tokenizer;  // of a model that reads raw text
  DocumentEnds ends = DocumentEnds::blank_lines;
  ParameterSet parameters;
  std::unique_ptr<LanguageNetwork> network;
  TextGenerators generators;  // of `network`
};

namespace {

// How documents ended in the raw text of training; nullopt if nothing says it, as for words.
std::optional<DocumentEnds> document_ends_of(const std::filesystem::path& directory) {
  const Json resolved = model_config(directory).value("resolved", Json::object());
  const auto said = resolved.find(kDocumentEnds);
  if (said == resolved.end() || !said->is_string()) return std::nullopt;
  return enum_from_text<DocumentEnds>(said->get<std::string>());
}

}  // namespace

LanguageModel::LanguageModel(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
LanguageModel::~LanguageModel() = default;
LanguageModel::LanguageModel(LanguageModel&&) noexcept = default;
LanguageModel& LanguageModel::operator=(LanguageModel&&) noexcept = default;

LanguageModel LanguageModel::load(const std::string& path, Device device) {
  const std::filesystem::path directory = model_directory(path, kDictionaryFile);
  ModelFiles files = read_model(directory);
  int64_t rows = 0;
  files.opening([&] {
    const Shape& shape = files.embedding("lm").shape();
    if (shape.rank() > 0) rows = shape[0];
  });
  LanguageWords words = language_words(directory, rows);
  std::unique_ptr<Parts> parts;
  files.opening([&] {
    const ParameterOptions options{
        .dtype = files.embedding("lm").dtype(), .gradients = false, .device = device};
    parts = std::make_unique<Parts>(std::move(words.vocabulary), options);
    parts->network = make_language_network(parts->parameters, files);
    require(parts->network->vocab() == parts->vocabulary.size(),
            (directory / kDictionaryFile).string(), " has ", parts->vocabulary.size(),
            " entries with </s> and <unk>, but the model has ", parts->network->vocab(), " words");
    parts->parameters.load(files.weights);
  });
  parts->tokenizer = std::move(words.tokenizer);
  const std::optional<DocumentEnds> ends = document_ends_of(directory);
  require(parts->tokenizer || !ends, directory.string(),
          " lacks the tokenizer with which its model reads raw text: copy tokenizer.json (or "
          "tokenizer.model) of the model's own checkpoint there");
  parts->ends = ends.value_or(DocumentEnds::blank_lines);
  files.say_assumed();
  return LanguageModel(std::move(parts));
}

const Vocabulary& LanguageModel::vocabulary() const { return parts_->vocabulary; }
const ModelTokenizer* LanguageModel::tokenizer() const {
  return parts_->tokenizer ? &*parts_->tokenizer : nullptr;
}
int32_t LanguageModel::unknown() const {
  return tokenizer() ? tokenizer()->unknown() : vocabulary().specials().unknown;
}
const LanguageNetwork& LanguageModel::network() const { return *parts_->network; }
Device LanguageModel::device() const { return parts_->parameters.device(); }
TextGenerators& LanguageModel::generators() const { return parts_->generators; }

Corpus corpus_of(const LanguageModel& model, std::span<const std::string> lines, bool carry_state) {
  const ModelTokenizer* const tokenizer = model.tokenizer();
  if (tokenizer == nullptr) return Corpus::of_lines(lines, model.vocabulary());
  if (carry_state) return encode_parts(*tokenizer, lines_of_documents(lines, model.parts_->ends));
  std::vector<RawPart> parts;
  for (const std::string& line : lines) parts.push_back({.text = line, .ends = false});
  return encode_parts(*tokenizer, parts);
}

std::vector<std::vector<double>> LanguageModel::score(const std::vector<std::string>& lines,
                                                      const ScoringOptions& options,
                                                      const Progress& progress) const {
  std::vector<std::vector<double>> log_p;
  score_text(*this, corpus_of(*this, lines, options.carry_state), options,
             [&](std::span<const double> nats) {
               std::vector<double>& line = log_p.emplace_back();
               for (const double x : nats) line.push_back(-x);
               if (progress) progress(std::ssize(log_p), std::ssize(lines));
             });
  return log_p;
}

std::vector<std::vector<WordExpectation>> LanguageModel::top_words(
    const std::vector<std::string>& lines, int64_t count, int64_t batch_tokens,
    const Progress& progress) const {
  std::vector<std::vector<WordExpectation>> expected(lines.size());
  word_expectations(*this, corpus_of(*this, lines), count, batch_tokens,
                    [&](int64_t line, int64_t position, const WordExpectation& expectation) {
                      expected[static_cast<size_t>(line)].push_back(expectation);
                      if (progress && position == 0) progress(line, std::ssize(lines));
                    });
  return expected;
}

std::vector<std::string> LanguageModel::generate(const std::vector<std::string>& prompts,
                                                 const GenerateOptions& options,
                                                 const Progress& progress) const {
  std::vector<std::string> lines;
  generate_text(*this, prompts, options, [&](std::span<const GeneratedText> texts) {
    for (const GeneratedText& text : texts)
      lines.push_back(text_of(text, prompts[static_cast<size_t>(text.prompt)], *this));
    if (progress) progress(std::ssize(lines), std::ssize(prompts) * options.samples);
  });
  return lines;
}

}  // namespace nine
