// Checkpoints: directories that are complete or absent, even if the program is killed at any time.
//
//   RUN/checkpoints/00001200/   model.safetensors, optimizer.safetensors, config.json, dict.txt,
//                               state.json
//   RUN/checkpoints/latest      a link to 00001200
//   RUN/checkpoints/best        a link to one of them
//
// state.json is written last:
//
//   {"step": 1200, ...the trainer's state...,
//    "files": {NAME: {"bytes": N, "crc32c": C}, ...}, "crc32c": C}
//
// The last number is the checksum of the object without it, in JSON's compact form. It detects
// damage to the state itself. Numbers read back to the same bits.
//
// A checkpoint counts once `latest` points to it; moving this link is the last step. A run that is
// killed before the last step continues from the previous checkpoint and writes the new checkpoint
// again, to the same bits.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/directory_lock.h"
#include "core/json.h"
#include "core/safetensors.h"

namespace nine {

/// Receives a checkpoint's files while the checkpoint is being written. Names are plain file names,
/// each used once. The store reserves `state.json`.
class CheckpointFiles {
 public:
  explicit CheckpointFiles(std::filesystem::path directory) : directory_(std::move(directory)) {}

  void tensors(const std::string& name, const std::vector<NamedView>& tensors,
               const std::map<std::string, std::string>& metadata = {});
  void text(const std::string& name, std::string_view content);

  /// Returns the directory that receives the files before it gets its final name.
  const std::filesystem::path& directory() const { return directory_; }
  /// Returns the written files, in the order of writing.
  const std::vector<std::pair<std::string, FileDigest>>& written() const { return written_; }

 private:
  std::filesystem::path claim(const std::string& name) const;

  std::filesystem::path directory_;
  std::vector<std::pair<std::string, FileDigest>> written_;
};

/// True if a directory has a checkpoint's state.json, intact or not. False for another program's
/// state.json, which is JSON without the keys `files` and `crc32c`.
bool holds_state(const std::filesystem::path& directory);

/// The checkpoint's file that only resuming a training needs.
inline constexpr const char* kOptimizerFile = "optimizer.safetensors";

/// The purpose of opening a checkpoint.
enum class CheckpointUse : uint8_t {
  training,  ///< to resume the training: every file is needed
  model      ///< to read the model only: kOptimizerFile is not read, and may be missing or damaged
};

/// A checkpoint whose every byte was verified when it was opened.
class Checkpoint {
 public:
  /// Reads state.json and checks the size and CRC32C of every file that it names. Error: a damaged
  /// file; the message says which file and how.
  explicit Checkpoint(const std::filesystem::path& directory,
                      CheckpointUse use = CheckpointUse::training);

  /// Returns the real directory. Links are resolved once, so a trainer that moves `best` in the
  /// meantime has no effect here.
  const std::filesystem::path& directory() const { return directory_; }
  int64_t step() const { return step_; }
  /// Returns the state that the trainer saved (with its `step`), in the saved order.
  const Json& state() const { return *state_; }

  bool has(const std::string& name) const { return files_.contains(name); }
  /// Returns the path of a file. Error, with the list of names: no file has that name.
  std::filesystem::path file(const std::string& name) const;
  Safetensors tensors(const std::string& name) const;
  std::string text(const std::string& name) const;

 private:
  std::filesystem::path directory_;
  int64_t step_ = 0;
  std::shared_ptr<const Json> state_;
  std::map<std::string, FileDigest> files_;
};

/// Returns the directory that `path` means. `path` is a checkpoint, a symbolic link to a
/// checkpoint, or a run or its checkpoints directory; a run means its best checkpoint, else the
/// latest, else the one with the most steps. Verifies no content. Errors: there is no checkpoint;
/// `best` points to a missing checkpoint, or to another than the run's state records.
std::filesystem::path resolve_checkpoint(const std::filesystem::path& path);

/// Opens and verifies the checkpoint that resolve_checkpoint finds.
Checkpoint open_checkpoint(const std::filesystem::path& path,
                           CheckpointUse use = CheckpointUse::training);

/// Returns the checkpoints of RUN/checkpoints, intact or not, most steps first. Returns an empty
/// list if the directory is missing.
std::vector<std::filesystem::path> checkpoints_in(const std::filesystem::path& checkpoints);

/// Returns the checkpoints of RUN/checkpoints up to `latest`, intact or not, most steps first: a
/// run has not committed to later ones. Without `latest` returns all checkpoints. Error: `latest`
/// leads to no checkpoint.
std::vector<std::filesystem::path> committed_checkpoints(const std::filesystem::path& checkpoints);

/// The checkpoint from which a run resumes, and for each newer checkpoint a sentence that says why
/// it cannot be used.
struct IntactCheckpoint {
  std::optional<Checkpoint> checkpoint;
  std::vector<std::string> skipped;
};

/// Finds the newest intact checkpoint of RUN/checkpoints. Goes back from `latest`; if no checkpoint
/// is intact there, tries those newer than `latest`, which a kill may leave. Ignores temporary
/// files. If the directory is missing, returns no checkpoint; this is not an Error.
IntactCheckpoint find_latest_intact(const std::filesystem::path& checkpoints);

/// Writes RUN/checkpoints. Only one process at a time may have a store there.
class CheckpointStore {
 public:
  /// Makes the directory and removes the remains of a killed writer. Keeps the last `keep` (at
  /// least 1) intact checkpoints and the best. Files in a checkpoint that no run wrote are never
  /// removed: they move to NNNNNNNN.kept beside it, and a notice says so. Errors: another process
  /// is writing there; a file or directory has the name of a link.
  CheckpointStore(const std::filesystem::path& checkpoints, int keep);
  CheckpointStore(const CheckpointStore&) = delete;
  CheckpointStore& operator=(const CheckpointStore&) = delete;

  const std::filesystem::path& directory() const { return directory_; }
  IntactCheckpoint find_latest_intact() const { return nine::find_latest_intact(directory_); }

  /// Writes the files that `write_files` adds, then `state`. Makes the checkpoint the latest, and
  /// with `is_best` the best. `state` is an object without the keys `files` and `crc32c`. Replaces
  /// an earlier checkpoint of the same step as a whole; it stays the best if it was the best.
  /// Removes checkpoints with more steps, which remain when a run resumes from an earlier step,
  /// except the best. Errors: a NaN or an infinity in `state`, which JSON would lose; a file cannot
  /// be written (no space left), and the existing checkpoints stay as they were; the directory was
  /// removed or replaced since this object was made.
  void save(int64_t step, const Json& state,
            const std::function<void(CheckpointFiles&)>& write_files, bool is_best = false);

  /// Returns why the model of a step's checkpoint cannot be used: "there is no 00000035", or the
  /// damage. Returns "" if the model is intact.
  std::string damage_of(int64_t step) const;

  /// Points `latest` to the checkpoint from which a run resumes, and `best` to the checkpoint with
  /// the best validation, if they exist. Both links are behind if a writer ended after publishing a
  /// checkpoint and before moving the links.
  void restore_links(int64_t latest, std::optional<int64_t> best);

  /// Removes every checkpoint, for a run that starts over.
  void clear();

 private:
  void require_own_directory() const;
  void clear_leftovers();
  void prune(int64_t step);
  void discard(int64_t step);
  bool is_intact(int64_t step);
  void keep_other_files(int64_t step) const;

  std::filesystem::path directory_;
  int keep_;
  DirectoryLock lock_;
  std::set<int64_t> intact_;  // steps that this object wrote, or verified byte by byte
};

}  // namespace nine
