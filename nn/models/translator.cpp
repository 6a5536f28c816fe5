#include "nn/models/translator.h"

#include <algorithm>
#include <deque>
#include <mutex>
#include <optional>

#include "core/quote.h"
#include "data/text.h"
#include "nn/models/model_directory.h"
#include "nn/models/translation_sides.h"

namespace nine {
namespace {

namespace fs = std::filesystem;

// True if both have the same words with the same ids.
bool same_ids(const Vocabulary& a, const Vocabulary& b) {
  int32_t id = 0;
  while (id < a.size() && id < b.size() && a.word(id) == b.word(id)) ++id;
  return id == a.size() && id == b.size();
}

// True if both read words, or have the same tokenizer.
bool same_tokenizer(const TranslationSide& a, const TranslationSide& b) {
  if (!a.tokenizer || !b.tokenizer) return !a.tokenizer && !b.tokenizer;
  return a.tokenizer->checksum() == b.tokenizer->checksum();
}

}  // namespace

struct Translator::Parts {
  // A network holds references to its parameters, so they must not move.
  struct Model {
    Model(const ParameterOptions& options, const TransformerConfig& config)
        : parameters(options), network(parameters, config) {}
    ParameterSet parameters;
    Transformer network;
  };

  fs::path directory;
  TranslationSide source, target;
  std::deque<Model> models = {};
  std::optional<TokenReader> reader = {};
  bool join = false;  // true: join subwords of translations to words
  DetokenizeOptions detokenize = {};
  // Made at first use, because it packs the weights, which the networks alone do not need.
  std::mutex mutex = {};
  std::optional<BeamSearch> search = {};
};

Translator::Translator(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Translator::~Translator() = default;
Translator::Translator(Translator&&) noexcept = default;
Translator& Translator::operator=(Translator&&) noexcept = default;

Translator Translator::load(std::span<const std::string> paths,
                            const SegmentationOptions& segmentation, Device device) {
  require(!paths.empty(), "there is no model to translate with");
  std::unique_ptr<Parts> parts;
  for (const std::string& path : paths) {
    const fs::path directory = model_directory(path, kSourceDict);
    TranslationSides sides = read_sides(directory);
    const TranslationSide &source = sides.source, &target = sides.target;
    require(!source.tokenizer || segmentation.changes_nothing(), "the model ", directory.string(),
            " reads and writes raw text with its own tokenizer: leave out BPE codes with their "
            "vocabulary and glossaries, tokenisation (13a), joining and detokenising");
    ModelFiles files = read_model(directory);
    files.opening([&] {
      const TransformerConfig config = transformer_config(files, sides);
      if (!parts) {
        // NOLINTNEXTLINE(modernize-make-unique): an aggregate that cannot be moved
        parts.reset(new Parts{directory, std::move(sides.source), std::move(sides.target)});
      } else {
        require(same_ids(source.dictionary, parts->source.dictionary) &&
                    same_ids(target.dictionary, parts->target.dictionary),
                "the models of ", parts->directory.string(), " and ", directory.string(),
                " have different dictionaries: an ensemble needs the same words with the same ids");
        require(same_tokenizer(source, parts->source) && same_tokenizer(target, parts->target),
                "the models of ", parts->directory.string(), " and ", directory.string(),
                " have different tokenizers: an ensemble needs models of the same tokenizers");
      }
      Parts::Model& model = parts->models.emplace_back(
          ParameterOptions{
              .dtype = files.embedding("mt").dtype(), .gradients = false, .device = device},
          config);
      model.parameters.load(files.weights);
      const auto& tensors = files.weights.tensors;
      if (const auto table = tensors.find(kPositionsName); table != tensors.end())
        model.network.use_positions(table->second);
    });
    files.say_assumed();
  }
  parts->reader.emplace(segmentation);
  parts->detokenize = segmentation.detokenize;
  parts->join = segmentation.join || !segmentation.codes.empty() ||
                segmentation.detokenize.rules != Detokenizing::none;
  return Translator(std::move(parts));
}

Translator Translator::load(const std::string& path, const SegmentationOptions& segmentation,
                            Device device) {
  return load(std::vector{path}, segmentation, device);
}

const Vocabulary& Translator::source() const { return parts_->source.dictionary; }
const Vocabulary& Translator::target() const { return parts_->target.dictionary; }
int32_t Translator::source_unknown() const { return parts_->source.unknown(); }
int32_t Translator::target_unknown() const { return parts_->target.unknown(); }
bool Translator::reads_prose() const { return parts_->source.tokenizer.has_value(); }
const std::filesystem::path& Translator::directory() const { return parts_->directory; }
const Transformer& Translator::network() const { return parts_->models.front().network; }

const BeamSearch& Translator::search() const {
  const std::lock_guard lock(parts_->mutex);
  if (!parts_->search) {
    std::vector<const Transformer*> models;
    for (const Parts::Model& model : parts_->models) models.push_back(&model.network);
    parts_->search.emplace(models, Specials::kTranslation.end, models.front()->device());
  }
  return *parts_->search;
}

std::vector<BeamSearch::Ids> Translator::source_ids(const std::vector<std::string>& lines,
                                                    const std::string& name, int64_t first,
                                                    std::vector<std::string>* too_long) const {
  return parts_->reader->ids(lines, parts_->source, search().max_words(), name, first, too_long);
}

std::vector<BeamSearch::Ids> Translator::target_ids(const std::vector<std::string>& lines,
                                                    const std::string& name) const {
  return parts_->reader->ids(lines, parts_->target, search().max_words(), name);
}

void Translator::check_prefixes(const std::vector<std::string>& lines,
                                std::span<const BeamSearch::Ids> ids, const std::string& name,
                                int64_t max_length, bool allow_unknown) const {
  const int32_t unknown = target_unknown();
  const auto has_unknown = [&](const BeamSearch::Ids& all) {
    return std::ranges::find(all, unknown) != all.end();
  };
  for (size_t i = 0; i < ids.size(); ++i) {
    require(std::ssize(ids[i]) <= max_length, name, ", line ", i + 1, " has ", ids[i].size(),
            " tokens, more than the option max-length, ", max_length,
            ", allows a translation to have");
    const auto end = std::ranges::find(ids[i], target().specials().end);
    require(
        end == ids[i].end() || (end != ids[i].begin() && end + 1 == ids[i].end()), name, ", line ",
        i + 1, ": </s> ends the translation ",
        end == ids[i].begin() ? "before its first word" : "before the other words of the prefix",
        ": leave it out, or spell it differently");
    if (allow_unknown || !has_unknown(ids[i])) continue;
    std::string found;
    for_each_word(lines[i], [&](std::string_view word) {
      if (found.empty() && has_unknown(target().encode(word))) found = word;
    });
    fail(name, ", line ", i + 1, ": ", quote(found.empty() ? lines[i] : found),
         " is unknown to the model, and the option allow-unknown excludes ", target().word(unknown),
         ": correct the prefix, or change the option");
  }
}

std::string Translator::text(std::span<const int32_t> ids) const {
  return detokenize(parts_->target.text(ids, parts_->join), parts_->detokenize);
}

std::vector<std::string> Translator::translate(const std::vector<std::string>& lines,
                                               const SearchOptions& options) const {
  std::vector<std::string> best;
  for (const Translation& found :
       search().translate(source_ids(lines, "the text to translate"), options))
    best.push_back(text(found.front().words));
  return best;
}

std::vector<std::vector<TranslatedText>> Translator::n_best(const std::vector<std::string>& lines,
                                                            const SearchOptions& options) const {
  std::vector<std::vector<TranslatedText>> lists;
  for (const Translation& found :
       search().translate(source_ids(lines, "the text to translate"), options)) {
    std::vector<TranslatedText>& list = lists.emplace_back();
    for (const Hypothesis& h : found)
      list.push_back({text(h.words), h.log_prob, h.score, h.complete});
  }
  return lists;
}

std::vector<std::vector<double>> Translator::score(const std::vector<std::string>& sources,
                                                   const std::vector<std::string>& targets) const {
  return search().score(source_ids(sources, "the sources"),
                        target_ids(targets, "the translations"));
}

}  // namespace nine
