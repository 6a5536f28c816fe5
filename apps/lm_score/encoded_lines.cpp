#include "apps/lm_score/encoded_lines.h"

#include <utility>

#include "apps/cli/unknown_words.h"

namespace nine::app {

EncodedLines::EncodedLines(LineInput& input, const Vocabulary& vocabulary, double most,
                           std::string name, std::string owner)
    : input_(input),
      vocabulary_(vocabulary),
      most_(most),
      name_(std::move(name)),
      owner_(std::move(owner)) {}

bool EncodedLines::next() {
  if (!input_.next()) return false;
  text_ = Corpus::of_lines(input_.lines(), vocabulary_);
  tokens_ += text_->tokens();
  unknown_ += text_->unknown();
  if (!input_.one_by_one()) check();
  return true;
}

void EncodedLines::finish() const {
  if (input_.one_by_one()) check();
}

void EncodedLines::check() const { require_known({tokens_, unknown_}, most_, name_, owner_); }

}  // namespace nine::app
