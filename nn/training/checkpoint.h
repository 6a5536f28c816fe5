// Checkpoints: directories that are complete or absent, whenever the program is killed.
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
// The last number is the checksum of the object without it, in JSON's compact form, so that damage
// to the state itself is detected too. Numbers read back to the same bits.
//
// A checkpoint counts once `latest` points to it, which is the last thing that changes. A run
// killed before that continues from the previous checkpoint and writes the new one again, to the
// same bits.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/safetensors.h"

namespace nine {

/// Takes a checkpoint's files while it is being written. Names are plain file names, each used
/// once; `state.json` is the store's own.
class CheckpointFiles {
 public:
  explicit CheckpointFiles(std::filesystem::path directory) : directory_(std::move(directory)) {}

  void tensors(const std::string& name, const std::vector<NamedView>& tensors,
               const std::map<std::string, std::string>& metadata = {});
  void text(const std::string& name, std::string_view content);

  /// Where they are written before the directory gets its name.
  const std::filesystem::path& directory() const { return directory_; }
  /// What was written, in order.
  const std::vector<std::pair<std::string, FileDigest>>& written() const { return written_; }

 private:
  std::filesystem::path claim(const std::string& name) const;

  std::filesystem::path directory_;
  std::vector<std::pair<std::string, FileDigest>> written_;
};

/// Whether a directory has a checkpoint's state.json, intact or not. Another program's, which is
/// JSON without the keys `files` and `crc32c`, is none.
bool holds_state(const std::filesystem::path& directory);

/// A checkpoint's file that going on with the training needs, and nothing else does.
inline constexpr const char* kOptimizerFile = "optimizer.safetensors";

/// What a checkpoint is opened for.
enum class CheckpointUse : uint8_t {
  training,  ///< to go on from it: every file is needed
  model      ///< its model alone: kOptimizerFile is not looked at, and may be missing or damaged
};

/// A checkpoint whose every byte was verified when it was opened.
class Checkpoint {
 public:
  /// Reads state.json and checks size and CRC32C of every file it names. An Error says which file
  /// is damaged and how.
  explicit Checkpoint(const std::filesystem::path& directory,
                      CheckpointUse use = CheckpointUse::training);

  /// The real directory: links are resolved once, so that a trainer that moves `best` meanwhile
  /// changes nothing here.
  const std::filesystem::path& directory() const { return directory_; }
  int64_t step() const { return step_; }
  /// What the trainer saved (with its `step`), in its order.
  const Json& state() const { return *state_; }

  bool has(const std::string& name) const { return files_.contains(name); }
  /// The path of a file. Error, with the list of names: there is none of that name.
  std::filesystem::path file(const std::string& name) const;
  Safetensors tensors(const std::string& name) const;
  std::string text(const std::string& name) const;

 private:
  std::filesystem::path directory_;
  int64_t step_ = 0;
  std::shared_ptr<const Json> state_;
  std::map<std::string, FileDigest> files_;
};

/// The directory that `path` means: a checkpoint, a symbolic link to one, or a run (or its
/// checkpoints directory), of which it is the best, else the latest, else the one with the most
/// steps. Verifies nothing. Errors: there is no checkpoint; `best` leads to one that is gone.
std::filesystem::path resolve_checkpoint(const std::filesystem::path& path);

/// resolve_checkpoint, then verified.
Checkpoint open_checkpoint(const std::filesystem::path& path,
                           CheckpointUse use = CheckpointUse::training);

/// The checkpoints of RUN/checkpoints, intact or not, the one with the most steps first. Without a
/// directory there are none.
std::vector<std::filesystem::path> checkpoints_in(const std::filesystem::path& checkpoints);

/// The checkpoint that a run continues from, and for each newer one a sentence on why it cannot be
/// used.
struct IntactCheckpoint {
  std::optional<Checkpoint> checkpoint;
  std::vector<std::string> skipped;
};

/// Walks from `latest` back to the newest intact checkpoint of RUN/checkpoints; then, if there was
/// none, through those that a kill left newer than `latest`. Temporaries are ignored. Without a
/// directory there is no checkpoint; no Error.
IntactCheckpoint find_latest_intact(const std::filesystem::path& checkpoints);

/// RUN/checkpoints, for the one process that writes there.
class CheckpointStore {
 public:
  /// Makes the directory and removes what a killed writer left. Keeps the last `keep` (at least 1)
  /// checkpoints and the best. Errors: another process is writing there; something else is in the
  /// place of a link.
  CheckpointStore(const std::filesystem::path& checkpoints, int keep);
  ~CheckpointStore();
  CheckpointStore(const CheckpointStore&) = delete;
  CheckpointStore& operator=(const CheckpointStore&) = delete;

  const std::filesystem::path& directory() const { return directory_; }
  IntactCheckpoint find_latest_intact() const { return nine::find_latest_intact(directory_); }

  /// Writes the files that `write_files` adds, then the state (an object; without the keys
  /// `files` and `crc32c`; a NaN or an infinity in it is an Error, since JSON would lose it), and
  /// makes the checkpoint the latest, and with `is_best` the best. A step saved before is replaced
  /// as a whole and stays the best if it was. Checkpoints with more steps, which are left when a
  /// run was resumed from an earlier one, are removed, except the best. Errors: a file cannot be
  /// written (no space left), and the existing checkpoints stay as they were; the directory was
  /// removed or replaced since this object was made.
  void save(int64_t step, const Json& state,
            const std::function<void(CheckpointFiles&)>& write_files, bool is_best = false);

  /// Why the model of a step's checkpoint cannot be used, "there is no 00000035" or what is
  /// damaged; empty where it is intact.
  std::string damage_of(int64_t step) const;

  /// Points `latest` to the checkpoint that a run goes on from and `best` to the one with the best
  /// validation, if there was one, as far as they are there: a writer that ended between publishing
  /// a checkpoint and moving the links has left them behind.
  void restore_links(int64_t latest, std::optional<int64_t> best);

  /// Removes every checkpoint: a run that starts over.
  void clear();

 private:
  CheckpointStore(std::filesystem::path checkpoints, int keep, int lock);
  void require_own_directory() const;
  void clear_leftovers();
  void prune(int64_t step);
  void discard(int64_t step);

  std::filesystem::path directory_;
  int keep_;
  int lock_;  // descriptor of the locked directory
};

}  // namespace nine
