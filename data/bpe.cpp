#include "data/bpe.h"

#include <algorithm>
#include <atomic>
#include <memory>

#include "core/error.h"
#include "core/notice.h"
#include "core/quote.h"
#include "data/bpe_text.h"
#include "data/text_in_parts.h"
#include "data/unicode.h"
#include "data/word_counts.h"
#include "data/word_list.h"

namespace nine {

namespace {

constexpr std::string_view kEndOfWord = "</w>";
constexpr auto kNoRank = static_cast<uint32_t>(PairTable::kNone);  // comes after all ranks

/// True if the end of a word is a separate symbol, by the first line of a file of codes.
bool separate_end_of(std::string_view line, const std::string& path) {
  const LineMargins margins(line);
  std::string_view version = line.substr(0, margins.end);
  version = version.substr(version.find_last_of(" :") + 1);
  while (version.ends_with(".0")) version.remove_suffix(2);
  require(version == "0.1" || version == "0.2", path, ": the codes have version ", quote(version),
          "; bpe reads versions 0.1 and 0.2");
  return version == "0.1";
}

// True if a line `left right` of codes without a version line could be a word and its count, as in
// a vocabulary.
bool looks_counted(std::string_view left, std::string_view right) {
  int64_t count = 0;
  return parse_count(right, count) && !parse_count(left, count);
}

/// Removes the third field of a line of fastBPE's codes, which is the count of the pair.
bool remove_frequency(std::string_view& line) {
  const LineMargins margins(line);
  const std::string_view text = line.substr(0, margins.end);
  const size_t space = text.rfind(' ');
  int64_t frequency = 0;
  std::string_view left, right;
  if (space == std::string_view::npos || !parse_count(text.substr(space + 1), frequency) ||
      !split_in_two(text.substr(0, space), left, right))
    return false;
  line = text.substr(0, space);
  return true;
}

/// Refuses merges of tokenizers that mark the space before a word by U+0120 or U+2581, because
/// these codes mark the end of a word by </w>.
void refuse_marked_spaces(const BpeCodes& codes, const std::string& path) {
  constexpr std::string_view kOfBytes = "\xC4\xA0", kSentencePiece = "\xE2\x96\x81";
  bool of_bytes = false, of_sentencepiece = false;
  for (const auto& [left, right] : codes.merges) {
    if (left.ends_with(kEndOfWord) || right.ends_with(kEndOfWord)) return;
    of_bytes = of_bytes || left.starts_with(kOfBytes);
    of_sentencepiece = of_sentencepiece || left.starts_with(kSentencePiece);
  }
  require(!of_bytes && !of_sentencepiece, path, " has merges of ",
          of_bytes ? "bytes, as Hugging Face's merges.txt" : "SentencePiece",
          ": a word begins with ", of_bytes ? kOfBytes : kSentencePiece,
          ", and no word ends with </w>. Cut the text with the tokenizer of these merges, or learn "
          "codes with bpe learn");
}

// Returns the first symbol x</w> that no merge made before; empty if there is none. In version 0.1
// a merge of x and </w> makes it; in version 0.2 words end with such symbols before any merge.
std::string unmade_end(const BpeCodes& codes) {
  constexpr std::string_view kEnd = "</w>";
  StringTable made;
  for (const auto& [left, right] : codes.merges) {
    if (right.ends_with(kEnd) && right != kEnd && made.find(right) == StringTable::kNone)
      return right;
    made.add(left + right);
  }
  return {};
}

BpeCodes codes_of(TextReader&& text, const std::string& path, int64_t most) {
  constexpr size_t kUsual = 10'000;  // merges to reserve memory for; small files have fewer
  BpeCodes codes;
  codes.merges.reserve(kUsual);
  codes.separate_end = true;
  std::string first_empty;  // place of the first empty line; only the end of the file may have
                            // empty lines
  bool first = true, has_version = false, of_fastbpe = false;
  bool may_count = true;  // the next line may be of fastBPE's codes, which name no version
  int64_t counted_lines = 0;
  require(
      !is_json(text.peek()), path,
      " is JSON, as Hugging Face's tokenizer.json, not codes: cut the text with that tokenizer, "
      "or learn codes with bpe learn");
  for (std::string_view line; text.next_line(line);) {
    const bool starts = std::exchange(first, false);
    if (starts && line.starts_with("#version:")) {
      codes.separate_end = separate_end_of(line, path);
      has_version = true;
      may_count = false;
      continue;
    }
    if (line.empty() && first_empty.empty()) first_empty = text.place();
    if (line.empty() || std::ssize(codes.merges) == most) continue;
    require(first_empty.empty(), first_empty,
            " is empty, but a merge is two symbols separated by a space");
    require(!line.starts_with("#version:") && line.find('\0') == std::string_view::npos,
            text.place(), ": ", quote(line),
            " is not a merge: are these two files of codes joined, or is the file damaged?");
    const std::string_view whole = line;
    const bool counted = (may_count || of_fastbpe) && remove_frequency(line);
    if (std::exchange(may_count, false)) of_fastbpe = counted;
    std::string_view left, right;
    if (of_fastbpe != counted || !split_in_two(line, left, right))
      fail(text.place(), ": ", quote(whole), " is not a merge: two symbols separated by a space",
           of_fastbpe ? ", and in codes of fastBPE, as here, also their count" : "");
    codes.merges.emplace_back(left, right);
    if (looks_counted(left, right)) ++counted_lines;
  }
  require(!first, path, " is empty: codes are merges of symbols, as bpe learn writes them");
  require(has_version || 2 * counted_lines <= std::ssize(codes.merges), path,
          " has no line '#version: 0.2', and most of its lines are a word and a number, as in a "
          "vocabulary: give merges, as bpe learn writes them");
  if (of_fastbpe) codes.separate_end = false;
  refuse_marked_spaces(codes, path);
  if (!has_version && codes.separate_end)
    if (const std::string symbol = unmade_end(codes); !symbol.empty())
      notice(concat("warning: ", path,
                    " has no line '#version: 0.2' and is read as codes of version ",
                    "0.1, but no merge makes the symbol ", quote(symbol),
                    ", as in codes of version 0.2: if they are, put the line before the merges"));
  return codes;
}

}  // namespace

BpeCodes BpeCodes::read(const std::string& path, int64_t most) {
  return codes_of(TextReader({path}, kCodesText), path, most);
}

BpeCodes BpeCodes::read(std::istream& in, const std::string& name, int64_t most) {
  return codes_of(TextReader(in, name, kCodesText), name, most);
}

int64_t count_joints(const WordCounts& words, std::string_view separator) {
  int64_t joints = 0;
  for (int32_t id = 0; id < words.words.size(); ++id)
    if (words.words.text(id).ends_with(separator)) joints += words.counts[static_cast<size_t>(id)];
  return joints;
}

StringTable read_bpe_vocabulary(const std::string& path, int64_t threshold,
                                std::string_view separator) {
  TextReader text({path}, kCodesText);
  WordCounts counts;
  StringTable kept;
  constexpr const char* kCounts =
      ": its numbers are ids, not counts; bpe vocab writes the counts of a text that is cut";
  require(!is_json(text.peek()), path, " is JSON, as Hugging Face's vocab.json", kCounts);
  read_bpe_counts(text, counts);
  std::vector<std::string> lines;
  for (int32_t id = 0; id < counts.words.size(); ++id)
    lines.push_back(concat(counts.words.text(id), ' ', counts.counts[static_cast<size_t>(id)]));
  const WordListKind kind = kind_of_list(lines);
  require(kind == WordListKind::dict, path, " is ", name_of(kind), kCounts);
  for (int32_t id = 0; id < counts.words.size(); ++id)
    if (counts.counts[static_cast<size_t>(id)] >= threshold) kept.add(counts.words.text(id));
  require(kept.size() > 0, path, " has no subword that occurs ", std::max<int64_t>(threshold, 1),
          " times or more: lower the threshold, or give another vocabulary");
  if (count_joints(counts, separator) == 0)
    notice(concat("warning: no subword of the vocabulary ", path, " ends with ", separator,
                  ", so that words outside of it are cut into characters; bpe vocab writes the ",
                  "vocabulary of a text that bpe apply has cut"));
  return kept;
}

BpeSegmenter::BpeSegmenter(const BpeCodes& codes, SegmentOptions options)
    : options_(std::move(options)), separate_end_(codes.separate_end) {
  for (const auto& [left, right] : codes.merges) {
    const int32_t first = symbols_.add(left), second = symbols_.add(right),
                  pair = pairs_.add(first, second);
    if (static_cast<size_t>(pair) == merged_.size()) merged_.push_back(symbols_.add(left + right));
  }
  for (size_t i = 0; i < ascii_[0].size(); ++i) {
    const std::string character(1, static_cast<char>(i));
    ascii_[false][i] = symbols_.find(character);
    ascii_[true][i] = symbols_.find(concat(character, kEndOfWord));
  }
  splits_.assign(static_cast<size_t>(symbols_.size()), PairTable::kNone);
  // If two pairs become the same symbol, the first pair counts.
  for (int32_t pair = pairs_.size(); pair-- > 0;)
    splits_[static_cast<size_t>(merged_[static_cast<size_t>(pair)])] = pair;
}

int32_t BpeSegmenter::symbol_of(std::string_view character, bool final) const {
  const auto ascii = static_cast<uint8_t>(character[0]);
  if (ascii < ascii_[final].size()) return ascii_[final][ascii];
  return symbols_.find(final ? concat(character, kEndOfWord) : std::string(character));
}

void BpeSegmenter::set_characters(std::string_view text, Nodes& nodes) const {
  nodes.clear();
  for (size_t at = 0; at < text.size();) {
    const std::string_view character = text.substr(at, utf8_length(text[at]));
    at += character.size();
    nodes.push_back({symbol_of(character, at == text.size() && !separate_end_), kNoRank,
                     static_cast<uint32_t>(at)});
  }
  if (separate_end_)
    nodes.push_back({symbols_.find(kEndOfWord), kNoRank, static_cast<uint32_t>(text.size())});
  for (size_t i = 1; i < nodes.size(); ++i) set_rank(nodes[i - 1], nodes[i]);
}

void BpeSegmenter::set_rank(Node& node, const Node& next) const {
  node.rank = node.symbol < 0 || next.symbol < 0
                  ? kNoRank
                  : static_cast<uint32_t>(pairs_.find(node.symbol, next.symbol));
}

void BpeSegmenter::merge(Scratch& scratch, BpeDropout* dropout) const {
  auto& [nodes, places] = scratch;
  while (nodes.size() > 1) {
    if (dropout) {
      find_best(nodes, *dropout, places);
    } else {
      find_best(nodes, places);
    }
    if (places.empty()) return;
    join(nodes, places);
  }
}

void BpeSegmenter::find_best(const Nodes& nodes, std::vector<size_t>& places) {
  uint32_t best = kNoRank;
  for (const Node& node : nodes) best = std::min(best, node.rank);
  places.clear();
  for (size_t i = 0; best != kNoRank && i < nodes.size(); ++i)
    if (nodes[i].rank == best) places.push_back(i);
}

void BpeSegmenter::find_best(const Nodes& nodes, BpeDropout& dropout, std::vector<size_t>& places) {
  uint32_t best = kNoRank;
  places.clear();
  for (size_t i = 0; i + 1 < nodes.size(); ++i) {
    // Draws a random number for each pair of neighbours, whether it can be merged or not, as
    // subword-nmt does, so that the results are the same.
    if (!(dropout.random.uniform() > dropout.rate)) continue;
    const uint32_t rank = nodes[i].rank;
    if (rank > best || rank == kNoRank) continue;
    if (rank < best) places.clear();
    best = rank;
    places.push_back(i);
  }
}

void BpeSegmenter::join(Nodes& nodes, const std::vector<size_t>& places) const {
  const int32_t merged = merged_[nodes[places[0]].rank];
  if (places.size() == 1) {  // nearly always the case
    const auto at = nodes.begin() + static_cast<std::ptrdiff_t>(places[0]);
    *at = {merged, kNoRank, at[1].end};
    nodes.erase(at + 1);
    if (at != nodes.begin()) set_rank(at[-1], *at);
    if (at + 1 != nodes.end()) set_rank(*at, at[1]);
    return;
  }
  size_t size = places[0], place = 0;
  bool new_before = false;
  for (size_t i = places[0]; i < nodes.size(); ++i, ++size) {
    while (place < places.size() && places[place] < i)
      ++place;  // overlaps the pair before, as in x x x
    const bool is_new = place < places.size() && places[place] == i;
    nodes[size] = is_new ? Node{merged, kNoRank, nodes[i + 1].end} : nodes[i];
    if (size > 0 && (is_new || new_before)) set_rank(nodes[size - 1], nodes[size]);
    new_before = is_new;
    if (is_new) ++i;
  }
  nodes.resize(size);
}

template <class Add>
void BpeSegmenter::cut(std::string_view text, BpeDropout* dropout, Scratch& scratch,
                       Add&& add) const {
  if (text.empty()) return;
  if (text.size() == utf8_length(text[0]) ||
      (!options_.glossaries.empty() && options_.glossaries.holds(text)))
    return add(text);
  const Nodes& nodes = scratch.nodes;
  set_characters(text, scratch.nodes);
  merge(scratch, dropout);
  Subwords subwords;
  size_t begin = 0;
  for (const Node& node : nodes) {
    const std::string_view subword = text.substr(begin, node.end - begin);
    begin = node.end;
    if (subword.empty()) continue;
    if (options_.vocabulary.size() == 0) {
      add(subword);
    } else {
      subwords.emplace_back(subword);
    }
  }
  for (const std::string& subword : in_vocabulary(subwords)) add(subword);
}

bool BpeSegmenter::may_use(const std::string& subword, bool final) const {
  return options_.vocabulary.find(final ? subword : subword + options_.separator) !=
         StringTable::kNone;
}

BpeSegmenter::Subwords BpeSegmenter::in_vocabulary(const Subwords& all) const {
  Subwords out;
  for (size_t i = 0; i < all.size(); ++i) {
    const bool final = i + 1 == all.size();
    if (may_use(all[i], final)) {
      out.push_back(all[i]);
    } else {
      split_again(all[i], final, out);
    }
  }
  return out;
}

void BpeSegmenter::split_again(const std::string& subword, bool final, Subwords& out) const {
  const int32_t symbol = symbols_.find(final ? concat(subword, kEndOfWord) : subword);
  const int32_t pair =
      symbol == StringTable::kNone ? PairTable::kNone : splits_[static_cast<size_t>(symbol)];
  if (pair == PairTable::kNone) return out.push_back(subword);
  const std::string left(symbols_.text(pairs_.first(pair)));
  std::string right(symbols_.text(pairs_.second(pair)));
  if (final) right.resize(right.size() - std::min(right.size(), kEndOfWord.size()));
  // If the text itself contains </w>, a merge may not be a split of this subword; subword-nmt then
  // loses text or does not end.
  if (left.size() + right.size() != subword.size()) return out.push_back(subword);
  const auto add = [&](const std::string& part, bool ends) {
    return may_use(part, ends) ? out.push_back(part) : split_again(part, ends, out);
  };
  add(left, false);
  add(right, final);
}

void BpeSegmenter::segment_word(std::string_view word, std::string& out,
                                BpeDropout* dropout) const {
  Scratch scratch;
  segment_word(word, out, dropout, scratch);
}

void BpeSegmenter::segment_word(std::string_view word, std::string& out, BpeDropout* dropout,
                                Scratch& scratch) const {
  bool first = true;
  const auto add = [&](std::string_view subword) {
    if (!first) (out += options_.separator) += ' ';
    first = false;
    out += subword;
  };
  if (options_.glossaries.empty()) return cut(word, dropout, scratch, add);
  for (const std::string& part : options_.glossaries.isolate(word))
    cut(part, dropout, scratch, add);
}

template <class Segment>
void BpeSegmenter::segment_lines(std::string_view block, std::string& out,
                                 Segment&& segment_one) const {
  for_each_line(block, [&](std::string_view line, std::string_view end) {
    const LineMargins margins(line);
    out += line.substr(0, margins.begin);
    bool first = true;
    for_each_bpe_word(line, [&](std::string_view word) {
      if (!first) out += ' ';
      first = false;
      segment_one(word);
    });
    out += line.substr(margins.end);
    out += end;
  });
}

void BpeSegmenter::segment(std::string_view block, std::string& out, BpeCache& cache) const {
  std::string subwords;
  Scratch scratch;
  segment_lines(block, out, [&](std::string_view word) {
    const int32_t id = cache.words.add(word);
    if (cache.lacks(id)) {
      subwords.clear();
      segment_word(word, subwords, nullptr, scratch);
      cache.add(subwords);
    }
    out += cache.subwords(id);
  });
}

void BpeSegmenter::segment(std::string_view block, std::string& out, BpeDropout& dropout) const {
  Scratch scratch;
  segment_lines(block, out,
                [&](std::string_view word) { segment_word(word, out, &dropout, scratch); });
}

void segment_text(const BpeSegmenter& segmenter, TextReader& text,
                  const std::function<void(std::string_view)>& write, int64_t* joints) {
  std::atomic<int64_t> found = 0;
  // Every cache has the same subwords for a word.
  const auto for_thread = [&]() -> ChangePart {
    return [&, cache = std::make_shared<BpeCache>()](std::string_view part, std::string& out) {
      if (joints != nullptr) found += count_joints(part, segmenter.options().separator);
      segmenter.segment(part, out, *cache);
    };
  };
  change_in_parts(text, for_thread, write);
  if (joints != nullptr) *joints += found;
}

int64_t count_joints(std::string_view block, std::string_view separator) {
  int64_t joints = 0;
  for (size_t at = block.find(separator); at != std::string_view::npos;) {
    at += separator.size();
    joints += at < block.size() && block[at] == ' ' ? 1 : 0;
    at = block.find(separator, at);
  }
  return joints;
}

std::string subword_warning(std::span<const std::string> a, std::string_view name_a,
                            std::span<const std::string> b, std::string_view name_b) {
  const auto parts = [](std::span<const std::string> lines) {
    int64_t count = 0;
    std::vector<std::string_view> words;
    for (const std::string& line : lines) {
      if (line.find(kBpeSeparator) == std::string::npos) continue;
      split_words(line, words);
      count += std::ranges::count_if(words, [](std::string_view word) {
        return word.size() > kBpeSeparator.size() && word.ends_with(kBpeSeparator);
      });
    }
    return count;
  };
  const int64_t in_a = parts(a), in_b = parts(b);
  if ((in_a == 0) == (in_b == 0)) return "";
  return concat(in_a > 0 ? name_a : name_b, " has ", in_a + in_b,
                in_a + in_b == 1 ? " word that ends" : " words that end", " in ", kBpeSeparator,
                ", parts of subwords, and ", in_a > 0 ? name_b : name_a,
                " has none: join the parts (bpe undo), or the words do not match");
}

void undo_bpe(std::string_view block, std::string& out, std::string_view separator) {
  require(!separator.empty(),
          "[undo_bpe] the separator is empty: subwords cannot be told from words");
  for_each_line(block, [&](std::string_view line, std::string_view line_end) {
    for (size_t at = line.find(separator); at != std::string_view::npos;
         at = line.find(separator)) {
      const size_t behind = at + separator.size();
      const bool ends = behind == line.size();
      if (!ends && line[behind] != ' ') {
        out += line.substr(0, at + 1);
        line.remove_prefix(at + 1);
        continue;
      }
      out += line.substr(0, at);
      line.remove_prefix(behind + (ends ? 0 : 1));
    }
    out += line;
    out += line_end;
  });
}

}  // namespace nine
