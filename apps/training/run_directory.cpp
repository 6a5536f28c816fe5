#include "apps/training/run_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "apps/cli/output_directory.h"
#include "apps/cli/processes.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "nn/training/checkpoint.h"

namespace nine::app {
namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(fs::symlink_status(path, ignored));
}

// UsageError: the directory is, or would be, within the checkpoints of a run, where --restart would
// move a checkpoint's files away.
void require_place_of_run(const fs::path& directory) {
  std::error_code error;
  const fs::path whole = fs::weakly_canonical(directory / "x", error).parent_path();
  if (error) return;  // said when it is made
  if (holds_state(whole))
    fail_usage("--run ", directory.string(),
               " is a checkpoint, not a run; give the directory of its run to resume this run, or "
               "another --run with --init ",
               directory.string(), " to start from its weights");
  for (fs::path p = whole; p.has_relative_path(); p = p.parent_path())
    if (p.filename() == "checkpoints" && is_there(p.parent_path() / "log.jsonl"))
      fail_usage("--run ", directory.string(), " lies within the checkpoints of a run; give --run ",
                 p.parent_path().string(), " to resume this run, or another --run");
  if (fs::is_directory(whole, error) && !RunDirectory::holds_run(whole) &&
      !checkpoints_in(whole).empty())
    fail_usage("--run ", directory.string(), " holds checkpoints, as the directories checkpoints ",
               "and average of a run do, and no run; give ",
               RunDirectory::holds_run(whole.parent_path())
                   ? concat("--run ", whole.parent_path().string(), " to resume that run, or ")
                   : "",
               "another --run");
}

// Whether a lock's text is nothing or a process and its host, and not a file of the user's.
bool is_owner(std::string_view text) {
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  return text.empty() || (digits > 0 && text.substr(digits).starts_with(" on "));
}

// Calls take(line) for each whole line.
template <class F>
void for_each_line(std::string_view text, F take) {
  for (size_t newline = 0; (newline = text.find('\n')) != std::string_view::npos;
       text.remove_prefix(newline + 1))
    take(text.substr(0, newline));
}

std::optional<double> step_of(const Json& event) {
  const auto step = event.find("step");
  return step != event.end() && step->is_number() ? std::optional(step->get<double>())
                                                  : std::nullopt;
}

bool is_event(const Json& event, std::string_view name) {
  const auto kind = event.find("event");
  return kind != event.end() && *kind == name;
}

// What RunDirectory::cut_log keeps of a log, line by line.
class LogCutter {
 public:
  explicit LogCutter(int64_t step) : step_(static_cast<double>(step)) {}

  void line(std::string_view text) {
    const Json event = parse_json_object(text);
    if (event.is_null()) return;
    const std::optional<double> step = step_of(event);
    if (step) keeping_ = *step <= step_;
    if (!keeping_ || is_event(event, "done") || is_event(event, "test") ||
        is_event(event, "word_norms") || is_event(event, "target_angles") ||
        (is_event(event, "resume") && step == step_))
      return;
    kept_ += text;
    kept_ += '\n';
  }

  const std::string& kept() const { return kept_; }

 private:
  double step_;
  bool keeping_ = true;  // whether the last line with a step is within the checkpoint
  std::string kept_;
};

}  // namespace

Json read_run_config(const fs::path& run) {
  const fs::path own = run / "config.json", saved = run / "checkpoints" / "latest" / "config.json";
  const std::string advice = concat(
      "; ", is_there(saved) ? concat("copy ", saved.string(), " there to resume the run, or ") : "",
      "use --restart or another --run");
  require(is_there(own), "--run ", run.string(), " holds a run without config.json", advice);
  Json config = read_json_object(own, advice);
  require(config.contains("seed"), own.string(), " has no settings of a run: it lacks 'seed'",
          advice);
  return config;
}

std::string_view trainer_of(const Json& config) {
  const auto has = [&](const char* key) { return config.contains(key); };
  if (has("src") && has("tgt") && !has("train")) return "mt_train";
  return has("train") && has("bptt") && !has("src") ? "lm_train" : "";
}

Json RunDirectory::read_config() const { return read_run_config(path_); }

RunDirectory::RunDirectory(fs::path directory) : path_(std::move(directory)) {
  if (path_.empty()) throw UsageError("--run is empty; give the run's directory");
  require_place_of_run(path_);
  make_output_directory("--run", path_);
  for (const fs::path& file : {config_file(), log_file()}) {
    std::error_code ignored;  // reading a pipe would wait without end
    require(!fs::is_fifo(fs::status(file, ignored)), file.string(),
            " is a named pipe, and a run's file is expected there: move it elsewhere");
  }
  lock();
}

RunDirectory::~RunDirectory() {
  // The file stays: removing it would let two processes lock two files of one name.
  if (lock_ >= 0) ::close(lock_);
}

void RunDirectory::fail_unwritable() const {
  fail("--run ", path_.string(), " cannot be written: ", std::strerror(write_error_),
       "; give a directory that is yours, or another --run");
}

void RunDirectory::lock() {
  const fs::path file = path_ / ".lock";
  // Without O_NOFOLLOW the owner would be written into the file that a link leads to.
  lock_ = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
  require(lock_ >= 0 || errno != ELOOP, "--run ", path_.string(), ": ", file.string(),
          " is a symbolic link, and the run's lock is a file of its own: remove the link");
  if (lock_ < 0) {
    write_error_ = errno;
    if (!finished()) fail_unwritable();
    return;
  }
  const int error = ::access(path_.c_str(), W_OK) == 0 ? 0 : errno;
  if (error != 0 && finished()) write_error_ = error;
  if (::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return;  // no locks on this file system
    std::string owner = read_text(file);
    owner.erase(std::min(owner.find('\n'), owner.size()));
    ::close(lock_);
    lock_ = -1;
    fail("--run ", path_.string(), " is in use by process ",
         owner.empty() ? "of unknown id" : owner, "; wait until it ends, or give another --run");
  }
  if (!is_owner(read_text(file))) {
    ::close(lock_);
    lock_ = -1;
    fail("--run ", path_.string(), ": ", file.string(),
         " is not a run's lock, which has a process ",
         "and its host: move it elsewhere, or give another --run");
  }
  const std::string me = concat(::getpid(), " on ", host_name(), "\n");
  // The owner is only used in the message above, so an error is ignored here: a full disk is
  // reported by the first file that the run needs.
  if (::ftruncate(lock_, 0) != 0 || ::pwrite(lock_, me.data(), me.size(), 0) < 0) return;
}

bool RunDirectory::holds_run(const fs::path& directory) {
  const auto parts = {"config.json", "log.jsonl", "checkpoints"};
  return std::ranges::any_of(parts, [&](const char* name) { return is_there(directory / name); });
}

bool RunDirectory::finished() const { return is_event(last_event(), "done"); }

void RunDirectory::write_config(const Json& config) const {
  atomic_write_text(config_file(), json_text(config, 2) + "\n");
}

void RunDirectory::log(const Json& event) {
  if (!log_.is_open()) log_.open(log_file());
  log_.append(json_text(event));
}

Json RunDirectory::last_event() const {
  Json last;
  if (!is_there(log_file())) return last;
  std::string_view last_line;
  const std::string text = read_text(log_file());
  for_each_line(text, [&](std::string_view line) { last_line = line; });
  return parse_json_object(last_line);
}

void RunDirectory::cut_log(int64_t step) {
  if (!is_there(log_file())) return;
  LogCutter cutter(step);
  for_each_line(read_text(log_file()), [&](std::string_view line) { cutter.line(line); });
  log_.close();
  atomic_write_text(log_file(), cutter.kept());
}

int64_t RunDirectory::updates_not_logged(int64_t step, int64_t log_every) const {
  std::set<int64_t> covered;  // ends of whole windows
  if (is_there(log_file()))
    for_each_line(read_text(log_file()), [&](std::string_view line) {
      const Json event = parse_json_object(line);
      if (event.is_null() || !is_event(event, "train")) return;
      const auto end = static_cast<int64_t>(step_of(event).value_or(0));
      if (end > 0 && end <= step && end % log_every == 0) covered.insert(end);
    });
  return (step / log_every - std::ssize(covered)) * log_every;
}

bool RunDirectory::had_checkpoint() const {
  bool validated = false, had = false;
  if (is_there(log_file()))
    for_each_line(read_text(log_file()), [&](std::string_view line) {
      const Json event = parse_json_object(line);
      if (event.is_null()) return;
      had = had || is_event(event, "resume") || is_event(event, "test") ||
            is_event(event, "done") || (validated && is_event(event, "train"));
      validated = validated || is_event(event, "valid");
    });
  return had;
}

fs::path RunDirectory::restart(const std::vector<std::string>& more) {
  if (!has_run()) return {};
  int n = 1;
  while (is_there(path_ / concat("old-", n))) ++n;
  fs::path old = path_ / concat("old-", n);
  log_.close();
  std::error_code error;
  fs::create_directory(old, error);
  // The configuration goes last: killed before, what is left is a run without checkpoints, which
  // starts from the beginning.
  std::vector<std::string> names{"checkpoints", "report.html"};
  names.insert(names.end(), more.begin(), more.end());
  names.insert(names.end(), {"log.jsonl", "config.json"});
  for (const std::string& name : names)
    if (!error && is_there(path_ / name)) fs::rename(path_ / name, old / name, error);
  require(!error, "the run in ", path_.string(), " cannot be moved to ", old.string(), ": ",
          error.message(), "; give another --run");
  return old;
}

}  // namespace nine::app
