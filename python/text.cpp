#include "text.h"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <new>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/enum_names.h"
#include "core/quote.h"
#include "core/threads.h"
#include "data/bpe.h"
#include "data/detokenize.h"
#include "data/measures/bleu.h"
#include "data/measures/list_warnings.h"
#include "data/measures/rescoring.h"
#include "data/measures/word_errors.h"
#include "data/n_best.h"
#include "data/spelled_specials.h"
#include "data/tokenize_13a.h"
#include "data/tokenizers/model_tokenizer.h"
#include "nn/models/known_words.h"
#include "nn/models/language_model.h"
#include "nn/models/language_network.h"
#include "nn/models/same_models.h"
#include "nn/models/sentence_scores.h"
#include "nn/models/translator.h"
#include "nn/models/word_surprisals.h"
#include "without_lock.h"

namespace nine_python {
namespace {

using namespace nb::literals;
using nine::concat;
using Lines = std::vector<std::string>;

template <class T>
using Numbers = nb::ndarray<nb::numpy, T>;

// An array of the shape `sizes` that owns the values.
template <class T>
Numbers<T> array_of(std::vector<T> values, std::initializer_list<size_t> sizes) {
  auto* kept = new std::vector<T>(std::move(values));
  const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return Numbers<T>(kept->data(), sizes, owner);
}
template <class T>
Numbers<T> array_of(std::vector<T> values) {
  const size_t size = values.size();
  return array_of(std::move(values), {size});
}

// Lists of numbers, as one array and the length of each list.
using Ragged = std::pair<Numbers<double>, Numbers<int64_t>>;
Ragged ragged(const std::vector<std::vector<double>>& lists) {
  std::vector<double> all;
  std::vector<int64_t> lengths;
  for (const std::vector<double>& list : lists) {
    all.insert(all.end(), list.begin(), list.end());
    lengths.push_back(std::ssize(list));
  }
  return {array_of(std::move(all)), array_of(std::move(lengths))};
}

void warn(const std::string& message) {
  if (PyErr_WarnEx(PyExc_UserWarning, message.c_str(), 2) != 0) throw nb::python_error();
}
// Returns a seed of any Python integer from 0 to 2^64 - 1.
uint64_t seed_of(const nb::int_& seed) {
  const uint64_t number = PyLong_AsUnsignedLongLong(seed.ptr());
  if (PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    throw nine::UsageError(concat("seed=", nb::str(seed).c_str(), ": a seed is from 0 to ",
                                  std::numeric_limits<uint64_t>::max()));
  }
  return number;
}
void warn_of_specials(const nine::SpelledSpecials& spelled, const std::string& text) {
  if (const std::string message = spelled.message(text); !message.empty()) warn(message);
}

// --- language models

nine::LanguageModel::Progress lines_done(Progress& progress) {
  if (!progress) return {};
  return [&progress](int64_t done, int64_t all) { progress(done, all); };
}

// What lm_score checks before it reads a text.
void check_text(const nine::LanguageModel& model, const Lines& lines, double most,
                const std::string& name) {
  const nine::TokenCounts counts =
      without_lock([&] { return nine::count_tokens(lines, model.vocabulary()); }, false);
  nine::require_known(counts, most, "the text", name);
  nine::SpelledSpecials spelled(nine::Specials::kLanguageModel);
  for (const std::string& line : lines) spelled.add_line(line);
  warn_of_specials(spelled, "the text");
}

Ragged score(const nine::LanguageModel& model, const Lines& lines, bool carry_state,
             int64_t batch_tokens, double undo_margin, nb::object progress) {
  Progress shown(std::move(progress));
  return ragged(without_lock([&] {
    return model.score(
        lines,
        {.carry_state = carry_state, .batch_tokens = batch_tokens, .undo_margin = undo_margin},
        lines_done(shown));
  }));
}

// Tokens of all lines: their number in each line, log p, rank, and the likeliest words with log p.
using Expectations = std::tuple<Numbers<int64_t>, Numbers<double>, Numbers<int64_t>,
                                Numbers<int32_t>, Numbers<double>>;
Expectations top_words(const nine::LanguageModel& model, const Lines& lines, int64_t count,
                       int64_t batch_tokens, nb::object progress) {
  Progress shown(std::move(progress));
  const std::vector<std::vector<nine::WordExpectation>> expected =
      without_lock([&] { return model.top_words(lines, count, batch_tokens, lines_done(shown)); });
  std::vector<int64_t> lengths, ranks;
  std::vector<double> log_p, top_log_p;
  std::vector<int32_t> top;
  for (const auto& line : expected) {
    lengths.push_back(std::ssize(line));
    for (const nine::WordExpectation& e : line) {
      log_p.push_back(e.log_p);
      ranks.push_back(e.rank);
      top.insert(top.end(), e.top.begin(), e.top.end());
      top_log_p.insert(top_log_p.end(), e.top_log_p.begin(), e.top_log_p.end());
    }
  }
  const size_t tokens = log_p.size(), columns = tokens > 0 ? top.size() / tokens : 0;
  return {array_of(std::move(lengths)), array_of(std::move(log_p)), array_of(std::move(ranks)),
          array_of(std::move(top), {tokens, columns}),
          array_of(std::move(top_log_p), {tokens, columns})};
}

// Texts for Python, whose texts are UTF-8.
Lines visible(Lines texts) {
  for (std::string& text : texts) text = nine::visible_text(text);
  return texts;
}

// The tokens of each text of a model of raw text, as its dictionary spells them.
std::vector<Lines> tokens_of(const nine::LanguageModel& model, const Lines& texts) {
  std::vector<Lines> out;
  for (const std::string& text : texts) {
    Lines& tokens = out.emplace_back();
    for (const int32_t id : model.tokenizer()->encode(text))
      tokens.push_back(model.vocabulary().word(id));
    if (tokens.empty()) tokens.emplace_back("</s>");
  }
  return out;
}

// The words of each text: places of their bytes, and surprisal.
std::vector<std::vector<std::tuple<int64_t, int64_t, double>>> word_surprisals(
    const nine::LanguageModel& model, const Lines& texts, int64_t batch_tokens) {
  const auto found =
      without_lock([&] { return nine::word_surprisals(model, texts, batch_tokens); });
  std::vector<std::vector<std::tuple<int64_t, int64_t, double>>> out;
  for (const auto& words : found) {
    out.emplace_back();
    for (const nine::WordSurprisal& word : words)
      out.back().emplace_back(word.begin, word.end, word.bits);
  }
  return out;
}

Lines words_of(const nine::Vocabulary& vocabulary) {
  Lines words;
  for (int32_t id = 0; id < vocabulary.size(); ++id) words.push_back(vocabulary.word(id));
  return words;
}

void add_language_model(nb::module_& m) {
  nb::class_<nine::LanguageModel>(m, "LanguageModel", "See nine.LanguageModel.")
      .def(
          "__init__",
          [](nine::LanguageModel* self, const std::string& path) {
            without_lock([&] {
              new (self) nine::LanguageModel(nine::LanguageModel::load(path));
              return true;
            });
          },
          "path"_a)
      .def("words", [](const nine::LanguageModel& self) { return words_of(self.vocabulary()); })
      .def_prop_ro("head",
                   [](const nine::LanguageModel& self) {
                     return self.network().head_config().spec.to_text();
                   })
      .def_prop_ro("raw",
                   [](const nine::LanguageModel& self) { return self.tokenizer() != nullptr; })
      .def("tokens", &tokens_of, "texts"_a)
      .def("word_surprisals", &word_surprisals, "texts"_a, "batch_tokens"_a)
      .def("check_text", &check_text, "lines"_a, "most"_a, "name"_a)
      .def("score", &score, "lines"_a, "carry_state"_a, "batch_tokens"_a, "undo_margin"_a,
           "progress"_a.none())
      .def("top_words", &top_words, "lines"_a, "count"_a, "batch_tokens"_a, "progress"_a.none())
      .def(
          "generate",
          [](const nine::LanguageModel& self, const Lines& prompts, int64_t max_words,
             int64_t samples, double temperature, int64_t top_k, double top_p, bool allow_unknown,
             int64_t batch, const nb::int_& seed, nb::object progress) {
            Progress shown(std::move(progress));
            const uint64_t seed_number = seed_of(seed);
            return visible(without_lock([&] {
              return self.generate(prompts,
                                   {.sampling = {.allow_unknown = allow_unknown,
                                                 .temperature = temperature,
                                                 .top_k = top_k,
                                                 .top_p = top_p},
                                    .max_words = max_words,
                                    .samples = samples,
                                    .batch = batch,
                                    .seed = seed_number},
                                   lines_done(shown));
            }));
          },
          "prompts"_a, "max_words"_a, "samples"_a, "temperature"_a, "top_k"_a, "top_p"_a,
          "allow_unknown"_a, "batch"_a, "seed"_a, "progress"_a.none());
}

// --- translation

using Ids = nine::BeamSearch::Ids;

// What mt_translate checks before it reads a text.
void check_ids(const std::vector<Ids>& lines, double most, const std::string& text,
               const std::string& model) {
  nine::SpelledSpecials spelled(nine::Specials::kTranslation);
  nine::TokenCounts counts{.tokens = std::ssize(lines)};
  for (const Ids& line : lines) {
    counts.tokens += std::ssize(line);
    counts.unknown += std::count(line.begin(), line.end(), nine::Specials::kTranslation.unknown);
    spelled.add(line);
  }
  nine::require_known(counts, most, text, model);
  warn_of_specials(spelled, text);
}

// A translation as Python takes it: text, words, log p, score, complete, log p of the words,
// attention (words, source words and </s>), alignment.
using Found = std::tuple<std::string, Lines, double, double, bool, Numbers<double>,
                         std::optional<Numbers<float>>, std::vector<int64_t>>;
Found found_of(const nine::Hypothesis& h, const nine::Translator& translator) {
  Lines words;
  for (const int32_t id : h.words) words.push_back(translator.target().word(id));
  std::optional<Numbers<float>> attention;
  const size_t rows = h.words.size();
  if (!h.attention.empty()) attention = array_of(h.attention, {rows, h.attention.size() / rows});
  return {translator.text(h.words),   std::move(words),     h.log_prob,        h.score, h.complete,
          array_of(h.word_log_probs), std::move(attention), nine::alignment(h)};
}

struct TranslatorText {
  std::string name;  // of the model, in messages
  double max_unknown = 0;
  bool skip_long = false;
};

std::vector<std::vector<Found>> translate(const nine::Translator& translator, const Lines& lines,
                                          const std::optional<Lines>& prefixes,
                                          const nine::SearchOptions& options,
                                          const TranslatorText& text, nb::object progress) {
  Progress shown(std::move(progress));
  Lines too_long;
  const std::vector<Ids> sources = without_lock(
      [&] {
        return translator.source_ids(lines, "the text to translate", 0,
                                     text.skip_long ? &too_long : nullptr);
      },
      false);
  for (const std::string& message : too_long) warn(message + "; its translation is empty here");
  check_ids(sources, text.max_unknown, "the text to translate", text.name);
  std::vector<Ids> begins;
  if (prefixes) {
    begins = translator.target_ids(*prefixes, "the prefixes");
    translator.check_prefixes(*prefixes, begins, "the prefixes", options.max_length,
                              options.sampling.allow_unknown);
    check_ids(begins, text.max_unknown, "the prefixes", text.name);
  }
  const std::vector<nine::Translation> all = without_lock([&] {
    nine::BeamSearch::Progress report;
    if (shown) report = [&](int64_t done) { shown(done, std::ssize(sources)); };
    return translator.search().translate(sources, options, report, begins);
  });
  std::vector<std::vector<Found>> found;
  for (const nine::Translation& translation : all) {
    found.emplace_back();
    for (const nine::Hypothesis& h : translation) found.back().push_back(found_of(h, translator));
  }
  return found;
}

void add_translator(nb::module_& m) {
  nb::class_<nine::SearchOptions>(m, "SearchOptions")
      .def(
          "__init__",
          [](nine::SearchOptions* self, int64_t beam, double length_penalty, bool count_end,
             int64_t max_length, int64_t n_best, bool allow_unknown, int64_t batch, bool attention,
             int64_t samples, double temperature, int64_t top_k, double top_p,
             const nb::int_& seed) {
            const int32_t unknown = nine::Specials::kTranslation.unknown;
            new (self) nine::SearchOptions{.beam = beam,
                                           .length_penalty = length_penalty,
                                           .count_end = count_end,
                                           .max_length = max_length,
                                           .n_best = n_best,
                                           .excluded = allow_unknown ? -1 : unknown,
                                           .batch = batch,
                                           .attention = attention,
                                           .samples = samples,
                                           .sampling = {.allow_unknown = allow_unknown,
                                                        .temperature = temperature,
                                                        .top_k = top_k,
                                                        .top_p = top_p,
                                                        .unknown = unknown},
                                           .seed = seed_of(seed)};
          },
          "beam"_a, "length_penalty"_a, "count_end"_a, "max_length"_a, "n_best"_a,
          "allow_unknown"_a, "batch"_a, "attention"_a, "samples"_a, "temperature"_a, "top_k"_a,
          "top_p"_a, "seed"_a);
  nb::class_<TranslatorText>(m, "TranslatorText")
      .def(
          "__init__",
          [](TranslatorText* self, std::string name, double max_unknown, bool skip_long) {
            new (self) TranslatorText{std::move(name), max_unknown, skip_long};
          },
          "name"_a, "max_unknown"_a, "skip_long"_a);
  nb::class_<nine::Translator>(m, "Translator", "See nine.Translator.")
      .def(
          "__init__",
          [](nine::Translator* self, const Lines& paths, const std::string& codes,
             const std::string& vocabulary, int64_t vocabulary_threshold, const Lines& glossaries,
             bool raw, bool join, const std::string& detokenize, const std::string& language) {
            const nine::DetokenizeOptions prose{
                .rules = nine::enum_from_text<nine::Detokenizing>(detokenize),
                .language = language};
            nine::check_language(language);
            without_lock([&] {
              new (self) nine::Translator(
                  nine::Translator::load(paths, {.codes = codes,
                                                 .vocabulary = vocabulary,
                                                 .vocabulary_threshold = vocabulary_threshold,
                                                 .glossaries = glossaries,
                                                 .raw = raw,
                                                 .join = join,
                                                 .detokenize = prose}));
              return true;
            });
          },
          "paths"_a, "codes"_a, "vocabulary"_a, "vocabulary_threshold"_a, "glossaries"_a, "raw"_a,
          "join"_a, "detokenize"_a, "language"_a)
      .def_prop_ro("reads_prose", [](const nine::Translator& self) { return self.reads_prose(); })
      .def("source_words", [](const nine::Translator& self) { return words_of(self.source()); })
      .def("target_words", [](const nine::Translator& self) { return words_of(self.target()); })
      .def("max_words", [](const nine::Translator& self) { return self.search().max_words(); })
      .def("translate", &translate, "lines"_a, "prefixes"_a.none(), "options"_a, "text"_a,
           "progress"_a.none())
      .def(
          "score",
          [](const nine::Translator& self, const Lines& sources, const Lines& targets,
             int64_t batch, const TranslatorText& text, nb::object progress) {
            Progress shown(std::move(progress));
            const auto [from, to] = without_lock(
                [&] {
                  return std::pair(self.source_ids(sources, "the sources"),
                                   self.target_ids(targets, "the translations"));
                },
                false);
            check_ids(from, text.max_unknown, "the sources", text.name);
            check_ids(to, text.max_unknown, "the translations", text.name);
            return ragged(without_lock([&, &given_from = from, &given_to = to] {
              nine::BeamSearch::Progress report;
              if (shown) report = [&](int64_t done) { shown(done, std::ssize(sources)); };
              return self.search().score(given_from, given_to, batch, report);
            }));
          },
          "sources"_a, "targets"_a, "batch"_a, "text"_a, "progress"_a.none());
}

// --- subwords

struct Tokenizer {
  nine::BpeSegmenter segmenter;
  bool raw;
};

// Lines that threads cut at once.
constexpr int64_t kLinesAtOnce = 4096;

Lines apply(const Tokenizer& tokenizer, const Lines& lines, double dropout, int64_t seed) {
  Lines out(lines.size());
  nine::BpeDropout random{.rate = dropout, .random = nine::PythonRandom(seed)};
  const auto cut = [&](size_t i, auto& how) {
    std::string block = tokenizer.raw ? nine::tokenize_13a(lines[i]) : lines[i];
    tokenizer.segmenter.segment(block, out[i], how);
  };
  without_lock(
      [&] {
        const auto all = static_cast<int64_t>(lines.size());
        const auto run = [&](int64_t begin, int64_t end, auto& how) {
          for (int64_t i = begin; i < end; ++i) cut(static_cast<size_t>(i), how);
        };
        if (dropout > 0) {
          for (int64_t begin = 0; begin < all; begin += kLinesAtOnce) {
            nine::check_interrupt();
            run(begin, std::min(all, begin + kLinesAtOnce), random);
          }
        } else {
          nine::parallel_ranges(all, kLinesAtOnce, [&](int64_t begin, int64_t end) {
            nine::check_interrupt();
            nine::BpeCache cache;
            run(begin, end, cache);
          });
        }
        return true;
      },
      false);
  return out;
}

void add_tokenizer(nb::module_& m) {
  nb::class_<Tokenizer>(m, "Tokenizer", "See nine.Tokenizer.")
      .def(
          "__init__",
          [](Tokenizer* self, const std::string& codes, const std::string& vocabulary,
             int64_t vocabulary_threshold, const Lines& glossaries, const std::string& separator,
             int64_t merges, bool raw) {
            nine::SegmentOptions options{.separator = separator,
                                         .glossaries = nine::Glossaries(glossaries)};
            if (!vocabulary.empty())
              options.vocabulary =
                  nine::read_bpe_vocabulary(vocabulary, vocabulary_threshold, separator);
            new (self) Tokenizer{
                nine::BpeSegmenter(nine::BpeCodes::read(codes, merges), std::move(options)), raw};
          },
          "codes"_a, "vocabulary"_a, "vocabulary_threshold"_a, "glossaries"_a, "separator"_a,
          "merges"_a, "raw"_a)
      .def("apply", &apply, "lines"_a, "dropout"_a, "seed"_a);
  m.def(
      "count_joints",
      [](const Lines& lines, const std::string& separator) {
        int64_t joints = 0;
        for (const std::string& line : lines) joints += nine::count_joints(line, separator);
        return joints;
      },
      "lines"_a, "separator"_a);
  m.def(
      "undo_bpe",
      [](const Lines& lines, const std::string& separator, const std::string& detokenize,
         const std::string& language) {
        const nine::DetokenizeOptions prose{
            .rules = nine::enum_from_text<nine::Detokenizing>(detokenize), .language = language};
        Lines out;
        for (const std::string& line : lines) {
          std::string joined;
          nine::undo_bpe(line, joined, separator);
          out.push_back(nine::detokenize(joined, prose));
        }
        return out;
      },
      "lines"_a, "separator"_a, "detokenize"_a, "language"_a);
}

// --- n-best lists

// The first-pass scores and the words of a list's hypotheses.
using Hypotheses = std::vector<std::pair<std::vector<double>, std::string>>;

// N-best lists with the scores of language models. `name` is theirs in messages.
struct NBestLists {
  std::string name;
  std::vector<nine::NBestList> lists;
  nine::SentenceScores model;
  std::vector<nine::ScoredList> scores;
};

double first_pass_score(double score, const std::string& list) {
  if (std::isnan(score) || score >= -nine::kLogZero)
    throw nb::value_error(
        concat(list, " has a hypothesis with the score ", score, ": not a score").c_str());
  return score <= nine::kLogZero ? -std::numeric_limits<double>::infinity() : score;
}

void score_lists(NBestLists& self, const Lines& models, const std::string& interpolate,
                 const std::vector<double>& weights, int64_t batch_tokens, double most,
                 nb::object progress) {
  Progress shown(std::move(progress));
  const nine::SentenceScoring how{
      .interpolation = nine::enum_from_text<nine::Interpolation>(interpolate),
      .weights = weights,
      .batch_tokens = batch_tokens};
  nine::SpelledSpecials spelled(nine::Specials::kLanguageModel);
  // Of each list the first pass's choice: other hypotheses may have words that nobody says.
  const Lines first = nine::chosen_texts(self.lists, nine::first_choices(self.lists));
  const Lines texts = nine::all_texts(self.lists);
  for (const std::string& text : texts) spelled.add_line(text);
  self.model = without_lock([&] {
    if (const std::string error = nine::same_models_error(models); !error.empty())
      throw nine::UsageError("the model " + error);
    nine::require_known(models, first, most, self.name + ", first pass");
    return nine::score_sentences_once(
        models, texts, how, [&](size_t model, int64_t done, int64_t all) {
          if (shown) shown(static_cast<int64_t>(model) * all + done, std::ssize(models) * all);
        });
  });
  warn_of_specials(spelled, self.name);
  if (const std::string message = nine::partly_known_warning(models, texts, self.name);
      !message.empty())
    warn(message);
  self.scores = nine::scored_lists(self.lists, self.model.log_p);
}

// What lm_rescore warns of. References that are not given are empty.
Lines warnings_of(const NBestLists& self, const Lines& references, const NBestLists* tuning,
                  const Lines& tuning_references) {
  const std::string advice =
      "are these costs, as Kaldi's? then change the sign of the scores: a larger score is better";
  const nine::NamedLists own{self.name, "references", self.lists, references};
  nine::NamedLists other;
  if (tuning != nullptr) other = {tuning->name, "tune[1]", tuning->lists, tuning_references};
  return nine::list_warnings(own, advice, tuning != nullptr ? &other : nullptr, advice);
}

void add_n_best(nb::module_& m) {
  nb::class_<nine::WordErrors>(m, "WordErrors", "The words and errors of utterances.")
      .def_ro("correct", &nine::WordErrors::correct)
      .def_ro("substitutions", &nine::WordErrors::substitutions)
      .def_ro("deletions", &nine::WordErrors::deletions)
      .def_ro("insertions", &nine::WordErrors::insertions)
      .def_prop_ro("words", &nine::WordErrors::words, "Words of the references.")
      .def_prop_ro("errors", &nine::WordErrors::errors)
      .def_prop_ro("rate", &nine::WordErrors::rate, "The word error rate, in percent.")
      .def("__repr__", [](const nine::WordErrors& e) {
        return concat("WordErrors(", e.errors(), " errors in ", e.words(), " words)");
      });
  m.def(
      "count_word_errors",
      [](const Lines& references, const Lines& hypotheses) {
        nine::WordErrors sum;
        for (size_t i = 0; i < references.size(); ++i)
          sum += nine::count_word_errors(references[i], hypotheses.at(i));
        return sum;
      },
      "references"_a, "hypotheses"_a);
  m.def(
      "bleu",
      [](const Lines& hypotheses, const Lines& references) {
        return nine::corpus_bleu(hypotheses, references, {.tokenizer = nine::BleuTokenizer::none})
            .score;
      },
      "hypotheses"_a, "references"_a);
  nb::class_<NBestLists>(m, "NBestLists")
      .def(
          "__init__",
          [](NBestLists* self, const std::vector<Hypotheses>& lists, std::string name) {
            NBestLists all{.name = std::move(name)};
            for (size_t i = 0; i < lists.size(); ++i) {
              nine::NBestList& list = all.lists.emplace_back();
              list.utterance = concat(all.name, "[", i, "]");
              for (const auto& [scores, words] : lists[i]) {
                nine::NBestHypothesis& h = list.hypotheses.emplace_back();
                h.words = words;
                for (const double score : scores)
                  h.scores.push_back(first_pass_score(score, list.utterance));
                for (const double score : h.scores) h.score += score;
                if (h.scores.size() == 1) h.scores.clear();
              }
            }
            new (self) NBestLists(std::move(all));
          },
          "lists"_a, "name"_a)
      .def("warnings", &warnings_of, "references"_a, "tuning"_a.none(), "tuning_references"_a,
           "What list_warnings() says.")
      .def("score", &score_lists, "models"_a, "interpolate"_a, "weights"_a, "batch_tokens"_a,
           "most"_a, "progress"_a.none())
      .def("first_choices", [](const NBestLists& self) { return nine::first_choices(self.lists); })
      .def("log_p", [](const NBestLists& self) { return array_of(self.model.log_p); })
      .def(
          "tune",
          [](const NBestLists& self, const Lines& references, const std::string& measure,
             bool together) {
            const nine::TunedWeights tuned = without_lock(
                [&] {
                  const auto of = nine::enum_from_text<nine::RescoringMeasure>(measure);
                  return together ? nine::tune_weights_together(self.lists, self.model.log_p,
                                                                references, of, {})
                                  : nine::tune_weights(self.lists, self.scores, references, of);
                },
                false);
            return std::tuple(tuned.lambda, tuned.mu, tuned.first,
                              nine::tuning_warning(tuned, self.name));
          },
          "references"_a, "measure"_a, "together"_a)
      .def(
          "weigh",
          [](NBestLists& self, const std::vector<double>& first) {
            self.scores = nine::scored_lists(self.lists, self.model.log_p, first);
          },
          "first"_a, "Replaces the first pass's score by the weighted sum of the scores.")
      .def(
          "choose",
          [](const NBestLists& self, double lambda, double mu) {
            const std::vector<size_t> chosen = nine::choose_hypotheses(self.scores, {lambda, mu});
            return array_of(std::vector<int64_t>(chosen.begin(), chosen.end()));
          },
          "lambda_"_a, "mu"_a)
      .def(
          "errors",
          [](const NBestLists& self, const Lines& references) {
            std::vector<int64_t> all;
            for (const auto& list : nine::hypothesis_errors(self.lists, references))
              all.insert(all.end(), list.begin(), list.end());
            return array_of(std::move(all));
          },
          "references"_a);
  m.def(
      "read_n_best",
      [](const std::string& path, const std::string& format, bool cost, bool allow_empty,
         const Lines& scores) {
        std::vector<std::pair<std::string, Hypotheses>> all;
        for (nine::NBestList& list :
             nine::read_n_best(path, {.format = nine::enum_from_text<nine::NBestFormat>(format),
                                     .cost = cost,
                                     .allow_empty = allow_empty,
                                     .scores = scores})) {
          all.emplace_back(std::move(list.utterance), Hypotheses());
          for (nine::NBestHypothesis& h : list.hypotheses) {
            if (h.scores.empty()) h.scores.push_back(h.score);
            all.back().second.emplace_back(std::move(h.scores), std::move(h.words));
          }
        }
        return all;
      },
      "path"_a, "format"_a, "cost"_a, "allow_empty"_a, "scores"_a);
}

}  // namespace

void add_text(nb::module_& m) {
  add_language_model(m);
  add_translator(m);
  add_tokenizer(m);
  add_n_best(m);
}

}  // namespace nine_python
