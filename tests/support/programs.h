// Running our own programs from tests.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/json.h"

namespace nine::tests {

struct Outcome {
  int code = -1;  ///< exit status; 128 + signal when a signal ended it
  std::string out, err;
};

/// A directory of its own that is removed at the end.
class TemporaryDirectory {
 public:
  explicit TemporaryDirectory(
      const std::filesystem::path& parent = std::filesystem::temp_directory_path());
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  /// Writes a file there; its path.
  std::string write(const std::string& name, std::string_view bytes) const;

 private:
  std::filesystem::path path_;
};

/// The same, whose files are paths.
struct Scratch : TemporaryDirectory {
  using TemporaryDirectory::TemporaryDirectory;
  std::filesystem::path operator/(const std::string& name) const { return path() / name; }
};

/// build/bin/PROGRAM, or the program of that whole path, while it runs; killed at the latest with
/// this object.
class Program {
 public:
  /// Standard input comes from `input`. `prepare` is called in the child before the program
  /// replaces it: limits, privileges.
  Program(const std::string& program, const std::vector<std::string>& arguments,
          const std::string& input = {}, const std::function<void()>& prepare = {});
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  int id() const { return pid_; }
  void signal(int number) const;
  bool running();
  /// Waits until it has ended.
  Outcome wait();

 private:
  TemporaryDirectory streams_;
  int pid_ = -1, status_ = 0;
  bool ended_ = false;
};

/// Runs a program to its end. `kill_after_ms` > 0 sends `signal` then.
Outcome run_program(const std::string& program, const std::vector<std::string>& arguments,
                    const std::string& input = {}, int kill_after_ms = 0, int signal = 9);

/// Fails the test case where sctk (NIST's sclite and sc_stats) is not installed: `make check`
/// installs it.
void require_sctk();

/// Command lines, one after the other.
inline std::vector<std::string> joined(std::vector<std::string> arguments,
                                       const std::vector<std::string>& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

/// Waits until `condition()` holds; false when it does not within a minute.
template <class Condition>
bool soon(Condition&& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return true;
}

/// The file's bytes; empty when there is none.
std::string slurp(const std::filesystem::path& file);

/// Writes a file of these bytes.
void put(const std::filesystem::path& file, std::string_view bytes);

/// The flags of an lm_train run on 300 sentences of the sample, with one layer of 12 units: a log
/// line every 5 of its `updates` ("20u").
std::vector<std::string> tiny_lm_flags(const std::string& run, const std::string& updates);

/// The events of a run directory's log.
std::vector<Json> log_of(const std::string& run);
/// The numbers of that name in the log's `train` lines.
std::vector<double> trained_numbers(const std::string& run, const char* name);
/// What a run computed: its log without times, rates and memory, and without the notes of having
/// been resumed.
std::string results_of(const std::string& run);
/// The latest checkpoint's model.safetensors, byte for byte.
std::string weights_of(const std::string& run);

}  // namespace nine::tests
