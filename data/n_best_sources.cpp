#include "data/n_best_sources.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

#include "core/json.h"
#include "core/notice.h"
#include "data/unpack.h"

namespace nine {
namespace {

using namespace lines;

void require_one_score(const NBestOptions& options) {
  require(options.scores.empty(), "--nbest-scores: lists of ", to_text(options.format),
          " have one score");
}

// Returns the name of an utterance from that of a file: "runs/1/u1.json.gz" and, as
// whisper-timestamped names it, "u1.wav.words.json" are of "u1".
std::string utterance_of(const std::string& path) {
  const std::string file = std::filesystem::path(path).filename().string();
  std::string_view name = unpacked_name(file);
  for (const std::string_view end : {".json", ".words", ".wav", ".flac", ".mp3", ".ogg", ".opus"})
    if (name.ends_with(end)) name.remove_suffix(end.size());
  return std::string(name);
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

// Error: a directory of ESPnet lacks a rank, and has a later one, whose hypotheses would be lost.
void require_no_more(const std::string& path, int rank) {
  constexpr std::string_view kEnd = "best_recog";
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    const std::string name = entry.path().filename().string();
    int64_t other = 0;
    require(!name.ends_with(kEnd) ||
                !parse_count(std::string_view(name).substr(0, name.size() - kEnd.size()), other) ||
                other < rank,
            path, " has ", name, ", but no ", rank, kEnd, ": copy or create the directory again");
  }
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
  require(text.find('\0') == std::string::npos, place, ": the key '", key, "' has a NUL");
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

// A piece of a text with its time, such as a word; `timed` is false if the file has no time of it.
struct TimedPart {
  std::string text;
  WordTime time;
  bool timed = false;
};

// Appends the elements of `words` of a segment. Whisper's and whisperX's have the key "word",
// whisper-timestamped's "text". whisperX leaves out the times of words that it cannot align.
void append_parts(const Json& words, const std::string& place, std::vector<TimedPart>& parts) {
  require(words.is_array(), place, ": ", unexpected_value("words", words, "an array"));
  for (const Json& word : words) {
    require(word.is_object(), place, ": ", unexpected_value("words", word, "objects"));
    const bool plain = word.contains("text") && !word.contains("word");
    TimedPart& part = parts.emplace_back();
    part.text = text_of(word, plain ? "text" : "word", place);
    part.timed = word.contains("start") && word.contains("end");
    if (!part.timed) continue;
    part.time = {number_of(word, "start", place), number_of(word, "end", place)};
    require(part.time.begin >= 0 && part.time.begin <= part.time.end, place, ": the word ",
            quote(part.text), " is from ", part.time.begin, " to ", part.time.end, " seconds");
  }
}

// Sets the times of a hypothesis's words. Whisper cuts a word such as "co-operate" into several
// parts, and programs differ in the spaces of the parts. So the time of a word is that of the parts
// with its characters. A hypothesis with a word that has no time has no times. Returns false if the
// parts are other words.
bool add_times(const std::vector<TimedPart>& parts, NBestHypothesis& h) {
  std::string spoken;           // without spaces
  std::vector<size_t> part_of;  // of each byte
  for (size_t i = 0; i < parts.size(); ++i)
    for_each_word(parts[i].text, [&](std::string_view piece) {
      spoken += piece;
      part_of.insert(part_of.end(), piece.size(), i);
    });
  std::string written = h.words;
  std::erase(written, ' ');
  if (spoken != written) return false;
  size_t at = 0;
  bool timed = true;
  for_each_word(h.words, [&](std::string_view word) {
    const TimedPart &first = parts[part_of[at]], &last = parts[part_of[at + word.size() - 1]];
    timed = timed && first.timed && last.timed;
    h.times.push_back({first.time.begin, std::max(first.time.end, last.time.end)});
    at += word.size();
  });
  if (!timed) h.times.clear();
  return true;
}

// Adds up avg_logprob. Whisper divides the log p of a window of 30 seconds by the number of its
// tokens and 1, for its end, and gives the quotient to each segment of the window.
class WindowSum {
 public:
  // `tokens`: the segment's number of tokens, or of words.
  void add(const Json& segment, double average, size_t tokens) {
    if (tokens == 0) return;  // a segment whose text was taken away
    const auto seek = segment.find("seek");
    const Json* const window = seek != segment.end() ? &*seek : nullptr;
    const bool goes_on =
        window != nullptr && window_ != nullptr && *window == *window_ && average == average_;
    window_ = window;
    average_ = average;
    sum_ += average * static_cast<double>(tokens + (goes_on ? 0 : 1));
  }
  double sum() const { return sum_; }

 private:
  const Json* window_ = nullptr;
  double average_ = 0, sum_ = 0;
};

// Reads hypotheses of Whisper's JSON.
class WhisperReader {
 public:
  struct Hypothesis {
    std::string utterance, place;
    NBestHypothesis hypothesis;
  };

  explicit WhisperReader(const NBestOptions& options) : options_(options) {}

  // Reads a file: an array, one object, or an object a line. A hypothesis without an utterance has
  // `name`; a file of one object always has a name, that of its file.
  void read(const std::string& path, std::string name = "") {
    const std::string text = read_whole(path);
    const auto begin = std::ranges::find_if_not(text, is_space);
    int64_t number = 0;
    if (begin != text.end() && *begin == '[') {
      const Json array = parsed(text, path);
      for (const Json& object : array) add(object, concat(path, ", hypothesis ", ++number), name);
      return;
    }
    // whisper-timestamped writes its one object in many lines.
    if (const Json object = parse_json_object(text); !object.is_null()) {
      if (name.empty()) name = utterance_of(path);
      add(object, path, name);
      return;
    }
    for (const std::string_view line : parts_of(text, "\n")) {
      ++number;
      if (std::ranges::all_of(line, is_space)) continue;
      const std::string place = concat(path, ", line ", number);
      add(parsed(std::string(line), place), place, name);
    }
  }
  // The hypotheses; those of an utterance follow each other.
  std::vector<Hypothesis>& grouped() {
    std::map<std::string, size_t> first;
    for (const Hypothesis& h : all_) first.emplace(h.utterance, first.size());
    std::ranges::stable_sort(all_, {}, [&](const Hypothesis& h) { return first.at(h.utterance); });
    return all_;
  }
  std::vector<Hypothesis>& hypotheses() { return all_; }
  // The number of hypotheses that have `words` other than their texts.
  int64_t other_words() const { return other_words_; }

 private:
  static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

  void add(const Json& object, const std::string& place, const std::string& name) {
    require(object.is_object(), place,
            ": a hypothesis is an object with the keys 'utterance' and 'segments'");
    Hypothesis all{.utterance = name, .place = place, .hypothesis = {}};
    if (name.empty() || object.contains("utterance"))
      all.utterance = text_of(object, "utterance", place);
    const auto segments = object.find("segments");
    require(segments != object.end() && segments->is_array(), place,
            ": a hypothesis has an array 'segments'");
    WindowSum log_p;
    std::string text;
    std::vector<TimedPart> parts;
    int64_t count = 0;
    for (const Json& segment : *segments) {
      const std::string own = concat(place, ", segment ", ++count);
      require(segment.is_object(), own, ": ", unexpected_value("segments", segment, "objects"));
      const std::string of_segment = text_of(segment, "text", own);
      const auto tokens = segment.find("tokens"), words = segment.find("words");
      require(tokens == segment.end() || tokens->is_array(), own, ": 'tokens' is not an array");
      log_p.add(segment, number_of(segment, "avg_logprob", own),
                tokens != segment.end() ? tokens->size() : words_of(of_segment).size());
      text.append(" ").append(of_segment);
      if (words != segment.end()) append_parts(*words, own, parts);
    }
    // A word may begin in one segment and end in the next.
    if (object.contains("text")) text = text_of(object, "text", place);
    all.hypothesis.words = joined_words(text);
    all.hypothesis.score = larger_is_better(log_p.sum(), options_.cost, place);
    if (!parts.empty() && !add_times(parts, all.hypothesis)) ++other_words_;
    all_.push_back(std::move(all));
  }

  const NBestOptions& options_;
  std::vector<Hypothesis> all_;
  int64_t other_words_ = 0;
};

// The files of lists in a directory and its folders, in the order of their names.
std::vector<std::string> json_files(const std::string& directory) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory))
    if (entry.is_regular_file() && unpacked_name(entry.path().string()).ends_with(".json"))
      files.push_back(entry.path().string());
  require(!files.empty(), directory, " has no file whose name ends with .json");
  std::ranges::sort(files);
  return files;
}

std::filesystem::path rank_folder(const std::filesystem::path& job, int rank) {
  return job / concat(rank, "best_recog");
}

// Returns the directories that have 1best_recog, 2best_recog, ...: the given one, or those of a
// recipe's jobs, output.1, output.2, ... in it. Recipes join only the best hypotheses of all jobs.
std::vector<std::filesystem::path> espnet_jobs(const std::string& path) {
  require(std::filesystem::is_directory(path), path,
          " is not a directory: give that with 1best_recog, 2best_recog, ...");
  if (std::filesystem::is_directory(rank_folder(path, 1))) return {path};
  std::map<int64_t, std::filesystem::path> jobs;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    const std::string name = entry.path().filename().string();
    int64_t job = 0;
    if (entry.is_directory() && name.starts_with("output.") && parse_count(name.substr(7), job))
      jobs.emplace(job, entry.path());
  }
  require(!jobs.empty(), path, " has neither 1best_recog nor output.1, output.2, ...");
  std::vector<std::filesystem::path> paths;
  for (const auto& job : jobs) paths.push_back(job.second);
  return paths;
}

// Returns the files of a job's 1best_recog, 2best_recog, ...
std::vector<EspnetRank> espnet_ranks(const std::filesystem::path& job) {
  std::vector<EspnetRank> ranks;
  for (int rank = 1;; ++rank) {
    const std::filesystem::path folder = rank_folder(job, rank);
    if (!std::filesystem::is_directory(folder)) {
      if (rank > 1) require_no_more(job.string(), rank);
      break;
    }
    ranks.push_back({file_of(folder / "text"), file_of(folder / "score")});
    require(!ranks.back().text.empty(), folder.string(), " has no text");
    require(!ranks.back().score.empty(), folder.string(), " has no score");
  }
  require(!ranks.empty(), job.string(), " has no 1best_recog");
  return ranks;
}

}  // namespace

void append_espnet_lists(std::span<const EspnetRank> ranks, const NBestOptions& options,
                         ListBuilder& lists) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<std::pair<NBestHypothesis, std::string>>> hypotheses;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    const auto& [text_file, score_file] = ranks[rank];
    std::map<std::string, std::pair<std::string, int64_t>> scores;
    for (const auto& [utterance, score] : read_named(score_file))
      scores[utterance] = {score, std::ssize(scores) + 1};
    int64_t line = 0;
    for (auto& [utterance, words] : read_named(text_file)) {
      const std::string place = concat(text_file, ", line ", ++line);
      const auto score = scores.find(utterance);
      require(score != scores.end(), place, ": ", score_file, " has no score of ",
              quote(utterance));
      if (rank == 0) order.push_back(utterance);
      auto& list = hypotheses[utterance];
      require(list.size() == rank, place, ": ", quote(utterance), " is not in ", rank,
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
  int64_t number = 0;
  for (const std::string& utterance : order)
    for (auto& [hypothesis, place] : hypotheses[utterance])
      lists.add(utterance, std::move(hypothesis), place, ++number);
}

NBestFile read_espnet(const std::string& path, const NBestOptions& options) {
  require_one_score(options);
  require(std::filesystem::is_directory(path), path,
          " is not a directory: give that with 1best_recog, 2best_recog, ...");
  const std::vector<std::filesystem::path> jobs = espnet_jobs(path);
  ListBuilder lists(path, options);
  for (const std::filesystem::path& job : jobs)
    append_espnet_lists(espnet_ranks(job), options, lists);
  return {{kOnlyScore}, lists.lists()};
}

NBestFile read_whisper(const std::string& path, const NBestOptions& options) {
  require_one_score(options);
  WhisperReader reader(options);
  const bool directory = std::filesystem::is_directory(path);
  if (directory)
    for (const std::string& file : json_files(path)) reader.read(file, utterance_of(file));
  else
    reader.read(path);
  ListBuilder lists(path, options);
  int64_t number = 0;
  // Each folder of a directory may have another hypothesis of an utterance.
  for (WhisperReader::Hypothesis& h : directory ? reader.grouped() : reader.hypotheses())
    lists.add(h.utterance, std::move(h.hypothesis), h.place, ++number);
  if (reader.other_words() > 0)
    notice(concat(path,
                  ": hypotheses without times, because their 'words' are not the words of "
                  "their texts: ",
                  reader.other_words(), " of ", number));
  return {{kOnlyScore}, lists.lists()};
}

}  // namespace nine
