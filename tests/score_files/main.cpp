// score_files HYPOTHESES REFERENCES [options]: scores files as mt_translate --score does, for tests/bleu_reference.py.
#include <cstdio>

#include "apps/shared/run_main.h"
#include "apps/shared/translation_score.h"

int main(int argc, char** argv) {
  using namespace nine::app;
  return run_main("score_files", [&] {
    Options options("score_files", "BLEU and chrF of a translated file.");
    std::string hypotheses, references;
    options.add_positional("HYPOTHESES", hypotheses, "translated text; -: standard input").required();
    options.add_positional("REFERENCES", references, "what it should be").required();
    TranslationScoreFlags flags;
    flags.declare(options);
    if (!options.parse(argc, argv)) return kExitDone;
    flags.check();
    std::fputs(score_translation(hypotheses, references, flags).c_str(), stdout);
    return kExitDone;
  });
}
