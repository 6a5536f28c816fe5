#include "apps/bpe/bpe_commands.h"

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <memory>
#include <sstream>
#include <utility>

#include "apps/cli/text_io.h"
#include "apps/cli/text_kind.h"
#include "core/notice.h"
#include "core/quote.h"
#include "data/bpe.h"
#include "data/bpe_learn.h"
#include "data/bpe_text.h"
#include "data/text_in_parts.h"
#include "data/tokenize_13a.h"
#include "data/tokenizers/read_tokenizer.h"
#include "data/tokenizers/token_text.h"
#include "data/tokenizers/train_tokenizer.h"
#include "data/vocabulary.h"

namespace nine::app {
namespace {

std::unique_ptr<TextReader> open_text(const std::string& path, const std::string& tokenize = "none",
                                      TextRules rules = kCopiedText) {
  const LineFilter filter = tokenize == "13a" ? LineFilter(tokenize_13a) : LineFilter();
  if (path == "-") return std::make_unique<TextReader>(std::cin, input_name(path), rules, filter);
  return std::make_unique<TextReader>(std::vector{path}, rules, filter);
}

TextRules copied_text(const BpeFlags& o) {
  TextRules rules = kCopiedText;
  rules.line_by_line = o.flush;
  return rules;
}

/// Counts words as models read them, separated by spaces and tabs, since a dict.txt holds no word
/// with a tab.
void count_model_words(TextReader& text, WordCounts& counts) {
  for (std::string_view block; text.next_block(block);)
    for_each_line(block, [&](std::string_view line, std::string_view) {
      for_each_word(line, [&](std::string_view word) { counts.add(word); });
    });
}

std::string as_prose(std::string_view block, const DetokenizeOptions& how) {
  std::string out;
  for_each_line(block, [&](std::string_view line, std::string_view end) {
    out.append(detokenize(line, how)).append(end);
  });
  return out;
}

void write_file(const std::string& path, std::string_view text) {
  TextOutput out(path);
  out.stream() << text;
  out.finish();
}

void write_vocabularies(const BpeFlags& o, const std::string& codes) {
  std::istringstream text(codes);
  const BpeSegmenter segmenter(BpeCodes::read(text, "the codes"), {.separator = o.separator});
  for (size_t i = 0; i < o.input.size(); ++i) {
    WordCounts counts;
    segment_text(segmenter, *open_text(o.input[i], o.tokenize),
                 [&](std::string_view part) { count_bpe_words(part, counts); });
    write_file(o.write_vocabulary[i], bpe_vocabulary_text(counts));
  }
}

// Says which inputs of learning are one file.
void warn_of_repeated(const std::vector<std::string>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i)
    if (std::any_of(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(i),
                    [&](const std::string& before) { return same_file(before, inputs[i]); }))
      notice(concat("--input names ", inputs[i], " more than once: its words count as often"));
}

void learn_tokenizer(const BpeFlags& o) {
  TokenizerTraining how{.vocabulary_size = o.vocab_size,
                        .split = o.split,
                        .form = {},
                        .min_frequency = o.min_frequency,
                        .special_tokens = o.special_tokens,
                        .memory = o.memory.bytes,
                        .temporary_folder = o.temporary_folder};
  if (o.normalize != "none") how.form = o.normalize == "nfc" ? UnicodeForm::nfc : UnicodeForm::nfkc;
  TokenizerTrainer trainer(how);
  for (const std::string& input : o.input) trainer.add(*open_text(input));
  const std::unique_ptr<Tokenizer> tokenizer = std::move(trainer).train();
  write_file(o.output[0],
             o.file_format == "tiktoken" ? tiktoken_text(*tokenizer) : tokenizer->json());
  if (tokenizer->size() < o.vocab_size)
    std::fprintf(stderr, "stopped at %d tokens: no pair occurs %lld times any more\n",
                 tokenizer->size(), static_cast<long long>(o.min_frequency));
}

/// Changes the lines of the inputs. With --flush it answers each line before it reads the next.
void change_lines(const BpeFlags& o, const Tokenizer& tokenizer, bool encodes) {
  const TokenText how{
      .form = o.pieces == "ids" ? TokenForm::ids : TokenForm::tokens,
      .encode = {.special_from_text = o.special_from_text, .add_special = o.add_special},
      .keep_special = o.keep_special};
  int64_t unknown = 0;
  for (size_t i = 0; i < o.input.size(); ++i) {
    const auto text = open_text(o.input[i], "none", copied_text(o));
    TextOutput out(o.output[i]);
    const auto write = [&](std::string_view part) { out.stream() << part; };
    if (!o.flush && encodes) {
      unknown += encode_text(tokenizer, how, *text, write);
    } else if (!o.flush) {
      decode_text(tokenizer, how, *text, write);
    } else {
      std::string line, changed;  // up to LF, while the reader's lines may end with CR
      int64_t number = 0;
      const auto answer = [&] {
        changed.clear();
        TokenCache cache;
        try {
          if (encodes) {
            unknown += encode_lines(tokenizer, how, line, cache, changed);
          } else {
            decode_lines(tokenizer, how, line, changed);
          }
        } catch (const LineError& e) {
          fail(text->name(), ", line ", number + e.line(), ": ", e.what());
        }
        ++number;
        line.clear();
        write(changed);
        out.flush();
      };
      for (std::string_view block; text->next_block(block);) {
        line += block;
        if (line.ends_with('\n')) answer();
      }
      if (!line.empty()) answer();
    }
    out.finish();
  }
  if (unknown > 0)
    std::fprintf(
        stderr, "%s\n",
        concat("warning: ", unknown, " tokens are ", quote(tokenizer.token(tokenizer.unknown())),
               ", for text that has no token: bpe undo cannot give it back")
            .c_str());
}

std::unique_ptr<Tokenizer> open_tokenizer(const BpeFlags& o) {
  auto tokenizer =
      read_tokenizer(o.tokenizer, {.split = o.split_given ? std::optional(o.split) : std::nullopt,
                                   .special_tokens = o.special_tokens,
                                   .only_ranks = o.of_ranks});
  require(!o.add_special || !tokenizer->encode("", {.add_special = true}).empty(), o.tokenizer,
          " names no special tokens to add around a line: leave out --add-special");
  return tokenizer;
}

}  // namespace

void convert_tokenizer(const BpeFlags& o) {
  const std::unique_ptr<Tokenizer> tokenizer = open_tokenizer(o);
  write_file(o.output[0],
             o.file_format == "tiktoken" ? tiktoken_text(*tokenizer) : converted_json(*tokenizer));
}

void learn_codes(const BpeFlags& o) {
  warn_of_repeated(o.input);
  if (o.bytes) return learn_tokenizer(o);
  WordCounts counts;
  for (const std::string& input : o.input) {
    const auto text = open_text(input, o.tokenize, o.dict_input ? kCodesText : kCopiedText);
    if (o.dict_input) {
      read_bpe_counts(*text, counts);
    } else {
      count_bpe_words(*text, counts);
    }
  }
  warn_of_joints(count_joints(counts, o.separator), o.separator, "the input");
  const LearnedBpe learned = learn_bpe(
      counts,
      {.merges = o.merges, .min_frequency = o.min_frequency, .total_symbols = o.total_symbols});
  write_file(o.output[0], learned.codes);
  if (o.total_symbols)
    std::fprintf(stderr,
                 "--total-symbols subtracts %lld characters inside words and %lld characters at "
                 "their ends from --merges\n",
                 static_cast<long long>(learned.inner_characters),
                 static_cast<long long>(learned.final_characters));
  if (learned.ran_out)
    std::fprintf(stderr, "stopped after %lld merges: no pair occurs %lld times any more\n",
                 static_cast<long long>(learned.merges), static_cast<long long>(o.min_frequency));
  if (!o.write_vocabulary.empty()) write_vocabularies(o, learned.codes);
}

void apply_codes(const BpeFlags& o) {
  if (!o.tokenizer.empty()) return change_lines(o, *open_tokenizer(o), true);
  SegmentOptions options{.separator = o.separator, .glossaries = Glossaries(o.glossaries)};
  if (!o.vocabulary.empty())
    options.vocabulary = read_bpe_vocabulary(o.vocabulary, o.vocabulary_threshold, o.separator);
  const BpeSegmenter segmenter(BpeCodes::read(o.codes, o.first_merges), std::move(options));
  int64_t joints = 0;
  BpeDropout dropout{.rate = o.dropout, .random = PythonRandom(o.seed)};
  for (size_t i = 0; i < o.input.size(); ++i) {
    const auto text = open_text(o.input[i], o.tokenize, copied_text(o));
    TextOutput out(o.output[i]);
    if (o.dropout == 0 && !o.flush) {
      segment_text(
          segmenter, *text, [&](std::string_view cut) { out.stream() << cut; }, &joints);
    } else {
      for (std::string_view block; text->next_block(block);) {
        std::string part;
        joints += count_joints(block, o.separator);
        if (o.dropout > 0) {
          segmenter.segment(block, part, dropout);
        } else {
          BpeCache cache;  // of one line, so that a program that runs on and on does not grow
          segmenter.segment(block, part, cache);
        }
        out.stream() << part;
        if (o.flush) out.flush();
      }
    }
    out.finish();
  }
  warn_of_joints(joints, o.separator, "the input");
}

void undo_codes(const BpeFlags& o) {
  if (!o.tokenizer.empty()) return change_lines(o, *open_tokenizer(o), false);
  for (size_t i = 0; i < o.input.size(); ++i) {
    const auto text = open_text(o.input[i], "none", copied_text(o));
    TextOutput out(o.output[i]);
    for (std::string_view block; text->next_block(block);) {
      std::string part;
      undo_bpe(block, part, o.separator);
      out.stream() << (o.detokenize.rules == Detokenizing::none ? part
                                                                : as_prose(part, o.detokenize));
      if (o.flush) out.flush();
    }
    out.finish();
  }
}

void write_vocabulary(const BpeFlags& o) {
  const bool fairseq = o.format == "fairseq";
  WordCounts counts;
  for (size_t i = 0; i < o.input.size(); ++i) {
    if (o.output.size() > 1) counts = WordCounts();
    const auto text = open_text(o.input[i], o.tokenize, fairseq ? kModelText : kCopiedText);
    if (fairseq) {
      count_model_words(*text, counts);
    } else {
      count_bpe_words(*text, counts);
    }
    if (o.output.size() > 1 || i + 1 == o.input.size())
      write_file(o.output[o.output.size() > 1 ? i : 0],
                 fairseq ? Vocabulary::of_all_words(counts, Specials::kTranslation).dict_text()
                         : bpe_vocabulary_text(counts));
  }
}

}  // namespace nine::app
