#include "apps/mt_train/mt_data.h"

#include <algorithm>

#include "apps/training/training_texts.h"
#include "core/crc32c.h"
#include "data/sample/pairs.h"
#include "data/text.h"
#include "nn/models/model_directory.h"

namespace nine::app {
namespace {

Vocabulary built(const WordCounts& counts, const MtOptions& o, const char* text) {
  return Vocabulary::build(counts, Specials::kTranslation, o.vocabulary_limits(), text);
}

std::pair<Vocabulary, Vocabulary> dictionaries(const PairText& text, const MtOptions& o) {
  const auto given = [](const std::string& path) {
    return Vocabulary::read(path, Specials::kTranslation);
  };
  if (o.shared_vocab) {
    const Vocabulary both = o.src_dict.empty()
                                ? built(PairCounts(text, true).source, o, "the training text")
                                : given(o.src_dict);
    return {both, both};
  }
  if (!o.src_dict.empty() && !o.tgt_dict.empty()) return {given(o.src_dict), given(o.tgt_dict)};
  const PairCounts counts(text, false);
  return {o.src_dict.empty() ? built(counts.source, o, "the source of the training text")
                             : given(o.src_dict),
          o.tgt_dict.empty() ? built(counts.target, o, "the target of the training text")
                             : given(o.tgt_dict)};
}

// The tokenizers of given files, or learned from the text.
std::pair<ModelTokenizer, ModelTokenizer> tokenizers(const PairText& text, const MtOptions& o) {
  const auto given = [&](const std::string& path) {
    return o.raw_tokenizer.read(path, Specials::kTranslation);
  };
  const std::string& both = o.raw_tokenizer.tokenizer;
  const std::string &of_source = both.empty() ? o.src_tokenizer : both,
                    &of_target = both.empty() ? o.tgt_tokenizer : both;
  if (!of_source.empty() && !of_target.empty()) return {given(of_source), given(of_target)};
  const TokenizerTraining how = o.raw_tokenizer.training(o.vocab_size, Specials::kTranslation);
  TokenizerTrainer source(how), target(how);
  text([&](std::string_view s, std::string_view t) {
    if (of_source.empty()) source.add(s);
    if (of_target.empty()) (o.shared_vocab ? source : target).add(t);
  });
  const auto learn = [&](const TokenizerTrainer& trainer, const char* name) {
    return learned(trainer, name, o.vocab_size, Specials::kTranslation);
  };
  if (o.shared_vocab) {
    const ModelTokenizer joint = learn(source, "the training text");
    return {joint, joint};
  }
  return {of_source.empty() ? learn(source, "the source of the training text") : given(of_source),
          of_target.empty() ? learn(target, "the target of the training text") : given(of_target)};
}

std::pair<TranslationSide, TranslationSide> sides(const PairText& text, const MtOptions& o) {
  if (o.raw) {
    auto [source, target] = tokenizers(text, o);
    return {{source.dictionary(), source}, {target.dictionary(), target}};
  }
  auto [source, target] = dictionaries(text, o);
  return {{std::move(source)}, {std::move(target)}};
}

PairEncoding encoding(const TranslationSide& source, const TranslationSide& target) {
  const auto encoder = [](const TranslationSide& side) {
    return [&side, cache = TokenCache()](std::string_view line, std::vector<int32_t>& ids) mutable {
      side.encode(line, cache, ids);
    };
  };
  return {.source = encoder(source),
          .target = encoder(target),
          .raw = source.tokenizer.has_value(),
          .source_unknown = source.unknown(),
          .target_unknown = target.unknown()};
}

HeldOutPairs held_out(const PairText& text, const PairEncoding& encoding, int64_t positions,
                      const char* flag) {
  HeldOutPairs out{ParallelCorpus(text, encoding, {.max_length = positions}), {}};
  require(out.pairs.pairs() > 0, flag, " has no pair whose sides both have at most ", positions,
          " tokens");
  int64_t line = 0;
  text([&](std::string_view, std::string_view reference) {
    const auto next = static_cast<int64_t>(out.references.size());
    if (++line == (next < out.pairs.pairs() ? out.pairs.line(next) : 0))
      out.references.emplace_back(reference);
  });
  return out;
}

// Where a line of a text in several files stands.
std::string place_of(const std::vector<std::string>& files, int64_t line) {
  int64_t left = line;
  for (const std::string& file : files) {
    TextReader reader(std::vector<std::string>{file});
    for (std::string_view text; reader.next_line(text);)
      if (--left == 0) return reader.place();
  }
  return concat("line ", line);  // of --sample
}

// Error: a training pair is larger than a batch.
void require_room(const ParallelCorpus& train, const MtOptions& o) {
  for (int64_t i = 0; o.batch_tokens > 0 && i < train.pairs(); ++i) {
    const int64_t s = train.source_length(i), t = train.target_length(i);
    if (std::max(s, t) <= o.batch_tokens) continue;
    fail(place_of(s > t ? o.src : o.tgt, train.line(i)), ": the sentence has ", std::max(s, t),
         " tokens, </s> counted, more than --batch-tokens ", o.batch_tokens,
         ": raise --batch-tokens, or leave out longer pairs with --max-length ", o.batch_tokens);
  }
}

// A run's texts; null where there is none.
struct Texts {
  PairText train, valid, test;
};

MtData data_of(const Texts& texts, const MtOptions& o) {
  auto [source, target] = sides(texts.train, o);
  const PairEncoding how = encoding(source, target);
  ParallelCorpus train(texts.train, how, {.keep_empty = false, .max_length = o.max_length});
  require(train.pairs() > 0, "no training pair is left: of ",
          train.skipped_empty() + train.skipped_long(), " pairs ", train.skipped_empty(),
          " have a side without a word and ", train.skipped_long(), " more than --max-length ",
          o.max_length, " tokens");
  require_room(train, o);
  if (o.has_weights()) {
    std::vector<int32_t> ids;
    std::vector<int64_t> lengths(static_cast<size_t>(train.lines()));  // 0 of pairs left out
    for (int64_t i = 0; i < train.pairs(); ++i) {
      const auto words = train.target(i);
      ids.insert(ids.end(), words.begin(), words.end());
      lengths[static_cast<size_t>(train.line(i) - 1)] = std::ssize(words);
    }
    train.set_target_weights(o.weights(ids, target.dictionary, train.lines(), [&](int64_t line) {
      return lengths[static_cast<size_t>(line)];
    }));
  }
  std::optional<HeldOutPairs> valid, test;
  if (texts.valid) valid = held_out(texts.valid, how, o.positions(), "--valid-src");
  if (texts.test) test = held_out(texts.test, how, o.positions(), "--test-src");
  return {std::move(source), std::move(target), std::move(train), std::move(valid),
          std::move(test)};
}

uint32_t former_checksum(const std::optional<HeldOutPairs>& text) {
  if (!text) return 0;
  uint32_t crc = text->pairs.id_checksum();
  for (const std::string& line : text->references)
    crc = crc32c(crc, line.data(), line.size() + 1);  // with the 0 that ends it
  return crc;
}

}  // namespace

MtData load_mt_data(const MtOptions& o) {
  for (const auto& [flag, files] : {std::pair("--src", &o.src),
                                    {"--tgt", &o.tgt},
                                    {"--valid-src", &o.valid_src},
                                    {"--valid-tgt", &o.valid_tgt},
                                    {"--test-src", &o.test_src},
                                    {"--test-tgt", &o.test_tgt}})
    require_texts(flag, *files);
  if (o.sample) {
    const SamplePairs train = sample_pairs(o.sample_pairs, o.seed, "train"),
                      valid = sample_pairs(kSampleHeldOut, o.seed, "valid"),
                      test = sample_pairs(kSampleHeldOut, o.seed, "test");
    const auto text = [](const SamplePairs& pairs) {
      return pairs_of_lines(pairs.source, pairs.target);
    };
    return data_of({text(train), text(valid), text(test)}, o);
  }
  const auto text = [](const std::vector<std::string>& source,
                       const std::vector<std::string>& target) {
    return source.empty() ? PairText() : pairs_of_files(source, target);
  };
  return data_of({text(o.src, o.tgt), text(o.valid_src, o.valid_tgt), text(o.test_src, o.test_tgt)},
                 o);
}

RunInputs MtData::inputs(const MtOptions& o) const {
  RunInputs out;
  const auto add = [&](const char* of_source, const char* of_target, const ParallelCorpus& pairs) {
    out.identity[of_source] = pairs.source_checksum();
    out.identity[of_target] = pairs.target_checksum();
  };
  add("src", "tgt", train);
  if (valid) add("valid_src", "valid_tgt", valid->pairs);
  if (test) add("test_src", "test_tgt", test->pairs);
  out.identity["src_dict"] = source.dictionary.word_checksum();
  out.identity["tgt_dict"] = target.dictionary.word_checksum();
  if (o.raw && o.shared_vocab) out.identity["tokenizer"] = source.tokenizer->checksum();
  if (o.raw && !o.shared_vocab) {
    out.identity["src_tokenizer"] = source.tokenizer->checksum();
    out.identity["tgt_tokenizer"] = target.tokenizer->checksum();
  }
  out.add_files("token_weights", o.token_weights);
  if (!o.class_weights.empty()) out.add_files("class_weights", {o.class_weights});
  out.add_model("init", o.init);
  if (o.raw) return out;  // no older version knows it
  const std::string words = source.dictionary.dict_text() + target.dictionary.dict_text();
  out.former = {{"train_crc32c",
                 crc32c(train.id_checksum(), words.data(), words.size()),
                 {"src", "tgt", "src_dict", "tgt_dict"}},
                {"valid_crc32c", former_checksum(valid), {"valid_src", "valid_tgt"}},
                {"test_crc32c", former_checksum(test), {"test_src", "test_tgt"}}};
  return out;
}

RunCallbacks::ExtraFiles MtData::files(const MtOptions& o) const {
  if (!o.raw)
    return {{kSourceDict, source.dictionary.dict_text()},
            {kTargetDict, target.dictionary.dict_text()}};
  // The counts of a dictionary for both languages are those of both.
  std::vector<int64_t> of_source = train.source_counts(source.dictionary.size()),
                       of_target = train.target_counts(target.dictionary.size());
  if (o.shared_vocab)
    for (size_t i = 0; i < of_source.size(); ++i) of_source[i] = of_target[i] += of_source[i];
  RunCallbacks::ExtraFiles out{{kSourceDict, source.dictionary.dict_text(of_source)},
                               {kTargetDict, target.dictionary.dict_text(of_target)}};
  if (o.shared_vocab) {
    out.push_back(source.tokenizer->file(""));
  } else {
    out.push_back(source.tokenizer->file("src"));
    out.push_back(target.tokenizer->file("tgt"));
  }
  return out;
}

}  // namespace nine::app
