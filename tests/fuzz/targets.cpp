#include "tests/fuzz/targets.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>

#include "apps/cli/options.h"
#include "apps/nine_serve/api_error.h"
#include "apps/nine_serve/completion_request.h"
#include "apps/nine_serve/score_request.h"
#include "apps/nine_serve/translate_request.h"
#include "apps/training/compare_configs.h"
#include "apps/training/option_types.h"
#include "core/error.h"
#include "core/json.h"
#include "core/number_format.h"
#include "core/safetensors.h"
#include "data/bpe.h"
#include "data/lattice_paths.h"
#include "data/line_parts.h"
#include "data/n_best.h"
#include "data/n_best_sources.h"
#include "data/ngram_model.h"
#include "data/npz.h"
#include "data/text.h"
#include "data/tokenizers/byte_alphabet.h"
#include "data/tokenizers/normalizer.h"
#include "data/tokenizers/read_tokenizer.h"
#include "data/tokenizers/split_pattern.h"
#include "data/tokenizers/train_tokenizer.h"
#include "data/transcripts.h"
#include "data/vocabulary.h"
#include "kernels/expression/formula.h"
#include "kernels/expression/parse.h"
#include "kernels/expression/run.h"

namespace nine::tests {
namespace {

void demand(bool holds, const char* property) {
  if (!holds) throw std::logic_error(property);
}

// A file in memory, by its name: readers open paths. Files that are done with are used again, which
// makes hundreds of millions of inputs a matter of hours.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes = {}) {
    if (unused().empty()) unused().push_back(memfd_create("fuzz", 0));
    descriptor_ = unused().back();
    unused().pop_back();
    demand(descriptor_ >= 0 && ::ftruncate(descriptor_, 0) == 0 &&
               ::pwrite(descriptor_, bytes.data(), bytes.size(), 0) ==
                   static_cast<ssize_t>(bytes.size()),
           "no memory for a file");
  }
  ~MemoryFile() { unused().push_back(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  static std::vector<int>& unused() {
    static std::vector<int> descriptors;
    return descriptors;
  }
  int descriptor_;
};

// Whether `read` took its input without an Error. Other exceptions are passed on.
template <class Read>
bool accepted(Read&& read) {
  try {
    read();
    return true;
  } catch (const Error&) {
    return false;
  }
}

bool same_tensor(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && a.dtype() == b.dtype() &&
         (a.elements() == 0 ||
          std::memcmp(a.view().data, b.view().data, static_cast<size_t>(a.view().bytes())) == 0);
}

// Reads a dictionary, writes it as a model does, and reads it as the model's own: that reader takes
// each line as `word count`, where `read` may take a list of words like `2:` as Marian's.
void check_dictionary(const MemoryFile& in, const Specials& specials) {
  std::optional<Vocabulary> first;
  if (!accepted([&] { first = Vocabulary::read(in.path(), specials); })) return;
  const MemoryFile out(first->dict_text());
  const Vocabulary second = Vocabulary::read_saved(out.path(), specials);
  demand(second.dict_text() == first->dict_text() && second.size() == first->size(),
         "a dictionary comes back");
  for (int32_t i = 0; i < first->size(); ++i)
    demand(second.id(first->word(i)) == first->id(first->word(i)), "words keep their numbers");
}

// Whether words stand alone, with single spaces between them.
bool single_spaced(std::string_view text) {
  return text.find("  ") == std::string_view::npos && !text.starts_with(' ') &&
         !text.ends_with(' ');
}

void check_same(const NBestHypothesis& a, const NBestHypothesis& b, bool total) {
  demand(a.words == b.words && a.scores == b.scores && (!total || a.score == b.score),
         "a hypothesis comes back");
}

// Lists come back from the lines that tell of them, with their scores by name.
void check_written(const NBestFile& file) {
  for (const NBestFormat format :
       {NBestFormat::tsv, NBestFormat::srilm, NBestFormat::kaldi, NBestFormat::moses}) {
    std::string text;
    if (!accepted([&] { text = n_best_text(file, format); })) continue;  // not in this format
    const MemoryFile out(text);
    NBestOptions options{.format = format, .allow_empty = true};
    if (format != NBestFormat::srilm && file.scores.size() > 1) options.scores = file.scores;
    if (format == NBestFormat::moses && file.scores.size() > 1) options.scores = {"all"};
    if (format == NBestFormat::srilm && file.scores.size() > 1) options.scores = {"all"};
    const NBestFile again = read_n_best_file(out.path(), options);
    demand(again.lists.size() == file.lists.size(), "written lists come back");
    for (size_t l = 0; l < file.lists.size(); ++l) {
      demand(again.lists[l].utterance == file.lists[l].utterance &&
                 again.lists[l].hypotheses.size() == file.lists[l].hypotheses.size(),
             "written utterances come back");
      for (size_t k = 0; k < file.lists[l].hypotheses.size(); ++k)
        check_same(again.lists[l].hypotheses[k], file.lists[l].hypotheses[k],
                   format == NBestFormat::moses);
    }
  }
}

// Lists come back from the lines that tell of them. A byte-order mark and CRLF keep what a plain
// file would lose: U+FEFF before the first name, a carriage return after the last word.
void check_lists(const NBestFile& file) {
  std::string text = "\xEF\xBB\xBF";
  for (const NBestList& list : file.lists) {
    demand(!list.utterance.empty() && !list.hypotheses.empty(), "a list has a name and hypotheses");
    for (const NBestHypothesis& h : list.hypotheses) {
      demand(!std::isnan(h.score) && h.score < -kLogZero && single_spaced(h.words),
             "a hypothesis is score and words");
      demand(h.scores.empty() || h.scores.size() == file.scores.size(), "each name has a score");
      text += concat(list.utterance, '\t', shortest(h.score), '\t', h.words, "\r\n");
    }
  }
  const MemoryFile out(text);
  const std::vector<NBestList> again = read_n_best(out.path(), {.allow_empty = true});
  demand(again.size() == file.lists.size(), "lists come back");
  for (size_t l = 0; l < file.lists.size(); ++l) {
    demand(again[l].utterance == file.lists[l].utterance &&
               again[l].hypotheses.size() == file.lists[l].hypotheses.size(),
           "utterances come back");
    for (size_t k = 0; k < file.lists[l].hypotheses.size(); ++k)
      demand(again[l].hypotheses[k].score == file.lists[l].hypotheses[k].score &&
                 again[l].hypotheses[k].words == file.lists[l].hypotheses[k].words,
             "hypotheses come back");
  }
}

// ESPnet's texts and scores of each rank; NUL, which no text has, separates the files.
void check_espnet(std::string_view bytes) {
  std::vector<std::unique_ptr<MemoryFile>> files;
  for (const std::string_view part : lines::parts_of(bytes, std::string_view("\0", 1)))
    if (files.size() < 8) files.push_back(std::make_unique<MemoryFile>(part));
  std::vector<EspnetRank> ranks;
  for (size_t i = 0; i + 1 < files.size(); i += 2)
    ranks.push_back({files[i]->path(), files[i + 1]->path()});
  const NBestOptions options{.format = NBestFormat::espnet, .allow_empty = true};
  NBestFile file{.scores = {kOnlyScore}, .lists = {}};
  if (!accepted([&] {
        ListBuilder lists("fuzz", options);
        append_espnet_lists(ranks, options, lists);
        file.lists = lists.lists();
      }))
    return;
  check_lists(file);
  check_written(file);
}

void check_json(const Json& value) {
  const std::string text = json_text(value);
  demand(parse_json(text) == value, "JSON comes back");
  demand(json_text(parse_json(json_text(value, 2))) == text, "indented JSON says the same");
}

// A flag of every type.
struct Flags {
  bool flag = true;
  int number = 2;
  int64_t large = 512;
  uint64_t seed = 1;
  double rate = 0.1, any = 0;
  std::string choice = "adam", text;
  std::vector<std::string> files;
  std::array<double, 2> betas{0.9, 0.999};
  TrainingLength after{10, TrainingUnit::epochs};
  app::Options options{"program", "What it does."};

  Flags() {
    options.add("flag", flag, "a switch");
    options.add("number", number, "a bounded number").range(1, 64);
    options.add("large-number", large, "a large one").at_least(0);
    options.add("seed", seed, "not negative");
    options.add("rate", rate, "half open").range_from(0, 1);
    options.add("any", any, "any number");
    options.add("choice", choice, "one of two").choices({"adam", "sgd"});
    options.add("text", text, "any text");
    options.add("files", files, "many texts");
    options.add("betas", betas, "a pair").range_from(0, 1);
    options.add("after", after, "an amount");
  }
  Json read(const std::string& file) {
    std::ostringstream ignored;
    static_cast<void>(options.parse({"--config", file}, ignored));
    return options.to_json();
  }
};

// A tokenizer that was read encodes any text, with special tokens or without, and writes a
// tokenizer.json that reads as the same.
void check_tokenizer(const Tokenizer& tokenizer, std::string_view text) {
  for (bool special : {false, true})
    accepted([&] {  // a pattern may need too many steps
      const EncodeOptions options{.special_from_text = special, .add_special = special};
      const std::vector<int32_t> ids = tokenizer.encode(text, options);
      for (int32_t id : ids)
        demand(id >= 0 && id < tokenizer.size(), "an id is one of the tokenizer");
      tokenizer.decode(ids, special);
    });
  for (int32_t id = 0; id < tokenizer.size(); ++id) tokenizer.token_bytes(id);
  std::string json;
  if (accepted([&] { json = converted_json(tokenizer); }))
    demand(read_tokenizer_json(json, "written")->json() == json, "a tokenizer comes back");
  accepted([&] { tiktoken_text(tokenizer); });
}

constexpr std::string_view kTokenizerText = "abra cadabra\n  x12 \xC3\xA9\xFF<s> don't\xE2\x96\x81";

}  // namespace

void fuzz_safetensors(std::string_view bytes) {
  const MemoryFile in(bytes), out;
  Safetensors first;
  if (!accepted([&] { first = read_safetensors(in.path()); })) return;
  std::vector<NamedView> views;
  for (const auto& [name, tensor] : first.tensors) views.push_back({name, tensor.view()});
  write_safetensors(out.path(), views, first.metadata);
  const Safetensors second = read_safetensors(out.path());
  demand(second.metadata == first.metadata && second.tensors.size() == first.tensors.size(),
         "metadata and names come back");
  for (const auto& [name, tensor] : first.tensors)
    demand(same_tensor(tensor, second.at(name)), "tensors come back with the same bits");
}

void fuzz_npz(std::string_view bytes) {
  const MemoryFile in(bytes);
  Npz first;
  if (!accepted([&] { first = read_npz(in.path()); })) return;
  const Npz second = read_npz(in.path());
  demand(first.texts == second.texts && first.tensors.size() == second.tensors.size(),
         "texts and names come back");
  int64_t numbers = 0;
  for (const auto& [name, tensor] : first.tensors) {
    demand(same_tensor(tensor, second.tensors.at(name)), "arrays come back with the same bits");
    demand(!first.texts.contains(name), "a name is a text or an array");
    numbers += tensor.elements();
  }
  constexpr int64_t kMostPacked = 1040;  // deflate makes at most 1,032 bytes of one
  demand(numbers <= kMostPacked * (std::ssize(bytes) + 1), "a file does not hold more than it can");
}

void fuzz_dict(std::string_view bytes) {
  const MemoryFile in(bytes);
  check_dictionary(in, Specials::kLanguageModel);
  check_dictionary(in, Specials::kTranslation);
}

void fuzz_text(std::string_view bytes) {
  const MemoryFile in(bytes);
  WordCounts counts;
  const auto read = [&](TextReader& reader) {
    std::string all;
    std::vector<std::string_view> words;
    for (std::string_view line; reader.next_line(line); all += '\n') {
      demand(line.find_first_of(std::string_view("\n\0", 2)) == std::string_view::npos &&
                 find_invalid_utf8(line) == std::string_view::npos,
             "a line is one line of text");
      split_words(line, words);
      for (const std::string_view word : words)
        demand(!word.empty() && word.find_first_of(" \t") == std::string_view::npos,
               "a word is a word");
      counts.add_sentence(words);
      all += line;
    }
    return all;
  };
  std::string by_file, by_stream;
  const bool good = accepted([&] {
    TextReader reader(std::vector<std::string>{in.path()});
    by_file = read(reader);
  });
  std::istringstream stream{std::string(bytes)};
  const bool good_stream = accepted([&] {
    TextReader reader(stream, "standard input");
    by_stream = read(reader);
  });
  demand(bytes.empty() || good == good_stream, "a file and a stream are judged alike");
  if (!good) return;
  demand(by_file == by_stream, "a file and a stream have the same lines");
  accepted([&] { static_cast<void>(Vocabulary::build(counts, Specials::kLanguageModel)); });
}

// A formula that is read prints as one that is read again; its programs run.
void fuzz_expression(std::string_view bytes) {
  using namespace expression;
  constexpr Variables kAt = {0.8, 1.7, 2.1, 1.2, 0.5, 4};
  constexpr double kValues[kMaxParameters] = {1.5, 0.25, -2, 3, 1, 0.5, 7, 0};
  Parsed typed, again;
  if (!accepted([&] { typed = parse(bytes); })) return;
  const std::string text = to_text(typed.graph, typed.score, typed.parameters);
  if (accepted([&] { again = parse(text); }))
    demand(to_text(again.graph, again.score, again.parameters) == text,
           "a printed formula prints the same again");
  accepted([&] {
    std::array<double, kMaxParameters> fixed{};
    fixed.fill(std::numeric_limits<double>::quiet_NaN());
    const Formula formula(bytes, fixed);
    std::array<double, Operand::kConstants> constants{};
    formula.constants().compute(kAt[5], kValues, constants.data());
    const double* variables[kPairVariables];
    for (size_t v = 0; v < kPairVariables; ++v) variables[v] = &kAt[v];
    for (const expression::Program* p : {&formula.score(), &formula.slopes(), &formula.exact()}) {
      std::vector<double> registers(static_cast<size_t>(p->registers * kStrip));
      const Run<double> run(*p, constants.data(), variables, 1, registers.data());
      for (size_t k = 0; k < p->outputs.size(); ++k) static_cast<void>(run.output_at(k, 0));
    }
  });
}

void fuzz_config(std::string_view bytes) {
  const MemoryFile in(bytes);
  Json now;
  if (accepted([&] { now = Flags().read(in.path()); })) {
    const MemoryFile out(json_text(now, 2));
    demand(Flags().read(out.path()) == now, "what --dump-config prints is a --config");
  }
  const Flags flags;
  const Json stored = parse_json_object(bytes);
  if (!stored.is_object()) return;  // as RunDirectory::read_config
  app::compare_configs(stored, flags.options.to_json(), app::keys_free_on_resume(),
                       flags.options.defaults_json());
}

void fuzz_json(std::string_view bytes) {
  Json value;
  if (accepted([&] { value = parse_json(std::string(bytes)); })) check_json(value);
  demand(!parse_json_object(bytes).is_object() || value.is_object() || value.is_null(),
         "an object is JSON");
}

// Merges of any codes, applied to the codes' own text, leave the text when they are undone.
void fuzz_bpe(std::string_view bytes) {
  std::istringstream stream{std::string(bytes)};
  std::optional<BpeCodes> codes;
  if (!accepted([&] { codes = BpeCodes::read(stream, "codes"); })) return;
  std::string cut, whole;
  BpeCache cache;
  BpeSegmenter(*codes).segment(bytes, cut, cache);
  if (bytes.find(kBpeSeparator) != std::string_view::npos ||
      bytes.find("  ") != std::string_view::npos)
    return;
  undo_bpe(cut, whole);
  demand(whole == bytes, "words are whole again");
}

void fuzz_tokenizer_json(std::string_view bytes) {
  std::unique_ptr<Tokenizer> tokenizer;
  if (accepted([&] { tokenizer = read_tokenizer_json(std::string(bytes), "file"); }))
    check_tokenizer(*tokenizer, kTokenizerText);
}

void fuzz_tokenizer_merges(std::string_view bytes) {
  const size_t end = std::min(bytes.find('\0'), bytes.size());
  const std::string vocabulary(bytes.substr(0, end)),
      merges(bytes.substr(std::min(end + 1, bytes.size())));
  std::unique_ptr<Tokenizer> tokenizer;
  if (accepted([&] { tokenizer = read_vocabulary_and_merges(vocabulary, merges, "file"); }))
    check_tokenizer(*tokenizer, kTokenizerText);
}

// The bytes follow the 256 ranks of single bytes, which every file has.
void fuzz_tiktoken(std::string_view bytes) {
  static const std::string single = [] {
    std::string lines;
    for (int byte = 0; byte < 256; ++byte)
      lines += concat(base64(std::string(1, static_cast<char>(byte))), ' ', byte, '\n');
    return lines;
  }();
  std::unique_ptr<Tokenizer> tokenizer;
  accepted([&] { read_tiktoken(bytes, "file"); });
  if (accepted([&] { tokenizer = read_tiktoken(single + std::string(bytes), "file"); })) {
    const std::vector<int32_t> ids = tokenizer->encode(kTokenizerText);
    demand(tokenizer->decode(ids) == kTokenizerText, "a text comes back");
    demand(read_tiktoken(tiktoken_text(*tokenizer), "written")->encode(kTokenizerText) == ids,
           "ranks come back");
  }
}

void fuzz_sentencepiece(std::string_view bytes) {
  std::unique_ptr<Tokenizer> tokenizer;
  if (accepted([&] { tokenizer = read_sentencepiece(bytes, "file"); }))
    check_tokenizer(*tokenizer, kTokenizerText);
}

// A named split cuts as PCRE2 does; the group hides the name from Nine.
void check_split(Split split, std::string_view text) {
  const auto ends = [&](const SplitPattern& pattern) {
    std::vector<size_t> all;
    for_each_validity(text, [&](std::string_view part, bool valid) {
      if (valid) pattern.for_each(part, [&](size_t, size_t end) { all.push_back(end); });
    });
    return all;
  };
  const std::string pattern = pattern_of(split);
  static std::map<Split, std::pair<SplitPattern, SplitPattern>> made;
  const auto& [named, searched] =
      made.try_emplace(split, pattern, concat("(?:", pattern, ")")).first->second;
  demand(ends(named) == ends(searched), "a named split cuts as its pattern");
}

void fuzz_tokenizer_text(std::string_view bytes) {
  check_split(Split::gpt2, bytes);
  check_split(Split::gpt4, bytes);
  static const auto trained = [](Split split) {
    TokenizerTrainer trainer({.vocabulary_size = 280, .split = split, .form = {}});
    for (int i = 0; i < 3; ++i) trainer.add(kTokenizerText);
    return trainer.train();
  };
  static const std::unique_ptr<Tokenizer> tokenizers[] = {
      trained(Split::gpt2), trained(Split::gpt4), trained(Split::llama3)};
  for (const auto& tokenizer : tokenizers) {
    const std::vector<int32_t> ids = tokenizer->encode(bytes);
    demand(tokenizer->decode(ids) == bytes, "a text comes back");
    demand(std::find(ids.begin(), ids.end(), 0) == ids.end(), "no special token comes from text");
    demand(tokenizer->decode(tokenizer->encode(bytes, {.special_from_text = true}), true) == bytes,
           "a text with special tokens comes back");
  }
  std::string spelled = spell_bytes(bytes), back;
  demand(read_spelling(spelled, back) && back == bytes, "a spelling comes back");
  demand(read_base64(base64(bytes), back) && back == bytes, "base64 comes back");
  TokenizerTrainer trainer({.vocabulary_size = 300, .min_frequency = 1, .special_tokens = {}});
  trainer.add(bytes);
  const auto own = trainer.train();
  demand(own->decode(own->encode(bytes)) == bytes, "a text comes back from its own tokenizer");
  TokenizerTrainer bounded(
      {.vocabulary_size = 300, .min_frequency = 1, .special_tokens = {}, .memory = 1});
  bounded.add(bytes);
  demand(bounded.train()->json() == own->json(), "counts on disk give the same tokenizer");
}

void fuzz_n_best(std::string_view bytes) {
  const MemoryFile in(bytes);
  for (const NBestFormat format : {NBestFormat::tsv, NBestFormat::srilm, NBestFormat::kaldi,
                                   NBestFormat::moses, NBestFormat::fairseq, NBestFormat::whisper})
    for (const std::vector<std::string>& scores :
         std::vector<std::vector<std::string>>{{}, {"all"}, {"a", "b"}}) {
      NBestFile file;
      if (!accepted([&] {
            file = read_n_best_file(in.path(),
                                    {.format = format, .allow_empty = true, .scores = scores});
          }))
        continue;
      check_lists(file);
      check_written(file);
    }
  check_espnet(bytes);
  for (const TranscriptFormat format :
       {TranscriptFormat::tsv, TranscriptFormat::kaldi, TranscriptFormat::lines,
        TranscriptFormat::trn, TranscriptFormat::stm, TranscriptFormat::ctm,
        TranscriptFormat::fairseq})
    accepted([&] {
      for (const auto& [name, words] : read_transcripts(in.path(), format))
        demand(!name.empty() && single_spaced(words), "a transcript is a name and words");
    });
}

// A model that was read has a score for every word after every history, and forgets a history after
// as many words as its order has, less one.
void fuzz_ngram_model(std::string_view bytes) {
  const MemoryFile in(bytes);
  std::optional<NGramModel> model;
  if (!accepted([&] { model = NGramModel::read(in.path()); })) return;
  demand(model->find("<s>") == model->begin() && model->count(1) > 1, "a model has words");
  const auto words = static_cast<int32_t>(std::min<int64_t>(model->count(1), 40));
  for (int32_t word = 0; word < words; ++word) {
    demand(model->find(model->word(word)) == word, "words keep their numbers");
    NGramModel::State one, other = model->sentence_begin();
    for (int32_t step = 0; step < 2 * NGramModel::kMostOrder; ++step) {
      const int32_t next = (word + 7 * step) % words;
      double a = 0, b = 0;
      // Back-off weights may make a probability above 1.
      if (!accepted([&] {
            a = model->advance(one, next);
            b = model->advance(other, next);
          }))
        break;
      demand(!std::isnan(a) && !std::isinf(b), "a listed word has a score");
      demand(step + 1 < model->order() || (a == b && one == other), "a history is forgotten");
    }
  }
  std::vector<double> log_p;
  if (accepted([&] { log_p = model->score(bytes); }))
    for (const double x : log_p) demand(!std::isnan(x), "a text has scores");
}

// A lattice goes forward; its best word sequences are different and come best first.
void fuzz_lattice(std::string_view bytes) {
  const MemoryFile in(bytes);
  for (const LatticeFormat format : {LatticeFormat::slf, LatticeFormat::kaldi}) {
    std::vector<Lattice> lattices;
    if (!accepted([&] { lattices = read_lattices(in.path(), {.format = format}); })) continue;
    for (const Lattice& lattice : lattices) {
      demand(lattice.nodes > 0 && !lattice.ends.empty(), "a lattice has an end");
      for (const LatticeLink& link : lattice.links)
        demand(0 <= link.from && link.from < link.to && link.to < lattice.nodes &&
                   link.word < lattice.words.size(),
               "a link goes forward");
      std::vector<LatticePath> paths;
      if (!accepted([&] { paths = n_best_paths(lattice, lattice.scales, 20); })) continue;
      demand(!paths.empty(), "a lattice has a path");
      std::set<std::vector<int32_t>> seen;
      for (size_t p = 0; p < paths.size(); ++p)
        demand(
            seen.insert(paths[p].words).second &&
                (p == 0 || paths[p].score <= paths[p - 1].score + 1e-9 * std::fabs(paths[p].score)),
            "sequences are different and in order");
    }
  }
}

namespace {

// Whether a request is taken. Any other is an ApiError of status 400 that JSON holds.
bool request_taken(const std::function<void()>& parse) {
  try {
    parse();
    return true;
  } catch (const app::ApiError& e) {
    demand(e.status == 400 && !e.message.empty(), "a wrong request has a message");
    demand(parse_json_object(app::openai_error(e)).contains("error"), "an error is JSON");
    demand(parse_json_object(app::libretranslate_error(e)).contains("error"), "an error is JSON");
    return false;
  }
}

}  // namespace

void fuzz_request(std::string_view bytes) {
  const app::Limits limits;
  const std::string body(bytes);
  app::CompletionRequest completion;
  if (request_taken([&] { completion = app::parse_completion(body, limits); })) {
    demand(!completion.prompts.empty(), "there is a prompt");
    demand(std::ssize(completion.prompts) * completion.n <= limits.texts, "few texts");
    demand(completion.max_tokens >= 0 && completion.max_tokens <= limits.max_tokens, "few tokens");
    demand(completion.logprobs >= -1 && completion.logprobs <= limits.logprobs, "few log p");
    demand(completion.sampling.temperature >= 0 && completion.sampling.top_k >= 0 &&
               completion.sampling.top_p >= 0 && completion.sampling.top_p <= 1,
           "sampling that is possible");
    for (const std::string& stop : completion.stop) demand(!stop.empty(), "a stop text");
  }
  app::ScoreRequest score;
  if (request_taken([&] { score = app::parse_score(body, limits); }))
    demand(!score.texts.empty() && std::ssize(score.texts) <= limits.texts && score.top >= 0 &&
               score.top <= limits.logprobs,
           "few texts to score");
  app::RestrictRequest restricted;
  if (request_taken([&] { restricted = app::parse_restrict(body, limits); })) {
    demand(!restricted.texts.empty() && std::ssize(restricted.texts) <= limits.texts,
           "few texts to choose in");
    demand(!restricted.sets.empty(), "there is a set");
    for (const WordSet& set : restricted.sets)
      demand(set.words.size() >= 2 && set.counts.empty(), "a set has two words and no counts");
  }
  app::ExplainRequest explained;
  if (request_taken([&] { explained = app::parse_explain(body, limits); }))
    demand(explained.top >= 0 && explained.top <= limits.logprobs, "few words to explain");
  for (const char* type : {"application/json", "application/x-www-form-urlencoded"}) {
    app::TranslateRequest translation;
    if (!request_taken([&] { translation = app::parse_translate(body, type, limits); })) continue;
    demand(std::ssize(translation.q) <= limits.texts, "few texts");
    demand(translation.beam > translation.alternatives, "a beam that finds the alternatives");
  }
}

}  // namespace nine::tests
