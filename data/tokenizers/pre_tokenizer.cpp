#include "data/tokenizers/pre_tokenizer.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/quote.h"
#include "data/tokenizers/json_parts.h"
#include "data/unicode.h"

namespace nine {

namespace {

struct Part {
  size_t begin, end;
  bool match;
};

// Cuts a piece into matches and the text between them.
std::vector<Part> parts_of(std::string_view piece, const SplitPattern* pattern,
                           std::string_view plain) {
  std::vector<Part> parts;
  size_t done = 0;
  const auto put = [&](size_t begin, size_t end) {
    if (begin > done) parts.push_back({done, begin, false});
    parts.push_back({begin, end, true});
    done = end;
  };
  if (pattern == nullptr) {
    for (size_t at = piece.find(plain); at != std::string_view::npos; at = piece.find(plain, done))
      put(at, at + plain.size());
  } else {
    for_each_validity(piece, [&](std::string_view part, bool valid) {
      const auto offset = static_cast<size_t>(part.data() - piece.data());
      if (valid)
        pattern->for_each(part,
                          [&](size_t begin, size_t end) { put(offset + begin, offset + end); });
      if (offset + part.size() > done) {  // no part has both kinds
        parts.push_back({done, offset + part.size(), false});
        done = offset + part.size();
      }
    });
  }
  if (done < piece.size()) parts.push_back({done, piece.size(), false});
  return parts;
}

}  // namespace

PreTokenizer::PreTokenizer(const Json& part) {
  add(part, 0);
  // The usual steps: one pattern, and then the bytes.
  if (!of_bytes_) return;
  const auto* const bytes = std::get_if<ByteLevel>(&steps_.back());
  if (bytes->add_prefix_space) return;
  if (steps_.size() == 1) plain_ = bytes->pattern.get();
  if (steps_.size() != 2 || bytes->pattern) return;
  const auto* const split = std::get_if<SplitStep>(&steps_.front());
  if (split != nullptr && split->behavior == Behavior::isolated) plain_ = split->pattern.get();
}

void PreTokenizer::add(const Json& part, int depth) {
  if (part.is_null()) return;
  require(depth < kTokenizerLevels, "the pre_tokenizer has more than ", kTokenizerLevels,
          " levels");
  const std::string type = part_type(part, "pre_tokenizer");
  if (type == "Sequence") {
    check_members(part, "pre_tokenizer Sequence", {"pretokenizers"});
    for (const Json& one : array_member(part, "pretokenizers")) add(one, depth + 1);
    return;
  }
  require(!of_bytes_, "the pre_tokenizer ", quote(type),
          " follows ByteLevel, which Nine knows only as the last step");
  if (type == "Split") {
    check_members(part, "pre_tokenizer Split", {"pattern", "behavior", "invert"});
    SplitStep step;
    if (read_pattern(part, step.text)) step.pattern = std::make_shared<SplitPattern>(step.text);
    require(!step.text.empty(), "the pre_tokenizer Split has an empty pattern");
    const std::string behavior = text_member(part, "behavior");
    constexpr std::string_view kNames[] = {"Isolated", "Removed", "MergedWithPrevious",
                                           "MergedWithNext", "Contiguous"};
    const auto name = std::find(std::begin(kNames), std::end(kNames), behavior);
    require(name != std::end(kNames), "the behavior ", quote(behavior),
            " of the pre_tokenizer Split is unknown");
    step.behavior = static_cast<Behavior>(name - std::begin(kNames));
    step.invert = bool_member(part, "invert", false);
    steps_.emplace_back(std::move(step));
  } else if (type == "ByteLevel") {
    check_members(part, "pre_tokenizer ByteLevel",
                  {"add_prefix_space", "trim_offsets", "use_regex"});
    ByteLevel step{.add_prefix_space = bool_member(part, "add_prefix_space", true), .pattern = {}};
    if (bool_member(part, "use_regex", true))
      step.pattern = std::make_shared<SplitPattern>(pattern_of(Split::gpt2));
    steps_.emplace_back(std::move(step));
    of_bytes_ = true;
  } else if (type == "Metaspace") {
    check_members(part, "pre_tokenizer Metaspace",
                  {"replacement", "str_rep", "add_prefix_space", "prepend_scheme", "split"});
    Metaspace step;
    step.replacement = text_member(part, "replacement", "\xE2\x96\x81");
    require(
        !step.replacement.empty() && utf8_length(step.replacement[0]) == step.replacement.size(),
        "the replacement ", quote(step.replacement), " of Metaspace is not one character");
    const std::string scheme = text_member(
        part, "prepend_scheme", bool_member(part, "add_prefix_space", true) ? "always" : "never");
    require(scheme == "always" || scheme == "first" || scheme == "never", "the prepend_scheme ",
            quote(scheme), " of Metaspace is unknown");
    step.prepend = scheme == "always"  ? Metaspace::Prepend::always
                   : scheme == "first" ? Metaspace::Prepend::first
                                       : Metaspace::Prepend::never;
    step.split = bool_member(part, "split", true);
    steps_.emplace_back(std::move(step));
  } else if (type == "WhitespaceSplit") {
    steps_.emplace_back(WhiteSpaceSplit{});
  } else if (type == "Digits") {
    check_members(part, "pre_tokenizer Digits", {"individual_digits"});
    steps_.emplace_back(Digits{bool_member(part, "individual_digits", false)});
  } else {
    fail("the pre_tokenizer ", quote(type),
         " is of a type that Nine does not know; it knows "
         "ByteLevel, Digits, Metaspace, Sequence, Split and WhitespaceSplit");
  }
}

void PreTokenizer::run(Pieces& pieces, bool at_start) const {
  for (const Step& step : steps_) {
    pieces.next.clear();
    bool first = at_start;
    for (std::string_view piece : pieces.now) {
      if (!piece.empty())
        std::visit([&](const auto& one) { cut(one, piece, first, pieces); }, step);
      first = false;
    }
    pieces.now.swap(pieces.next);
  }
}

void PreTokenizer::cut(const SplitStep& step, std::string_view piece, bool, Pieces& pieces) {
  std::vector<Part> parts = parts_of(piece, step.pattern.get(), step.text);
  if (step.invert)
    for (Part& part : parts) part.match = !part.match;
  const auto put = [&](const Part& part) {
    pieces.next.push_back(piece.substr(part.begin, part.end - part.begin));
  };
  switch (step.behavior) {
    case Behavior::isolated:
      for (const Part& part : parts) put(part);
      break;
    case Behavior::removed:
      for (const Part& part : parts)
        if (!part.match) put(part);
      break;
    case Behavior::merged_with_next:
    case Behavior::merged_with_previous: {
      const bool back = step.behavior == Behavior::merged_with_next;
      if (back) std::reverse(parts.begin(), parts.end());
      std::vector<Part> merged;
      bool after_match = false;
      for (const Part& part : parts) {
        if (part.match && !after_match && !merged.empty()) {
          (back ? merged.back().begin : merged.back().end) = back ? part.begin : part.end;
        } else {
          merged.push_back(part);
        }
        after_match = part.match;
      }
      if (back) std::reverse(merged.begin(), merged.end());
      for (const Part& part : merged) put(part);
      break;
    }
    case Behavior::contiguous:
      for (size_t i = 0; i < parts.size();) {
        Part run = parts[i];
        for (++i; i < parts.size() && parts[i].match == run.match; ++i) run.end = parts[i].end;
        put(run);
      }
      break;
  }
}

void PreTokenizer::cut(const ByteLevel& step, std::string_view piece, bool, Pieces& pieces) {
  if (step.add_prefix_space && !piece.starts_with(' '))
    piece = pieces.texts.emplace_back(concat(' ', piece));
  if (!step.pattern) return pieces.next.push_back(piece);
  for (const Part& part : parts_of(piece, step.pattern.get(), ""))
    pieces.next.push_back(piece.substr(part.begin, part.end - part.begin));
}

void PreTokenizer::cut(const Metaspace& step, std::string_view piece, bool first, Pieces& pieces) {
  std::string text(piece);
  replace_all(text, " ", step.replacement);
  if ((step.prepend == Metaspace::Prepend::always ||
       (step.prepend == Metaspace::Prepend::first && first)) &&
      !text.starts_with(step.replacement))
    text.insert(0, step.replacement);
  const std::string_view whole = pieces.texts.emplace_back(std::move(text));
  if (!step.split) return pieces.next.push_back(whole);
  size_t begin = 0;
  while (begin < whole.size()) {
    const size_t end =
        std::min(whole.find(step.replacement, begin + step.replacement.size()), whole.size());
    // A piece begins with the replacement, except the first.
    const size_t inside = whole.substr(begin).starts_with(step.replacement)
                              ? end
                              : std::min(whole.find(step.replacement, begin), whole.size());
    pieces.next.push_back(whole.substr(begin, inside - begin));
    begin = inside;
  }
}

void PreTokenizer::cut(const WhiteSpaceSplit&, std::string_view piece, bool, Pieces& pieces) {
  size_t begin = 0;
  for (size_t at = 0; at < piece.size();) {
    const size_t space = white_space_at_start(piece.substr(at));
    if (space == 0) {
      ++at;  // no byte inside a character begins white space
      continue;
    }
    if (at > begin) pieces.next.push_back(piece.substr(begin, at - begin));
    begin = at += space;
  }
  if (begin < piece.size()) pieces.next.push_back(piece.substr(begin));
}

void PreTokenizer::cut(const Digits& step, std::string_view piece, bool, Pieces& pieces) {
  static const SplitPattern one(R"(\p{N})"), several(R"(\p{N}+)");
  for (const Part& part : parts_of(piece, step.individual ? &one : &several, ""))
    pieces.next.push_back(piece.substr(part.begin, part.end - part.begin));
}

}  // namespace nine
