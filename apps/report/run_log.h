// Reading a run directory: config.json and log.jsonl (docs/formats.md).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nine::app {

/// The numbers of train, valid and test events that the report shows, named as in log.jsonl.
enum class Field : uint8_t {
  loss,
  nll,
  ppl,
  lr,
  grad_norm,
  tokens_per_s,
  ms_per_step,
  peak_mib,
  tokens,
  bleu,
  word_ppl,
  bits_per_byte,
  kCount
};

/// A value that the log does not have.
inline constexpr double kAbsent = std::numeric_limits<double>::quiet_NaN();
/// A value that the log has as null, "NaN" or an infinity: the run diverged there.
inline constexpr double kNotFinite = std::numeric_limits<double>::infinity();

/// One train, valid or test event.
struct Entry {
  double step = 0;
  double epoch = kAbsent;
  double time_s = kAbsent;
  std::array<double, static_cast<size_t>(Field::kCount)> values{};  // finite, kAbsent or kNotFinite
  std::vector<double> pi_mean;      // of mixtures: the mean weight of each component
  std::vector<double> pi_var;       // and the weights' variances over the tokens
  double context_norm = kAbsent;    // of heads with margin or norms: the mean norm of the contexts
  std::vector<double> context_max;  // and the largest so far, of each component
  std::vector<std::pair<std::string, double>> learned;  // numbers of the head: "0.rbf.gamma"
  bool best = false;  // of a valid event: whether the run took this model for the best so far

  Entry() { values.fill(kAbsent); }
  double operator[](Field f) const { return values[static_cast<size_t>(f)]; }
  double& operator[](Field f) { return values[static_cast<size_t>(f)]; }
};

/// A sentence of the validation text as a run translated it.
struct SampleTranslation {
  double step = 0, line = 0;  // line of the text
  std::string src, ref, hyp;
  std::vector<std::string> src_tokens, hyp_tokens;
  // A row for each of hyp_tokens with a column for each of src_tokens and </s>, in thousandths;
  // empty when the log's rows are of other lengths.
  std::vector<std::vector<double>> attention;
};

/// How a Transformer language model looked back over a sentence of the validation text.
struct SampleAttention {
  double step = 0, line = 0;
  std::vector<std::string> read, predicted;
  // A row for each of `predicted` with a column for each of `read`, in thousandths.
  std::vector<std::vector<double>> attention;
};

/// Norms of word vectors by the words' counts in training; `given`, where there are any, are those
/// that the score uses in place of `norms`.
struct WordNormsEntry {
  std::vector<double> counts, norms, given;
};

/// How many tokens of the validation text have which angle to their context, in equal bins.
struct TargetAngles {
  double degrees = 0;  // of a bin
  std::vector<double> tokens;
};

/// Keys with their values as text, nested objects as "outer.inner", in the file's order.
using Settings = std::vector<std::pair<std::string, std::string>>;

/// The contents of a run directory.
struct Run {
  std::string name;  // the directory's name; write_report makes the names of several runs differ
  // config.json, without `layers` where encoder and decoder have their own numbers.
  Settings settings;
  std::string config_text;  // config.json, indented; empty when there is none
  std::vector<Entry> train, valid, test;
  std::vector<SampleTranslation> translations;  // of the last validation that has some
  std::vector<SampleAttention> attention;       // likewise
  WordNormsEntry word_norms;                    // of the best model
  TargetAngles target_angles;                   // likewise
  std::vector<double> resumes;                  // the steps at which training was resumed
  double best_from = 0;  // the best model before this step was lost, and that of this step took its
                         // place
  Settings done;         // the last line of a finished run, without event, step, epoch and time
  bool finished = false;       // whether the log has such a line, or one of the test
  double last_step = kAbsent;  // of any event
  double last_epoch = kAbsent;
  double last_time = kAbsent;  // seconds
  double parameters = kAbsent;
  double vocab = kAbsent;
  // exp of the entropy of the text's source, where it is known: of the validation text, and of the
  // test text.
  double floor_ppl = kAbsent, test_floor_ppl = kAbsent;
  double best_valid_ppl = kAbsent;  // from the last line
  double best_step = kAbsent;
  double test_ppl = kAbsent;
  std::vector<std::string> notes;  // sentences about what could not be read

  /// The value of the first setting whose key, or the last part of a nested key, is `key`; empty
  /// when there is none.
  std::string setting(std::string_view key) const;
};

/// Reads `directory`/log.jsonl and config.json. Unknown events and fields are ignored, as is a last
/// line that is cut off; other unreadable lines, values that no run writes, a log without an event
/// and a broken config.json become notes. Entries are in the order of steps; a resume removes those
/// after the step at which training was resumed. Throws Error when the directory or the log is not
/// there, or when one of the two is no regular file: a named pipe would let the reader wait without
/// end.
Run read_run(const std::filesystem::path& directory);

}  // namespace nine::app
