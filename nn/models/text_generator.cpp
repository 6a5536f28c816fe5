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
      every_column_(!head_.independent_rows()) {}

void TextGenerator::run(std::span<GeneratedText> texts, int64_t first,
                        const GenerateOptions& options, int32_t unknown) {
  SamplingOptions sampling = options.sampling;
  sampling.unknown = unknown;
  const auto done = [&](const GeneratedText& text) {
    return text.ended || text.added_words() == options.max_words;
  };
  decoder_->start(kMaxGenerateBatch);
  std::vector<DecoderRow> rows;
  std::vector<WantedWord> wanted;
  std::vector<GeneratedText*> readers;  // of each row; null: only keeps the product's size
  for (size_t position = 0;; ++position) {
    rows.clear();
    readers.clear();
    bool all_in_prompts = true;
    for (int64_t column = 0; column < kMaxGenerateBatch; ++column) {
      const auto i = static_cast<size_t>((column - first % kMaxGenerateBatch + kMaxGenerateBatch) %
                                         kMaxGenerateBatch);
      GeneratedText* text = i < texts.size() && !done(texts[i]) ? &texts[i] : nullptr;
      if (text == nullptr && !every_column_) continue;
      const bool begins = text == nullptr || position == 0;
      rows.push_back({static_cast<int32_t>(column),
                      begins ? Specials::kLanguageModel.end : text->ids[position - 1]});
      readers.push_back(text);
      all_in_prompts = all_in_prompts && (text == nullptr || position < text->prompt_words);
    }
    if (std::all_of(readers.begin(), readers.end(), [](auto* text) { return text == nullptr; }))
      break;
    check_interrupt();
    tape_.reset();
    const Var hidden = decoder_->step(tape_, rows);
    if (all_in_prompts) continue;
    wanted.clear();
    for (size_t r = 0; r < rows.size(); ++r) {
      const GeneratedText* text = readers[r];
      const bool grows = text != nullptr && position >= text->prompt_words;
      if (grows)
        wanted.push_back({.row = static_cast<int32_t>(r),
                          .sampling = &sampling,
                          .uniform = uniform_of(options.seed, options.first_prompt + text->prompt,
                                                text->sample, text->ids.size())});
      else if (every_column_)
        wanted.push_back({.row = static_cast<int32_t>(r)});
    }
    next_.predict({&hidden, 1}, wanted, [&](size_t i, const NextWord& next) {
      if (wanted[i].sampling == nullptr) return;
      next.rethrow();
      extend(*readers[static_cast<size_t>(wanted[i].row)], next, options.lines);
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
