#include "data/n_best_sources.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "core/json.h"
#include "data/unpack.h"

namespace nine {
namespace {

using namespace lines;

void require_one_score(const NBestOptions& options) {
  require(options.scores.empty(), "--nbest-scores: lists of ", to_text(options.format),
          " have one score");
}

// Returns the path, or the path with .gz, whichever is there; empty if neither is.
std::string file_of(const std::filesystem::path& file) {
  for (const char* end : {"", ".gz"})
    if (std::filesystem::exists(file.string() + end)) return file.string() + end;
  return "";
}

// Reads a file of `utterance text` lines in order.
std::vector<std::pair<std::string, std::string>> read_named(const std::string& path) {
  TextReader reader({path});
  std::vector<std::pair<std::string, std::string>> all;
  Names names;
  for (std::string_view line; reader.next_line(line);) {
    const Place place{reader, line};
    const size_t end = std::min(line.find_first_of(" \t"), line.size());
    require(end > 0, place, ": a line is 'utterance words', but this has no utterance");
    all.emplace_back(line.substr(0, end), joined_words(line.substr(end)));
    names.add(all.back().first, std::ssize(all), path, "an utterance has one line");
  }
  return all;
}

// Parses "-12.5", or PyTorch's "tensor(-12.5)" and "tensor(-12.5, device='cuda:0')".
double espnet_score(std::string_view text, const std::string& place) {
  std::string_view number = text;
  if (number.starts_with("tensor(") && number.ends_with(')')) {
    number = number.substr(7, number.size() - 8);
    number = number.substr(0, number.find(','));
  }
  double score = 0;
  if (number == "-inf") return -std::numeric_limits<double>::infinity();
  require(parse_number(number, score), place, ": ", quote(text), " is not a score");
  return score;
}

// Reads all of a file, which may be packed.
std::string read_whole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  require(file.good() && !std::filesystem::is_directory(path), "cannot read ", path);
  UnpackedStream unpacked(file, path);
  std::string text{std::istreambuf_iterator<char>(unpacked), std::istreambuf_iterator<char>()};
  require(!text.empty(), path, " is empty");
  const size_t bad = find_invalid_utf8(text);
  require(bad == std::string_view::npos, path, ": byte ", bad + 1, " is not valid UTF-8");
  return text;
}

Json parsed(const std::string& text, const std::string& place) {
  try {
    return parse_json(text);
  } catch (const Error& e) {
    fail(place, ": ", e.what());
  }
}

std::string text_of(const Json& object, const char* key, const std::string& place) {
  const auto found = object.find(key);
  require(found != object.end(), place, ": the key '", key, "' is missing");
  require(found->is_string(), place, ": ", unexpected_value(key, *found, "a text"));
  std::string text = found->get<std::string>();
  for (char& c : text)
    if (c == '\n' || c == '\r') c = ' ';
  return text;
}

double number_of(const Json& object, const char* key, const std::string& place) {
  const auto found = object.find(key);
  require(found != object.end(), place, ": the key '", key, "' is missing");
  require(found->is_number(), place, ": ", unexpected_value(key, *found, "a number"));
  return found->get<double>();
}

// Appends the words of a segment. Returns false if it has no times of its words.
bool append_times(const Json& segment, const std::string& text, const std::string& place,
                  std::vector<WordTime>& times) {
  const auto found = segment.find("words");
  if (found == segment.end()) return joined_words(text).empty();
  require(found->is_array(), place, ": ", unexpected_value("words", *found, "an array"));
  std::string spoken;
  for (const Json& word : *found) {
    require(word.is_object(), place, ": ", unexpected_value("words", word, "objects"));
    const std::string own = joined_words(text_of(word, "word", place));
    const WordTime time{number_of(word, "start", place), number_of(word, "end", place)};
    require(time.begin >= 0 && time.begin <= time.end, place, ": the word ", quote(own),
            " is from ", time.begin, " to ", time.end, " seconds");
    require(!own.empty() && own.find(' ') == std::string::npos, place, ": ", quote(own),
            " in 'words' is not one word");
    spoken += (spoken.empty() ? "" : " ") + own;
    times.push_back(time);
  }
  require(spoken == joined_words(text), place, ": the words of 'words', ", quote(spoken),
          ", are not those of 'text'");
  return true;
}

// Adds a hypothesis: its score is the sum over the segments of avg_logprob times the number of
// tokens, or of words where there are no tokens.
void add_whisper(const Json& object, const NBestOptions& options, const std::string& place,
                 int64_t number, ListBuilder& lists) {
  require(object.is_object(), place, ": ",
          "a hypothesis is an object with the keys 'utterance' and ", "'segments'");
  const std::string utterance = text_of(object, "utterance", place);
  const auto segments = object.find("segments");
  require(segments != object.end() && segments->is_array(), place,
          ": a hypothesis has an array 'segments'");
  NBestHypothesis h;
  bool timed = true;
  int64_t count = 0;
  for (const Json& segment : *segments) {
    const std::string own = concat(place, ", segment ", ++count);
    require(segment.is_object(), own, ": ", unexpected_value("segments", segment, "objects"));
    const std::string text = text_of(segment, "text", own);
    const std::string words = joined_words(text);
    const auto tokens = segment.find("tokens");
    require(tokens == segment.end() || tokens->is_array(), own, ": 'tokens' is not an array");
    const size_t units = tokens != segment.end() ? tokens->size() : words_of(words).size();
    h.score += number_of(segment, "avg_logprob", own) * static_cast<double>(units);
    if (!words.empty()) h.words += (h.words.empty() ? "" : " ") + words;
    timed = append_times(segment, text, own, h.times) && timed;
  }
  if (!timed) h.times.clear();
  h.score = larger_is_better(h.score, options.cost, place);
  lists.add(utterance, std::move(h), place, number);
}

}  // namespace

NBestFile read_espnet(const std::string& path, const NBestOptions& options) {
  require_one_score(options);
  require(std::filesystem::is_directory(path), path,
          " is not a directory: give that with 1best_recog, 2best_recog, ...");
  std::vector<std::string> order;
  std::map<std::string, std::vector<std::pair<NBestHypothesis, std::string>>> hypotheses;
  for (int rank = 1;; ++rank) {
    const std::filesystem::path folder = std::filesystem::path(path) / concat(rank, "best_recog");
    if (!std::filesystem::is_directory(folder)) {
      require(rank > 1, path, " has no 1best_recog");
      break;
    }
    const std::string text_file = file_of(folder / "text"), score_file = file_of(folder / "score");
    require(!text_file.empty(), folder.string(), " has no text");
    require(!score_file.empty(), folder.string(), " has no score");
    std::map<std::string, std::pair<std::string, int64_t>> scores;
    for (const auto& [utterance, score] : read_named(score_file))
      scores[utterance] = {score, std::ssize(scores) + 1};
    int64_t line = 0;
    for (auto& [utterance, words] : read_named(text_file)) {
      const std::string place = concat(text_file, ", line ", ++line);
      const auto score = scores.find(utterance);
      require(score != scores.end(), place, ": ", score_file, " has no score of ",
              quote(utterance));
      if (rank == 1) order.push_back(utterance);
      auto& list = hypotheses[utterance];
      require(std::ssize(list) == rank - 1, place, ": ", quote(utterance), " is not in ", rank - 1,
              "best_recog");
      list.emplace_back(
          NBestHypothesis{
              larger_is_better(espnet_score(score->second.first,
                                            concat(score_file, ", line ", score->second.second)),
                               options.cost, score_file),
              words},
          place);
      scores.erase(score);
    }
    require(scores.empty(), score_file, ": ", quote(scores.empty() ? "" : scores.begin()->first),
            " has a score, but ", text_file, " has no text of it");
  }
  ListBuilder lists(path, options);
  int64_t number = 0;
  for (const std::string& utterance : order)
    for (auto& [hypothesis, place] : hypotheses[utterance])
      lists.add(utterance, std::move(hypothesis), place, ++number);
  return {{kOnlyScore}, lists.lists()};
}

NBestFile read_whisper(const std::string& path, const NBestOptions& options) {
  require_one_score(options);
  const std::string text = read_whole(path);
  ListBuilder lists(path, options);
  int64_t number = 0;
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin != std::string::npos && text[begin] == '[') {
    const Json all = parsed(text, path);
    for (const Json& object : all) {
      ++number;
      add_whisper(object, options, concat(path, ", hypothesis ", number), number, lists);
    }
    return {{kOnlyScore}, lists.lists()};
  }
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::string place = concat(path, ", line ", number);
    add_whisper(parsed(line, place), options, place, number, lists);
  }
  return {{kOnlyScore}, lists.lists()};
}

}  // namespace nine
