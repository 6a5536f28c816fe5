#include "apps/cli/detokenize_options.h"

#include "apps/cli/option_conflicts.h"
#include "core/error.h"

namespace nine::app {

void declare_detokenize(Options& options, DetokenizeOptions& how, const std::string& text) {
  options.add("detokenize", how.rules,
              concat("write ", text,
                     " as prose: join subwords, then undo the tokeniser of Moses, "
                     "or 13a; none: as the model's words"));
  options
      .add("language", how.language,
           "with --detokenize moses: language of the text, ISO 639-1; en, fr, it, ca, ga and ko "
           "have rules of their own")
      .unit("CODE")
      .check(check_language);
}

void check_detokenize(const Options& given, const DetokenizeOptions& how) {
  only_with(given, how.rules == Detokenizing::moses, "--detokenize moses", {"language"});
}

}  // namespace nine::app
