#include "apps/nine_convert/convert.h"

#include <filesystem>
#include <utility>

#include "apps/cli/option_conflicts.h"
#include "apps/nine_convert/new_output.h"
#include "core/files.h"
#include "nn/models/fairseq.h"
#include "nn/models/marian.h"
#include "nn/models/model_directory.h"
#include "nn/models/plain_translation.h"
#include "nn/models/read_model.h"
#include "nn/models/write_ctranslate2.h"
#include "nn/models/write_gguf.h"
#include "nn/models/write_hugging_face.h"
#include "nn/models/write_model.h"

namespace nine::app {
namespace {

namespace fs = std::filesystem;

// Model: ModelFiles or ForeignTranslation.
template <class Model>
std::string to_nine(const ConvertOptions& o, Model model) {
  require_usage(!o.dtype_given, "--dtype is for files of other programs, and ", o.from,
                " becomes a model of Nine, which keeps its numbers as they are: leave it out");
  write_new_directory("--to", o.to,
                      [&](const fs::path& directory) { write_model(std::move(model), directory); });
  return concat("wrote ", o.to, ", a model of Nine");
}

// "gpt2 (layers 2, width 48, tokens 302), float32"
std::string what_was_written(const ConvertOptions& o, const PlainTransformer& model) {
  const TransformerLanguageModelConfig& c = model.config;
  return concat(model.network, " (layers ", c.layers, ", width ", c.hidden, ", tokens ", c.vocab,
                "), ", o.dtype);
}

std::string to_transformers(const ConvertOptions& o, ModelFiles files) {
  const PlainTransformer model = plain_transformer(std::move(files));
  write_new_directory("--to", o.to, [&](const fs::path& directory) {
    write_hugging_face(model, directory, o.dtype);
  });
  return concat("wrote ", o.to, ", a folder of transformers: ", what_was_written(o, model));
}

std::string to_gguf(const ConvertOptions& o, ModelFiles files) {
  const PlainTransformer model = plain_transformer(std::move(files));
  write_new_file("--to", o.to, [&](const fs::path& file) { write_gguf(model, file, o.dtype); });
  return concat("wrote ", o.to, ", a file of llama.cpp: ", what_was_written(o, model));
}

// Error: a translation model cannot become a file of llama.cpp.
void require_directory(const ConvertOptions& o, const char* what) {
  require_usage(!o.is_gguf(), "--to ", o.to, " is a file of llama.cpp, which has no translation ",
                "models: give a directory, which becomes ", what);
}

std::string translation_to_nine(const ConvertOptions& o, ForeignTranslation model) {
  require_directory(o, "a model of Nine");
  return to_nine(o, std::move(model));
}

std::string to_ctranslate2(const ConvertOptions& o, ModelFiles files) {
  require_directory(o, "a folder of CTranslate2");
  const PlainTranslation model = plain_translation(std::move(files));
  write_new_directory("--to", o.to, [&](const fs::path& directory) {
    write_ctranslate2(model, directory, o.dtype);
  });
  const TransformerConfig& c = model.config;
  return concat("wrote ", o.to, ", a folder of CTranslate2: TransformerSpec (layers ",
                c.encoder_layers, " + ", c.decoder_layers, ", width ", c.dim, ", words ",
                c.src_vocab, " and ", c.tgt_vocab, "), ", o.dtype);
}

}  // namespace

std::string convert(const ConvertOptions& o) {
  require_new("--to", o.to);
  if (o.is_marian()) return translation_to_nine(o, read_marian(o.from, o.vocabs));
  if (is_there(fs::path(o.from) / kFairseqFile))
    return translation_to_nine(o, read_fairseq(o.from));
  ModelFiles files = read_model(model_directory(o.from));
  if (files.is_translation()) return to_ctranslate2(o, std::move(files));
  if (o.is_gguf()) return to_gguf(o, std::move(files));
  return files.hugging_face ? to_nine(o, std::move(files)) : to_transformers(o, std::move(files));
}

}  // namespace nine::app
