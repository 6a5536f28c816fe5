#include "nn/models/foreign_translation.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "core/files.h"
#include "core/json.h"
#include "nn/models/model_directory.h"

namespace nine {

Tensor spread_sinusoids(int64_t count, int64_t width, int64_t first) {
  require(width >= 4 && width % 2 == 0, "sinusoids need an even width from 4 on, not ", width);
  const int64_t half = width / 2;
  Tensor out({count, width}, DType::float32);
  for (int64_t t = 0; t < count; ++t)
    for (int64_t i = 0; i < half; ++i) {
      const double angle =
          static_cast<double>(t + first) *
          std::pow(10000.0, -static_cast<double>(i) / static_cast<double>(half - 1));
      out.data<float>()[t * width + i] = static_cast<float>(std::sin(angle));
      out.data<float>()[t * width + half + i] = static_cast<float>(std::cos(angle));
    }
  return out;
}

void write_model(ForeignTranslation model, const std::filesystem::path& directory) {
  ModelFiles& files = model.files;
  const TranslationSide &source = model.sides.source, &target = model.sides.target;
  const Json keys = files.sources.front().keys;
  files.opening([&] {
    const TransformerConfig config = transformer_config(files, model.sides);
    ParameterSet parameters({.dtype = files.embedding("mt").dtype(), .gradients = false});
    const Transformer network(parameters, config);
    parameters.load(files.weights);
    std::vector<NamedView> tensors = parameters.state();
    const Tensor& positions = files.weights.at(kPositionsName);
    tensors.push_back({kPositionsName, positions});
    const Json words{{"src_dict", source.dictionary.word_checksum()},
                     {"tgt_dict", target.dictionary.word_checksum()}};
    write_safetensors(directory / kWeightsFile, tensors,
                      {{"format", "pt"}, {kWordsKey, json_text(words)}});
  });
  write_text(directory / "config.json", json_text(keys, 2) + '\n');
  write_text(directory / kSourceDict, source.dictionary.dict_text());
  write_text(directory / kTargetDict, target.dictionary.dict_text());
  for (const auto& [file, bytes] : tokenizer_files(model.sides))
    write_text(directory / file, bytes);
  files.say_assumed();
}

}  // namespace nine
