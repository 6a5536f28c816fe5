// The life of nine_serve: reloads, the end, clients that go away, memory.
#include <doctest/doctest.h>

#include <sys/stat.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "tests/apps/lm_score_runs.h"
#include "tests/apps/serve_runs.h"
#include "tests/support/support.h"

namespace nine::tests::test_serve_life {
namespace {

namespace fs = std::filesystem;

}  // namespace

TEST_CASE("nine_serve: SIGHUP opens the models anew without a gap, SIGTERM finishes what runs") {
  const TemporaryDirectory dir;
  const fs::path served = dir / "served";
  const auto place = [&](const std::string& model) {
    fs::copy(model + "/checkpoints/best", served,
             fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    fs::remove(served / "state.json");
  };
  place(model_a());
  ServeRun server({served.string(), "--max-prompt-tokens", "100000"});
  const Json asked{{"prompt", "the"}, {"max_tokens", 0}, {"echo", true}, {"logprobs", 1}};
  const auto log_p = [&] {
    const HttpAnswer answer = server.post("/v1/completions", asked);
    REQUIRE_MESSAGE(answer.status == 200, answer.body);
    return answer.json()["choices"][0]["logprobs"]["token_logprobs"][0].get<double>();
  };
  const double before = log_p();
  place(model_b());
  server.signal(SIGHUP);
  CHECK(soon([&] { return server.metric("nine_reloads_total") == 1; }));
  CHECK(log_p() != before);
  const double after = log_p();
  // A model that does not open leaves the one before.
  dir.write("served/model.safetensors", "x");
  server.signal(SIGHUP);
  CHECK(soon([&] { return server.metric("nine_reloads_total") == 2; }));
  CHECK(log_p() == after);
  const std::string request =
      http_request("POST", "/score", json_text({{"texts", endless().substr(0, 4 * 20'000)}}));
  HttpClient running(server.port());
  running.send(request);
  CHECK(soon([&] { return server.metric("nine_requests_in_work") == 1; }));
  server.signal(SIGTERM);
  const HttpAnswer finished = running.read();
  CHECK(finished.status == 200);
  CHECK(finished.json()["results"][0]["tokens"].size() == 20'001);
  const Outcome end = server.end();
  CHECK(end.code == 0);
  CHECK(has(end.err, "stays as it is"));
  CHECK(has(end.err, "finishes the requests that run"));
}

TEST_CASE("nine_serve: a client that goes away ends its work") {
  const ServeRun server(
      {"m=" + transformer_model(), "--max-prompt-tokens", "10000000", "--max-body", "100000000"});
  for (const bool stream : {false, true}) {
    const std::string request =  // made before the connection, which closes without a request
        http_request("POST", "/v1/completions", json_text(endless_completion(stream)));
    HttpClient client(server.port());
    client.send(request);
    CHECK(soon([&] { return server.metric("nine_requests_in_work") == 1; }));
    // It does not hold back a short text.
    CHECK(server.post("/score", {{"texts", "the"}}).status == 200);
    client.close();
    CHECK(soon([&] { return server.metric("nine_requests_in_work") == 0; }));
  }
  CHECK(server.metric("nine_gone_clients_total") == 2);
}

TEST_CASE("nine_serve: memory does not grow with requests" * doctest::test_suite("check")) {
  // A sanitizer keeps released memory for a while: as much as these say.
  setenv("ASAN_OPTIONS", "quarantine_size_mb=1:thread_local_quarantine_size_kb=16", 1);
  ServeRun server({"m=" + model_a(), "raw=" + raw_model(), "--keep-alive", "30"});
  unsetenv("ASAN_OPTIONS");
  const auto resident = [&] {
    const std::string status = slurp(concat("/proc/", server.program().id(), "/status"));
    return std::stol(status.substr(status.find("VmRSS:") + 6));
  };
  HttpClient client(server.port());
  const auto ask = [&](int count) {
    for (int i = 0; i < count; ++i) {
      client.send(http_request("POST", "/v1/completions",
                               json_text({{"model", i % 2 == 0 ? "m" : "raw"},
                                          {"prompt", "the"},
                                          {"max_tokens", 2},
                                          {"stream", i % 3 == 0},
                                          {"logprobs", 2}})));
      const HttpAnswer answer = client.read();
      REQUIRE(answer.status == 200);
    }
  };
  ask(500);
  const long before = resident();
  ask(10'000);
  CHECK(resident() < before + 2048);  // KiB
}

TEST_CASE("nine_serve: while it stops, each new request is answered with 503") {
  ServeRun server({"m=" + model_b(), "--max-prompt-tokens", "10000000", "--max-log-probs",
                   "10000000", "--max-body", "100000000"});
  const std::string request = http_request("POST", "/score", json_text({{"texts", endless()}}));
  HttpClient running(server.port());
  running.send(request);
  CHECK(soon([&] { return server.metric("nine_requests_in_work") == 1; }));
  server.signal(SIGTERM);
  CHECK(soon([&] { return server.get("/health").status == 503; }));
  const HttpAnswer refused = server.post("/score", {{"texts", "the"}});
  CHECK(refused.status == 503);
  CHECK(refused.headers.at("retry-after") == "5");
  CHECK(refused.json()["error"]["code"] == "server_stopping");
  running.close();
  CHECK(server.end().code == 0);
}

TEST_CASE("nine_serve: SIGTERM does not wait for a reload") {
  const TemporaryDirectory dir;
  const fs::path served = dir / "served", weights = served / "model.safetensors";
  fs::copy(model_a() + "/checkpoints/best", served, fs::copy_options::recursive);
  fs::remove(served / "state.json");
  ServeRun server({served.string()});
  // A file whose first byte never comes.
  fs::remove(weights);
  REQUIRE(mkfifo(weights.c_str(), 0600) == 0);
  server.signal(SIGHUP);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  CHECK(server.post("/score", {{"texts", "the"}}).status == 200);
  server.signal(SIGTERM);
  CHECK(server.end().code == 0);
}

}  // namespace nine::tests::test_serve_life
