#include "nn/models/generate_text.h"

#include <algorithm>
#include <tuple>

#include "core/interrupt.h"
#include "core/ops.h"
#include "core/shared_parts.h"
#include "data/text.h"
#include "data/tokenizers/model_tokenizer.h"
#include "kernels/ops.h"
#include "nn/models/language_network.h"
#include "nn/models/next_words.h"

namespace nine {
namespace {

static_assert(kMaxGenerateBatch == ops::kHeadPanel);

int64_t added_words(const GeneratedText& text) {
  return static_cast<int64_t>(text.ids.size() - text.prompt_words) - text.line_ends;
}

SamplingOptions with_unknown(SamplingOptions sampling, int32_t unknown) {
  sampling.unknown = unknown;
  return sampling;
}

class Generator {
 public:
  Generator(const LanguageModel& model, const GenerateOptions& options)
      : model_(model.network()),
        options_(options),
        arena_("generate", model.device()),
        tape_(arena_),
        guard_(tape_),
        decoder_(model_.decoder()),
        head_(model_.head()),
        sampling_(with_unknown(options.sampling, model.unknown())),
        next_(head_),
        every_column_(!head_.independent_rows()) {}

  // Continues at most kMaxGenerateBatch texts. Text i of all texts has column i % kMaxGenerateBatch
  // for every batch size, because a matrix product may round different columns differently.
  void run(std::span<GeneratedText> texts, int64_t first) {
    decoder_->start(kMaxGenerateBatch);
    std::vector<DecoderRow> rows;
    std::vector<WantedWord> wanted;
    std::vector<GeneratedText*> readers;  // of each row; null: only keeps the product's size
    for (size_t position = 0;; ++position) {
      rows.clear();
      readers.clear();
      bool all_in_prompts = true;
      for (int64_t column = 0; column < kMaxGenerateBatch; ++column) {
        const auto i = static_cast<size_t>(
            (column - first % kMaxGenerateBatch + kMaxGenerateBatch) % kMaxGenerateBatch);
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
          wanted.push_back(
              {.row = static_cast<int32_t>(r),
               .sampling = &sampling_,
               .uniform = uniform_of(options_.seed, options_.first_prompt + text->prompt,
                                     text->sample, text->ids.size())});
        else if (every_column_)
          wanted.push_back({.row = static_cast<int32_t>(r)});
      }
      next_.predict({&hidden, 1}, wanted, [&](size_t i, const NextWord& next) {
        if (wanted[i].sampling == nullptr) return;
        next.rethrow();
        extend(*readers[static_cast<size_t>(wanted[i].row)], next);
      });
    }
    tape_.reset();
  }

 private:
  void extend(GeneratedText& text, const NextWord& next) const {
    text.nats -= next.log_p;
    const bool ends_line = next.word == Specials::kLanguageModel.end;
    text.ended = ends_line && text.line_ends + 1 == options_.lines;
    if (text.ended) return;
    text.ids.push_back(next.word);
    text.line_ends += ends_line ? 1 : 0;
  }
  bool done(const GeneratedText& text) const {
    return text.ended || added_words(text) == options_.max_words;
  }

  const LanguageNetwork& model_;
  const GenerateOptions& options_;
  Arena arena_;
  Tape tape_;
  NoGrad guard_;
  std::unique_ptr<StepDecoder> decoder_;
  DecodingHead head_;
  SamplingOptions sampling_;
  NextWords next_;
  bool every_column_;  // also those of no text, because a row's bits may depend on the others
};

std::vector<int32_t> ids_of(const LanguageModel& model, const std::string& prompt) {
  const ModelTokenizer* const tokenizer = model.tokenizer();
  return tokenizer != nullptr ? tokenizer->encode(prompt) : model.vocabulary().encode(prompt);
}

void check(const GenerateOptions& o) {
  require(o.batch >= 1 && o.batch <= kMaxGenerateBatch, "batch size ", o.batch,
          " must be from 1 to ", kMaxGenerateBatch);
  require(o.max_words >= 0 && o.samples >= 0 && o.first_prompt >= 0, "[generate_text] ", o.samples,
          " continuations of at most ", o.max_words, " words after ", o.first_prompt,
          " other prompts: all three are at least 0");
  require(o.lines >= 1, "[generate_text] ", o.lines, " lines: a continuation has at least one");
  nine::check(o.sampling);
}

// The numbers of a text that processes exchange.
template <class Text>
auto fields_of_text(Text& text) {
  return std::tie(text.prompt, text.sample, text.ids, text.prompt_words, text.line_ends, text.ended,
                  text.nats);
}

std::string bytes_of(std::span<const GeneratedText> texts) {
  ByteWriter out;
  for (const GeneratedText& text : texts) out.put_all(fields_of_text(text));
  return out.take();
}

std::vector<GeneratedText> texts_of(std::string_view bytes) {
  std::vector<GeneratedText> texts;
  for (ByteReader in(bytes); !in.empty();) in.get_all(fields_of_text(texts.emplace_back()));
  return texts;
}

}  // namespace

GenerationStats generate_text(const LanguageModel& model, std::span<const std::string> prompts,
                              const GenerateOptions& options,
                              const std::function<void(std::span<const GeneratedText>)>& callback,
                              Communicator& communicator) {
  check(options);
  Generator generator(model, options);
  const int64_t all = static_cast<int64_t>(prompts.size()) * options.samples;
  std::vector<GeneratedText> texts;
  const auto make = [&](int64_t batch) {
    texts.clear();
    const int64_t first = batch * options.batch;
    for (int64_t i = first; i < std::min(all, first + options.batch); ++i) {
      GeneratedText text{.prompt = i / options.samples,
                         .sample = i % options.samples,
                         .ids = ids_of(model, prompts[static_cast<size_t>(i / options.samples)])};
      text.prompt_words = text.ids.size();
      texts.push_back(std::move(text));
    }
    generator.run(texts, options.first_prompt * options.samples + first);
    return bytes_of(texts);
  };
  GenerationStats stats{.texts = all};
  const auto take = [&](std::string_view result) {
    texts = texts_of(result);
    for (const GeneratedText& text : texts) {
      stats.words += added_words(text);
      stats.line_ends += text.line_ends;
      stats.ended += text.ended ? 1 : 0;
      stats.nats += text.nats;
    }
    callback(texts);
  };
  for_shared_parts(communicator, (all + options.batch - 1) / options.batch, make, take);
  return stats;
}

std::string text_of(const GeneratedText& text, std::string_view prompt,
                    const LanguageModel& model) {
  if (const ModelTokenizer* tokenizer = model.tokenizer()) {
    // A token may be spelled otherwise at the beginning of a text, so the whole is decoded.
    const std::string read = tokenizer->decode(std::span(text.ids).first(text.prompt_words)),
                      all = tokenizer->decode(text.ids);
    return concat(prompt, all.substr(std::min(read.size(), all.size())));
  }
  const Vocabulary& vocabulary = model.vocabulary();
  std::vector<std::string_view> typed;
  split_words(prompt, typed);
  std::string line;
  for (size_t i = 0; i < text.ids.size(); ++i) {
    if (i >= text.prompt_words && text.ids[i] == Specials::kLanguageModel.end) {
      line += '\n';
      continue;
    }
    if (!line.empty() && line.back() != '\n') line += ' ';
    line += i < text.prompt_words ? typed[i] : std::string_view(vocabulary.word(text.ids[i]));
  }
  return line;
}

}  // namespace nine
