// mt_translate: translates text with a checkpoint, scores given translations, prints BLEU and chrF.
// Parses and calls; the parts are in apps/mt_translate/.
#include <algorithm>
#include <cstdio>

#include "apps/cli/machine.h"
#include "apps/cli/progress.h"
#include "apps/cli/run_main.h"
#include "apps/cli/text_io.h"
#include "apps/cli/version.h"
#include "apps/mt_translate/translate_options.h"
#include "apps/mt_translate/translate_text.h"
#include "nn/models/saved_translation_model.h"

namespace nine::app {
namespace {

using Lines = std::vector<std::string>;
// Batches that are translated together, sorted by length, before their lines are written.
constexpr int64_t kWindow = 64;

// The model of --checkpoint and how its input is cut into tokens.
struct LoadedModel {
  explicit LoadedModel(const TranslateOptions& o)
      : saved(o.checkpoint, kCpu),
        translator(saved.model(), Specials::kTranslation.end),
        reader(o.segmentation()) {}
  std::vector<Translator::Ids> ids(const Lines& lines, const Vocabulary& dictionary,
                                   const std::string& path) const {
    return reader.ids(lines, dictionary, translator.max_words(), input_name(path));
  }
  SavedTranslationModel saved;
  Translator translator;
  TokenReader reader;
};

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

void report_unknown(const std::vector<Translator::Ids>& sources) {
  int64_t tokens = 0, unknown = 0;
  for (const Translator::Ids& line : sources) {
    tokens += std::ssize(line);
    unknown += std::count(line.begin(), line.end(), Specials::kTranslation.unknown);
  }
  if (unknown > 0)
    std::fprintf(
        stderr,
        "%.2f%% of the input's tokens are unknown to the model (cut as its training text?)\n",
        100.0 * static_cast<double>(unknown) / static_cast<double>(tokens));
}

void translate(const TranslateOptions& o) {
  const LoadedModel model(o);
  const Lines lines = read_lines(o.input);
  // Read first, so that a wrong file is an error before the translation, not after it.
  const Lines references =
      o.score ? read_references(o.reference, lines.size(), input_name(o.input)) : Lines();
  const std::vector<Translator::Ids> sources = model.ids(lines, model.saved.source(), o.input);
  report_unknown(sources);
  TextOutput out(o.output);
  std::optional<TextOutput> attention;
  if (!o.attention.empty()) attention.emplace(o.attention);
  const bool join = o.join || !o.codes.empty();
  Lines translated;
  for_windows(sources.size(), o.batch,
              [&](size_t first, size_t count, const Translator::Progress& progress) {
                const auto part = std::span(sources).subspan(first, count);
                const std::vector<Translation> found =
                    model.translator.translate(part, o.search(), progress);
                const auto number = static_cast<int64_t>(first);
                write_translations(found, model.saved.target(),
                                   {.join = join, .n_best = o.n_best > 0, .first = number},
                                   out.stream());
                out.flush();
                if (attention) {
                  write_attention(found, part, model.saved.source(), model.saved.target(), number,
                                  attention->stream());
                  attention->flush();
                }
                for (const Translation& t : found)
                  if (o.score)
                    translated.push_back(text_of(model.saved.target(), t.front().words, join));
              });
  out.finish();
  if (attention) attention->finish();
  // Scores go to standard error where standard output has the translations.
  if (o.score)
    std::fputs(score_lines(translated, references, o.scoring).c_str(),
               o.output == "-" ? stderr : stdout);
}

void score_given(const TranslateOptions& o) {
  const LoadedModel model(o);
  const Lines lines = read_lines(o.input), given = read_lines(o.score_given);
  require(lines.size() == given.size(), input_name(o.input), " has ", lines.size(), " lines, but ",
          input_name(o.score_given), " has ", given.size(),
          ": each source needs its translation on the same line, an empty one too");
  const std::vector<Translator::Ids> sources = model.ids(lines, model.saved.source(), o.input),
                                     targets =
                                         model.ids(given, model.saved.target(), o.score_given);
  TextOutput out(o.output);
  for_windows(sources.size(), o.batch,
              [&](size_t first, size_t count, const Translator::Progress& progress) {
                write_log_probs(model.translator.score(std::span(sources).subspan(first, count),
                                                       std::span(targets).subspan(first, count),
                                                       o.batch, progress),
                                o.tokens, out.stream());
              });
  out.finish();
}

int run(const TranslateOptions& o) {
  if (o.translates()) {
    translate(o);
  } else if (!o.score_given.empty()) {
    score_given(o);
  } else {
    std::fputs(score_translation(o.input, o.reference, o.scoring).c_str(), stdout);
  }
  return kExitDone;
}

}  // namespace
}  // namespace nine::app

int main(int argc, char** argv) {
  using namespace nine::app;
  Options options("mt_translate", "Translates text, scores translations.", kVersionLine);
  TranslateOptions o;
  return run_main(options, [&] {
    o.declare(options);
    if (!options.parse(argc, argv)) return kExitDone;
    o.check(options);
    return on_machine({.threads = o.threads}, [&](nine::Device) { return run(o); });
  });
}
