#include "data/lattice.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <string_view>

#include "core/error.h"
#include "core/quote.h"
#include "data/n_best.h"
#include "data/text.h"

namespace nine {
namespace {

using Fields = std::vector<std::string_view>;

// A lattice as its file numbers the nodes.
struct RawLattice {
  std::string utterance;
  std::map<int64_t, double> nodes;  // number and time; NaN: no time
  struct Link {
    int64_t from, to;
    std::string word;
    double acoustic, language;
  };
  std::vector<Link> links;
  std::map<int64_t, std::pair<double, double>> ends;  // node: acoustic and language score
  std::optional<int64_t> start;
  LatticeScales scales;
};

double score_of_text(std::string_view text, const std::string& place) {
  double score = 0;
  if (parse_number(text, score)) return score;
  std::string_view number = text;
  if (number.starts_with('+')) number.remove_prefix(1);
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), score);
  require(error == std::errc{} && end == number.data() + number.size() && std::isinf(score), place,
          ": ", quote(text), " is not a score");
  return score;
}

int64_t number_of_text(std::string_view text, const char* what, const std::string& place) {
  int64_t number = 0;
  require(parse_count(text, number), place, ": ", quote(text), " is not the number of a ", what);
  return number;
}

std::string without_pronunciation(std::string_view word) {
  const size_t open = word.rfind('(');
  int64_t number = 0;
  if (word.ends_with(')') && open != std::string_view::npos && open > 0 &&
      parse_count(word.substr(open + 1, word.size() - open - 2), number))
    word = word.substr(0, open);
  return std::string(word);
}

// Orders the nodes so that links go forward. Error: a cycle.
std::vector<int32_t> topological_order(const std::vector<std::pair<int32_t, int32_t>>& links,
                                       int32_t nodes, const std::string& place) {
  std::vector<std::vector<int32_t>> next(static_cast<size_t>(nodes));
  std::vector<int32_t> waiting(static_cast<size_t>(nodes)), order;
  for (const auto& link : links) {
    next[static_cast<size_t>(link.first)].push_back(link.second);
    ++waiting[static_cast<size_t>(link.second)];
  }
  for (int32_t node = 0; node < nodes; ++node)
    if (waiting[static_cast<size_t>(node)] == 0) order.push_back(node);
  for (size_t at = 0; at < order.size(); ++at)
    for (const int32_t node : next[static_cast<size_t>(order[at])])
      if (--waiting[static_cast<size_t>(node)] == 0) order.push_back(node);
  require(std::ssize(order) == nodes, place,
          ": the links form a cycle, so that paths have no end: remove the cycle");
  return order;
}

// Marks what links lead to from the marked nodes, in the order of `links`.
void spread_marks(const std::vector<std::pair<int32_t, int32_t>>& links, std::vector<bool>& marks) {
  for (const auto& link : links)
    if (marks[static_cast<size_t>(link.first)]) marks[static_cast<size_t>(link.second)] = true;
}

bool possible(double acoustic, double language) {
  return acoustic > kLogZero && language > kLogZero;
}

Lattice finished(RawLattice raw, const LatticeOptions& options, const std::string& place) {
  // The nodes by their places in the file's order.
  std::map<int64_t, int32_t> places;
  for (const auto& node : raw.nodes)
    places.emplace(node.first, static_cast<int32_t>(places.size()));
  const auto count = static_cast<int32_t>(places.size());
  std::vector<std::pair<int32_t, int32_t>> links;
  std::vector<bool> entered(static_cast<size_t>(count)), left(static_cast<size_t>(count));
  for (const RawLattice::Link& link : raw.links) {
    for (const int64_t node : {link.from, link.to})
      require(places.contains(node), place, ": a link names the node ", node,
              ", which is not defined");
    links.emplace_back(places[link.from], places[link.to]);
    left[static_cast<size_t>(places[link.from])] = true;
    entered[static_cast<size_t>(places[link.to])] = true;
  }
  const std::vector<int32_t> order = topological_order(links, count, place);
  std::vector<int32_t> rank(static_cast<size_t>(count));
  for (int32_t i = 0; i < count; ++i) rank[static_cast<size_t>(order[static_cast<size_t>(i)])] = i;
  if (!raw.start) {
    for (const auto& node : places)
      if (!entered[static_cast<size_t>(node.second)]) {
        require(!raw.start, place, ": the nodes ", *raw.start, " and ", node.first,
                " are both without links to them; name the start with start=");
        raw.start = node.first;
      }
  }
  require(raw.start && places.contains(*raw.start), place, ": the lattice has no start");
  if (raw.ends.empty())
    for (const auto& node : places)
      if (!left[static_cast<size_t>(node.second)])
        raw.ends.emplace(node.first, std::pair(0.0, 0.0));

  // What is on a path from the start to an end.
  std::vector<std::pair<int32_t, int32_t>> forward, backward;
  for (const RawLattice::Link& link : raw.links)
    if (possible(link.acoustic, link.language))
      forward.emplace_back(rank[static_cast<size_t>(places[link.from])],
                           rank[static_cast<size_t>(places[link.to])]);
  std::sort(forward.begin(), forward.end());
  for (const auto& link : forward) backward.emplace_back(link.second, link.first);
  std::sort(backward.rbegin(), backward.rend());
  std::vector<bool> reached(static_cast<size_t>(count)), leads(static_cast<size_t>(count));
  reached[static_cast<size_t>(rank[static_cast<size_t>(places[*raw.start])])] = true;
  for (const auto& end : raw.ends) {
    require(places.contains(end.first), place, ": the end ", end.first, " is not a node");
    if (possible(end.second.first, end.second.second))
      leads[static_cast<size_t>(rank[static_cast<size_t>(places[end.first])])] = true;
  }
  spread_marks(forward, reached);
  spread_marks(backward, leads);

  Lattice lattice;
  lattice.utterance = std::move(raw.utterance);
  lattice.scales = raw.scales;
  std::vector<int32_t> number(static_cast<size_t>(count), -1);  // by rank
  for (int32_t r = 0; r < count; ++r)
    if (reached[static_cast<size_t>(r)] && leads[static_cast<size_t>(r)])
      number[static_cast<size_t>(r)] = lattice.nodes++;
  const auto number_of = [&](int64_t node) {
    return number[static_cast<size_t>(rank[static_cast<size_t>(places[node])])];
  };
  require(lattice.nodes > 0, place, ": no path leads from the start to an end");
  bool timed = true;
  std::vector<double> times(static_cast<size_t>(lattice.nodes));
  for (const auto& node : raw.nodes) {
    timed = timed && !std::isnan(node.second);
    if (number_of(node.first) >= 0) times[static_cast<size_t>(number_of(node.first))] = node.second;
  }
  if (timed) lattice.times = std::move(times);
  for (const RawLattice::Link& link : raw.links) {
    const int32_t from = number_of(link.from), to = number_of(link.to);
    if (from < 0 || to < 0 || !possible(link.acoustic, link.language)) {
      ++lattice.removed;
      continue;
    }
    const std::string word =
        options.drop_pronunciations ? without_pronunciation(link.word) : link.word;
    const bool none = is_no_word(link.word, options.format) || is_no_word(word, options.format);
    require(none || word.find_first_of(" \t") == std::string::npos, place, ": the word ",
            quote(word), " has a space, so that texts and lists would show two words: give each ",
            "word a link of its own, or join them by another character");
    lattice.links.push_back({.from = from,
                             .to = to,
                             .word = none ? -1 : lattice.words.add(word),
                             .acoustic = link.acoustic,
                             .language = link.language});
  }
  std::stable_sort(lattice.links.begin(), lattice.links.end(),
                   [](const LatticeLink& a, const LatticeLink& b) { return a.from < b.from; });
  for (const auto& end : raw.ends)
    if (number_of(end.first) >= 0 && possible(end.second.first, end.second.second))
      lattice.ends.push_back({.from = number_of(end.first),
                              .to = lattice.nodes,
                              .word = -1,
                              .acoustic = end.second.first,
                              .language = end.second.second});
  std::sort(lattice.ends.begin(), lattice.ends.end(),
            [](const LatticeLink& a, const LatticeLink& b) { return a.from < b.from; });
  return lattice;
}

// Returns the byte of "\303", as HTK and SRILM write bytes outside of ASCII; -1 for other text.
int octal_byte(std::string_view text) {
  if (text.size() < 4 || text[0] != '\\' || text[1] < '0' || text[1] > '3') return -1;
  int byte = 0;
  for (const char digit : text.substr(1, 3)) {
    if (digit < '0' || digit > '7') return -1;
    byte = 8 * byte + (digit - '0');
  }
  return byte;
}

// The fields KEY=VALUE of a line of SLF. A value in double quotes may have spaces; a backslash
// takes the special meaning from the next character.
std::vector<std::pair<std::string, std::string>> slf_fields(std::string_view line,
                                                            const std::string& place) {
  std::vector<std::pair<std::string, std::string>> fields;
  for (size_t at = 0;;) {
    while (at < line.size() && (line[at] == ' ' || line[at] == '\t')) ++at;
    if (at == line.size()) return fields;
    const size_t equals = line.find('=', at);
    require(equals != std::string_view::npos &&
                line.substr(at, equals - at).find_first_of(" \t") == std::string_view::npos &&
                equals > at,
            place, ": ", quote(line.substr(at)), " is not a field KEY=VALUE");
    std::string value;
    const std::string key(line.substr(at, equals - at));
    at = equals + 1;
    const bool quoted = at < line.size() && line[at] == '"';
    if (quoted) ++at;
    bool closed = !quoted;
    for (; at < line.size(); ++at) {
      if (const int byte = octal_byte(line.substr(at)); byte >= 0) {
        require(byte >= ' ' && byte != 0x7F, place, ": ", key, " has ", quote(line.substr(at, 4)),
                ", a control character, which no word has");
        value += static_cast<char>(byte);
        at += 3;
      } else if (line[at] == '\\' && at + 1 < line.size()) {
        value += line[++at];
      } else if (quoted ? line[at] == '"' : (line[at] == ' ' || line[at] == '\t')) {
        closed = true;
        ++at;
        break;
      } else {
        value += line[at];
      }
    }
    require(closed, place, ": the value of ", key, " has no second \"");
    require(find_invalid_utf8(value) == std::string_view::npos, place, ": ", key, "=", quote(value),
            " is not valid UTF-8: write the lattice from a dictionary in UTF-8");
    fields.emplace_back(key, value);
  }
}

// Reads a lattice in SLF.
class SlfReader {
 public:
  explicit SlfReader(const std::string& path) : path_(path), reader_({path}) {
    std::filesystem::path name = std::filesystem::path(path).filename();
    for (const char* ending : {".gz", ".zst", ".lat", ".slf", ".htk"})
      if (name.extension() == ending) name = name.stem();
    lattice_.utterance = name.string();
  }

  RawLattice read() {
    for (std::string_view line; reader_.next_line(line);) {
      place_ = reader_.place();
      if (line.starts_with('#') || line.find_first_not_of(" \t") == std::string_view::npos)
        continue;
      const auto fields = slf_fields(line, place_);
      const std::string& first = fields.front().first;
      if (first == "I") {
        read_node(fields);
      } else if (first == "J") {
        read_link(fields);
      } else {
        read_header(fields);
      }
    }
    require(nodes_ >= 0 && links_ >= 0, path_,
            " has no line 'N=NODES L=LINKS', as a lattice in SLF has");
    require(std::ssize(lattice_.nodes) == nodes_, path_, ": N=", nodes_, ", but the file has ",
            lattice_.nodes.size(), " nodes; copy or create the file again");
    require(std::ssize(lattice_.links) == links_, path_, ": L=", links_, ", but the file has ",
            lattice_.links.size(), " links; copy or create the file again");
    finish();
    return std::move(lattice_);
  }

 private:
  using Pairs = std::vector<std::pair<std::string, std::string>>;

  double number(const std::string& key, const std::string& value) const {
    double n = 0;
    require(parse_number(value, n), place_, ": ", key, "=", quote(value), " is not a number");
    return n;
  }

  void read_header(const Pairs& fields) {
    for (const auto& [key, value] : fields) {
      if (key == "N" || key == "NODES") nodes_ = number_of_text(value, "nodes", place_);
      if (key == "L" || key == "LINKS") links_ = number_of_text(value, "links", place_);
      if ((key == "UTTERANCE" || key == "U") && !value.empty()) lattice_.utterance = value;
      if (key == "start") lattice_.start = number_of_text(value, "node", place_);
      if (key == "end") end_ = number_of_text(value, "node", place_);
      if (key == "lmscale") lattice_.scales.language = number(key, value);
      if (key == "acscale") lattice_.scales.acoustic = number(key, value);
      if (key == "wdpenalty") lattice_.scales.word_penalty = number(key, value);
      if (key == "base") {
        base_ = number(key, value);
        require(base_ == 0 || (base_ > 0 && base_ != 1 && std::isfinite(std::log(base_))), place_,
                ": base=", quote(value), " is no base of logarithms");
      }
      require(key != "SUBLAT" && key != "S", place_, ": sublattices are not read; expand them");
    }
  }

  void read_node(const Pairs& fields) {
    const int64_t node = number_of_text(fields[0].second, "node", place_);
    double time = std::numeric_limits<double>::quiet_NaN();
    for (const auto& [key, value] : fields) {
      if (key == "t" || key == "time") time = number(key, value);
      if (key == "W" || key == "WORD") node_words_[node] = value;
      require(key != "L", place_, ": sublattices are not read; expand them");
    }
    require(lattice_.nodes.emplace(node, time).second, place_, ": the node ", node,
            " is defined already");
  }

  void read_link(const Pairs& fields) {
    const double certain = base_ == 0 ? 1 : 0;  // of a link without a score
    RawLattice::Link link{
        .from = -1, .to = -1, .word = {}, .acoustic = certain, .language = certain};
    const int64_t own = number_of_text(fields[0].second, "link", place_);
    require(link_numbers_.insert(own).second, place_, ": the link ", own, " is defined already");
    bool has_word = false;
    for (const auto& [key, value] : fields) {
      if (key == "S" || key == "START") link.from = number_of_text(value, "node", place_);
      if (key == "E" || key == "END") link.to = number_of_text(value, "node", place_);
      if (key == "W" || key == "WORD") {
        link.word = value;
        has_word = true;
      }
      if (key == "a" || key == "acoustic") link.acoustic = score_of_text(value, place_);
      if (key == "l" || key == "language") link.language = score_of_text(value, place_);
    }
    require(link.from >= 0 && link.to >= 0, place_, ": a link has a start S= and an end E=");
    require(link.acoustic < -kLogZero && link.language < -kLogZero, place_,
            ": the score is too large for the logarithm of a probability");
    lattice_.links.push_back(link);
    own_words_.push_back(has_word);
  }

  // Gives links the words of the nodes that they lead to, and scores natural logarithms.
  void finish() {
    const auto natural = [&](double score) {
      return base_ == 0 ? std::log(score) : score * std::log(base_);
    };
    for (size_t i = 0; i < lattice_.links.size(); ++i) {
      RawLattice::Link& link = lattice_.links[i];
      if (!own_words_[i])
        link.word = node_words_.contains(link.to) ? node_words_[link.to] : std::string("!NULL");
      if (base_ == 0)
        require(link.acoustic >= 0 && link.language >= 0, path_,
                ": base=0 says that scores are probabilities, but a link has a score below 0");
      if (base_ < 0) continue;
      link.acoustic = natural(link.acoustic);
      link.language = natural(link.language);
    }
    if (base_ > 0) lattice_.scales.word_penalty *= std::log(base_);
    if (end_) lattice_.ends.emplace(*end_, std::pair(0.0, 0.0));
    add_start_word();
  }

  // A word at the start node is on every path, before its first link.
  void add_start_word() {
    if (!lattice_.start) {
      std::set<int64_t> entered;
      for (const RawLattice::Link& link : lattice_.links) entered.insert(link.to);
      for (const auto& node : lattice_.nodes)
        if (!entered.contains(node.first) && !lattice_.start) {
          lattice_.start = node.first;
        } else if (!entered.contains(node.first)) {
          lattice_.start.reset();
          return;  // several starts, which is an error
        }
    }
    if (!lattice_.start || !node_words_.contains(*lattice_.start)) return;
    const std::string word = node_words_[*lattice_.start];
    if (is_no_word(word, LatticeFormat::slf)) return;
    const int64_t before = lattice_.nodes.empty() ? 0 : lattice_.nodes.rbegin()->first + 1;
    lattice_.nodes.emplace(before, lattice_.nodes[*lattice_.start]);
    lattice_.links.push_back({before, *lattice_.start, word, 0, 0});
    lattice_.start = before;
  }

  std::string path_, place_;
  TextReader reader_;
  RawLattice lattice_;
  int64_t nodes_ = -1, links_ = -1;
  double base_ = -1;  // -1: natural
  std::optional<int64_t> end_;
  std::map<int64_t, std::string> node_words_;
  std::vector<bool> own_words_;  // of each link: it has a word of its own
  std::set<int64_t> link_numbers_;
};

constexpr const char* kKaldiCosts = "'graph-cost,acoustic-cost,transition-ids'";

// True if a field is a word or the number of one, and not a weight as finite-state programs write.
bool is_label(std::string_view field) {
  double number = 0;
  int64_t count = 0;
  return !parse_number(field, number) || parse_count(field, count);
}

// Reads Kaldi's costs "graph,acoustic" or "graph,acoustic,transition-ids".
void read_kaldi_costs(std::string_view text, const std::string& place, double& acoustic,
                      double& language) {
  const size_t comma = text.find(',');
  require(comma != std::string_view::npos, place, ": ", quote(text), " is not ", kKaldiCosts);
  const size_t second = std::min(text.find(',', comma + 1), text.size());
  language = -score_of_text(text.substr(0, comma), place);
  acoustic = -score_of_text(text.substr(comma + 1, second - comma - 1), place);
  require(acoustic < -kLogZero && language < -kLogZero, place, ": ", quote(text),
          " is too small for a cost");
}

std::vector<Lattice> read_kaldi(const std::string& path, const LatticeOptions& options) {
  TextReader reader({path});
  std::vector<Lattice> lattices;
  std::set<std::string> names;
  std::optional<RawLattice> raw;
  std::string begin;
  Fields fields;
  const auto node = [&](std::string_view text, const std::string& place) {
    const int64_t number = number_of_text(text, "state", place);
    raw->nodes.emplace(number, std::numeric_limits<double>::quiet_NaN());
    if (!raw->start) raw->start = number;
    return number;
  };
  const auto finish = [&] {
    if (!raw) return;
    require(!raw->nodes.empty(), begin, ": the lattice of ", quote(raw->utterance), " is empty");
    require(!raw->ends.empty(), begin, ": the lattice of ", quote(raw->utterance),
            " has no final state");
    lattices.push_back(finished(std::move(*raw), options, begin));
    raw.reset();
  };
  for (std::string_view line; reader.next_line(line);) {
    split_words(line, fields);
    const std::string place = reader.place();
    if (fields.empty()) {
      finish();
    } else if (!raw) {
      require(fields.size() == 1, place,
              ": a lattice begins with a line with the name of its utterance alone, but this has ",
              fields.size(), " fields");
      raw.emplace();
      raw->utterance = std::string(fields[0]);
      require(names.insert(raw->utterance).second, place, ": the utterance ", quote(raw->utterance),
              " has a lattice already");
      begin = place;
    } else if (fields.size() <= 2) {
      const int64_t end = node(fields[0], place);
      double acoustic = 0, language = 0;
      if (fields.size() == 2) read_kaldi_costs(fields[1], place, acoustic, language);
      require(raw->ends.emplace(end, std::pair(acoustic, language)).second, place, ": the state ",
              end, " is final already");
    } else {
      require(fields.size() <= 5, place,
              ": a line is 'from to word costs' or 'state costs', but this "
              "has ",
              fields.size(), " fields");
      RawLattice::Link link{
          .from = node(fields[0], place), .to = 0, .word = {}, .acoustic = 0, .language = 0};
      link.to = node(fields[1], place);
      // A Lattice has transition-ids before the word; a line may lack costs of 0.
      const bool costs = fields.back().find(',') != std::string_view::npos && fields.size() > 3;
      const size_t labels = fields.size() - (costs ? 3 : 2);
      int64_t transition = 0;
      require(labels == 1 || (labels == 2 && parse_count(fields[2], transition) &&
                              (costs || is_label(fields[3]))),
              place, ": a line is 'from to word costs' or 'from to transition-id word costs', and ",
              "costs are ", kKaldiCosts, ", but this is ", quote(line));
      link.word = std::string(fields[fields.size() - (costs ? 2 : 1)]);
      if (costs) read_kaldi_costs(fields.back(), place, link.acoustic, link.language);
      raw->links.push_back(link);
    }
  }
  finish();
  require(!lattices.empty(), path, " has no lattice");
  return lattices;
}

}  // namespace

size_t Lattice::first_link(int32_t node) const {
  return static_cast<size_t>(
      std::lower_bound(links.begin(), links.end(), node,
                       [](const LatticeLink& link, int32_t n) { return link.from < n; }) -
      links.begin());
}

bool is_no_word(std::string_view label, LatticeFormat format) {
  static const std::set<std::string_view> labels{"!NULL",       "<eps>",     "<s>",    "</s>",
                                                 "!SENT_START", "!SENT_END", "!ENTER", "!EXIT",
                                                 "<sil>",       "<SIL>",     "-pau-"};
  const auto within = [&](std::string_view open, std::string_view close) {
    return label.size() > open.size() + close.size() && label.starts_with(open) &&
           label.ends_with(close);
  };
  return label.empty() || labels.contains(label) || within("[", "]") || within("++", "++") ||
         (format == LatticeFormat::kaldi && label == "0");
}

std::vector<Lattice> read_lattices(const std::string& path, const LatticeOptions& options) {
  if (options.format == LatticeFormat::kaldi) return read_kaldi(path, options);
  RawLattice raw = SlfReader(path).read();
  std::vector<Lattice> lattices;
  lattices.push_back(finished(std::move(raw), options, path));
  return lattices;
}

}  // namespace nine
