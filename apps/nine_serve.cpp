// nine_serve: answers requests over HTTP with any number of models. Parses and calls; the parts are
// in apps/nine_serve/.
#include "apps/cli/machine.h"
#include "apps/cli/run_main.h"
#include "apps/cli/version.h"
#include "apps/nine_serve/serve.h"

int main(int argc, char** argv) {
  using namespace nine::app;
  Options options("nine_serve",
                  "Serves models over HTTP: completions as OpenAI's clients ask for them, "
                  "translations as LibreTranslate's do, scores, choices and derivations.",
                  version_text);
  ServeOptions o;
  return run_main(options, [&] {
    o.declare(options);
    if (!options.parse(argc, argv)) return kExitDone;
    o.sources();
    hold_signals();
    return on_machine({.threads = o.threads, .device = o.device, .precision = o.precision},
                      [&](nine::Device device) {
                        serve(o, device);
                        return kExitDone;
                      });
  });
}
