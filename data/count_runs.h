// Counts of more words than memory holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace nine {

struct WordCounts;

/// Tables of counts, each sorted and written behind the others to one temporary file (external
/// merge sort). The file has no name, so the system removes it when the program ends, even by a
/// signal.
class CountRuns {
 public:
  /// Makes the file in `directory`; for_each() uses about `memory` bytes. Error: the directory does
  /// not take files.
  CountRuns(std::filesystem::path directory, size_t memory);
  ~CountRuns();
  CountRuns(const CountRuns&) = delete;
  CountRuns& operator=(const CountRuns&) = delete;

  /// Writes the words of a table. Several threads may call it at once. Error: the disk is full.
  void add(const WordCounts& counts);
  /// Calls f(word, count) for each different word of all tables, in the order of their bytes, with
  /// the sum of its counts. Errors: the disk is full; a sum overflows 64 bits.
  void for_each(const std::function<void(std::string_view, int64_t)>& f);

 private:
  struct Run {
    int64_t begin, end;  // bytes of the file
  };
  class Reader;
  class Writer;
  void merge(const std::vector<Run>& runs, const std::function<void(std::string_view, int64_t)>& f);
  void write(int64_t at, std::string_view bytes) const;
  [[noreturn]] void fail_file(const char* doing, int error) const;

  const std::filesystem::path directory_;
  const size_t memory_;
  int descriptor_ = -1;
  std::mutex adding_;
  std::vector<Run> runs_;
  int64_t end_ = 0;  // of the file
};

}  // namespace nine
