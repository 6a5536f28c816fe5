#include "apps/report/run_log.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>

#include "apps/svg/text.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/number_format.h"
#include "core/quote.h"

namespace nine::app {
namespace {

constexpr std::array<const char*, static_cast<size_t>(Field::kCount)> kFieldNames{
    "loss",        "nll",      "ppl",    "lr",   "grad_norm", "tokens_per_s",
    "ms_per_step", "peak_mib", "tokens", "bleu", "word_ppl",  "bits_per_byte"};

// What each field may be at least and at most. Regularisers and margins move the loss; rounding may
// leave the nats of a model that is always sure a little below 0.
constexpr double kNoLimit = std::numeric_limits<double>::infinity();
constexpr std::array<std::pair<double, double>, kFieldNames.size()> kPossible{
    {{-kNoLimit, kNoLimit},
     {-1e-3, kNoLimit},
     {0.99, kNoLimit},
     {0, kNoLimit},
     {0, kNoLimit},
     {0, kNoLimit},
     {0, kNoLimit},
     {0, kNoLimit},
     {0, kNoLimit},
     {0, 100.001},
     {0.99, kNoLimit},
     {-1e-3, kNoLimit}}};

// Other keys of numbers, and keys of lists of numbers, which mean the same in every event. `tokens`
// is a list in target_angles alone.
constexpr std::array kNumberKeys{
    "step",      "epoch",     "time_s",       "parameters",        "lost_updates",
    "vocab",     "src_vocab", "tgt_vocab",    "entropy_floor_nll", "entropy_floor_ppl",
    "best_step", "test_ppl",  "context_norm", "best_valid_ppl",    "degrees",
    "line"};
constexpr std::array kListKeys{"pi_mean", "pi_var", "context_max", "counts", "norms", "given"};
constexpr std::array kKinds{"start",       "resume",    "train",      "valid",         "test",
                            "translation", "attention", "word_norms", "target_angles", "done"};

constexpr double kSameNats = 1e-3;  // that a perplexity may be rounded by

bool says_not_finite(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (text.starts_with('-') || text.starts_with('+')) text.erase(0, 1);
  return text == "nan" || text == "inf" || text == "infinity";
}

// Larger values count as infinite: the run diverged, and the arithmetic of axes would overflow.
double checked(double value) { return std::fabs(value) <= 1e300 ? value : kNotFinite; }

double number(const Json& value) {
  if (value.is_number()) return checked(value.get<double>());
  if (value.is_null()) return kNotFinite;
  if (value.is_string() && says_not_finite(value.get<std::string>())) return kNotFinite;
  return kAbsent;
}

double number(const Json& event, const char* key) {
  const auto found = event.find(key);
  return found == event.end() ? kAbsent : number(*found);
}

std::vector<double> numbers(const Json& event, const char* key) {
  std::vector<double> out;
  if (const auto found = event.find(key); found != event.end() && found->is_array())
    for (const Json& value : *found) out.push_back(number(value));
  return out;
}

// Sets `target` when the event has a finite number there.
void update(double& target, const Json& event, const char* key) {
  const double value = number(event, key);
  if (std::isfinite(value)) target = value;
}

std::string value_text(const Json& value) {
  if (value.is_array() && !value.empty() &&
      std::all_of(value.begin(), value.end(), [](const Json& v) { return v.is_string(); })) {
    std::string text;
    for (const Json& part : value) text += (text.empty() ? "" : ", ") + part.get<std::string>();
    return text;
  }
  return value.is_string() ? value.get<std::string>() : json_text(value);
}

void flatten(const Json& object, const std::string& prefix, Settings& out) {
  for (const auto& [key, value] : object.items()) {
    if (value.is_object() && !value.empty()) {
      flatten(value, prefix + key + ".", out);
    } else {
      out.emplace_back(prefix + key, value_text(value));
    }
  }
}

// The perplexity of a log that has only nats per token.
void derive_ppl(Entry& entry) {
  const double nll = entry[Field::nll];
  if (!std::isnan(entry[Field::ppl]) || std::isnan(nll)) return;
  entry[Field::ppl] = checked(std::exp(nll));
}

std::vector<std::string> texts(const Json& event, const char* key) {
  std::vector<std::string> out;
  if (const auto found = event.find(key); found != event.end() && found->is_array())
    for (const Json& value : *found)
      out.push_back(value.is_string() ? value.get<std::string>() : std::string());
  return out;
}

std::string text(const Json& event, const char* key) {
  const auto found = event.find(key);
  return found != event.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// Empty unless there are `rows` rows of `columns` numbers.
std::vector<std::vector<double>> attention_rows(const Json& event, size_t rows, size_t columns) {
  const auto found = event.find("attention");
  if (found == event.end() || !found->is_array() || found->size() != rows) return {};
  std::vector<std::vector<double>> out;
  for (const Json& row : *found) {
    out.push_back(numbers(Json{{"row", row}}, "row"));
    if (out.back().size() != columns) return {};
  }
  return out;
}

SampleTranslation translation(const Json& event) {
  SampleTranslation t{.line = number(event, "line"),
                      .src = text(event, "src"),
                      .ref = text(event, "ref"),
                      .hyp = text(event, "hyp"),
                      .src_tokens = texts(event, "src_tokens"),
                      .hyp_tokens = texts(event, "hyp_tokens")};
  t.attention = attention_rows(event, t.hyp_tokens.size(), t.src_tokens.size() + 1);
  return t;
}

// Whether a line of a log can follow the lines before it: what no run writes is no measurement.
class PossibleLines {
 public:
  void line(const std::string& kind, const Json& event, bool of_best, int64_t number) {
    const bool from_here = kind == "start" || kind == "resume";
    std::string problem = kind == "start" && seen_ ? "a second start" : wrong_type(kind, event);
    if (problem.empty()) problem = impossible_value(event);
    seen_ = true;
    if (problem.empty() && !of_best) {
      if (const auto step = event.find("step"); step != event.end() && !is_whole(*step))
        problem = concat("step is ", shortened(json_text(*step)));
      for (Last& last : last_) {
        const double value = number_or(event, last.key, last.value);
        if (problem.empty() && !from_here && value < last.value - 1e-9)
          problem = concat(last.key, " ", shortest(value), " after ", shortest(last.value));
        last.value = value;
      }
    }
    if (!problem.empty() && count_++ == 0) first_ = concat("line ", number, ": ", problem);
  }
  // A sentence, or nothing.
  std::string note() const {
    return count_ == 0 ? ""
                       : concat(plural(count_, "line"), " of log.jsonl ",
                                count_ == 1 ? "has" : "have", " what no run writes (", first_,
                                "): the log is damaged, or not of one run. The page shows it as it "
                                "is",
                                left_out_ ? ", without what has another type." : ".");
  }

 private:
  struct Last {
    const char* key;
    double value;
  };
  static bool is_whole(const Json& value) {
    return value.is_number() && value.get<double>() >= 0 &&
           std::floor(value.get<double>()) == value.get<double>();
  }
  static double number_or(const Json& event, const char* key, double other) {
    const double value = number(event, key);
    return std::isfinite(value) ? value : other;
  }
  // A value of another type than a run writes, which the page cannot show; or nothing.
  std::string wrong_type(const std::string& kind, const Json& event) {
    if (!has(kKinds, kind)) return "";
    std::string problem;
    const auto check = [&](const std::string& key, const Json& value, const char* wanted,
                           bool fits) {
      if (problem.empty() && !fits)
        problem = concat(key, " is ", shortened(json_text(value)), ", not ", wanted);
    };
    for (const auto& [key, value] : event.items()) {
      if (has(kListKeys, key) || (key == "tokens" && kind == "target_angles")) {
        check(key, value, "a list of numbers", are_numbers(value));
      } else if (has(kFieldNames, key) || has(kNumberKeys, key)) {
        check(key, value, "a number", is_number(value));
      } else if (key == "attention") {
        check(key, value, "rows of numbers",
              value.is_array() && std::all_of(value.begin(), value.end(), are_numbers));
      } else if (key == "best") {
        check(key, value, "true or false", value.is_boolean());
      } else if (key == "learned") {
        check(key, value, "an object of numbers",
              value.is_object() && std::all_of(value.begin(), value.end(), is_number));
      }
    }
    left_out_ = left_out_ || !problem.empty();
    return problem;
  }
  static bool has(const auto& keys, const std::string& key) {
    return std::ranges::find(keys, key) != keys.end();
  }
  static bool is_number(const Json& value) { return !std::isnan(number(value)); }
  static bool are_numbers(const Json& value) {
    return value.is_array() && std::all_of(value.begin(), value.end(), is_number);
  }
  static std::string impossible_value(const Json& event) {
    const auto outside = [&](const char* key, double low, double high) {
      const double value = number(event, key);
      return std::isfinite(value) && !(value >= low && value <= high)
                 ? concat(key, " is ", shortest(value))
                 : std::string();
    };
    std::string problem;
    for (size_t i = 0; i < kFieldNames.size() && problem.empty(); ++i)
      problem = outside(kFieldNames[i], kPossible[i].first, kPossible[i].second);
    for (const char* key : {"epoch", "time_s", "lost_updates", "parameters"})
      if (problem.empty()) problem = outside(key, 0, kNoLimit);
    const double nats = number(event, "nll"), ppl = number(event, "ppl");
    if (problem.empty() && std::isfinite(nats) && std::isfinite(ppl) &&
        std::fabs(std::log(ppl) - nats) > kSameNats)
      problem = concat("ppl is ", shortest(ppl), ", and nll ", shortest(nats), " makes it ",
                       shortest(std::exp(nats)));
    return problem;
  }

  std::array<Last, 3> last_{{{"step", 0}, {"epoch", 0}, {"time_s", 0}}};
  bool seen_ = false, left_out_ = false;
  double count_ = 0;
  std::string first_;
};

class LogReader {
 public:
  explicit LogReader(Run& run) : run_(run) {}

  void line(const std::string& text, bool cut) {
    ++lines_;
    if (std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isspace(c); }))
      return;
    const Json event = parse_json_object(text);
    const bool readable =
        event.is_object() && event.contains("event") && event["event"].is_string();
    if (begins_with_.empty()) begins_with_ = text.substr(text.find_first_not_of(" \t"), 1);
    if (readable) {
      ++events_;
      take(event["event"].get<std::string>(), event);
    } else if (!cut || !text.starts_with('{')) {  // a line that is cut begins as an event does
      ++unreadable_;
    }
  }

  void finish() {
    for (auto* entries : {&run_.train, &run_.valid, &run_.test})
      std::stable_sort(entries->begin(), entries->end(),
                       [](const Entry& a, const Entry& b) { return a.step < b.step; });
    if (lost_updates_ > 0)
      run_.notes.push_back("log.jsonl lacks " + plural(lost_updates_, "update") +
                           ": it was removed or cut while the run went on.");
    if (events_ == 0)
      run_.notes.push_back(concat(
          "log.jsonl ",
          begins_with_.empty() ? "is empty: the run wrote nothing yet, or the file was emptied."
          : begins_with_ == "["
              ? "is a JSON array: a log has one JSON object on each line. Nothing of it is shown."
              : "has no line with an event: it is no log of a run. Nothing of it is shown."));
    if (std::string note = possible_.note(); !note.empty()) run_.notes.push_back(std::move(note));
    if (unreadable_ > 0)
      run_.notes.push_back(plural(unreadable_, "line") + " of log.jsonl could not be read and " +
                           (unreadable_ == 1 ? "was" : "were") + " left out.");
  }

 private:
  void take(const std::string& kind, const Json& event) {
    if (kind == "resume") resume(event);
    // These say the step of the best model, which the run has passed.
    const bool of_best = kind == "test" || kind == "word_norms" || kind == "target_angles";
    possible_.line(kind, event, of_best, lines_);
    if (!of_best) update(run_.last_step, event, "step");
    if (!of_best) update(run_.last_epoch, event, "epoch");
    update(run_.last_time, event, "time_s");
    if (kind == "start") start(event);
    if (kind == "train") run_.train.push_back(entry(event));
    if (kind == "valid") run_.valid.push_back(entry(event));
    if (kind == "test") test(event);
    if (kind == "translation") keep(translation(event), run_.translations);
    if (kind == "attention") looked(event);
    if (kind == "word_norms") word_norms(event);
    if (kind == "target_angles")
      run_.target_angles = {number(event, "degrees"), numbers(event, "tokens")};
    if (kind == "done") done(event);
  }

  // The test follows the training: only the last line may be missing.
  void test(const Json& event) {
    run_.finished = true;
    run_.test.push_back(entry(event));
    update(run_.test_floor_ppl, event, "entropy_floor_ppl");
  }

  void word_norms(const Json& event) {
    WordNormsEntry& w = run_.word_norms;
    w = {numbers(event, "counts"), numbers(event, "norms"), numbers(event, "given")};
    if (w.given.size() != w.counts.size()) w.given.clear();
    if (w.norms.size() != w.counts.size()) w = {};
  }

  // Samples of the last validation only.
  template <class Sample>
  void keep(Sample sample, std::vector<Sample>& samples) {
    sample.step = std::isfinite(run_.last_step) ? run_.last_step : 0;
    std::erase_if(samples, [&](const Sample& before) { return before.step != sample.step; });
    samples.push_back(std::move(sample));
  }

  void looked(const Json& event) {
    SampleAttention sample{.line = number(event, "line"),
                           .read = texts(event, "read"),
                           .predicted = texts(event, "predicted")};
    sample.attention = attention_rows(event, sample.predicted.size(), sample.read.size());
    if (!sample.attention.empty()) keep(std::move(sample), run_.attention);
  }

  void start(const Json& event) {
    for (const char* key : {"parameters", "vocab", "src_vocab", "tgt_vocab"}) {
      const std::string known = run_.setting(concat("resolved.", key));
      const auto said = event.find(key);
      if (!known.empty() && said != event.end() && said->is_number() && json_text(*said) != known)
        run_.notes.push_back(concat("config.json and log.jsonl are not of one run: ", key, " is ",
                                    known, " in the one and ", json_text(*said), " in the other."));
    }
    update(run_.parameters, event, "parameters");
    update(run_.vocab, event, "vocab");
    update(run_.vocab, event, "tgt_vocab");
    const double nll = number(event, "entropy_floor_nll");
    if (std::isfinite(nll) && nll < 100) run_.floor_ppl = std::exp(nll);
    update(run_.floor_ppl, event, "entropy_floor_ppl");
  }

  void resume(const Json& event) {
    const double step = number(event, "step");
    if (!std::isfinite(step)) return;
    run_.resumes.push_back(step);
    update(lost_updates_, event, "lost_updates");
    if (const std::string why = text(event, "lost_best"); !why.empty()) {
      run_.best_from = step;
      run_.notes.push_back(concat("The best model before step ", count(step), " was lost (", why,
                                  "): the model of that step took its place."));
    }
    run_.word_norms = {};
    run_.target_angles = {};
    run_.finished = false;
    const auto later = [step](const Entry& e) { return e.step > step; };
    for (auto* entries : {&run_.train, &run_.valid, &run_.test}) std::erase_if(*entries, later);
    const auto made_later = [step](const auto& sample) { return sample.step > step; };
    std::erase_if(run_.translations, made_later);
    std::erase_if(run_.attention, made_later);
  }

  void done(const Json& event) {
    run_.finished = true;
    run_.done.clear();
    Json rest = event;
    for (const char* key : {"event", "step", "epoch", "time_s"}) rest.erase(key);
    flatten(rest, "", run_.done);
    update(run_.best_valid_ppl, event, "best_valid_ppl");
    update(run_.best_step, event, "best_step");
    update(run_.test_ppl, event, "test_ppl");
    update(run_.parameters, event, "parameters");
  }

  Entry entry(const Json& event) const {
    Entry e;
    e.step = std::isfinite(run_.last_step) ? run_.last_step : 0;
    e.epoch = run_.last_epoch;
    update(e.step, event, "step");
    update(e.epoch, event, "epoch");
    e.time_s = run_.last_time;
    for (size_t i = 0; i < kFieldNames.size(); ++i) e.values[i] = number(event, kFieldNames[i]);
    derive_ppl(e);
    if (const auto best = event.find("best"); best != event.end() && best->is_boolean())
      e.best = best->get<bool>();
    e.pi_mean = numbers(event, "pi_mean");
    e.pi_var = numbers(event, "pi_var");
    e.context_norm = number(event, "context_norm");
    e.context_max = numbers(event, "context_max");
    if (const auto learned = event.find("learned"); learned != event.end() && learned->is_object())
      for (const auto& [name, value] : learned->items())
        e.learned.emplace_back(name, number(*learned, name.c_str()));
    return e;
  }

  Run& run_;
  double events_ = 0, unreadable_ = 0, lost_updates_ = 0;
  std::string begins_with_;  // the first character of the log that is no space
  int64_t lines_ = 0;
  PossibleLines possible_;
};

void read_log(const std::filesystem::path& file, Run& run) {
  require_regular_file(file);
  std::ifstream in(file, std::ios::binary);
  require(in.is_open(), "[report] cannot read '", file.string(), "': ", std::strerror(errno),
          "; give the directory of a run, the one that holds log.jsonl");
  LogReader reader(run);
  std::string line;
  while (std::getline(in, line))
    reader.line(line, in.eof());  // without a newline at its end the line is still being written
  reader.finish();
}

// mt_train's --layers is only the default of --encoder-layers and --decoder-layers, which its
// config.json has as they came out.
void drop_idle_layers(Run& run) {
  const auto is_set = [&](std::string_view key) {
    const std::string value = run.setting(key);
    return !value.empty() && value != "0";
  };
  if (is_set("encoder_layers") && is_set("decoder_layers"))
    std::erase_if(run.settings, [](const auto& setting) { return setting.first == "layers"; });
}

void read_config(const std::filesystem::path& file, Run& run) {
  require_regular_file(file);
  std::ifstream in(file, std::ios::binary);
  if (!in.is_open()) {
    run.notes.emplace_back("There is no config.json.");
    return;
  }
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  Json config;
  try {
    config = require_json_object(text);
  } catch (const UsageError& e) {
    run.notes.push_back(concat("config.json ", e.what(), "; it is shown as it is."));
    run.config_text = text;
    return;
  }
  run.config_text = json_text(config, 2);
  flatten(config, "", run.settings);
  drop_idle_layers(run);
  update(run.parameters, config, "parameters");
}

std::string name_of(const std::filesystem::path& directory) {
  std::error_code ignored;
  // "." and "runs/a/" have no file name, their absolute paths do.
  const auto whole = std::filesystem::weakly_canonical(directory, ignored);
  const std::string name = (whole.has_filename() ? whole : whole.parent_path()).filename().string();
  return name.empty() ? directory.string() : name;
}

bool same_key(std::string_view a, std::string_view b) {
  const auto plain = [](char c) { return c == '-' ? '_' : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return plain(x) == plain(y); });
}

}  // namespace

std::string Run::setting(std::string_view key) const {
  for (const auto& [path, value] : settings)
    if (same_key(path, key)) return value;
  for (const auto& [path, value] : settings)
    if (const size_t dot = path.rfind('.');
        dot != std::string::npos && same_key(std::string_view(path).substr(dot + 1), key))
      return value;
  return {};
}

Run read_run(const std::filesystem::path& directory) {
  std::error_code ignored;
  require(std::filesystem::is_directory(directory, ignored), "[report] '", directory.string(),
          "' is not a directory: give the directory of a run, the one that holds log.jsonl");
  Run run;
  run.name = name_of(directory);
  read_config(directory / "config.json", run);
  read_log(directory / "log.jsonl", run);
  return run;
}

}  // namespace nine::app
