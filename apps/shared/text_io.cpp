#include "apps/shared/text_io.h"

#include <iostream>

#include "core/error.h"
#include "data/text.h"

namespace nine::app {

std::vector<std::string> read_lines(const std::string& input) {
  std::vector<std::string> lines;
  std::string_view line;
  const auto take = [&](LineReader reader) {
    while (reader.next(line)) lines.emplace_back(line);
  };
  take(input == "-" ? LineReader(std::cin, input_name(input)) : LineReader({input}));
  return lines;
}

std::string input_name(const std::string& input) { return input == "-" ? "standard input" : input; }

TextOutput::TextOutput(const std::string& path) : path_(path) {
  if (path == "-") return;
  file_.open(path);
  require(file_.good(), "cannot write ", path);
}

std::ostream& TextOutput::stream() { return path_ == "-" ? std::cout : file_; }

void TextOutput::finish() {
  stream().flush();
  require(stream().good(), "writing ", path_ == "-" ? "standard output" : path_, " failed: is the disk full?");
}

}  // namespace nine::app
