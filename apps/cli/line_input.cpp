#include "apps/cli/line_input.h"

#include <unistd.h>

#include <iostream>

#include "apps/cli/option_conflicts.h"
#include "apps/cli/text_io.h"
#include "data/spelled_specials.h"
#include "data/text.h"
#include "data/tokenizers/raw_text.h"

namespace nine::app {

void add_flush(Options& options, bool& flush) {
  options.add("flush", flush, "answer each line before the next line is read")
      .default_text("yes if standard input is a terminal");
}

bool flushes(const Options& options, bool flush, bool reads_standard_input,
             const Communicator& communicator) {
  require_usage(!flush || communicator.size() == 1,
                "--flush answers one line after the other, which ", communicator.size(),
                " processes cannot share: start one process");
  if (options.was_named("flush")) return flush;
  return reads_standard_input && communicator.size() == 1 && isatty(STDIN_FILENO) == 1;
}

LineInput::LineInput(const std::string& input, bool one_by_one, Communicator& communicator,
                     SpelledSpecials* spelled, bool raw)
    : spelled_(spelled), raw_(raw) {
  if (!one_by_one) {
    lines_ = raw ? read_raw_lines(input, communicator) : read_lines(input, communicator);
    for (const std::string& line : lines_)
      if (spelled != nullptr) spelled->add_line(line);
    return;
  }
  TextRules rules = raw ? kRawText : kModelText;
  rules.refuse_empty_file = false;
  rules.line_by_line = true;
  reader_ = input == "-" ? std::make_unique<TextReader>(std::cin, input_name(input), rules)
                         : std::make_unique<TextReader>(std::vector{input}, rules);
}
LineInput::~LineInput() = default;

bool LineInput::next() {
  if (!one_by_one()) return !std::exchange(taken_, true) && !lines_.empty();
  first_ = count();
  lines_.clear();
  std::string_view line;
  if (raw_) {  // the reader's parts may also end with CR
    std::string whole;
    while (!whole.ends_with('\n') && reader_->next_block(line)) whole += line;
    if (whole.empty()) return false;
    lines_.push_back(std::move(whole));
    return true;
  }
  if (!reader_->next_line(line)) return false;
  lines_.emplace_back(line);
  if (spelled_ != nullptr) spelled_->add_line(line);
  return true;
}

}  // namespace nine::app
