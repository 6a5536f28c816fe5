// Runs the server until it is told to stop.
#pragma once

#include "apps/nine_serve/serve_options.h"

namespace nine::app {

/// Keeps SIGINT, SIGTERM and SIGHUP for serve(). Call it before the first thread starts.
void hold_signals();

/// Opens the models, listens and answers. SIGTERM and SIGINT refuse new requests, finish the
/// others, and end the call; a second one ends the program. SIGHUP opens the models anew. Errors:
/// those of Access, ServedModels and HttpServer::bind().
void serve(const ServeOptions& options, Device device);

}  // namespace nine::app
