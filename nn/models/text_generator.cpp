#include "nn/models/text_generator.h"

#include <algorithm>
#include <utility>

#include "core/interrupt.h"
#include "core/ops.h"
#include "data/vocabulary.h"
#include "kernels/ops.h"

namespace nine {
namespace {

static_assert(kMaxGenerateBatch == ops::kHeadPanel);
constexpr int64_t kStepRows = 256;  // most words that a step reads, of prompts too

// Adds a word to a text, which has at most `lines` lines.
void extend(GeneratedText& text, const NextWord& next, int64_t lines) {
  text.nats -= next.log_p;
  const bool ends_line = next.word == Specials::kLanguageModel.end;
  text.ended = ends_line && text.line_ends + 1 == lines;
  if (text.ended) return;
  text.ids.push_back(next.word);
  text.line_ends += ends_line ? 1 : 0;
}

}  // namespace

TextGenerator::TextGenerator(const LanguageNetwork& network)
    : arena_("generate", network.device()),
      tape_(arena_),
      guard_(tape_),
      decoder_(network.decoder()),
      head_(network.head()),
      next_(head_),
      every_column_(!head_.independent_rows()),
      blocks_(!every_column_ && decoder_->mixes_counts()) {}

void TextGenerator::run(std::span<GeneratedText> texts, int64_t first,
                        const GenerateOptions& options, int32_t unknown) {
  SamplingOptions sampling = options.sampling;
  sampling.unknown = unknown;
  const auto done = [&](const GeneratedText& text) {
    return text.ended || text.added_words() == options.max_words;
  };
  decoder_->start(kMaxGenerateBatch);
  struct Column {
    GeneratedText* text = nullptr;  // null: only keeps the product's size
    size_t read = 0;                // </s> and then ids
  };
  std::vector<Column> columns(kMaxGenerateBatch);
  for (size_t i = 0; i < texts.size(); ++i)
    columns[static_cast<size_t>(first + static_cast<int64_t>(i)) % kMaxGenerateBatch].text =
        &texts[i];
  std::vector<DecoderRow> rows;
  std::vector<WantedWord> wanted;
  std::vector<GeneratedText*> growing;  // of each wanted word
  for (;;) {
    int64_t live = 0;
    for (Column& column : columns) {
      if (column.text != nullptr && done(*column.text)) column.text = nullptr;
      live += column.text != nullptr ? 1 : 0;
    }
    if (live == 0) break;
    rows.clear();
    wanted.clear();
    growing.clear();
    const size_t most = blocks_ ? static_cast<size_t>(kStepRows / live) : 1;
    for (size_t c = 0; c < columns.size(); ++c) {
      auto& [text, read] = columns[c];
      if (text == nullptr && !every_column_) continue;
      // The last of these rows predicts the next word of a text that has no further given word.
      const size_t known = text != nullptr ? text->ids.size() + 1 - read : 1;
      for (size_t n = 0; n < std::min(known, most); ++n, ++read)
        rows.push_back({static_cast<int32_t>(c), text == nullptr || read == 0
                                                     ? Specials::kLanguageModel.end
                                                     : text->ids[read - 1]});
      const auto row = static_cast<int32_t>(rows.size() - 1);
      if (text != nullptr && read > text->ids.size()) {
        wanted.push_back({.row = row,
                          .sampling = &sampling,
                          .uniform = uniform_of(options.seed, options.first_prompt + text->prompt,
                                                text->sample, text->ids.size())});
        growing.push_back(text);
      } else if (every_column_) {
        wanted.push_back({.row = row});
        growing.push_back(nullptr);
      }
    }
    check_interrupt();
    tape_.reset();
    const Var hidden = decoder_->step(tape_, rows);
    if (std::ranges::all_of(growing, [](const auto* text) { return text == nullptr; })) continue;
    next_.predict({&hidden, 1}, wanted, [&](size_t i, const NextWord& next) {
      if (wanted[i].sampling == nullptr) return;
      next.rethrow();
      extend(*growing[i], next, options.lines);
    });
  }
  tape_.reset();
}

std::unique_ptr<TextGenerator> TextGenerators::take(const LanguageNetwork& network) {
  {
    const std::lock_guard lock(mutex_);
    if (!waiting_.empty()) {
      std::unique_ptr<TextGenerator> generator = std::move(waiting_.back());
      waiting_.pop_back();
      return generator;
    }
  }
  return std::make_unique<TextGenerator>(network);
}

void TextGenerators::give_back(std::unique_ptr<TextGenerator> generator, Device device) {
  if (device != kCpu) return;
  const std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(generator));
}

}  // namespace nine
