// mt_translate: translates text with a checkpoint, scores given translations, prints BLEU and chrF.
// Parses and calls; the parts are in apps/mt_translate/.
#include <algorithm>
#include <cstdio>
#include <tuple>

#include "apps/cli/line_input.h"
#include "apps/cli/machine.h"
#include "apps/cli/option_conflicts.h"
#include "apps/cli/progress.h"
#include "apps/cli/run_main.h"
#include "apps/cli/same_start.h"
#include "apps/cli/text_io.h"
#include "apps/cli/text_kind.h"
#include "apps/cli/version.h"
#include "apps/mt_translate/translate_options.h"
#include "apps/mt_translate/translate_text.h"
#include "core/quote.h"
#include "data/bpe.h"
#include "data/spelled_specials.h"
#include "data/text.h"
#include "nn/models/shared_search.h"
#include "nn/models/transformer.h"
#include "nn/models/translator.h"

namespace nine::app {
namespace {

using Lines = std::vector<std::string>;
// Batches that are translated together, sorted by length, before their lines are written.
constexpr int64_t kWindow = 64;

// Calls f(first, count, progress) with windows of the lines; of a single one no progress is shown.
template <class F>
void for_windows(size_t lines, int64_t batch, bool one, F&& f) {
  Progress progress("translate", "lines", {.silent = one || !first_process()});
  const auto all = static_cast<int64_t>(lines), window = kWindow * batch;
  for (int64_t first = 0; first < all; first += window) {
    const auto count = std::min(window, all - first);
    f(static_cast<size_t>(first), static_cast<size_t>(count),
      [&](int64_t done) { progress.update(first + done, all); });
  }
  progress.finish();
}

// What an input shows: the share of tokens that the model does not know, and the words that are
// spelled as specials.
class InputNotes {
 public:
  InputNotes(std::string name, int32_t unknown_id, std::string whose = "the input's")
      : name_(std::move(name)), whose_(std::move(whose)), unknown_id_(unknown_id) {}
  void add(const std::vector<BeamSearch::Ids>& lines) {
    for (const BeamSearch::Ids& line : lines) {
      ++lines_;
      tokens_ += std::ssize(line);
      unknown_ += std::count(line.begin(), line.end(), unknown_id_);
      spelled_.add(line);
    }
  }
  // Throws where the model's dictionary does not fit the text.
  void require_known(const TranslateOptions& o) const {
    nine::require_known(
        {tokens_ + lines_, unknown_}, o.max_unknown, name_,
        concat(o.model_name(), o.codes.empty() ? " (--codes cuts words into subwords)" : ""));
  }
  void report() const {
    if (unknown_ > 0)
      std::fprintf(stderr,
                   "%.2f%% of %s tokens are unknown to the model (is the input cut as its "
                   "training text was?)\n",
                   100.0 * static_cast<double>(unknown_) / static_cast<double>(tokens_ + lines_),
                   whose_.c_str());
    say_spelled_specials(spelled_, name_, "mt_translate");
  }

 private:
  std::string name_, whose_;
  int32_t unknown_id_;
  // Each line's </s> counts as a token, too.
  int64_t lines_ = 0, tokens_ = 0, unknown_ = 0;
  SpelledSpecials spelled_{Specials::kTranslation};
};

// The files that are written beside the translations.
class SideFiles {
 public:
  SideFiles(const TranslateOptions& o, Communicator& communicator) {
    const auto open = [&](std::optional<TextOutput>& file, const std::string& path) {
      if (!path.empty()) file.emplace(output_of(path, communicator));
    };
    open(attention_, o.attention);
    open(alignment_, o.alignment);
    open(word_scores_, o.word_scores);
    open(token_pairs_, o.token_pairs);
  }
  void write(std::span<const Translation> found, std::span<const BeamSearch::Ids> sources,
             const Translator& translator, const TranslationFormat& format) {
    if (attention_) write_attention(found, sources, translator, format, attention_->stream());
    if (alignment_) write_alignment(found, format, alignment_->stream());
    if (word_scores_) write_word_scores(found, format, word_scores_->stream());
    if (token_pairs_) write_token_pairs(found, sources, translator, format, token_pairs_->stream());
    each([](TextOutput& file) { file.flush(); });
  }
  void finish() {
    each([](TextOutput& file) { file.finish(); });
  }

 private:
  template <class F>
  void each(F&& f) {
    for (std::optional<TextOutput>* file : {&attention_, &alignment_, &word_scores_, &token_pairs_})
      if (*file) f(**file);
  }
  std::optional<TextOutput> attention_, alignment_, word_scores_, token_pairs_;
};

// Returns how many words of the lines end with a separator, as subwords do.
int64_t joints_in(const Lines& lines) {
  int64_t joints = 0;
  for (const std::string& line : lines) joints += count_joints(line + " ", kBpeSeparator);
  return joints;
}

// The prefixes of the translations, line by line of the input.
class Prefixes {
 public:
  Prefixes(const TranslateOptions& o, const Translator& translator, Communicator& communicator)
      : name_(o.prefix) {
    if (name_.empty()) return;
    const Lines lines = read_lines(name_, communicator);
    if (o.codes.empty() || joints_in(lines) == 0) {
      require(o.vocabulary.empty(), name_, " is text of the target language, and --vocabulary is ",
              "of the source language: give prefixes that bpe apply has cut with the target's ",
              "vocabulary");
      ids_ = translator.target_ids(lines, name_);
    } else {
      if (communicator.first())
        std::fprintf(stderr,
                     "mt_translate: %s is cut into subwords already, so --codes does not "
                     "cut it\n",
                     name_.c_str());
      for (const std::string& line : lines) ids_.push_back(translator.target().encode(line));
    }
    if (communicator.first()) warn_of_other_kind(lines, name_);
    translator.check_prefixes(lines, ids_, name_, o.max_length, o.sampling.allow_unknown);
    InputNotes notes(name_, translator.target_unknown(), "the prefixes'");
    notes.add(ids_);
    notes.require_known(o);
    if (communicator.first()) notes.report();
  }
  // Throws unless there are as many prefixes as lines; before all lines are known, as many at
  // least.
  void check(int64_t lines, bool all) const {
    if (name_.empty()) return;
    require(lines == std::ssize(ids_) || (!all && lines < std::ssize(ids_)), "the input has ",
            lines, " lines", all ? "" : " and more", ", but ", name_, " has ", ids_.size(),
            ": each source needs the prefix of its translation on the same line, an empty one too");
  }
  std::span<const BeamSearch::Ids> of(int64_t first, size_t count) const {
    if (name_.empty()) return {};
    return std::span(ids_).subspan(static_cast<size_t>(first), count);
  }

 private:
  std::string name_;
  std::vector<BeamSearch::Ids> ids_;
};

void translate(const TranslateOptions& o, const Options& options, Device device,
               Communicator& communicator) {
  const bool flush = flushes(options, o.flush, o.input == "-", communicator);
  const Translator translator = Translator::load(o.checkpoint, o.segmentation(), device);
  const int64_t positions = translator.search().max_words() + 1;
  require_usage(o.max_length <= positions || !options.was_set("max-length"), "--max-length ",
                o.max_length, ": ", o.model_name(), " has positions for ", positions,
                " words; give at most ", positions);
  int64_t cut = 0;  // translations that the positions ended
  const BeamSearch& search = translator.search();
  const std::string name = input_name(o.input);
  LineInput text(o.input, flush, communicator);
  // Read first, so that a wrong file is an error before the translation, not after it.
  const bool scores = o.score && communicator.first();
  const Lines references = scores ? read_lines(o.reference) : Lines();
  const auto check_references = [&] {
    if (!scores) return;
    require(!references.empty(), o.reference, " has no lines: there is nothing to score");
    require_references(o.reference, references.size(), name, static_cast<size_t>(text.count()));
  };
  if (!flush) check_references();
  if (communicator.first()) {
    warn_of_other_kind(text.lines(), name);
    warn_of_other_kind(references, o.reference);
  }
  const Prefixes prefixes(o, translator, communicator);
  TextOutput out(output_of(o.output, communicator));
  SideFiles side_files(o, communicator);
  SearchOptions how = o.search(translator);
  Lines translated;
  InputNotes notes(name, translator.source_unknown());
  const bool cuts = !o.codes.empty() || translator.reads_prose();
  int64_t joints = 0;
  while (text.next()) {
    if (cuts) joints += joints_in(text.lines());
    Lines too_long;
    const std::vector<BeamSearch::Ids> sources =
        translator.source_ids(text.lines(), name, text.first(), o.skip_long ? &too_long : nullptr);
    for (const std::string& message : too_long)
      if (communicator.first())
        std::fprintf(stderr, "warning: %s; its translation is empty here\n", message.c_str());
    prefixes.check(text.first() + std::ssize(sources), !flush);
    notes.add(sources);
    if (!flush) {
      notes.require_known(o);
      if (communicator.first()) notes.report();
    }
    for_windows(
        sources.size(), o.batch, flush,
        [&](size_t first, size_t count, const BeamSearch::Progress& progress) {
          const auto part = std::span(sources).subspan(first, count);
          how.first_number = text.first() + static_cast<int64_t>(first);
          const TranslationFormat format{
              .n_best = o.n_best > 0, .all = o.samples > 0, .first = how.first_number};
          const std::vector<Translation> found = shared_translate(
              search, part, how, progress, communicator, prefixes.of(how.first_number, count));
          // First, so that whoever has read an answer finds its lines there.
          side_files.write(found, part, translator, format);
          write_translations(found, translator, format, out.stream());
          out.flush();
          for (const Translation& t : found) {
            if (o.score) translated.push_back(translator.text(t.front().words));
            for (const Hypothesis& h : t)
              if (!h.complete && positions < o.max_length && (&h == &t.front() || format.all))
                ++cut;
          }
        });
  }
  if (communicator.first()) warn_of_joints(joints, kBpeSeparator, name);
  prefixes.check(text.count(), true);
  out.finish();
  side_files.finish();
  if (cut > 0 && communicator.first())
    std::fprintf(stderr,
                 "mt_translate: translations that ended after %lld words, because the model has no "
                 "more positions: %lld\n",
                 static_cast<long long>(positions), static_cast<long long>(cut));
  if (flush) {
    notes.report();
    notes.require_known(o);
    check_references();
  }
  if (o.score && communicator.first())
    warn_of_subwords(translated, "the translation", references, o.reference);
  // Scores go to standard error where standard output has the translations.
  if (o.score && communicator.first())
    std::fputs(score_lines(translated, references, o.scoring).c_str(),
               o.output == "-" ? stderr : stdout);
}

void score_given(const TranslateOptions& o, Device device, Communicator& communicator) {
  const Translator translator = Translator::load(o.checkpoint, o.segmentation(), device);
  const Lines lines = read_lines(o.input, communicator),
              given = read_lines(o.score_given, communicator);
  require(lines.size() == given.size(), input_name(o.input), " has ", lines.size(), " lines, but ",
          input_name(o.score_given), " has ", given.size(),
          ": each source line needs its translation on the same line, even if it is empty");
  if (communicator.first()) {
    warn_of_other_kind(lines, input_name(o.input));
    warn_of_other_kind(given, input_name(o.score_given));
    for (const auto& [text, name] : {std::pair(&lines, o.input), std::pair(&given, o.score_given)})
      if (!o.codes.empty()) warn_of_joints(joints_in(*text), kBpeSeparator, input_name(name));
  }
  const std::vector<BeamSearch::Ids> sources = translator.source_ids(lines, input_name(o.input)),
                                     targets =
                                         translator.target_ids(given, input_name(o.score_given));
  for (const auto& [ids, file, unknown, whose] :
       {std::tuple(&sources, o.input, translator.source_unknown(), "the input's"),
        std::tuple(&targets, o.score_given, translator.target_unknown(),
                   "the given translations'")}) {
    InputNotes notes(input_name(file), unknown, whose);
    notes.add(*ids);
    notes.require_known(o);
    if (communicator.first()) notes.report();
  }
  TextOutput out(output_of(o.output, communicator));
  for_windows(
      sources.size(), o.batch, false,
      [&](size_t first, size_t count, const BeamSearch::Progress& progress) {
        write_log_probs(
            shared_score(translator.search(), std::span(sources).subspan(first, count),
                         std::span(targets).subspan(first, count), o.batch, progress, communicator),
            o.tokens, out.stream());
      });
  out.finish();
}

int run(const TranslateOptions& o, const Options& options, Device device,
        Communicator& communicator) {
  require_same_use(communicator, options, o.checkpoint, {o.codes, o.vocabulary});
  if (o.translates()) {
    translate(o, options, device, communicator);
  } else if (!o.score_given.empty()) {
    score_given(o, device, communicator);
  } else if (communicator.first()) {
    std::fputs(score_translation(o.input, o.reference, o.scoring).c_str(), stdout);
  }
  return kExitDone;
}

}  // namespace
}  // namespace nine::app

int main(int argc, char** argv) {
  using namespace nine::app;
  Options options("mt_translate", "Translates text and scores translations.", version_text);
  TranslateOptions o;
  return run_main(options, [&] {
    o.declare(options);
    if (!options.parse(argc, argv)) return kExitDone;
    o.check(options);
    return on_machines({.threads = o.threads,
                        .device = o.device,
                        .precision = o.precision,
                        .mpi_timeout_s = o.mpi_timeout},
                       [&](nine::Device device, nine::Communicator& communicator) {
                         return run(o, options, device, communicator);
                       });
  });
}
