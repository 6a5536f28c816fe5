#include "data/tokenizers/token_decoder.h"

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/quote.h"
#include "data/tokenizers/byte_alphabet.h"
#include "data/tokenizers/json_parts.h"
#include "data/tokenizers/normalizer.h"
#include "data/tokenizers/token_model.h"

namespace nine {

namespace {

void fuse(std::vector<std::string>& tokens) {
  std::string all;
  for (const std::string& token : tokens) all += token;
  tokens.assign(1, all);
}

}  // namespace

TokenDecoder::TokenDecoder(const Json& part) : spaced_(part.is_null()) { add(part, 0); }

void TokenDecoder::add(const Json& part, int depth) {
  if (part.is_null()) return;
  require(depth < kTokenizerLevels, "the decoder has more than ", kTokenizerLevels, " levels");
  const std::string type = part_type(part, "decoder");
  if (type == "Sequence") {
    check_members(part, "decoder Sequence", {"decoders"});
    for (const Json& one : array_member(part, "decoders")) add(one, depth + 1);
  } else if (type == "ByteLevel") {
    steps_.emplace_back(ByteLevel{});
  } else if (type == "ByteFallback") {
    steps_.emplace_back(ByteFallback{});
  } else if (type == "Fuse") {
    steps_.emplace_back(Fuse{});
  } else if (type == "Metaspace") {
    check_members(part, "decoder Metaspace",
                  {"replacement", "str_rep", "add_prefix_space", "prepend_scheme", "split"});
    const bool prefix = bool_member(part, "add_prefix_space", true);
    const std::string scheme = text_member(part, "prepend_scheme", prefix ? "always" : "never");
    const std::string replacement = text_member(part, "replacement", "\xE2\x96\x81");
    require(!replacement.empty(), "the decoder Metaspace has an empty replacement");
    steps_.emplace_back(Metaspace{replacement, scheme != "never"});
  } else if (type == "Replace") {
    check_members(part, "decoder Replace", {"pattern", "content"});
    Replace step;
    if (read_pattern(part, step.from)) step.pattern = std::make_shared<SplitPattern>(step.from);
    require(!step.from.empty(), "the decoder Replace has an empty pattern");
    step.to = text_member(part, "content");
    steps_.emplace_back(std::move(step));
  } else if (type == "Strip") {
    check_members(part, "decoder Strip", {"content", "start", "stop"});
    Strip step{text_member(part, "content"), int_member(part, "start", 0),
               int_member(part, "stop", 0)};
    require(!step.content.empty() && step.start >= 0 && step.stop >= 0,
            "the decoder Strip has an empty content, or a number below 0");
    steps_.emplace_back(std::move(step));
  } else {
    fail("the decoder ", quote(type),
         " is of a type that Nine does not know; it knows ByteFallback, "
         "ByteLevel, Fuse, Metaspace, Replace, Sequence and Strip");
  }
}

bool TokenDecoder::is_byte_level() const {
  return steps_.size() == 1 && std::holds_alternative<ByteLevel>(steps_[0]);
}

void TokenDecoder::decode(std::vector<std::string>& tokens, std::string& text) const {
  if (spaced_)
    for (size_t i = 1; i < tokens.size(); ++i) tokens[i].insert(0, 1, ' ');
  for (const Step& step : steps_) std::visit([&](const auto& one) { run(one, tokens); }, step);
  for (const std::string& token : tokens) text += token;
}

void TokenDecoder::run(const ByteLevel&, std::vector<std::string>& tokens) {
  std::string bytes;
  for (std::string& token : tokens)
    if (read_spelling(token, bytes)) token = bytes;
  fuse(tokens);
}

void TokenDecoder::run(const ByteFallback&, std::vector<std::string>& tokens) {
  std::vector<std::string> out;
  bool after_byte = false;
  for (std::string& token : tokens) {
    const int byte = byte_of_token(token);
    if (byte < 0) {
      out.push_back(std::move(token));
    } else if (after_byte) {
      out.back() += static_cast<char>(byte);
    } else {
      out.emplace_back(1, static_cast<char>(byte));
    }
    after_byte = byte >= 0;
  }
  tokens = std::move(out);
}

void TokenDecoder::run(const Fuse&, std::vector<std::string>& tokens) { fuse(tokens); }

void TokenDecoder::run(const Metaspace& step, std::vector<std::string>& tokens) {
  for (size_t i = 0; i < tokens.size(); ++i)
    replace_all(tokens[i], step.replacement, i == 0 && step.drops_first ? "" : " ");
}

void TokenDecoder::run(const Replace& step, std::vector<std::string>& tokens) {
  for (std::string& token : tokens) {
    if (!step.pattern) {
      replace_all(token, step.from, step.to);
      continue;
    }
    std::string out;
    for_each_validity(token, [&](std::string_view part, bool valid) {
      size_t done = 0;
      if (valid)
        step.pattern->for_each(part, [&](size_t begin, size_t end) {
          (out += part.substr(done, begin - done)) += step.to;
          done = end;
        });
      out += part.substr(done);
    });
    token = std::move(out);
  }
}

void TokenDecoder::run(const Strip& step, std::vector<std::string>& tokens) {
  for (std::string& token : tokens) {
    std::string_view kept = token;
    for (int64_t i = 0; i < step.start && kept.starts_with(step.content); ++i)
      kept.remove_prefix(step.content.size());
    for (int64_t i = 0; i < step.stop && kept.ends_with(step.content); ++i)
      kept.remove_suffix(step.content.size());
    token = std::string(kept);
  }
}

}  // namespace nine
