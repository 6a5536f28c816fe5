#include "apps/nine_serve/serve.h"

#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <thread>

#include "apps/cli/run_main.h"
#include "apps/nine_serve/service.h"

namespace nine::app {
namespace {

sigset_t held_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, number);
  return set;
}

void reload(ServedModels& models, Metrics& metrics) {
  const std::vector<std::string> errors = models.reload();
  for (const std::string& error : errors) std::fprintf(stderr, "nine_serve: %s\n", error.c_str());
  if (errors.empty()) std::fprintf(stderr, "nine_serve: the models were opened anew\n");
  ++metrics.reloads;
}

// Takes signals until one ends the server.
void wait_for_end(ServedModels& models, Metrics& metrics) {
  const sigset_t set = held_signals();
  for (int number = 0; number != SIGINT && number != SIGTERM;) {
    if (sigwait(&set, &number) != 0) continue;
    if (number == SIGHUP) reload(models, metrics);
  }
}

}  // namespace

void hold_signals() {
  const sigset_t set = held_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

void serve(const ServeOptions& options, Device device) {
  const Access access(options.host, options.allow_host, options.allow_origin, options.token_file);
  ServedModels models(options.sources(), device);
  Metrics metrics;
  Worker worker(options.limits, metrics);
  HttpServer server(options.limits, access, metrics);
  const Service service(options.limits, models, worker, metrics, server);
  const int port = server.bind(options.host, options.port);
  std::thread http([&] {
    if (server.run()) return;
    std::fprintf(stderr, "nine_serve: the system accepts no more connections\n");
    kill(getpid(), SIGTERM);  // a supervisor may start the server anew
  });
  server.wait_until_running();
  const bool v6 = options.host.find(':') != std::string::npos;
  std::printf("nine_serve: listening on http://%s%s%s:%d\n", v6 ? "[" : "", options.host.c_str(),
              v6 ? "]" : "", port);
  std::fflush(stdout);
  std::thread control([&] {
    wait_for_end(models, metrics);
    std::fprintf(stderr, "nine_serve: finishes the requests that run, then stops\n");
    const sigset_t set = held_signals();
    std::thread second([set] {  // a second signal ends the program at once
      for (int number = 0; sigwait(&set, &number) != 0 || number == SIGHUP;) {
      }
      _exit(kExitInterrupted);
    });
    second.detach();
    server.drain();
    worker.stop();
  });
  worker.run();
  control.join();
  http.join();
}

}  // namespace nine::app
