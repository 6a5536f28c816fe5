#include "apps/nine_serve/serve.h"

#include <pthread.h>
#include <unistd.h>

#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <mutex>
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

// Opens the models anew in a thread of its own, so that the server can end meanwhile.
class Reloads {
 public:
  Reloads(ServedModels& models, Metrics& metrics)
      : models_(models), metrics_(metrics), thread_([this] { run(); }) {}

  /// Asks for a reload, which begins after the one that runs.
  void ask() {
    {
      const std::lock_guard lock(mutex_);
      asked_ = true;
    }
    changed_.notify_one();
  }
  /// Ends the thread. Ends the program if a reload runs, because its end may be far.
  void end() {
    {
      const std::lock_guard lock(mutex_);
      if (busy_) {
        std::fprintf(stderr, "nine_serve: ends without the models that were being opened\n");
        std::fflush(nullptr);
        _exit(0);
      }
      ending_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return asked_ || ending_; });
      if (ending_) return;
      asked_ = false;
      busy_ = true;
      lock.unlock();
      reload();
      lock.lock();
      busy_ = false;
    }
  }
  void reload() {
    const std::vector<std::string> errors = models_.reload();
    for (const std::string& error : errors) std::fprintf(stderr, "nine_serve: %s\n", error.c_str());
    if (errors.empty()) std::fprintf(stderr, "nine_serve: the models were opened anew\n");
    ++metrics_.reloads;
  }

  ServedModels& models_;
  Metrics& metrics_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool asked_ = false, busy_ = false, ending_ = false;
  std::thread thread_;  // the last member: it uses the others
};

// Takes signals until one ends the server.
void wait_for_end(Reloads& reloads) {
  const sigset_t set = held_signals();
  for (int number = 0; number != SIGINT && number != SIGTERM;) {
    if (sigwait(&set, &number) != 0) continue;
    if (number == SIGHUP) reloads.ask();
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
  Worker worker(options.limits, metrics, models.text_pool_bytes(options.limits.groups));
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
  Reloads reloads(models, metrics);
  std::thread control([&] {
    wait_for_end(reloads);
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
  reloads.end();
}

}  // namespace nine::app
