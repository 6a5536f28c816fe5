#include "nn/training/checkpoint.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/files.h"
#include "core/json.h"
#include "core/notice.h"
#include "core/quote.h"

namespace nine {
namespace fs = std::filesystem;
namespace {

constexpr const char* kStateFile = "state.json";
constexpr const char* kLatest = "latest";
constexpr const char* kBest = "best";
constexpr std::string_view kUseAnother = "; use another checkpoint of the run";
// Prefixes of directories that are not (or no longer) checkpoints.
constexpr std::string_view kTemporary = ".tmp-";
constexpr std::string_view kReplaced = ".old-";
// The end of the name of a directory for files that the run did not write.
constexpr const char* kKept = ".kept";

// ---- names

std::string name_of_step(int64_t step) {
  const std::string digits = std::to_string(step);
  return std::string(digits.size() < 8 ? 8 - digits.size() : 0, '0') + digits;
}

// Returns the step of a checkpoint's directory name; empty for a name that name_of_step does not
// make.
std::optional<int64_t> step_of_name(const std::string& name) {
  int64_t step = -1;
  const char* end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data(), end, step);
  if (error != std::errc{} || stop != end || step < 0 || name_of_step(step) != name)
    return std::nullopt;
  return step;
}

std::string with_pid(std::string_view prefix, int64_t step) {
  return concat(prefix, name_of_step(step), "-", ::getpid());
}

// Returns the names in a directory; an empty list if the directory is missing.
std::vector<std::string> names_in(const fs::path& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error))
    names.push_back(it->path().filename().string());
  require(!error || error == std::errc::no_such_file_or_directory, "cannot list ",
          directory.string(), ": ", error.message());
  return names;
}

// Returns the steps of the directory's checkpoints, intact or not, most steps first.
std::vector<int64_t> steps_in(const fs::path& directory) {
  std::vector<int64_t> steps;
  std::error_code error;
  for (const std::string& name : names_in(directory)) {
    const auto step = step_of_name(name);
    if (step && fs::symlink_status(directory / name, error).type() == fs::file_type::directory)
      steps.push_back(*step);
  }
  std::sort(steps.rbegin(), steps.rend());
  return steps;
}

// Returns the step in the name of a checkpoint that is in RUN/checkpoints. A directory elsewhere
// may be called 20261129.
std::optional<int64_t> step_in_place(const fs::path& directory) {
  const std::string name = directory.filename().string();
  return name.starts_with('0') || directory.parent_path().filename() == "checkpoints"
             ? step_of_name(name)
             : std::nullopt;
}

// Returns the step to which `latest` or `best` points; that checkpoint may be missing.
std::optional<int64_t> step_of_link(const fs::path& link) {
  std::error_code error;
  const fs::path target = fs::read_symlink(link, error);
  return error ? std::nullopt : step_of_name(target.filename().string());
}

// Returns the path with its links resolved; unchanged if a link leads nowhere.
fs::path real_path(const fs::path& path) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  return error ? path : real;
}

// ---- state.json

void require_finite(const Json& value, const std::string& where) {
  if (value.is_number_float()) {
    require(std::isfinite(value.get<double>()), "a checkpoint's state cannot hold ",
            value.get<double>(), " (", where,
            "): JSON has no such number; store null or text instead");
  } else if (value.is_structured()) {
    for (const auto& [key, item] : value.items()) require_finite(item, concat(where, "/", key));
  }
}

uint32_t checksum_of(const Json& state) {
  const std::string text = json_text(state);
  return crc32c(0, text.data(), text.size());
}

std::string state_text(int64_t step, const Json& state, const CheckpointFiles& files) {
  Json out = {{"step", step}};
  for (const auto& [key, value] : state.items()) out[key] = value;
  Json digests = Json::object();
  for (const auto& [name, digest] : files.written())
    digests[name] = {{"bytes", digest.bytes}, {"crc32c", digest.crc32c}};
  out["files"] = digests;
  out["crc32c"] = checksum_of(out);
  return json_text(out, 2) + "\n";
}

void check_state(int64_t step, const Json& state) {
  require(step >= 0, "a checkpoint's step cannot be negative: ", step);
  require(state.is_object(), "a checkpoint's state must be a JSON object");
  for (const char* key : {"files", "crc32c"})
    require(!state.contains(key), "a checkpoint's state cannot hold the key '", key,
            "', which the store itself writes");
  require(!state.contains("step") || state["step"] == step,
          "a checkpoint's state says another step than ", step, ": ",
          json_text(state.value("step", Json())));
  require_finite(state, "");
}

bool is_plain_name(const std::string& name) {
  return !name.empty() && name[0] != '.' && name.find('/') == std::string::npos &&
         name != kStateFile;
}

// Reads state.json, verifies its checksum and removes the checksum. Also throws Json::exception.
Json read_state(const fs::path& directory) {
  Json state;
  try {
    state = require_json_object(read_text(directory / kStateFile));
  } catch (const UsageError& e) {
    fail(kStateFile, " cannot be read: it ", e.what());
  }
  const auto expected = state.at("crc32c").get<uint32_t>();
  state.erase("crc32c");
  require(checksum_of(state) == expected, kStateFile,
          " differs from its checksum: it was changed or damaged after it was written");
  return state;
}

void verify_file(const fs::path& directory, const std::string& name, const FileDigest& expected) {
  std::error_code error;
  require(fs::is_regular_file(directory / name, error), name, " is missing",
          name == kOptimizerFile ? ", which is needed to resume the training" : "");
  const FileDigest found = digest_of_file(directory / name);
  require(found.bytes >= expected.bytes, name, " is truncated: ", found.bytes, " of ",
          expected.bytes, " bytes");
  require(found.bytes <= expected.bytes, name, " has grown: ", found.bytes, " bytes instead of ",
          expected.bytes, " bytes");
  require(found.crc32c == expected.crc32c, name, " has its ", found.bytes,
          " bytes, but another checksum: it was changed or damaged");
}

std::map<std::string, FileDigest> digests_of(const Json& files) {
  std::map<std::string, FileDigest> out;
  for (const auto& [name, digest] : files.items()) {
    require(is_plain_name(name), kStateFile, " names a file outside of the checkpoint: '", name,
            "'");
    out[name] = {digest.at("bytes").get<uint64_t>(), digest.at("crc32c").get<uint32_t>()};
  }
  return out;
}

// ---- directories

void rename_or_fail(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  require(!error, "cannot rename ", from.string(), " to ", to.string(), ": ", error.message());
}

void remove_or_fail(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);
  require(!error, "cannot remove ", path.string(), ": ", error.message());
}

// Makes a directory but not its parents: missing parents mean that the run was removed.
void make_directory(const fs::path& path) {
  std::error_code error;
  fs::create_directory(path, error);
  require(!error, "cannot make the directory ", path.string(), ": ", error.message());
}

// Throws if something other than a link has the name of a link. A run calls it at the start, so
// that the error does not come at the first save.
void require_links_or_nothing(const fs::path& directory) {
  std::string wrong;
  for (const char* link : {kLatest, kBest}) {
    std::error_code error;
    const auto status = fs::symlink_status(directory / link, error);
    if (fs::exists(status) && !fs::is_symlink(status))
      wrong += (wrong.empty() ? "" : " and ") + (directory / link).string();
  }
  require(wrong.empty(), wrong,
          ": in the way of a symbolic link (a copy that does not keep links makes directories of "
          "them); move what is there elsewhere, then the run makes its links anew");
}

// Returns whether a run wrote the file of a checkpoint: state.json lists it, or, where that is
// damaged, it has the name of a run's file.
bool is_own_file(const fs::path& checkpoint, const std::string& name) {
  if (name == kStateFile) return true;
  try {
    return digests_of(read_state(checkpoint).at("files")).contains(name);
  } catch (const std::exception&) {
    const auto names = {"model.safetensors", kOptimizerFile, "config.json",
                        "dict.txt",          "src.dict.txt", "tgt.dict.txt"};
    return std::ranges::find(names, name) != names.end();
  }
}

// Returns whether the files of a checkpoint have the sizes that its state lists.
bool sizes_are_right(const fs::path& checkpoint) {
  try {
    const auto files = digests_of(read_state(checkpoint).at("files"));
    return std::ranges::all_of(files, [&](const auto& file) {
      return fs::file_size(checkpoint / file.first) == file.second.bytes;
    });
  } catch (const std::exception&) {
    return false;
  }
}

bool exchange(const fs::path& a, const fs::path& b) {
  return ::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0;
}

// Makes the directory if it is missing, and returns its name.
const fs::path& made(const fs::path& directory) {
  make_directories(directory);
  fsync_dir(directory.parent_path());
  return directory;
}

// Renames the finished directory to its final name. An older directory of that name gets the
// temporary's name, or `replaced` on file systems that cannot exchange two names in one step. If
// the process is killed between those two renames, the next start restores the older directory.
void publish(const fs::path& temporary, const fs::path& checkpoint, const fs::path& replaced) {
  std::error_code error;
  if (!fs::exists(fs::symlink_status(checkpoint, error)))
    return rename_or_fail(temporary, checkpoint);
  if (exchange(temporary, checkpoint)) return;
  remove_or_fail(replaced);
  rename_or_fail(checkpoint, replaced);
  rename_or_fail(temporary, checkpoint);
}

}  // namespace

bool holds_state(const fs::path& directory) {
  std::error_code error;
  if (!fs::is_regular_file(directory / kStateFile, error)) return false;
  try {
    const Json state = parse_json(read_text(directory / kStateFile));
    return state.is_object() && (state.contains("files") || state.contains("crc32c"));
  } catch (const Error&) {  // the file is damaged or may not be read
    return true;
  }
}

// ---- CheckpointFiles

fs::path CheckpointFiles::claim(const std::string& name) const {
  require(is_plain_name(name), "'", name,
          "' cannot be a file of a checkpoint: its name must be a plain name other than ",
          kStateFile);
  for (const auto& [other, digest] : written_)
    require(other != name, "a checkpoint's file was written twice: ", name);
  return directory_ / name;
}

void CheckpointFiles::tensors(const std::string& name, const std::vector<NamedView>& tensors,
                              const std::map<std::string, std::string>& metadata) {
  const fs::path file = claim(name);
  written_.emplace_back(name, write_safetensors(file, tensors, metadata));
}

void CheckpointFiles::text(const std::string& name, std::string_view content) {
  const fs::path file = claim(name);
  written_.emplace_back(name, write_text(file, content));
}

// ---- Checkpoint

Checkpoint::Checkpoint(const fs::path& directory, CheckpointUse use)
    : directory_(real_path(directory)) {
  const fs::path state_file = directory_ / kStateFile;
  std::error_code error;
  require(fs::is_regular_file(state_file, error), "there is no checkpoint in ", directory.string(),
          ": it holds no ", kStateFile);
  if (!holds_state(directory_))
    fail(state_file.string(),
         " is no state of a checkpoint: an object with the keys \"files\" and ",
         "\"crc32c\" was expected, and ", shortened(json_text(parse_json(read_text(state_file)))),
         " stands there", kUseAnother);
  std::string problem;
  try {
    Json state = read_state(directory_);
    files_ = digests_of(state.at("files"));
    if (use == CheckpointUse::model) files_.erase(kOptimizerFile);
    step_ = state.at("step").get<int64_t>();
    const auto named = step_in_place(directory_);
    require(!named || *named == step_, kStateFile, " is of step ", step_, ", and its directory of ",
            "step ", named.value_or(0),
            ": another checkpoint stands in the place of this checkpoint");
    for (const auto& [name, digest] : files_) verify_file(directory_, name, digest);
    state.erase("files");
    state_ = std::make_shared<const Json>(std::move(state));
    return;
  } catch (const Error& e) {
    problem = e.what();
  } catch (const Json::exception& e) {
    problem = concat(kStateFile, " cannot be read (", json_error_text(e.what()), ")");
  }
  fail("the checkpoint ", directory_.string(), " is damaged: ", problem, kUseAnother);
}

fs::path Checkpoint::file(const std::string& name) const {
  if (has(name)) return directory_ / name;
  std::string names;
  for (const auto& [other, digest] : files_) names += (names.empty() ? "" : ", ") + other;
  fail("the checkpoint ", directory_.string(), " does not hold ", name,
       "; it holds: ", names.empty() ? "nothing" : names);
}

Safetensors Checkpoint::tensors(const std::string& name) const {
  return read_safetensors(file(name));
}

std::string Checkpoint::text(const std::string& name) const { return read_text(file(name)); }

// ---- finding a checkpoint

namespace {

// Error: `best` leads to another checkpoint than the run's newest state records as the best. Links
// move after states are written, and a lost best model has a substitute, so that the newer of the
// two states decides, and only if the recorded checkpoint is intact. Damage is an error later.
void require_recorded_best(const fs::path& checkpoints) {
  const fs::path best = real_path(checkpoints / kBest);
  int64_t step = 0, recorded = 0;
  try {
    Json state = read_state(best);
    step = state.at("step").get<int64_t>();
    if (holds_state(checkpoints / kLatest))
      if (Json latest = read_state(checkpoints / kLatest); latest.at("step").get<int64_t>() > step)
        state = std::move(latest);
    recorded = state.at("best").at("step").get<int64_t>();
    if (recorded <= 0 || recorded == step) return;  // 0: there was no validation
    const Checkpoint intact(checkpoints / name_of_step(recorded), CheckpointUse::model);
    if (real_path(checkpoints / kBest) != best) return;  // a trainer has just moved the link
  } catch (const std::exception&) {
    return;
  }
  fail((checkpoints / kBest).string(), " leads to step ", step, ", but the run's best step is ",
       recorded, ", as its state.json says: name the checkpoint ",
       (checkpoints / name_of_step(recorded)).string(), ", or ",
       (checkpoints / name_of_step(step)).string(), " if you mean that one");
}

// Returns the best checkpoint of a run that was copied without its links; the newest checkpoint's
// state names it.
fs::path best_beside(const fs::path& newest) {
  int64_t step = 0;
  try {
    step = read_state(newest).at("best").at("step").get<int64_t>();
  } catch (const std::exception&) {  // damaged or without the entry; opening it reports the error
    return real_path(newest);
  }
  const fs::path best = newest.parent_path() / name_of_step(std::max<int64_t>(0, step));
  if (step <= 0 || best.filename() == real_path(newest).filename()) return real_path(newest);
  require(holds_state(best), newest.parent_path().string(), " has no link '", kBest,
          "', and the best model's checkpoint, ", best.string(),
          ", is not there: name another checkpoint of the run, such as ", newest.string());
  return real_path(best);
}

}  // namespace

fs::path resolve_checkpoint(const fs::path& path) {
  std::error_code error;
  require(fs::exists(path, error), "there is no checkpoint at ", path.string(),
          fs::is_symlink(fs::symlink_status(path, error)) ? ": the symbolic link leads nowhere"
                                                          : ": no such directory");
  if (holds_state(path)) {
    if (path.filename() == kBest) require_recorded_best(path.parent_path());
    return real_path(path);
  }
  const fs::path inside = path / "checkpoints";
  const fs::path checkpoints = fs::is_directory(inside, error) ? inside : path;
  require(!fs::is_symlink(checkpoints / kBest, error) || fs::exists(checkpoints / kBest, error),
          (checkpoints / kBest).string(), " leads to ",
          fs::read_symlink(checkpoints / kBest, error).string(),
          ", which is not there: the best model is lost; name another checkpoint of the run, such "
          "as ",
          (checkpoints / kLatest).string());
  // A damaged checkpoint behind a link is not skipped, because the next one is another model.
  if (fs::exists(checkpoints / kBest, error)) {
    require_recorded_best(checkpoints);
    return real_path(checkpoints / kBest);
  }
  if (fs::exists(checkpoints / kLatest, error)) return best_beside(checkpoints / kLatest);
  if (const std::vector<int64_t> steps = steps_in(checkpoints); !steps.empty())
    return best_beside(checkpoints / name_of_step(steps[0]));
  fail("there is no checkpoint at ", path.string(), ": neither a ", kStateFile,
       " nor checkpoints/ with one; name a run directory or one of its checkpoints");
}

Checkpoint open_checkpoint(const fs::path& path, CheckpointUse use) {
  return Checkpoint(resolve_checkpoint(path), use);
}

std::vector<fs::path> checkpoints_in(const fs::path& checkpoints) {
  std::vector<fs::path> out;
  for (const int64_t step : steps_in(checkpoints)) out.push_back(checkpoints / name_of_step(step));
  return out;
}

namespace {

// The steps of a run's checkpoints in the order in which it tries to resume from them.
struct StepsToTry {
  std::vector<int64_t> steps;  // up to `latest`, most steps first, then those beyond it
  size_t committed = 0;        // how many are up to `latest`
  std::string problem;         // `latest` leads to none
};

StepsToTry steps_to_try(const fs::path& checkpoints) {
  StepsToTry out{.steps = steps_in(checkpoints)};
  out.committed = out.steps.size();
  const auto latest = step_of_link(checkpoints / kLatest);
  if (!latest) return out;
  if (std::ranges::find(out.steps, *latest) == out.steps.end())
    out.problem = concat((checkpoints / kLatest).string(), " points to ", name_of_step(*latest),
                         ", which is not there");
  const auto beyond = std::stable_partition(out.steps.begin(), out.steps.end(),
                                            [&](int64_t step) { return step <= *latest; });
  out.committed = static_cast<size_t>(beyond - out.steps.begin());
  return out;
}

}  // namespace

std::vector<fs::path> committed_checkpoints(const fs::path& checkpoints) {
  const StepsToTry found = steps_to_try(checkpoints);
  require(found.problem.empty(), found.problem);
  std::vector<fs::path> out;
  for (size_t i = 0; i < found.committed; ++i)
    out.push_back(checkpoints / name_of_step(found.steps[i]));
  return out;
}

IntactCheckpoint find_latest_intact(const fs::path& checkpoints) {
  IntactCheckpoint out;
  const StepsToTry found = steps_to_try(checkpoints);
  if (!found.problem.empty()) out.skipped.push_back(found.problem);
  for (const int64_t step : found.steps) {
    try {
      out.checkpoint.emplace(checkpoints / name_of_step(step));
      break;
    } catch (const Error& e) {
      out.skipped.emplace_back(e.what());
    }
  }
  return out;
}

// ---- CheckpointStore

CheckpointStore::CheckpointStore(const fs::path& checkpoints, int keep)
    : directory_(checkpoints), keep_(keep), lock_(made(checkpoints)) {
  require(!lock_.taken(), "another process is writing checkpoints to ", directory_.string(),
          ": wait for it, stop it, or choose another run directory");
  require(keep >= 1, "at least one checkpoint has to be kept, not ", keep);
  clear_leftovers();
  require_links_or_nothing(directory_);
}

void CheckpointStore::clear_leftovers() {
  for (const std::string& name : names_in(directory_)) {
    const bool link =
        (name.starts_with(".latest.") || name.starts_with(".best.")) && name.ends_with(".tmp");
    if (link || name.starts_with(kTemporary)) remove_or_fail(directory_ / name);
    if (!name.starts_with(kReplaced)) continue;
    const std::string original = name.substr(kReplaced.size(), name.rfind('-') - kReplaced.size());
    if (!step_of_name(original) || holds_state(directory_ / original)) {
      remove_or_fail(directory_ / name);
    } else {
      rename_or_fail(directory_ / name, directory_ / original);
    }
  }
}

// Error: the directory was removed or moved during the run, or replaced by another run's directory.
// Writing on would mix two runs, or leave checkpoints that no run finds.
void CheckpointStore::require_own_directory() const {
  require(lock_.is_of(directory_), "the directory ", directory_.string(),
          " was removed or replaced while this run was writing to it: nothing was saved there; "
          "start again");
}

void CheckpointStore::save(int64_t step, const Json& state,
                           const std::function<void(CheckpointFiles&)>& write_files, bool is_best) {
  check_state(step, state);
  require_own_directory();
  const std::string name = name_of_step(step);
  const fs::path temporary = directory_ / with_pid(kTemporary, step);
  const fs::path replaced = directory_ / with_pid(kReplaced, step);
  const auto status = fs::symlink_status(directory_ / name);
  require(!fs::exists(status) || fs::is_directory(status), (directory_ / name).string(),
          " is in the way of a checkpoint's directory; move it elsewhere and start again");
  remove_or_fail(temporary);
  try {
    make_directory(temporary);
    CheckpointFiles files(temporary);
    write_files(files);
    write_text(temporary / kStateFile, state_text(step, state, files));
    fsync_dir(temporary);
    // Sets `best` before publishing the state that records it: a run killed in between resumes from
    // the old state and finds the same best validation again.
    if (is_best && holds_state(directory_ / name)) replace_symlink(directory_ / kBest, name);
    keep_other_files(step);
    publish(temporary, directory_ / name, replaced);
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(temporary, ignored);  // frees space on a full disk
    require_own_directory();             // gives a clearer error than the missing file
    throw;
  }
  intact_.insert(step);
  fsync_dir(directory_);
  if (is_best) replace_symlink(directory_ / kBest, name);
  replace_symlink(directory_ / kLatest, name);
  remove_or_fail(temporary);
  remove_or_fail(replaced);
  prune(step);
}

std::string CheckpointStore::damage_of(int64_t step) const {
  const std::vector<int64_t> steps = steps_in(directory_);
  if (std::find(steps.begin(), steps.end(), step) == steps.end())
    return concat("there is no ", (directory_ / name_of_step(step)).string());
  try {
    const Checkpoint intact(directory_ / name_of_step(step), CheckpointUse::model);
  } catch (const Error& e) {
    std::string damage = e.what();
    if (damage.ends_with(kUseAnother)) damage.resize(damage.size() - kUseAnother.size());
    return damage;
  }
  return {};
}

void CheckpointStore::restore_links(int64_t latest, std::optional<int64_t> best) {
  const auto restore = [&](const char* link, int64_t step) {
    const fs::path path = directory_ / link;
    if (step_of_link(path) != step && holds_state(directory_ / name_of_step(step)))
      replace_symlink(path, name_of_step(step));
  };
  if (best) restore(kBest, *best);
  restore(kLatest, latest);
}

void CheckpointStore::clear() {
  remove_or_fail(directory_ / kLatest);
  remove_or_fail(directory_ / kBest);
  for (const int64_t step : steps_in(directory_)) discard(step);
}

void CheckpointStore::prune(int64_t step) {
  const auto best = step_of_link(directory_ / kBest);
  int kept = 0;
  for (const int64_t other : steps_in(directory_)) {
    if (other <= step && kept < keep_) {
      if (is_intact(other)) ++kept;
    } else if (other != best) {
      discard(other);
    }
  }
}

bool CheckpointStore::is_intact(int64_t step) {
  const fs::path checkpoint = directory_ / name_of_step(step);
  if (intact_.contains(step)) return sizes_are_right(checkpoint);
  try {
    const Checkpoint verified(checkpoint);
  } catch (const Error&) {
    return false;
  }
  return intact_.insert(step).second;
}

void CheckpointStore::keep_other_files(int64_t step) const {
  const fs::path checkpoint = directory_ / name_of_step(step);
  std::string kept;
  for (const std::string& name : names_in(checkpoint)) {
    if (is_own_file(checkpoint, name)) continue;
    const fs::path to = directory_ / (name_of_step(step) + kKept);
    make_directories(to);
    require(!fs::exists(fs::symlink_status(to / name)), (checkpoint / name).string(),
            " would be removed with its checkpoint, and ", (to / name).string(),
            " is in the way: move one of them elsewhere");
    rename_or_fail(checkpoint / name, to / name);
    kept += (kept.empty() ? "" : ", ") + name;
  }
  if (!kept.empty())
    notice(concat(checkpoint.string(),
                  " is removed or replaced; what the run did not write there, ", shortened(kept),
                  ", is in ", name_of_step(step), kKept, " beside it"));
}

// Renames before removing, because removing takes time and a checkpoint must be complete or absent.
void CheckpointStore::discard(int64_t step) {
  keep_other_files(step);
  intact_.erase(step);
  const fs::path temporary = directory_ / with_pid(kTemporary, step);
  remove_or_fail(temporary);
  rename_or_fail(directory_ / name_of_step(step), temporary);
  remove_or_fail(temporary);
}

}  // namespace nine
