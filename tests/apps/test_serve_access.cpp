// Who may ask nine_serve, and what a request is.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "tests/apps/lm_score_runs.h"
#include "tests/apps/serve_runs.h"
#include "tests/support/support.h"

namespace nine::tests::test_serve_access {
namespace {

namespace fs = std::filesystem;

}  // namespace

TEST_CASE("nine_serve: requests that mean one thing here and another elsewhere") {
  const ServeRun server({"m=" + model_b(), "--max-headers", "4096"});
  const std::string host = concat("Host: 127.0.0.1:", server.port(), "\r\n");
  const auto first = [&](const std::string& request) {
    HttpClient client(server.port());
    client.send(request);
    const HttpAnswer answer = client.read();
    return std::pair(answer.status, client.read().status);
  };
  // The body of a method without a body is not read.
  for (const char* method : {"PUT", "PATCH", "PRI"})
    CHECK(first(concat(method, " /health HTTP/1.1\r\n", host, "\r\nendless")) == std::pair(405, 0));
  // Two line feeds alone do not end the headers, and do not end their count.
  CHECK(first("GET /health HTTP/1.1\r\n\n" + std::string(8192, 'x')) == std::pair(431, 0));
  // What follows a request that is an error before its body is no request.
  const std::string inner = concat("GET /health HTTP/1.1\r\n", host, "\r\n");
  CHECK(first(concat("POST /score HTTP/1.1\r\n", host, "Range: x\r\nContent-Length: ", inner.size(),
                     "\r\n\r\n", inner))
            .second == 0);
  CHECK(first("nonsense\r\n" + inner).second == 0);
  // A form of many fields.
  std::string form;
  for (int i = 0; i < 100; ++i) form += concat("a", i, "=1&");
  CHECK(server.ask("POST", "/translate", form, {"Content-Type: application/x-www-form-urlencoded"})
            .status == 400);
  // Addresses that only begin as one of this machine.
  for (const char* wrong : {"127.0.0.1%00.evil.test", "[::1].evil.test"}) {
    HttpClient client(server.port());
    client.send(concat("GET /health HTTP/1.1\r\nHost: ", wrong, "\r\n\r\n"));
    CHECK(client.read().status == 403);
  }
}

TEST_CASE("nine_serve: who may ask") {
  const TemporaryDirectory dir;
  const std::string token = "0123456789abcdef-secret";
  const std::string file = dir.write("token", token + "\nanother-token-of-mine\n");
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
  const ServeRun server({"m=" + model_a(), "--token-file", file, "--allow-host", "nine.test",
                         "--allow-origin", "https://site.test"});
  const std::string bearer = "Authorization: Bearer " + token;
  CHECK(server.get("/v1/models").status == 401);
  CHECK(server.get("/v1/models").headers.at("www-authenticate") == "Bearer");
  CHECK(server.get("/v1/models", {"Authorization: Bearer " + token + "x"}).status == 401);
  CHECK(server.get("/v1/models", {"Authorization: Bearer " + token.substr(0, 20)}).status == 401);
  CHECK(server.get("/v1/models", {"Authorization: " + token}).status == 401);
  CHECK(server.get("/v1/models", {bearer}).status == 200);
  CHECK(server.get("/v1/models", {"Authorization: Bearer another-token-of-mine"}).status == 200);
  CHECK(server.get("/metrics").status == 401);
  CHECK(server.get("/health").status == 200);
  CHECK(server.get("/").status == 200);
  CHECK(server.post("/v1/completions", {{"prompt", "a"}}).status == 401);
  CHECK(server.post("/translate", {{"q", "a"}}).status == 401);
  CHECK(server.post("/translate", {{"q", "a"}, {"api_key", token}}).status == 400);  // no model
  CHECK(server.post("/translate", {{"q", "a"}}, {bearer}).status == 400);
  CHECK(server.post("/translate", {{"q", "a"}}, {"Authorization: XXXXXXX" + token}).status == 401);
  // A proxy's own header does not hide the key, and a wrong token is found before the body is read.
  CHECK(server.post("/translate", {{"q", "a"}, {"api_key", token}}, {"Authorization: Basic eDp5"})
            .status == 400);
  CHECK(server.ask("POST", "/translate", "{", {bearer + "x"}).status == 401);
  // The Host header, as a page of another site would have it.
  for (const char* host : {"evil.test", "127.0.0.1.evil.test", "localhost.evil.test", "0.0.0.0"})
    CHECK(server.get("/health", {concat("Host: ", host)}).status == 403);
  for (const char* host : {"localhost", "LOCALHOST:8080", "127.0.0.1:1", "[::1]:80", "nine.test"})
    CHECK(server.get("/health", {concat("Host: ", host)}).status == 200);
  CHECK(server.get("/health", {"Host: localhost", "Host: evil.test"}).status == 400);
  // Origins.
  CHECK(server.get("/health", {"Origin: https://evil.test"}).status == 403);
  CHECK(server.get("/health", {"Origin: null"}).status == 403);
  const HttpAnswer own = server.get("/health", {"Origin: http://127.0.0.1"});
  CHECK(own.status == 200);
  CHECK_FALSE(own.headers.contains("access-control-allow-origin"));
  const HttpAnswer named = server.get("/health", {"Origin: https://site.test"});
  CHECK(named.status == 200);
  CHECK(named.headers.at("access-control-allow-origin") == "https://site.test");
  const HttpAnswer preflight =
      server.ask("OPTIONS", "/v1/completions", "", {"Origin: https://site.test"});
  CHECK(preflight.status == 204);
  CHECK(preflight.headers.at("access-control-allow-headers") == "Authorization, Content-Type");
  // OpenAI's client for JavaScript describes itself in headers of its own.
  const auto allowed = [&](const std::string& asked) {
    return server
        .ask("OPTIONS", "/v1/completions", "",
             {"Origin: https://SITE.test", "Access-Control-Request-Headers: " + asked})
        .headers.at("access-control-allow-headers");
  };
  CHECK(allowed("authorization,x-stainless-os") == "authorization,x-stainless-os");
  CHECK(allowed("a: b") == "Authorization, Content-Type");
  CHECK(server.ask("OPTIONS", "/v1/completions", "", {"Origin: https://evil.test"}).status == 403);
}

TEST_CASE("nine_serve: what does not start") {
  const TemporaryDirectory dir;
  const auto refused = [](const Strings& arguments, int code, const std::string& message) {
    const Outcome r = run_program("nine_serve", arguments);
    CHECK(r.code == code);
    CHECK_MESSAGE(has(r.err, message), r.err);
  };
  const std::string open = dir.write("open", "0123456789abcdef\n"),
                    brief = dir.write("brief", "x\n"), empty = dir.write("empty", "\n"),
                    percent = dir.write("percent", "0123456789%41bcdef\n");
  for (const std::string& file : {brief, empty, percent})
    fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
  fs::permissions(open, fs::perms::all);
  refused({}, 2, "no model");
  refused({"x=" + model_a(), "x=" + model_b()}, 2, "two models are called 'x'");
  refused({model_a(), "--host", "0.0.0.0"}, 2, "--token-file FILE");
  refused({model_a(), "--host", "::"}, 2, "--token-file FILE");
  refused({model_a(), "--host", "example.org"}, 2, "is not an address");
  refused({model_a(), "--token-file", open}, 1, "chmod 600");
  refused({model_a(), "--token-file", brief}, 1, "can be guessed");
  refused({model_a(), "--token-file", empty}, 1, "has no token");
  refused({model_a(), "--token-file", percent}, 1, "has a token with %");
  for (const char* origin : {"https://example.org/", "https://example.org/page", "example.org"})
    refused({model_a(), "--allow-origin", origin}, 2, "is not an origin");
  refused({model_a(), "--token-file", dir / "none"}, 1, "No such file");
  refused({dir / "none"}, 1, "none");
  refused({"m:de-en=" + model_a()}, 1, "has no languages");
  refused({"m:de=" + model_a()}, 2, "two codes with a dash");
}

TEST_CASE("nine_serve: the page asks nobody else") {
  const ServeRun server({"m=" + model_a()});
  const HttpAnswer page = server.get("/");
  CHECK(page.status == 200);
  CHECK(page.headers.at("content-type").starts_with("text/html"));
  CHECK(has(page.headers.at("content-security-policy"), "default-src 'none'"));
  CHECK_FALSE(has(page.body, "http:"));
  CHECK_FALSE(has(page.body, "https:"));
  CHECK_FALSE(has(page.body, "src="));
}

}  // namespace nine::tests::test_serve_access
