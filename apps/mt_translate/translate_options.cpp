#include "apps/mt_translate/translate_options.h"

#include "apps/cli/detokenize_options.h"
#include "apps/cli/line_input.h"
#include "apps/cli/machine.h"
#include "apps/cli/model_files.h"
#include "apps/cli/option_conflicts.h"
#include "apps/cli/text_io.h"

namespace nine::app {

void TranslateOptions::declare(Options& o) {
  o.add("checkpoint", checkpoint,
        "a checkpoint, or a run directory (its best checkpoint); several: an ensemble, whose "
        "probabilities are the mean of the models'")
      .unit("DIR...");
  o.add("input", input,
        "text to translate, one sentence a line: words, or prose for a model of mt_train --raw; -: "
        "standard input")
      .unit("FILE");
  o.add("output", output, "file for the translations, one for each line; -: standard output")
      .unit("FILE");
  add_flush(o, flush);
  o.add("codes", codes,
        "BPE codes that cut the input's words into subwords; the subwords of translations are "
        "joined")
      .unit("FILE");
  o.add("vocabulary", vocabulary,
        "with --codes: use only subwords of this vocabulary, as bpe apply does")
      .unit("FILE");
  o.add("vocabulary-threshold", vocabulary_threshold,
        "use only subwords that --vocabulary counts at least N times")
      .at_least(0);
  o.add("glossaries", glossaries,
        "with --codes: words that are not cut, or regular expressions for these words")
      .unit("TEXT...");
  o.add("join", join,
        "join the subwords of translations, for input that is cut into subwords already (--codes "
        "joins them too)");
  declare_detokenize(o, detokenize, "translations");
  o.add("tokenize-input", tokenize_input,
        "how the input is split into words: none, at spaces; 13a, as sacreBLEU splits raw text")
      .choices({"none", "13a"});
  add_max_unknown(o, max_unknown);
  add_threads(o, threads);
  add_device(o, device);
  add_matmul_precision(o, precision);
  add_mpi_timeout(o, mpi_timeout);

  o.group("Search (docs/decoding.md)");
  o.add("beam", beam,
        "beam size, the number of partial translations kept for each sentence; 1: greedy search")
      .range(1, 1000);
  o.add("length-penalty", length_penalty, "exponent X of a translation's score, log p / length^X")
      .range(-10, 10);
  o.add("count-end", count_end,
        "count </s> in the length of --length-penalty, as CTranslate2 does");
  o.add("allow-unknown", sampling.allow_unknown, "allow <unk> in translations");
  o.add("max-length", max_length, "most words of a translation; each subword counts as a word")
      .range(1, 100'000)
      .unit("words")
      .called("maximum length");
  o.add("skip-long", skip_long,
        "for a line with more tokens than the model has positions, write an empty translation and "
        "a warning; otherwise, the line is an error");
  o.add("batch", batch,
        "number of sentences translated at once; the translations do not depend on it")
      .range(1, 10'000)
      .unit("sentences")
      .called("batch size");
  o.add("n-best", n_best,
        "print the N best translations of each line as `i ||| translation ||| score`, where i is "
        "the line, from 0; 0: print only the best translation")
      .range(0, 1000);
  o.add("prefix", prefix, "text with which the translations begin, line by line").unit("FILE");
  o.add("attention", attention,
        "also write each translated word's attention to the source words to FILE, one JSON object "
        "per line")
      .unit("FILE");
  o.add("alignment", alignment,
        "also write to which token of the source each token attends most: pairs i-j, from 0, of "
        "source token i and token j; a subword is a token")
      .unit("FILE");
  o.add("word-scores", word_scores,
        "also write the log-probability of each word and of the end of sentence")
      .unit("FILE");
  o.add("token-pairs", token_pairs,
        "also write the tokens that --alignment and --word-scores count, as the dictionaries spell "
        "them: `source ||| translation`")
      .unit("FILE");

  o.group("Sampling in place of a search");
  o.add("samples", samples,
        "number of translations to draw for each line, by chance; 0: search for the best")
      .range(0, 1000);
  declare_sampling(o, sampling);
  o.add("seed", seed, "seed of the drawn words");

  o.group("Scoring given translations with the model");
  o.add("score-given", score_given,
        "instead of translating, print the natural log-probability of each translation in FILE, "
        "one for each line of input")
      .unit("FILE");
  o.add("tokens", tokens,
        "with --score-given: print the log-probability of each word and of the end of sentence "
        "instead of their sum");

  o.group("BLEU and chrF, equal to sacreBLEU's");
  o.add("score", score,
        "score the translations against --reference; without --checkpoint, --input holds the "
        "translations");
  o.add("reference", reference, "reference translations, line by line").unit("FILE");
  scoring.declare(o);
}

void TranslateOptions::check(const Options& options) const {
  require_usage(!checkpoint.empty() || score,
                "no model: give --checkpoint DIR (or --score --reference FILE for a file that is "
                "translated already)");
  require_usage(score == !reference.empty(), "--score and --reference FILE belong together");
  require_usage(score_given.empty() || !checkpoint.empty(),
                "--score-given needs a model: give --checkpoint DIR");
  require_usage(score_given.empty() || !score,
                "--score-given and --score are different tasks: give one of them");
  require_usage(vocabulary.empty() || score_given.empty(),
                "--vocabulary is of the source language, and --score-given gives text of the "
                "target language: cut both texts by bpe apply, each with its own vocabulary, and "
                "leave out --codes and --vocabulary");
  require_usage(vocabulary_threshold == 0 || !vocabulary.empty(),
                "--vocabulary-threshold needs --vocabulary");
  int on_standard_output = 0;
  for (const std::string* file : {&output, &attention, &alignment, &word_scores, &token_pairs})
    on_standard_output += *file == "-" ? 1 : 0;
  require_usage(on_standard_output <= 1,
                "translations, --attention, --alignment, --word-scores and --token-pairs would mix "
                "on standard output: give all but one of them a file");
  require_usage(n_best <= beam, "--n-best ", n_best, ": a search with --beam ", beam,
                " has no more than ", beam, " hypotheses");
  require_usage(!score || samples <= 1,
                "--score takes one translation a line: leave out --samples");
  if (samples > 0) check_sampling(options, sampling, samples, "translations");
  require_usage(!score || n_best == 0, "--score takes one translation a line: leave out --n-best");
  require_usage(!join || codes.empty(), "--codes joins subwords already: leave out --join");
  scoring.check();
  check_detokenize(options, detokenize);
  refuse_same_models("--checkpoint", checkpoint);

  only_with(options, translates(), "translating: a --checkpoint without --score-given",
            {"flush", "beam", "length_penalty", "count_end", "allow_unknown", "max_length",
             "skip_long", "n_best", "attention", "alignment", "word_scores", "token_pairs",
             "prefix", "samples", "join", "detokenize"});
  only_with(options, samples > 0, "--samples", {"temperature", "top_k", "top_p", "seed"});
  only_with(options, samples == 0, "a search, which --samples replaces",
            {"beam", "length_penalty", "count_end", "n_best"});
  only_with(options, !checkpoint.empty(), "work with a --checkpoint",
            {"codes", "tokenize_input", "batch", "threads", "device", "matmul_precision",
             "mpi_timeout", "max_unknown"});
  only_with(options, translates() || !score_given.empty(), "translating and --score-given",
            {"output"});
  only_with(options, !score_given.empty(), "--score-given", {"tokens"});
  only_with(options, !codes.empty(), "--codes", {"vocabulary", "glossaries"});
  std::vector<NamedFile> written{{"--output", output}}, read{{"--input", input}};
  for (const NamedFile& file :
       {NamedFile{"--attention", attention}, NamedFile{"--alignment", alignment},
        NamedFile{"--word-scores", word_scores}, NamedFile{"--token-pairs", token_pairs}})
    if (!file.path.empty()) written.push_back(file);
  for (const NamedFile& file : {NamedFile{"--codes", codes}, NamedFile{"--vocabulary", vocabulary},
                                NamedFile{"--score-given", score_given},
                                NamedFile{"--reference", reference}, NamedFile{"--prefix", prefix}})
    if (!file.path.empty()) read.push_back(file);
  for (const std::string& model : checkpoint) add_model_files(read, "a file of the model", model);
  check_outputs(written, read);
  only_with(options, score, "--score",
            {"tokenize", "lowercase", "smooth_method", "smooth_value", "chrf_word_order", "width"});
}

SegmentationOptions TranslateOptions::segmentation() const {
  return {.codes = codes,
          .vocabulary = vocabulary,
          .vocabulary_threshold = vocabulary_threshold,
          .glossaries = glossaries,
          .raw = tokenize_input == "13a",
          .join = join,
          .detokenize = detokenize};
}

SearchOptions TranslateOptions::search(const Translator& translator) const {
  SamplingOptions draws = sampling;
  draws.unknown = translator.target_unknown();
  return {.beam = beam,
          .length_penalty = length_penalty,
          .count_end = count_end,
          .max_length = max_length,
          .n_best = std::max<int64_t>(1, n_best),
          .excluded = draws.allow_unknown ? -1 : draws.unknown,
          .batch = batch,
          .attention = !attention.empty() || !alignment.empty(),
          .samples = samples,
          .sampling = draws,
          .seed = seed};
}

std::string TranslateOptions::model_name() const {
  return checkpoint.size() == 1 ? concat("the model ", checkpoint.front())
                                : concat("the ensemble of ", checkpoint.size(), " models (",
                                         checkpoint.front(), ", ...)");
}

}  // namespace nine::app
