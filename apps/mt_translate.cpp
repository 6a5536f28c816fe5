// mt_translate: translates text with a checkpoint, scores given translations, prints BLEU and chrF.
// Parses and calls; the parts are in apps/mt_translate/.
#include <algorithm>
#include <cstdio>

#include "apps/cli/machine.h"
#include "apps/cli/progress.h"
#include "apps/cli/run_main.h"
#include "apps/cli/same_start.h"
#include "apps/cli/text_io.h"
#include "apps/cli/version.h"
#include "apps/mt_translate/translate_options.h"
#include "apps/mt_translate/translate_text.h"
#include "nn/models/shared_search.h"
#include "nn/models/translator.h"

namespace nine::app {
namespace {

using Lines = std::vector<std::string>;
// Batches that are translated together, sorted by length, before their lines are written.
constexpr int64_t kWindow = 64;

// Calls f(first, count, progress) with windows of the lines.
template <class F>
void for_windows(size_t lines, int64_t batch, F&& f) {
  Progress progress("translate", "lines");
  const auto all = static_cast<int64_t>(lines), window = kWindow * batch;
  for (int64_t first = 0; first < all; first += window) {
    const auto count = std::min(window, all - first);
    f(static_cast<size_t>(first), static_cast<size_t>(count),
      [&](int64_t done) { progress.update(first + done, all); });
  }
  progress.finish();
}

struct TokenCounts {
  int64_t all = 0, unknown = 0;
};

// Counts; throws where the model's dictionary does not fit a text.
TokenCounts known_tokens(const TranslateOptions& o, const std::vector<BeamSearch::Ids>& text,
                         const std::string& input) {
  TokenCounts counts;
  for (const BeamSearch::Ids& line : text) {
    counts.all += std::ssize(line);
    counts.unknown += std::count(line.begin(), line.end(), Specials::kTranslation.unknown);
  }
  require_known(counts.unknown, counts.all + std::ssize(text), o.max_unknown, input_name(input),
                concat("the model ", o.checkpoint,
                       o.codes.empty() ? " (--codes cuts words into subwords)" : ""));
  return counts;
}

void report_unknown(const TokenCounts& tokens) {
  if (tokens.unknown > 0)
    std::fprintf(
        stderr,
        "%.2f%% of the input's tokens are unknown to the model (cut as its training text?)\n",
        100.0 * static_cast<double>(tokens.unknown) / static_cast<double>(tokens.all));
}

void translate(const TranslateOptions& o, Communicator& communicator) {
  const Translator translator = Translator::load(o.checkpoint, o.segmentation());
  const Lines lines = read_lines(o.input, communicator);
  // Read first, so that a wrong file is an error before the translation, not after it.
  const Lines references = o.score && communicator.first()
                               ? read_references(o.reference, lines.size(), input_name(o.input))
                               : Lines();
  const std::vector<BeamSearch::Ids> sources = translator.source_ids(lines, input_name(o.input));
  const TokenCounts tokens = known_tokens(o, sources, o.input);
  if (communicator.first()) report_unknown(tokens);
  TextOutput out(output_of(o.output, communicator));
  std::optional<TextOutput> attention;
  if (!o.attention.empty()) attention.emplace(output_of(o.attention, communicator));
  Lines translated;
  for_windows(sources.size(), o.batch,
              [&](size_t first, size_t count, const BeamSearch::Progress& progress) {
                const auto part = std::span(sources).subspan(first, count);
                const std::vector<Translation> found =
                    shared_translate(translator.search(), part, o.search(), progress, communicator);
                const auto number = static_cast<int64_t>(first);
                write_translations(found, translator, {.n_best = o.n_best > 0, .first = number},
                                   out.stream());
                out.flush();
                if (attention) {
                  write_attention(found, part, translator, number, attention->stream());
                  attention->flush();
                }
                for (const Translation& t : found)
                  if (o.score) translated.push_back(translator.text(t.front().words));
              });
  out.finish();
  if (attention) attention->finish();
  // Scores go to standard error where standard output has the translations.
  if (o.score && communicator.first())
    std::fputs(score_lines(translated, references, o.scoring).c_str(),
               o.output == "-" ? stderr : stdout);
}

void score_given(const TranslateOptions& o, Communicator& communicator) {
  const Translator translator = Translator::load(o.checkpoint, o.segmentation());
  const Lines lines = read_lines(o.input, communicator),
              given = read_lines(o.score_given, communicator);
  require(lines.size() == given.size(), input_name(o.input), " has ", lines.size(), " lines, but ",
          input_name(o.score_given), " has ", given.size(),
          ": each source needs its translation on the same line, an empty one too");
  const std::vector<BeamSearch::Ids> sources = translator.source_ids(lines, input_name(o.input)),
                                     targets =
                                         translator.target_ids(given, input_name(o.score_given));
  known_tokens(o, sources, o.input);
  known_tokens(o, targets, o.score_given);
  TextOutput out(output_of(o.output, communicator));
  for_windows(
      sources.size(), o.batch,
      [&](size_t first, size_t count, const BeamSearch::Progress& progress) {
        write_log_probs(
            shared_score(translator.search(), std::span(sources).subspan(first, count),
                         std::span(targets).subspan(first, count), o.batch, progress, communicator),
            o.tokens, out.stream());
      });
  out.finish();
}

int run(const TranslateOptions& o, const Options& options, Communicator& communicator) {
  require_same_use(communicator, options,
                   {"input", "output", "attention", "score_given", "reference"}, {o.checkpoint},
                   {o.codes, o.vocabulary});
  if (o.translates()) {
    translate(o, communicator);
  } else if (!o.score_given.empty()) {
    score_given(o, communicator);
  } else if (communicator.first()) {
    std::fputs(score_translation(o.input, o.reference, o.scoring).c_str(), stdout);
  }
  return kExitDone;
}

}  // namespace
}  // namespace nine::app

int main(int argc, char** argv) {
  using namespace nine::app;
  Options options("mt_translate", "Translates text, scores translations.", version_text);
  TranslateOptions o;
  return run_main(options, [&] {
    o.declare(options);
    if (!options.parse(argc, argv)) return kExitDone;
    o.check(options);
    return on_machines(
        {.threads = o.threads, .precision = o.precision, .mpi_timeout_s = o.mpi_timeout},
        [&](nine::Device, nine::Communicator& communicator) {
          return run(o, options, communicator);
        });
  });
}
