#include "apps/nine_convert/convert_options.h"

#include <algorithm>
#include <string_view>

#include "apps/cli/option_conflicts.h"

namespace nine::app {

void ConvertOptions::declare(Options& o) {
  o.add("from", from,
        "model: a run or a checkpoint of Nine; a folder of Hugging Face's transformers; a "
        "translation model of Marian, or of fairseq as fairseq_checkpoint.py writes it")
      .unit("DIR|FILE.npz")
      .required();
  o.add("to", to,
        "new directory for the result: for a language model of Nine a folder of transformers, for "
        "a translation model of Nine a folder of CTranslate2, for any other model a model of Nine; "
        "or, for a language model, a new file of llama.cpp")
      .unit("DIR|FILE.gguf")
      .required();
  o.add("vocabs", vocabs,
        "vocabularies of a model of Marian, source and target or one for both, .yml or .spm; "
        "default: those that the model names, in its directory")
      .unit("FILE...");
  o.add("dtype", dtype, "type of the weights in files for other programs; q8_0 is for llama.cpp");
}

namespace {

// True if a path ends so; a large letter is a small one.
bool has_ending(std::string path, std::string_view ending) {
  std::ranges::transform(path, path.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  });
  return path.ends_with(ending);
}

std::string without_slashes(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

}  // namespace

bool ConvertOptions::is_gguf() const { return has_ending(without_slashes(to), ".gguf"); }

void ConvertOptions::check(const Options& options) {
  refuse_empty(options, {"from", "to"});
  require_usage(vocabs.size() <= 2, "--vocabs has ", vocabs.size(),
                " files, and a translation model has two languages");
  require_usage(vocabs.empty() || is_marian(), "--vocabs is for a model of Marian, and --from ",
                from, " does not end in .npz: leave it out");
  require_usage(is_gguf() || dtype != WeightType::q8_0,
                "--dtype q8_0 is for a file of llama.cpp: give --to FILE.gguf, or another --dtype");
  for (const char* end : {".safetensors", ".bin", ".pt", ".pth", ".json", ".ggml"})
    require_usage(!has_ending(without_slashes(to), end), "--to ", to,
                  ": the result is a new directory, ",
                  "or a file of llama.cpp whose name ends with .gguf; ", end,
                  " is the ending of another file");
  require_usage(!is_gguf() || !to.ends_with('/'), "--to ", to,
                " ends with a slash, as a directory ",
                "does, and .gguf is the ending of a file: leave out one of both");
  dtype_given = options.was_named("dtype");
}

}  // namespace nine::app
