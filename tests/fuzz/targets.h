// What is fuzzed: each reader takes any bytes, throws nothing but Error, and what it accepts holds
// its properties (it writes back and reads the same, lines are valid UTF-8). A broken property is a
// std::logic_error.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace nine::tests {

void fuzz_safetensors(std::string_view bytes);
void fuzz_dict(std::string_view bytes);
void fuzz_text(std::string_view bytes);
void fuzz_expression(std::string_view bytes);
void fuzz_config(std::string_view bytes);  ///< --config, and a run's config.json when it goes on
void fuzz_json(std::string_view bytes);
void fuzz_bpe(std::string_view bytes);  ///< codes, and the text that they cut
void fuzz_tokenizer_json(std::string_view bytes);
void fuzz_tokenizer_merges(std::string_view bytes);  ///< vocab.json, a NUL, merges.txt
void fuzz_tiktoken(std::string_view bytes);
void fuzz_sentencepiece(std::string_view bytes);
void fuzz_tokenizer_text(std::string_view bytes);  ///< any bytes, to ids and back
void fuzz_n_best(std::string_view bytes);          ///< every format of lists, and transcripts
void fuzz_lattice(std::string_view bytes);         ///< both formats, and the best word sequences
void fuzz_ngram_model(std::string_view bytes);     ///< ARPA files, and scores with them
void fuzz_request(std::string_view bytes);         ///< bodies that nine_serve gets
void fuzz_npz(std::string_view bytes);

/// The targets by the name of their corpus, tests/fuzz/corpus/NAME.
inline const std::map<std::string, void (*)(std::string_view)> kFuzzTargets{
    {"safetensors", fuzz_safetensors},
    {"dict", fuzz_dict},
    {"text", fuzz_text},
    {"expression", fuzz_expression},
    {"config", fuzz_config},
    {"json", fuzz_json},
    {"bpe", fuzz_bpe},
    {"tokenizer_json", fuzz_tokenizer_json},
    {"tokenizer_merges", fuzz_tokenizer_merges},
    {"tiktoken", fuzz_tiktoken},
    {"sentencepiece", fuzz_sentencepiece},
    {"tokenizer_text", fuzz_tokenizer_text},
    {"lattice", fuzz_lattice},
    {"n_best", fuzz_n_best},
    {"ngram_model", fuzz_ngram_model},
    {"npz", fuzz_npz},
    {"request", fuzz_request}};

}  // namespace nine::tests
