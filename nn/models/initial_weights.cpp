#include "nn/models/initial_weights.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "core/ops.h"
#include "core/quote.h"
#include "nn/models/hugging_face.h"
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
std::string what_was_taken(const ModelFiles& files, const HeadConfig& stored, size_t tensors,
                           const HeadConfig& own) {
  std::string out =
      concat("--init: ", tensors, " tensors of ", files.directory.string(), " were taken");
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

// The tables of words.
constexpr const char *kEmbedding = "embedding.weight", *kHeadWeight = "head.weight",
                     *kHeadBias = "head.bias";

// Returns for each word whether the bias excludes it.
std::vector<bool> excluded_rows(const std::map<std::string, Tensor>& tensors) {
  std::vector<bool> out(static_cast<size_t>(tensors.at(kEmbedding).shape().rows()));
  const auto bias = tensors.find(kHeadBias);
  if (bias == tensors.end()) return out;
  const std::vector<double> values = bias->second.to_vector();
  for (size_t row = 0; row < std::min(out.size(), values.size()); ++row)
    out[row] = values[row] < kExclusionInTraining / 2;  // training has moved it a little
  return out;
}

// What of the head a training does not take from its initial weights.
struct HeadChange {
  std::vector<std::string> fresh;     // parameters that begin anew
  std::vector<std::string> left_out;  // tensors that this head does not have
  size_t taken = 0;                   // tensors of the whole model that are taken

  std::string text() const {
    std::string out;
    for (const auto& [names, what] :
         {std::pair(&fresh, "begin anew"), {&left_out, "are left out"}}) {
      if (names->empty()) continue;
      out += "; ";
      for (const std::string& name : *names) out += (&name == names->data() ? "" : ", ") + name;
      out += concat(' ', names->size() == 1 && names == &fresh ? "begins anew"
                         : names->size() == 1                  ? "is left out"
                                                               : what);
    }
    return out;
  }
};

// Returns word vectors of the wanted shape, (V, d) or (K, V, d), from those of a model's
// components: component k of `first`, `first` + 1, ... gets those of the same component, of a model
// with fewer components those of k modulo their number.
Tensor component_vectors(const std::vector<Tensor>& components, int64_t first,
                         const Shape& wanted) {
  if (wanted.rank() == 2) return components.front();
  Tensor out(wanted, components.front().dtype());
  const Tensor rows = out.reshaped({wanted[0] * wanted[1], wanted[2]});
  for (int64_t k = 0; k < wanted[0]; ++k)
    ops::copy(components[static_cast<size_t>(first + k) % components.size()],
              rows.row_range(k * wanted[1], wanted[1]));
  return out;
}

// Returns the model's word vectors, (V, d) for each component that has its own.
std::vector<Tensor> vectors_of(const HeadSpec& head, const std::map<std::string, Tensor>& tensors) {
  std::vector<Tensor> out;
  const auto found = tensors.find(kHeadWeight);
  const bool own = found != tensors.end();
  if (!own || (head.untied && found->second.shape()[0] < head.size()))
    out.push_back(tensors.at(kEmbedding));
  if (!own) return out;
  const Shape shape = found->second.shape();
  if (shape.rank() == 2) return {found->second};
  const Tensor rows = found->second.reshaped({shape[0] * shape[1], shape[2]});
  for (int64_t k = 0; k < shape[0]; ++k) out.push_back(rows.row_range(k * shape[1], shape[1]));
  return out;
}

// True if the learned numbers of this name belong to the same kernel in both heads.
bool same_number(const HeadSpec& was, const HeadSpec& is, std::string_view name) {
  constexpr std::string_view kNumbers = "head.scores.";
  if (!name.starts_with(kNumbers)) return true;
  const size_t index = std::stoul(std::string(name.substr(kNumbers.size())));
  return index < was.components.size() && index < is.components.size() &&
         was.components[index].kind == is.components[index].kind;
}

// Brings the head's tensors of a model into the forms of this run's head.
HeadChange fit_head(const HeadConfig& was, const HeadConfig& is, bool same_tie,
                    const ParameterSet& parameters, std::map<std::string, Tensor>& tensors) {
  HeadChange out{.taken = tensors.size()};
  if (same_tie && was.bias == is.bias && was.spec.to_text() == is.spec.to_text()) return out;
  std::set<std::string> own;
  std::map<std::string, Tensor> initial;
  for (const NamedView& parameter : parameters.named(parameters.values())) {
    const std::string& name = parameter.name;
    const Shape& shape = parameter.view.shape;
    if (!name.starts_with("head.")) continue;
    own.insert(name);
    const auto found = tensors.find(name);
    if (found != tensors.end() && found->second.shape() == shape &&
        same_number(was.spec, is.spec, name))
      continue;
    if (name == kHeadWeight) {
      const std::vector<Tensor> vectors = vectors_of(was.spec, tensors);
      const int64_t first = shape.rank() == 3 ? is.spec.size() - shape[0] : 0;
      // Of another width: an error where the weights are loaded.
      if (vectors.front().shape() == Shape{shape[-2], shape[-1]})
        tensors[name] = component_vectors(vectors, first, shape);
    } else {
      out.fresh.push_back(name);
      initial[name] = parameters.values().with(parameter.view).to(kCpu);
    }
  }
  for (const HeadBuffer& buffer : head_buffers()) {
    const std::string name = concat("head", buffer.name);
    const bool of_words = &buffer == &head_buffers().front();
    if (!of_words && was.spec.size() != is.spec.size()) tensors.erase(name);
    own.insert(name);
  }
  for (const auto& tensor : tensors)
    if (tensor.first.starts_with("head.") && !own.contains(tensor.first))
      out.left_out.push_back(tensor.first);
  for (const std::string& name : out.left_out) tensors.erase(name);
  for (const std::string& name : out.fresh) tensors.erase(name);
  out.taken = tensors.size();
  for (auto& tensor : initial) tensors.insert_or_assign(tensor.first, std::move(tensor.second));
  return out;
}

}  // namespace

InitialModel::InitialModel(const std::string& path)
    : path_(path),
      files_(read_model(model_directory(path, kDictionaryFile), ExcludedWords::for_training)),
      config_(language_config(files_)),
      words_(language_words(files_.directory, files_.embedding("lm").shape().rows())) {}

InitialWeights InitialModel::load(const Vocabulary& vocabulary, const ModelTokenizer* tokenizer,
                                  const ParameterSet& parameters, const LanguageNetwork& network,
                                  std::span<const int64_t> counts) && {
  const auto* const transformer = std::get_if<TransformerLanguageModelConfig>(&config_);
  const std::map<std::string, std::string> settings = transformer != nullptr
                                                          ? transformer->settings()
                                                          : std::map<std::string, std::string>(),
                                           own = network.metadata();
  // The kind of network is compared first; an LSTM has no other settings.
  for (const NetworkKey& key : network_keys()) {
    const auto in = [&](const auto& all) {
      const auto found = all.find(key.name);
      return found != all.end() ? found->second : !key.usual.empty() ? key.usual : "its usual one";
    };
    if (key.computes) check_same_setting(path_, key.name, in(settings), in(own));
  }
  const HeadConfig stored = std::visit([](const auto& config) { return config.head; }, config_);
  std::map<std::string, Tensor>& tensors = files_.weights.tensors;
  const int64_t rows = tensors.at(kEmbedding).shape().rows();
  require(words_.vocabulary.size() == rows, "initial weights of ", path_, ": ",
          (files_.directory / kDictionaryFile).string(), " has ", words_.vocabulary.size(),
          " entries with </s> and <unk>, but the model has ", rows, " words");
  InitialWeights out;
  out.words = match_words(words_, excluded_rows(tensors), vocabulary, tokenizer);
  if (!out.words.same) {
    tensors.erase(concat("head", head_buffers().front().name));  // the counts of their text
    for (const char* name : {kEmbedding, kHeadWeight, kHeadBias})
      if (const auto found = tensors.find(name); found != tensors.end()) {
        const Shape& shape = found->second.shape();
        require(shape[shape.rank() == 3 ? 1 : 0] == rows, "initial weights of ", path_, ": tensor ",
                quote(name), " has shape ", shape, ", and the model has ", rows, " words");
        found->second = out.words.rows(found->second);
      }
  }
  const HeadChange change =
      fit_head(stored, network.head_config(),
               has_tied_embeddings(files_.weights, stored.spec) == own.contains("tied"), parameters,
               tensors);
  const int64_t excluded = excluded_words(path_, files_.weights, vocabulary, counts);
  load_weights(path_, files_.weights, parameters);
  files_.say_assumed();
  out.fresh = change.fresh;
  out.taken = what_was_taken(files_, stored, change.taken, network.head_config()) + change.text();
  if (words_.tokenizer && tokenizer != nullptr &&
      words_.tokenizer->checksum() != tokenizer->checksum())
    out.taken += "; the tokenizer of this run is another one";
  if (excluded > 0)
    out.taken += concat("; ", excluded, excluded == 1 ? " word" : " words",
                        " that head.bias excludes keep a bias of ", kExclusionInTraining,
                        ", and --freeze head.bias keeps all of it, as nine_convert needs to write "
                        "the model for other programs");
  return out;
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
  return what_was_taken(files, files.head(), files.weights.tensors.size(), own.head);
}

}  // namespace nine
