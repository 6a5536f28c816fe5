// nine_convert: writes a model of Nine as files of other programs, and models of other programs as
// models of Nine. Parses and calls; the parts are in apps/nine_convert/.
#include <cstdio>

#include "apps/cli/machine.h"
#include "apps/cli/run_main.h"
#include "apps/cli/signals.h"
#include "apps/cli/version.h"
#include "apps/nine_convert/convert.h"
#include "core/interrupt.h"

int main(int argc, char** argv) {
  using namespace nine::app;
  Options options(
      "nine_convert",
      "Writes models of Nine for Hugging Face's transformers, llama.cpp and CTranslate2, "
      "and models of transformers, Marian and fairseq as models of Nine.",
      version_text);
  ConvertOptions o;
  return run_main(options, [&] {
    o.declare(options);
    if (!options.parse(argc, argv)) return kExitDone;
    o.check(options);
    struct Interrupted {};
    catch_interrupts();  // so that what was written beside the output is removed
    const nine::InterruptCheck check([] {
      if (interrupted() != 0) throw Interrupted();
    });
    try {
      return on_machine({}, [&](nine::Device) {
        std::puts(convert(o).c_str());
        return kExitDone;
      });
    } catch (const Interrupted&) {
      std::fputs("nine_convert: interrupted; nothing was written\n", stderr);
      return kExitInterrupted;
    }
  });
}
