#include "data/ngram_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/error.h"
#include "core/quote.h"
#include "data/text.h"

namespace nine {
namespace {

constexpr uint32_t kUnlistedPlace = 0xffffffffu;
constexpr int64_t kMostNGrams = 0xfffffffe;  // of an order, because places have 32 bits
// Files round their numbers, so that a probability of 1, or sums of probabilities, may be above 1.
constexpr double kRoundedLogP = 0.01, kRoundedSum = 1.05;
constexpr int64_t kReservedNGrams = int64_t{1} << 20;  // whatever a file claims to have

// An n-gram while its order is read.
struct Entry {
  uint32_t history = 0, word = 0;
  float log_p = 0, backoff = 0;
  uint32_t line = 0;  // place in the section

  uint64_t key() const { return uint64_t{history} << 32 | word; }
};

std::string history_text(std::span<const std::string_view> words) {
  std::string text;
  for (const std::string_view word : words) text.append(text.empty() ? "" : " ").append(word);
  return text;
}

}  // namespace

class NGramModel::Reader {
 public:
  Reader(const std::string& path, NGramModel& model)
      : path_(path), reader_({path}), model_(model) {}

  void read() {
    read_counts();
    for (int order = 1; order <= static_cast<int>(counts_.size()); ++order) read_order(order);
    require(line_ == "\\end\\", place(), ": ", quote(line_), " stands in the place of \\end\\");
    while (next()) require(line_.empty(), place(), ": text follows \\end\\; a file has one model");
    model_.begin_ = model_.words_.find("<s>");
    model_.end_ = model_.words_.find("</s>");
    model_.unknown_ = model_.words_.find("<unk>");
    if (model_.unknown_ == kNone) model_.unknown_ = model_.words_.find("<UNK>");
    for (const auto& [id, word] : {std::pair(model_.begin_, "<s>"), {model_.end_, "</s>"}})
      require(id != kNone, path_, " has no unigram ", word,
              ": estimate the model from sentences with their beginnings and ends");
    double sum = 0;  // <s> is predicted nowhere, and some programs give it the probability 1
    for (size_t word = 0; word < model_.levels_[0].log_p.size(); ++word)
      if (static_cast<int32_t>(word) != model_.begin_)
        sum += std::pow(10, double{model_.levels_[0].log_p[word]});
    require(sum <= kRoundedSum, path_, ": the probabilities of the unigrams add up to ", sum,
            ", and not to 1: are their numbers logarithms to base 10?");
  }

 private:
  bool next() {
    if (!reader_.next_line(line_)) return false;
    ++number_;
    while (line_.ends_with(' ') || line_.ends_with('\t')) line_.remove_suffix(1);
    return true;
  }
  std::string place() const { return reader_.place(); }
  std::string place_of(int64_t line) const { return concat(path_, ", line ", line); }
  // Goes to the next line that is not empty. Error: the file ends.
  void next_text(const char* before) {
    do require(next(), path_, " ends before ", before, ": copy or create the file again");
    while (line_.empty());
  }

  void read_counts() {
    for (;;) {
      require(next(), path_, " has no line \\data\\, with which the counts of an ARPA file begin");
      require(!line_.starts_with("iARPA"), place(),
              ": this is IRSTLM's own format: convert it with `compile-lm --text=yes FILE "
              "FILE.arpa`");
      if (line_ == "\\data\\") break;
    }
    for (;;) {
      next_text("the n-grams");
      if (!line_.starts_with("ngram ")) break;
      const size_t equals = std::min(line_.find('='), line_.size());
      std::string_view order = line_.substr(6, equals - 6),
                       count = line_.substr(std::min(equals + 1, line_.size()));
      const auto trim = [](std::string_view& text) {
        while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
        while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
      };
      trim(order);
      trim(count);
      int64_t n = 0, ngrams = 0;
      require(parse_count(order, n) && parse_count(count, ngrams), place(), ": ", quote(line_),
              " is not 'ngram ORDER=COUNT'");
      require(n == std::ssize(counts_) + 1, place(), ": order ", n,
              " stands in the place of order ", counts_.size() + 1);
      require(n <= kMostOrder, place(), ": the order ", n, " is above ", kMostOrder,
              ", the largest that can be read");
      require(ngrams <= kMostNGrams, place(), ": ", ngrams, " n-grams are more than ", kMostNGrams,
              ", the most that an order may have");
      counts_.push_back(ngrams);
    }
    require(!counts_.empty(), place(),
            ": after \\data\\ come lines 'ngram ORDER=COUNT', but this is ", quote(line_));
  }

  void read_order(int order) {
    const bool highest = order == static_cast<int>(counts_.size());
    const std::string header = concat('\\', order, "-grams:");
    require(line_ == header, place(), ": ", quote(line_), " stands in the place of ", header);
    const int64_t listed = counts_[static_cast<size_t>(order) - 1];
    std::vector<Entry> entries;
    entries.reserve(static_cast<size_t>(std::min(listed, kReservedNGrams)));
    history_words_.clear();
    int64_t first_line = 0;
    for (;;) {
      require(next(), path_, " ends in ", header,
              " without \\end\\: copy or create the file again");
      if (line_.empty() && entries.empty() && listed > 0) continue;
      if (line_.empty() || line_.starts_with('\\')) {
        // A word may begin with a backslash, but a line of n-grams begins with a number.
        if (line_.empty()) next_text("\\end\\");
        break;
      }
      if (entries.empty()) first_line = number_;
      require(std::ssize(entries) < listed, place(), ": ", header, " has more than the ", listed,
              " n-grams that \\data\\ counts");
      entries.push_back(read_entry(order, highest));
      entries.back().line = static_cast<uint32_t>(entries.size() - 1);
    }
    require(std::ssize(entries) == listed, place(), ": ", header, " has ", entries.size(),
            " n-grams, but \\data\\ counts ", listed);
    require(order > 1 || listed > 0, path_, " has no unigrams");
    add_level(order, highest, entries, first_line);
  }

  Entry read_entry(int order, bool highest) {
    split_words(line_, fields_);
    const size_t words = static_cast<size_t>(order);
    require(fields_.size() == words + 1 || fields_.size() == words + 2, place(), ": a line of ",
            order, "-grams is 'log10-p ", order, order == 1 ? " word" : " words",
            highest ? "'" : " back-off', whose back-off may be missing", ", but this has ",
            fields_.size(), fields_.size() == 1 ? " field" : " fields");
    Entry entry;
    entry.log_p = number(fields_[0], "log10 p");
    require(entry.log_p <= 0, place(), ": log10 p is ", fields_[0],
            ", but the logarithm of a probability is not above 0");
    if (fields_.size() == words + 2) entry.backoff = number(fields_.back(), "back-off weight");
    require(!highest || entry.backoff == 0, place(),
            ": an n-gram of the highest order has the "
            "back-off weight ",
            fields_.back(), ", which nothing would use");
    const std::span<const std::string_view> ngram = std::span(fields_).subspan(1, words);
    if (order == 1) {
      require(ngram[0].find('\0') == std::string_view::npos, place(), ": a word has a NUL");
      const int32_t size = model_.words_.size(), id = model_.words_.add(ngram[0]);
      require(id == size, place(), ": the unigram ", quote(ngram[0]), " is listed in line ",
              number_ - (size - id), " already");
      entry.word = static_cast<uint32_t>(id);
      return entry;
    }
    entry.history = history(ngram.first(words - 1));
    entry.word = listed_word(ngram.back());
    return entry;
  }

  float number(std::string_view text, const char* what) const {
    double value = 0;
    require(parse_number(text, value) && std::isfinite(static_cast<float>(value)), place(), ": ",
            quote(text), " is not a finite ", what);
    return static_cast<float>(value);
  }

  uint32_t listed_word(std::string_view word) const {
    const int32_t id = model_.words_.find(word);
    require(id != kNone, place(), ": ", quote(word), " is no unigram of the file");
    return static_cast<uint32_t>(id);
  }

  // The place of a history in the level before. Neighbouring lines often have the same history.
  uint32_t history(std::span<const std::string_view> words) {
    const std::string text = history_text(words);
    if (text == history_words_) return history_;
    uint32_t place_of_words = listed_word(words[0]);
    for (size_t w = 1; w < words.size() && place_of_words != kUnlistedPlace; ++w)
      place_of_words =
          model_.extension(static_cast<int>(w) - 1, place_of_words, listed_word(words[w]));
    require(place_of_words != kUnlistedPlace, place(), ": the history ", quote(text), " is no ",
            words.size(), "-gram of the file");
    history_words_ = text;
    history_ = place_of_words;
    return history_;
  }

  // Sorts the n-grams of an order and makes them the model's next level.
  void add_level(int order, bool highest, std::vector<Entry>& entries, int64_t first_line) {
    const auto before = [](const Entry& a, const Entry& b) { return a.key() < b.key(); };
    if (order > 1 && !std::is_sorted(entries.begin(), entries.end(), before))
      std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
        return a.key() != b.key() ? a.key() < b.key() : a.line < b.line;
      });
    const auto twice = std::adjacent_find(
        entries.begin(), entries.end(),
        [&](const Entry& a, const Entry& b) { return order > 1 && a.key() == b.key(); });
    if (twice != entries.end())
      fail(place_of(first_line + (twice + 1)->line), ": this ", order, "-gram is listed in line ",
           first_line + twice->line, " already");
    Level level;
    level.log_p.reserve(entries.size());
    if (order > 1) level.words.reserve(entries.size());
    if (!highest) level.backoff.reserve(entries.size());
    for (const Entry& entry : entries) {
      level.log_p.push_back(entry.log_p);
      if (order > 1) level.words.push_back(entry.word);
      if (!highest) level.backoff.push_back(entry.backoff);
    }
    if (order > 1) {
      std::vector<uint32_t>& first = model_.levels_.back().first;
      first.reserve(model_.levels_.back().log_p.size() + 1);
      uint32_t at = 0;
      for (uint32_t history = 0; history <= model_.levels_.back().log_p.size(); ++history) {
        while (at < entries.size() && entries[at].history < history) ++at;
        first.push_back(at);
      }
    }
    model_.levels_.push_back(std::move(level));
  }

  std::string path_;
  TextReader reader_;
  NGramModel& model_;
  std::string_view line_;
  int64_t number_ = 0;
  std::vector<int64_t> counts_;
  std::vector<std::string_view> fields_;
  std::string history_words_;
  uint32_t history_ = 0;
};

NGramModel NGramModel::read(const std::string& path) {
  NGramModel model;
  model.path_ = path;
  Reader(path, model).read();
  return model;
}

int64_t NGramModel::count(int order) const {
  require(order >= 1 && order <= this->order(), "[NGramModel] there is no order ", order);
  return std::ssize(levels_[static_cast<size_t>(order) - 1].log_p);
}

size_t NGramModel::memory() const {
  size_t bytes = words_.memory();
  for (const Level& level : levels_)
    bytes += 4 * (level.words.capacity() + level.log_p.capacity() + level.backoff.capacity() +
                  level.first.capacity());
  return bytes;
}

int32_t NGramModel::id(std::string_view word) const {
  const int32_t id = words_.find(word);
  return id == kNone ? unknown_ : id;
}

// Returns the place in level + 1 of the n-gram at `place` of `level` with `word` behind it.
uint32_t NGramModel::extension(int level, uint32_t place, uint32_t word) const {
  const Level &own = levels_[static_cast<size_t>(level)],
              &next = levels_[static_cast<size_t>(level) + 1];
  const auto begin = next.words.begin() + own.first[place],
             end = next.words.begin() + own.first[place + 1];
  const auto found = std::lower_bound(begin, end, word);
  return found != end && *found == word ? static_cast<uint32_t>(found - next.words.begin())
                                        : kUnlistedPlace;
}

size_t NGramModel::State::hash() const {
  uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (int i = 0; i < size_; ++i) hash = (hash ^ places_[static_cast<size_t>(i)]) * 0x100000001b3u;
  return static_cast<size_t>(hash);
}

NGramModel::State NGramModel::sentence_begin() const {
  State state;
  if (order() > 1) {
    state.size_ = 1;
    state.places_[0] = static_cast<uint32_t>(begin_);
  }
  return state;
}

double NGramModel::advance(State& state, int32_t word) const {
  if (word == kNone) {
    state = {};
    return -std::numeric_limits<double>::infinity();
  }
  const auto id = static_cast<uint32_t>(word);
  State next;
  // From the longest history to the shortest: the first listed n-gram gives the probability, and
  // the longer histories without it their back-off weights.
  double log_p = 0;
  bool found = false;
  for (int h = state.size_; h >= 0; --h) {
    uint32_t place = id;  // of the last h words and the word, in level h
    if (h > 0) {
      const uint32_t history = state.places_[static_cast<size_t>(h) - 1];
      place = history == kUnlistedPlace ? kUnlistedPlace : extension(h - 1, history, id);
      if (place == kUnlistedPlace && history != kUnlistedPlace && !found)
        log_p += double{levels_[static_cast<size_t>(h) - 1].backoff[history]};
    }
    if (place != kUnlistedPlace && !found) {
      log_p += double{levels_[static_cast<size_t>(h)].log_p[place]};
      found = true;
    }
    if (h + 1 < order()) {
      next.places_[static_cast<size_t>(h)] = place;
      if (place != kUnlistedPlace) next.size_ = std::max(next.size_, h + 1);
    }
  }
  require(log_p < kRoundedLogP, path_, ": the word ", quote(words_.text(word)),
          " gets a log10 p of ", log_p, ", and the logarithm of a probability is not above 0: the ",
          "back-off weights of its histories are wrong; estimate the model again");
  for (size_t i = static_cast<size_t>(next.size_); i < next.places_.size(); ++i)
    next.places_[i] = 0;
  state = next;
  return log_p;
}

std::vector<double> NGramModel::score(std::string_view line) const {
  std::vector<double> log_p;
  State state = sentence_begin();
  for_each_word(line, [&](std::string_view word) {
    log_p.push_back(advance(state, id(word)) * std::numbers::ln10);
  });
  log_p.push_back(advance(state, end_) * std::numbers::ln10);
  return log_p;
}

}  // namespace nine
