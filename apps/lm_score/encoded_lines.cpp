#include "apps/lm_score/encoded_lines.h"

#include <utility>

#include "apps/cli/unknown_words.h"
#include "nn/models/score_text.h"

namespace nine::app {

EncodedLines::EncodedLines(LineInput& input, const LanguageModel& model, double most,
                           std::string name, std::string owner, bool carry_state)
    : input_(input),
      model_(model),
      most_(most),
      name_(std::move(name)),
      owner_(std::move(owner)),
      carry_state_(carry_state) {}

bool EncodedLines::next() {
  if (!input_.next()) return false;
  text_ = corpus_of(model_, input_.lines(), carry_state_);
  tokens_ += text_->tokens();
  unknown_ += text_->unknown();
  raw_size_.words += text_->raw_size().words;
  raw_size_.bytes += text_->raw_size().bytes;
  if (!input_.one_by_one()) check();
  return true;
}

void EncodedLines::finish() const {
  if (input_.one_by_one()) check();
}

void EncodedLines::check() const { require_known({tokens_, unknown_}, most_, name_, owner_); }

}  // namespace nine::app
