#include "nn/models/initial_weights.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/quote.h"
#include "nn/models/language_config.h"
#include "nn/models/language_words.h"
#include "nn/models/model_description.h"
#include "nn/models/model_directory.h"
#include "nn/models/translation_config.h"

namespace nine {
namespace {

void check_same_words(const std::string& path, const char* name, const Vocabulary& stored,
                      const Vocabulary& given) {
  for (int32_t id = 0; id < std::min(stored.size(), given.size()); ++id)
    require(stored.word(id) == given.word(id), "initial weights of ", path, ": in their ", name,
            " the word ", id, " is '", stored.word(id), "', here it is '", given.word(id),
            "'; train with the dictionaries of these weights (with a shared vocabulary, only the "
            "source dictionary)");
}

// Throws an Error if a setting that tensors do not show differs.
void check_same_setting(const std::string& path, const char* name, const std::string& stored,
                        const std::string& given) {
  require(stored == given, "initial weights of ", path, ": they come from a network with ", name,
          ' ', stored, ", but this network has ", given,
          ", with which the same weights compute other values; set it as in the initial weights");
}

// Compares a table of positions with the positions that Nine computes. They are the same up to the
// arithmetic of another program, and up to the rounding of the stored type.
void check_same_positions(const std::string& path, const Tensor& table, const Tensor& own) {
  const int64_t count = std::min(table.elements(), own.elements());
  const std::vector<double> stored = table.to_vector(), computed = own.to_vector();
  int bits = 0;  // bits of the longest mantissa in the table
  for (const double x : stored) {
    int exponent = 0, used = 53;
    for (double m = std::frexp(x, &exponent) * 0x1p53; used > 0 && std::fmod(m, 2) == 0; m /= 2)
      --used;
    bits = std::max(bits, used);
  }
  const double limit = std::max(1e-4, std::ldexp(1, -bits));
  for (size_t i = 0; i < static_cast<size_t>(count); ++i)
    require(std::abs(stored[i] - computed[i]) < limit, "initial weights of ", path,
            ": their positions are not the sinusoids that mt_train computes (", stored[i],
            " where they are ", computed[i],
            "); mt_translate can use this model, but mt_train cannot train it further");
}

// Error: the initial weights read texts otherwise than this run. `file` is their tokenizer, and
// `flag` gives it to the trainer.
void check_same_tokenizer(const std::string& path, const ModelTokenizer* stored,
                          const std::filesystem::path& file, const ModelTokenizer* own,
                          const char* flag, const char* words) {
  if (stored == nullptr && own == nullptr) return;
  require(stored != nullptr, "initial weights of ", path, " read words, and this run reads raw ",
          "text: train on words (", words, ")");
  require(own != nullptr && stored->checksum() == own->checksum(), "initial weights of ", path,
          own == nullptr ? " read raw text, and this run reads words"
                         : " have another tokenizer than this run",
          ": train on raw text with ", flag, ' ', file.string());
}

void load_weights(const std::string& path, const Safetensors& weights,
                  const ParameterSet& parameters) {
  try {
    parameters.load(weights);
  } catch (const OutOfMemory&) {
    throw;
  } catch (const Error& e) {
    fail("initial weights of ", path, ": ", e.what(),
         "; the network and its head must be those of the initial weights (see their config.json)");
  }
}

// Returns how many words the output bias excludes. Error: such a word is in the training text,
// where it occurs `counts` times.
int64_t excluded_words(const std::string& path, const Safetensors& weights,
                       const Vocabulary& vocabulary, std::span<const int64_t> counts) {
  const auto found = weights.tensors.find("head.bias");
  if (found == weights.tensors.end()) return 0;
  const std::vector<double> bias = found->second.to_vector();
  for (size_t id = 0; id < std::min(bias.size(), counts.size()); ++id)
    require(bias[id] != kExclusionInTraining || counts[id] == 0, "initial weights of ", path,
            ": their output bias excludes the word ",
            quote(vocabulary.word(static_cast<int32_t>(id))), ", which is ", counts[id],
            " times in the training text: take it out of the text, or start from weights that do "
            "not exclude it");
  return std::ranges::count(bias, kExclusionInTraining);
}

// Returns "--init: 9 tensors of RUN/checkpoints/00000120 were taken; the head is pow:p=2 in this
// run and was lin in the initial weights". It names differences because tensors show only the sizes
// of a head.
std::string what_was_taken(const ModelFiles& files, const HeadConfig& own) {
  const HeadConfig stored = files.head();
  std::string out = concat("--init: ", files.weights.tensors.size(), " tensors of ",
                           files.directory.string(), " were taken");
  const auto compare = [&](const char* what, const std::string& here, const std::string& there) {
    if (here != there)
      out += concat("; the ", what, " is ", here, " in this run and was ", there,
                    " in the initial weights");
  };
  compare("head", own.spec.to_text(), stored.spec.to_text());
  compare("norm of word vectors", to_text(own.norms.word), to_text(stored.norms.word));
  compare("norm of contexts", to_text(own.norms.context), to_text(stored.norms.context));
  return out;
}

}  // namespace

std::string load_initial_weights(const std::string& path, const Vocabulary& vocabulary,
                                 const ModelTokenizer* tokenizer, const ParameterSet& parameters,
                                 const LanguageNetwork& network, std::span<const int64_t> counts) {
  const std::filesystem::path directory = model_directory(path, kDictionaryFile);
  ModelFiles files = read_model(directory, ExcludedWords::for_training);
  const LanguageWords words = language_words(directory, files.embedding("lm").shape().rows());
  check_same_tokenizer(path, words.tokenizer ? &*words.tokenizer : nullptr,
                       files.hugging_face ? directory : ModelTokenizer::file_in(directory, ""),
                       tokenizer, "--tokenizer", "--train");
  const Vocabulary& stored = words.vocabulary;
  for (int32_t id = 0; id < std::min(stored.size(), vocabulary.size()); ++id)
    require(stored.word(id) == vocabulary.word(id), "initial weights of ", path, ": the word ", id,
            " of their vocabulary is '", stored.word(id), "', here it is '", vocabulary.word(id),
            "'; train with the vocabulary ", (directory / kDictionaryFile).string());
  const std::map<std::string, std::string> settings = language_settings(files),
                                           own = network.metadata();
  // The kind of network is compared first; an LSTM has no other settings.
  for (const NetworkKey& key : network_keys()) {
    const auto in = [&](const auto& all) {
      const auto found = all.find(key.name);
      return found != all.end() ? found->second : !key.usual.empty() ? key.usual : "its usual one";
    };
    if (key.computes) check_same_setting(path, key.name, in(settings), in(own));
  }
  const int64_t excluded = excluded_words(path, files.weights, vocabulary, counts);
  load_weights(path, files.weights, parameters);
  files.say_assumed();
  std::string taken = what_was_taken(files, network.head_config());
  if (excluded > 0)
    taken += concat("; ", excluded, excluded == 1 ? " word" : " words",
                    " that head.bias excludes keep a bias of ", kExclusionInTraining,
                    ", and --freeze head.bias keeps all of it, as nine_convert needs to write the "
                    "model for other programs");
  return taken;
}

std::string load_initial_weights(const std::string& path, const TranslationSide& source,
                                 const TranslationSide& target, const Transformer& network) {
  const std::filesystem::path directory = model_directory(path, kSourceDict);
  const auto check_side = [&](const TranslationSide& own, const char* side, const char* file,
                              const char* flag, const char* words) {
    const Vocabulary stored =
        Vocabulary::read_saved((directory / file).string(), Specials::kTranslation);
    const std::optional<ModelTokenizer> tokenizer = ModelTokenizer::open(directory, side, stored);
    check_same_tokenizer(path, tokenizer ? &*tokenizer : nullptr,
                         ModelTokenizer::file_in(directory, side),
                         own.tokenizer ? &*own.tokenizer : nullptr, flag, words);
    check_same_words(path, file, stored, own.dictionary);
  };
  check_side(source, "src", kSourceDict, "--src-tokenizer", "without --raw");
  check_side(target, "tgt", kTargetDict, "--tgt-tokenizer", "without --raw");
  ModelFiles files = read_model(directory, ExcludedWords::for_training);
  const TransformerConfig stored = transformer_config(files), &own = network.config();
  check_same_setting(path, "heads", concat(stored.heads), concat(own.heads));
  const auto said = [](const std::string& text) { return text.empty() ? "its usual one" : text; };
  for (const StyleSetting& setting : style_settings())
    check_same_setting(path, setting.name, said(setting.text(stored.style)),
                       said(setting.text(own.style)));
  check_same_setting(path, "embed_scale", concat(*stored.embed_scale),
                     concat(network.embed_scale()));
  load_weights(path, files.weights, network.parameters());
  if (const auto table = files.weights.tensors.find(kPositionsName);
      table != files.weights.tensors.end())
    check_same_positions(path, table->second, network.positions());
  files.say_assumed();
  return what_was_taken(files, own.head);
}

}  // namespace nine
