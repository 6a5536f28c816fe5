#include "apps/lm_rescore/rescore_options.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "apps/cli/machine.h"
#include "apps/cli/model_files.h"
#include "apps/cli/option_conflicts.h"
#include "apps/cli/text_io.h"
#include "core/error.h"
#include "core/quote.h"
#include "data/text.h"

namespace nine::app {
namespace {

constexpr double kLargestWeight = 1e9;  // with it sums of scores stay finite

double weight_from_text(const std::string& text) {
  double weight = 0;
  require(parse_number(text, weight), quote(text), " is not a number");
  return weight;
}

}  // namespace

void RescoreOptions::declare(Options& o) {
  o.add("nbest", nbest, "n-best lists: each line 'utterance TAB first-pass score TAB words'")
      .unit("FILE");
  o.add("reference", reference,
        "reference transcripts: each line 'utterance TAB words'; without them nothing is counted")
      .unit("FILE");
  o.add("checkpoint", checkpoint,
        "language models: checkpoints, or run directories (for their best checkpoints), and "
        "files of n-gram models in ARPA format")
      .unit("DIR|FILE...")
      .required();
  o.add("output", output,
        "directory of the results: hyp.trn, first.trn, ref.trn, utterances.tsv, results.json; "
        "without --output and --reference, the choices are printed")
      .unit("DIR");
  o.add("output-nbest", output_nbest,
        "file for every hypothesis with each score and the total, the best first; packed by gzip "
        "if its name ends with .gz")
      .unit("FILE");
  std::vector<std::string> written{"same"};
  for (const NBestFormat format : kWrittenFormats) written.push_back(to_text(format));
  o.add("output-nbest-format", output_nbest_format,
        "format of --output-nbest; same: that of --nbest")
      .choices(written);
  o.add("json", json, "print the results as JSON, as in results.json, instead of a table");

  o.group("The lists");
  o.add("nbest-format", nbest_format, "format of --nbest and --tune-nbest");
  o.add("reference-format", reference_format,
        "format of --reference and --tune-reference; auto: by the names of the files (.trn, .stm, "
        ".ctm), otherwise that of the lists");
  o.add("nbest-scores", nbest_scores,
        "names of several first-pass scores: columns before the words (tsv, kaldi) or features "
        "(moses); all: every column of a header, every feature")
      .unit("NAME...")
      .check([](const std::string& name) { check_score_names({name}); });
  o.add("ngram-scores", ngram_scores,
        "n-gram models in ARPA format, whose natural log p of each hypothesis is one more "
        "first-pass "
        "score, with a weight of its own (ngram; of several ngram_1, ngram_2, ...)")
      .unit("FILE...");
  o.add("nbest-cost", nbest_cost,
        "the scores in the lists are costs: smaller is better, as in Kaldi");
  o.add("allow-empty", allow_empty, "accept hypotheses without words, as silence");
  add_max_unknown(o, max_unknown);

  o.group("Scores: first pass + lambda * log p(words) + mu * number of words");
  o.add("tune-nbest", tune_nbest, "other n-best lists, on which lambda and mu are tuned")
      .unit("FILE");
  o.add("tune-reference", tune_reference, "reference transcripts of --tune-nbest").unit("FILE");
  o.add("lambda", lambda,
        "weight of the language model's natural log-probability; -1: tuned on --tune-nbest")
      .range(-1, kLargestWeight);
  o.add("mu", mu, "score for each word, together with --lambda; otherwise tuned")
      .range(-kLargestWeight, kLargestWeight);
  o.add("measure", measure,
        "measure of the results: wer, word error rate; bleu, for translations (Moses lists: "
        "--nbest-format moses)");
  o.add("first-weights", first_weights,
        "weights of the first-pass scores in the order of --nbest-scores and --ngram-scores; "
        "without "
        "them, the total of the lists or the sum of the scores counts")
      .unit("X...")
      .check(weight_from_text);
  o.add("tuning", tuning,
        "search for the weights: grid finds lambda and mu; mert (minimum error rate training) "
        "finds the weights of several first-pass scores too; auto: mert if there are several "
        "without --first-weights");
  o.add("restarts", restarts, "number of random starts of --tuning mert").range(0, 10'000);
  o.add("tuning-seed", tuning_seed, "seed of the random starts");
  o.add("interpolate", interpolate,
        "how several models are combined: linear adds probabilities word by word, log-linear adds "
        "log-probabilities");
  o.add("weights", weights,
        "weights of the models in the order of --checkpoint; by default, all weights are equal")
      .unit("X...")
      .check(weight_from_text);
  o.add("batch-tokens", batch_tokens, "number of positions computed at once")
      .at_least(1)
      .unit("tokens")
      .called("batch tokens");

  o.group("Posteriors: exp(scale * score), normalised over each list");
  o.add("choice", choice,
        "hypothesis that is chosen: best, with the largest score; mbr, with the least expected "
        "word errors over the list (minimum Bayes risk)");
  o.add("confidences", confidences,
        "write the confidence of each chosen word, the sum of the posteriors of the hypotheses "
        "that have it there, to confidences.tsv, and print their normalised cross-entropy");
  o.add("confidence-map", confidence_map,
        "line through the confidences: those of 0 become LOW, those of 1 HIGH; by default fitted "
        "on --tune-nbest, without --tune-nbest 0 1")
      .unit("LOW HIGH")
      .check(weight_from_text);
  o.add("scale", scale,
        "scale of the posteriors; --output-nbest then has their logarithms; 0: tuned on "
        "--tune-nbest, for word errors (--choice mbr) or the normalised cross-entropy; without "
        "--tune-nbest 1 / lambda")
      .range(0, kLargestWeight);

  o.group("Lattices, in place of --nbest: the best path with --lambda and --mu");
  o.add("lattices", lattices, "files of lattices").unit("FILE...");
  o.add("lattice-format", lattice_format,
        "format of --lattices: slf, HTK's, or the text form of Kaldi");
  o.add("lattice-history", lattice_history,
        "merge the hypotheses that reach a node with the same last words; this many; -1: never "
        "merge, which is exact")
      .range(-1, 1000)
      .unit("words");
  o.add("lattice-nbest", lattice_nbest,
        "also write the best different word sequences of each lattice, at most this many, as "
        "nbest.tsv, which --nbest reads; 0: no lists")
      .range(0, 1'000'000)
      .unit("sequences");
  o.add("acoustic-scale", acoustic_scale,
        "factor of the acoustic scores; by default acscale of an SLF file, otherwise 1")
      .unit("X")
      .check(weight_from_text);
  o.add("lm-scale", lm_scale,
        "factor of the language scores of the first pass; by default lmscale of an SLF file, "
        "otherwise 1")
      .unit("X")
      .check(weight_from_text);
  o.add("word-penalty", word_penalty,
        "score of each word in the first pass; by default wdpenalty of an SLF file, otherwise 0")
      .unit("X")
      .check(weight_from_text);

  o.group("Significance");
  o.add("baseline", baseline,
        "hyp.trn of another system for the same utterances; replaces the first pass in the "
        "comparison")
      .unit("FILE");
  o.add("group-by", group_by,
        "unit that the bootstrap draws: utterance; before:TEXT, all utterances whose names agree "
        "up to TEXT; or a file with lines 'utterance TAB group'")
      .unit("TEXT|FILE");
  o.add("margin-wer", margin_wer,
        "also test whether both systems have the same WER up to this margin (TOST at 5%)")
      .range_open(0, 100)
      .unit("points")
      .default_text("no test");
  o.add("resamples", resamples, "number of bootstrap resamples for each confidence interval")
      .range(100, 1'000'000);
  o.add("seed", seed, "seed of the resamples");

  o.group("Machine");
  add_threads(o, threads);
  add_device(o, device);
  add_matmul_precision(o, precision);
}

void RescoreOptions::check(const Options& options) const {
  refuse_empty(options, {"nbest", "reference", "output", "output_nbest", "tune_nbest",
                         "tune_reference", "baseline"});
  try {
    check_score_names(nbest_scores);
  } catch (const Error& e) {
    fail_usage("--nbest-scores: ", e.what());
  }
  if (!lattices.empty()) return check_lattices(options);
  only_with(options, false, "--lattices",
            {"lattice_format", "lattice_history", "lattice_nbest", "acoustic_scale", "lm_scale",
             "word_penalty"});
  require_usage(!nbest.empty(), "--nbest is required (or --lattices)");
  require_usage(tune_nbest.empty() == tune_reference.empty(),
                "--tune-nbest and --tune-reference belong together: give both");
  const bool given = lambda != -1;
  require_usage(!given || lambda >= 0, "--lambda ", lambda, " must be 0 or more (-1: tuned)");
  require_usage(tunes() != given, tunes() ? "--tune-nbest tunes --lambda: leave one of them out"
                                          : "the language model has no weight: give --tune-nbest "
                                            "and --tune-reference to tune it, or --lambda");
  require_usage(given || mu == 0, "--mu needs --lambda");
  require_usage(checkpoint.size() > 1 || weights.empty(),
                "--weights are for several models, but there is only one model");
  check_weights();
  const bool wer = measure == RescoringMeasure::wer;
  only_with(options, wer, "--measure wer",
            {"baseline", "group_by", "margin_wer", "resamples", "seed"});
  only_with(options, has_reference(), "--reference",
            {"baseline", "group_by", "margin_wer", "resamples", "seed"});
  only_with(options, !output.empty(), "--output", {"confidences"});
  only_with(options, confidences, "--confidences", {"confidence_map"});
  only_with(options, confidences || choice == Choice::mbr || !output_nbest.empty(),
            "--confidences, --choice mbr or --output-nbest", {"scale"});
  require_usage(confidence_map.empty() || confidence_map.size() == 2,
                "--confidence-map needs two numbers, LOW and HIGH");
  const ConfidenceMap map = given_map();
  require_usage(map.low >= 0 && map.low <= map.high && map.high <= 1, "--confidence-map ", map.low,
                " ", map.high, ": confidences are from 0 to 1, and LOW is at most HIGH");
  only_with(options, tunes(), "--tune-nbest", {"tuning", "restarts", "tuning_seed"});
  only_with(options, tuning != WeightSearch::grid, "--tuning mert", {"restarts", "tuning_seed"});
  only_with(options, !output_nbest.empty(), "--output-nbest", {"output_nbest_format"});
  require_usage(
      ngram_scores.empty() || !first_weights.empty() || (tunes() && tuning != WeightSearch::grid),
      "--ngram-scores have no weights: give --first-weights, or tune all weights with "
      "--tune-nbest and --tuning mert");
  for (const std::string& model : ngram_scores)
    require_usage(!std::filesystem::is_directory(model), "--ngram-scores ", model,
                  ": a directory is no n-gram model in ARPA format; --checkpoint takes models of "
                  "Nine");
  refuse_same_models("--ngram-scores", ngram_scores);
  require_usage(tuning != WeightSearch::mert || first_weights.empty(),
                "--tuning mert finds --first-weights: leave one of them out");
  require_usage(output_nbest.empty() || std::ranges::count(kWrittenFormats, written_format()) > 0,
                "--output-nbest is not written as ", to_text(written_format()),
                ": give --output-nbest-format");
  require_usage(output_nbest != "-", "--output-nbest - names no file: give /dev/stdout to print");
  for (const double w : first())
    require_usage(std::fabs(w) <= kLargestWeight,
                  "--first-weights: a weight is at most 1000000000");
  only_with(options, checkpoint.size() > 1, "several models", {"interpolate"});
  refuse_same_models("--checkpoint", checkpoint);
  std::vector<NamedFile> read{{"--nbest", nbest},
                              {"--reference", reference},
                              {"--tune-nbest", tune_nbest},
                              {"--tune-reference", tune_reference},
                              {"--baseline", baseline}};
  if (groups_by_file()) read.push_back({"--group-by", group_by});
  for (const std::string& model : ngram_scores) read.push_back({"--ngram-scores", model});
  for (const std::string& model : checkpoint) add_model_files(read, "a file of the model", model);
  std::vector<NamedFile> written{{"--output-nbest", output_nbest, true}};
  for (const char* name : kResultFiles)
    if (!output.empty()) written.push_back({"--output's file", file(name)});
  check_outputs(written, read);
}

void RescoreOptions::check_lattices(const Options& options) const {
  only_with(options, false, "n-best lists, and --lattices reads lattices",
            {"nbest",          "nbest_format", "nbest_cost",     "nbest_scores",
             "first_weights",  "tune_nbest",   "tune_reference", "tuning",
             "restarts",       "tuning_seed",  "choice",         "confidences",
             "confidence_map", "scale",        "output_nbest",   "output_nbest_format",
             "measure",        "baseline",     "group_by",       "margin_wer",
             "resamples",      "seed",         "batch_tokens",   "json",
             "ngram_scores"});
  require_usage(!output.empty(), "--output is required with --lattices");
  require_usage(lambda >= 0,
                "the language model has no weight: give --lambda (to tune it, rescore the lists "
                "that --lattice-nbest writes)");
  require_usage(interpolate == Interpolation::linear,
                "--interpolate log-linear is for n-best lists; --lattices takes linear");
  require_usage(lattice_nbest > 0 || !allow_empty, "--allow-empty is for --lattice-nbest");
  require_usage(checkpoint.size() > 1 || weights.empty(),
                "--weights are for several models, but there is only one model");
  check_weights();
  refuse_same_models("--checkpoint", checkpoint);
  std::vector<NamedFile> read{{"--reference", reference}};
  for (const std::string& file : lattices) read.push_back({"--lattices", file});
  for (const std::string& model : checkpoint) {
    add_model_files(read, "a file of the model", model);
    read.push_back({"--checkpoint", model});
  }
  std::vector<NamedFile> written;
  for (const char* name :
       {"results.json", "hyp.trn", "first.trn", "ref.trn", "lattices.tsv", "nbest.tsv"})
    written.push_back({"--output's file", file(name)});
  check_outputs(written, read);
}

LatticeScales RescoreOptions::scales_of(const Lattice& lattice) const {
  LatticeScales scales = lattice.scales;
  if (!acoustic_scale.empty()) scales.acoustic = weight_from_text(acoustic_scale);
  if (!lm_scale.empty()) scales.language = weight_from_text(lm_scale);
  if (!word_penalty.empty()) scales.word_penalty = weight_from_text(word_penalty);
  return scales;
}

void RescoreOptions::check_weights() const {
  if (weights.empty()) return;
  require_usage(weights.size() == checkpoint.size(), "--weights gives ", weights.size(),
                " numbers for ", checkpoint.size(), " models: give one for each");
  double sum = 0;
  for (const std::string& text : weights) {
    const double w = weight_from_text(text);
    require_usage(w >= 0 && w <= kLargestWeight, "--weights ", text, ": a weight is ",
                  w < 0 ? "0 or more" : "at most 1000000000");
    sum += w;
  }
  const bool linear = interpolate == Interpolation::linear;
  require_usage(linear ? std::fabs(sum - 1) < 1e-6 : sum > 0, "--weights add up to ", sum,
                linear ? "; for --interpolate linear they must add up to 1"
                       : "; give at least one model a weight above 0");
}

NBestOptions RescoreOptions::lists() const {
  return {.format = nbest_format,
          .cost = nbest_cost,
          .allow_empty = allow_empty,
          .scores = nbest_scores};
}

TranscriptFormat RescoreOptions::format_of(const std::string& transcripts) const {
  return reference_format == TranscriptFormat::automatic
             ? transcript_format(transcripts, nbest_format)
             : reference_format;
}

NBestFormat RescoreOptions::written_format() const {
  return output_nbest_format == "same" ? nbest_format
                                       : enum_from_text<NBestFormat>(output_nbest_format);
}

ConfidenceMap RescoreOptions::given_map() const {
  if (confidence_map.size() != 2) return {};
  return {weight_from_text(confidence_map[0]), weight_from_text(confidence_map[1])};
}

std::vector<double> RescoreOptions::first() const {
  std::vector<double> all;
  for (const std::string& text : first_weights) all.push_back(weight_from_text(text));
  return all;
}

SentenceScoring RescoreOptions::scoring(Device where) const {
  SentenceScoring scoring{
      .interpolation = interpolate, .batch_tokens = batch_tokens, .device = where};
  for (const std::string& text : weights) scoring.weights.push_back(weight_from_text(text));
  return scoring;
}

std::string RescoreOptions::file(const char* name) const {
  return (std::filesystem::path(output) / name).string();
}

}  // namespace nine::app
