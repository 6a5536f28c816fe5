#include "nn/models/generate_text.h"

#include <algorithm>
#include <tuple>

#include "core/shared_parts.h"
#include "data/text.h"
#include "data/tokenizers/model_tokenizer.h"
#include "nn/models/text_generator.h"

namespace nine {
namespace {

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
  std::unique_ptr<TextGenerator> generator = model.generators().take(model.network());
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
    generator->run(texts, options.first_prompt * options.samples + first, options, model.unknown());
    return bytes_of(texts);
  };
  GenerationStats stats{.texts = all};
  const auto take = [&](std::string_view result) {
    texts = texts_of(result);
    for (const GeneratedText& text : texts) {
      stats.words += text.added_words();
      stats.line_ends += text.line_ends;
      stats.ended += text.ended ? 1 : 0;
      stats.nats += text.nats;
    }
    callback(texts);
  };
  for_shared_parts(communicator, (all + options.batch - 1) / options.batch, make, take);
  model.generators().give_back(std::move(generator), model.device());
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
