// nine_convert: writes a language model of Nine as files of other programs, and a model of
// transformers as one of Nine. Parses and calls; the parts are in apps/nine_convert/.
#include <cstdio>

#include "apps/cli/machine.h"
#include "apps/cli/run_main.h"
#include "apps/cli/version.h"
#include "apps/nine_convert/convert.h"

int main(int argc, char** argv) {
  using namespace nine::app;
  Options options("nine_convert",
                  "Writes a language model of Nine as a folder of Hugging Face's transformers or a "
                  "file of llama.cpp, and a folder of transformers as a model of Nine.",
                  version_text);
  ConvertOptions o;
  return run_main(options, [&] {
    o.declare(options);
    if (!options.parse(argc, argv)) return kExitDone;
    o.check(options);
    return on_machine({}, [&](nine::Device) {
      std::puts(convert(o).c_str());
      return kExitDone;
    });
  });
}
