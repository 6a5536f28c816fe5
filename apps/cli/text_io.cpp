#include "apps/cli/text_io.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>

#include "apps/cli/option_conflicts.h"
#include "core/error.h"
#include "core/files.h"
#include "data/text.h"
#include "data/tokenizers/raw_text.h"
#include "nn/training/checkpoint.h"

namespace nine::app {
namespace {

namespace fs = std::filesystem;

struct stat state_of(const std::string& path) {
  struct stat state {};
  static_cast<void>(path == "-" ? fstat(STDIN_FILENO, &state) : stat(path.c_str(), &state));
  return state;
}

bool same_stream(const std::string& a, const std::string& b) {
  const struct stat first = state_of(a), second = state_of(b);
  return a == b || (first.st_dev == second.st_dev && first.st_ino == second.st_ino);
}

// Whether what is read from `path` is gone then. /dev/stdin that leads to a file is that file, from
// its beginning, and /dev/null is always empty.
bool is_stream(const std::string& path) {
  const mode_t mode = state_of(path).st_mode;
  return path == "-" || S_ISFIFO(mode) || S_ISSOCK(mode) ||
         (S_ISCHR(mode) && isatty(STDIN_FILENO) == 1 && same_stream(path, "-"));
}

// Whether a path is in a checkpoint, or has the name of a run's own file in a run's directory.
bool is_of_run(const std::string& path) {
  std::error_code error;
  if (path.empty() || path == "-" || is_device_or_pipe(path)) return false;
  const fs::path file = fs::weakly_canonical(path, error), directory = file.parent_path();
  if (error) return false;  // said when it is written
  const bool own = file.filename() == "log.jsonl" || file.filename() == "config.json";
  return holds_state(directory) || (own && fs::exists(directory / "checkpoints", error));
}

}  // namespace

bool is_n_best_list(const std::vector<std::string>& lines) {
  constexpr std::string_view kBar = " ||| ";
  return !lines.empty() && std::ranges::all_of(lines, [&](std::string_view line) {
    const size_t first = line.find(kBar), last = line.rfind(kBar);
    int64_t number = 0;
    double score = 0;
    return first < last && parse_count(line.substr(0, first), number) &&
           parse_number(line.substr(last + kBar.size()), score);
  });
}

bool same_file(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty() || a == "-" || b == "-") return false;
  std::error_code ignored;
  if (fs::exists(a, ignored) && !fs::is_regular_file(a, ignored)) return false;
  const auto place = [&](const std::string& path) {
    return fs::absolute(linked_file(path), ignored).lexically_normal();
  };
  return fs::equivalent(a, b, ignored) || place(a) == place(b);
}

void check_inputs(const std::vector<NamedFile>& inputs) {
  std::vector<const NamedFile*> streams;
  for (const NamedFile& in : inputs) {
    if (!is_stream(in.path)) continue;
    for (const NamedFile* before : streams)
      require_usage(!same_stream(before->path, in.path), before->flag, " and ", in.flag,
                    " are both ", input_name(in.path),
                    ", which can be read only once: name a file for one of them");
    streams.push_back(&in);
  }
}

namespace {

// UsageError: the name is that of a packed file, and the output is plain text.
void require_plain_name(const NamedFile& out) {
  for (const char* ending : {".gz", ".zst", ".xz", ".bz2", ".lz4", ".zip"})
    require_usage(!out.path.ends_with(ending) || is_device_or_pipe(out.path) ||
                      (out.packs && out.path.ends_with(".gz")),
                  out.flag, " ", out.path, ": the name ends with ", ending,
                  ", and the file would be plain ",
                  out.packs ? "text: give a name that ends with .gz, or with none of these endings"
                            : "text: leave out the ending, and pack the file afterwards");
}

}  // namespace

void check_outputs(const std::vector<NamedFile>& outputs, const std::vector<NamedFile>& inputs) {
  check_inputs(inputs);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const NamedFile& out = outputs[i];
    require_plain_name(out);
    for (const NamedFile& in : inputs)
      require_usage(!same_file(out.path, in.path), out.flag, " ", out.path, " is also ", in.flag,
                    " and would be lost: give another file");
    require_usage(!is_of_run(out.path), out.flag, " ", out.path,
                  " is a file of a run or of a checkpoint, which training alone writes: give "
                  "another file");
    for (size_t j = 0; j < i; ++j)
      require_usage(!same_file(out.path, outputs[j].path), outputs[j].flag, " ", out.path,
                    " is also ", out.flag, ": one of the two would be lost; give another file");
  }
}

std::vector<std::string> read_lines(const std::string& input) {
  std::vector<std::string> lines;
  std::string_view line;
  const auto take = [&](TextReader reader) {
    while (reader.next_line(line)) lines.emplace_back(line);
  };
  take(input == "-" ? TextReader(std::cin, input_name(input))
                    : TextReader({input}, {.refuse_empty_file = false}));
  require(!is_n_best_list(lines), input_name(input),
          " is an n-best list, each line `number ||| words ||| score`, and a text was expected: "
          "give the words alone, as mt_translate writes them without --n-best");
  return lines;
}

std::vector<std::string> read_lines(const std::string& input, Communicator& communicator) {
  if (communicator.size() == 1) return read_lines(input);
  std::string text;
  if (communicator.first())
    for (const std::string& line : read_lines(input)) text += line + '\n';
  text = communicator.broadcast(text);
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
    lines.push_back(text.substr(at, text.find('\n', at) - at));
  return lines;
}

std::vector<std::string> read_raw_lines(const std::string& input, Communicator& communicator) {
  std::string text;
  if (communicator.first()) {
    TextRules rules = kRawText;
    rules.refuse_empty_file = false;
    const auto take = [&](TextReader reader) {
      for (std::string_view block; reader.next_block(block);) text += block;
    };
    take(input == "-" ? TextReader(std::cin, input_name(input), rules)
                      : TextReader({input}, rules));
  }
  if (communicator.size() > 1) text = communicator.broadcast(text);
  std::vector<std::string> lines;
  for_each_raw_line(text, [&](std::string_view line) { lines.emplace_back(line); });
  return lines;
}

std::string output_of(const std::string& path, const Communicator& communicator) {
  return communicator.first() ? path : "/dev/null";
}

void write_whole(const std::string& path, std::string_view text) {
  if (path != "-") return atomic_write_text(path, text);
  TextOutput out(path);
  out.stream() << text;
  out.finish();
}

void TextOutput::LazyFile::open_now() {
  if (!is_open()) open(path_, std::ios::out | std::ios::binary);
}

TextOutput::LazyFile::int_type TextOutput::LazyFile::overflow(int_type c) {
  open_now();
  return std::filebuf::overflow(c);
}

std::streamsize TextOutput::LazyFile::xsputn(const char* text, std::streamsize size) {
  open_now();
  return std::filebuf::xsputn(text, size);
}

TextOutput::TextOutput(const std::string& path) : path_(path), file_(path), stream_(&file_) {
  if (path == "-") return;
  std::error_code ignored;
  if (is_device_or_pipe(path)) {
    file_.open_now();
    require(file_.is_open(), "cannot write ", path, ": ", std::strerror(errno));
    return;
  }
  const bool was_there = fs::exists(path, ignored);
  // In a statement of its own: arguments may be evaluated from the last to the first.
  const bool writable = std::ofstream(path, std::ios::app).good();
  require(writable, "cannot write ", path, ": ", std::strerror(errno));
  if (!was_there) fs::remove(linked_file(path), ignored);  // a link to it stays
}

std::ostream& TextOutput::stream() { return path_ == "-" ? std::cout : stream_; }

void TextOutput::finish() {
  if (path_ != "-") file_.open_now();
  flush();
}

void TextOutput::flush() {
  stream().flush();
  require(stream().good(), "writing ", path_ == "-" ? "standard output" : path_,
          " failed: is the disk full?");
}

}  // namespace nine::app
