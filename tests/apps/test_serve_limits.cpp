// The limits of nine_serve: each has its error, and the server goes on.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "core/error.h"
#include "tests/apps/lm_score_runs.h"
#include "tests/apps/serve_runs.h"
#include "tests/support/support.h"

namespace nine::tests::test_serve_limits {

TEST_CASE("nine_serve: what is wrong in a request is named") {
  const ServeRun server({"m=" + model_a(), "t=" + transformer_model()});
  const auto refused = [&](const Json& body, const char* param, const std::string& message) {
    const HttpAnswer answer = server.post("/v1/completions", body);
    CHECK(answer.status == 400);
    const Json error = answer.json()["error"];
    CHECK(error["type"] == "invalid_request_error");
    CHECK(error["param"] == param);
    CHECK_MESSAGE(has(error["message"].get<std::string>(), message), answer.body);
  };
  refused({{"prompt", "a"}}, "model", "there are 2 language models");
  refused({{"model", "m"}}, "prompt", "the key 'prompt' is missing");
  refused({{"model", "m"}, {"prompt", 7}}, "prompt", "a text, a list of texts, or ids of tokens");
  refused({{"model", "m"}, {"prompt", {1, "a"}}}, "prompt", "the id of a token");
  refused({{"model", "m"}, {"prompt", {-1}}}, "prompt", "the id of a token");
  refused({{"model", "m"}, {"prompt", {100000}}}, "prompt", "has no token 100000");
  refused({{"model", "m"}, {"prompt", "a\nb"}}, "prompt", "send each line as a text");
  refused({{"model", "m"}, {"prompt", "a\rb"}}, "prompt", "send each line as a text");
  refused({{"model", "m"}, {"prompt", std::string("a\0b", 3)}}, "prompt", "has a NUL character");
  refused({{"model", "m"}, {"prompt", "qqq rrr"}}, "prompt",
          "the key 'prompt': 66.67% of the 3 tokens are unknown to the model m");
  for (const auto& [path, field] : {std::pair("/score", "texts"), {"/explain", "text"}}) {
    const HttpAnswer unknown = server.post(path, {{"model", "m"}, {field, "qqq rrr"}});
    CHECK(unknown.status == 400);
    CHECK(unknown.json()["error"]["param"] == field);
    CHECK(has(message_of(unknown), "the largest share of unknown words is 0.5"));
    const HttpAnswer lines = server.post(path, {{"model", "m"}, {field, "a\nb"}});
    CHECK(lines.json()["error"]["param"] == field);
  }
  refused({{"model", "m"}, {"prompt", "a"}, {"max_tokens", -1}}, "max_tokens", "from 0 to 1024");
  refused({{"model", "m"}, {"prompt", "a"}, {"max_tokens", 1.5}}, "max_tokens", "a whole number");
  refused({{"model", "m"}, {"prompt", "a"}, {"temperature", -1}}, "temperature", "from 0 to 100");
  refused({{"model", "m"}, {"prompt", "a"}, {"top_p", 2}}, "top_p", "from 0 to 1");
  refused({{"model", "m"}, {"prompt", "a"}, {"n", 1000}}, "n", "from 1 to 128");
  refused({{"model", "m"}, {"prompt", {"a", "b"}}, {"n", 100}}, "n", "more than the 128 texts");
  refused({{"model", "m"}, {"prompt", "a"}, {"logprobs", 21}}, "logprobs", "from 0 to 20");
  refused({{"model", "m"}, {"prompt", "a"}, {"stop", {"a", "b", "c", "d", "e"}}}, "stop",
          "at most 4");
  refused({{"model", "m"}, {"prompt", "a"}, {"stop", ""}}, "stop", "is empty");
  refused({{"model", "m"}, {"prompt", "a"}, {"logit_bias", {{"1", 2}}}}, "logit_bias", "no logits");
  refused({{"model", "m"}, {"prompt", "a"}, {"max_token", 4}}, "max_token",
          "did you mean max_tokens?");
  const HttpAnswer missing = server.post("/v1/completions", {{"model", "x"}, {"prompt", "a"}});
  CHECK(missing.status == 404);
  CHECK(missing.json()["error"]["code"] == "model_not_found");
  for (const char* body : {"", "{", "[]", "{\"a\":1,\"a\":2}", "\xff", "{\"prompt\":\"\xc3\"}"}) {
    const HttpAnswer answer = server.ask("POST", "/v1/completions", body);
    CHECK(answer.status == 400);
    CHECK(has(message_of(answer), "the body is not a JSON object"));
  }
  CHECK(server.get("/nothing").status == 404);
  CHECK(server.get("/v1/completions").status == 405);
  CHECK(server.ask("DELETE", "/v1/models").status == 405);
  CHECK(server.get("/health").json()["status"] == "ok");
}

TEST_CASE("nine_serve: each limit of a request has its error") {
  const ServeRun server({"m=" + model_a(), "--max-body", "2000", "--max-headers", "1000",
                         "--max-json-levels", "3", "--max-tokens", "6", "--max-prompt-tokens", "4",
                         "--max-texts", "3", "--max-logprobs", "2", "--read-timeout", "0.5",
                         "--keep-alive", "0.5"});
  const auto status = [&](const Json& body) { return server.post("/v1/completions", body).status; };
  CHECK(status({{"prompt", "a"}, {"max_tokens", 6}}) == 200);
  CHECK(status({{"prompt", "a"}, {"max_tokens", 7}}) == 400);
  CHECK(status({{"prompt", "a a a a"}}) == 200);
  CHECK(status({{"prompt", "a a a a a"}}) == 400);
  CHECK(status({{"prompt", {"a", "a", "a"}}}) == 200);
  CHECK(status({{"prompt", {"a", "a", "a", "a"}}}) == 400);
  CHECK(status({{"prompt", "a"}, {"logprobs", 2}}) == 200);
  CHECK(status({{"prompt", "a"}, {"logprobs", 3}}) == 400);
  CHECK(server.ask("POST", "/v1/completions", "[[[[]]]]").status == 400);
  CHECK(has(message_of(server.ask("POST", "/v1/completions", "[[[[]]]]")), "more deeply than 3"));
  const HttpAnswer large = server.ask("POST", "/v1/completions", std::string(2001, ' '));
  CHECK(large.status == 413);
  CHECK(has(message_of(large), "at most 2000"));
  CHECK(server.get("/health", {"X-Long: " + std::string(1000, 'x')}).status == 431);
  Strings many;
  for (int i = 0; i < 200; ++i) many.push_back(concat("X-", i, ": 1"));
  CHECK(server.get("/health", many).status == 431);
  CHECK(server.get("/" + std::string(900, 'x')).status == 404);
  // Bodies that are not read.
  CHECK(server.ask("POST", "/score", "", {"Transfer-Encoding: chunked"}).status == 411);
  CHECK(server.ask("POST", "/score", "x", {"Content-Length: 1", "Content-Length: 1"}).status ==
        400);
  CHECK(server.ask("POST", "/score", "x", {"Content-Length: -1"}).status == 400);
  CHECK(server.ask("POST", "/score", "x", {"Content-Length: 99999999999999999999"}).status == 400);
  CHECK(server.ask("POST", "/score", "x", {"Content-Encoding: gzip"}).status == 415);
  CHECK(
      server.ask("POST", "/score", "x", {"Content-Type: multipart/form-data; boundary=x"}).status ==
      415);
  CHECK(server.ask("GET", "/health", "", {"Content-Length: 5"}).status == 400);
  // A request that never ends, in its headers and in its body; a connection without a request.
  for (const std::string& part :
       {std::string("GET /health HTTP/1.1\r\nHost:"),
        std::string("POST /score HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n{")}) {
    HttpClient slow(server.port());
    slow.send(part);
    CHECK(slow.read().status == 408);
  }
  HttpClient dripping(server.port());
  const std::string drops = "GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nX: ";
  for (size_t i = 0; i < 60; ++i) {
    if (!dripping.send(i < drops.size() ? drops.substr(i, 1) : "x")) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  CHECK(dripping.read().status == 408);
  HttpClient silent(server.port());
  CHECK(silent.read().status == 0);
  // Two requests on one connection.
  HttpClient twice(server.port());
  for (int i = 0; i < 2; ++i) {
    twice.send(http_request("GET", "/health"));
    CHECK(twice.read().status == 200);
  }
  CHECK(server.get("/health").status == 200);
}

TEST_CASE("nine_serve: an answer has a limit of log-probabilities") {
  const ServeRun server({"m=" + model_b()});
  std::string text;
  for (int i = 0; i < 4000; ++i) text += "the ";
  const HttpAnswer answer = server.post("/score", {{"texts", Strings(40, text)}, {"top", 20}});
  CHECK(answer.status == 400);
  CHECK(has(answer.body, "log-probabilities"));
}

TEST_CASE("nine_serve: the limits of all requests") {
  const ServeRun server({"m=" + transformer_model(), "--queue", "2", "--connections", "6",
                         "--max-prompt-tokens", "10000000", "--max-body", "100000000"});
  {
    const std::string request =  // made before the connections, which close without a request
        http_request("POST", "/v1/completions", json_text(endless_completion()));
    HttpClient first(server.port()), second(server.port());
    for (HttpClient* client : {&first, &second}) client->send(request);
    CHECK(soon([&] { return server.metric("nine_requests_in_work") == 2; }));
    HttpAnswer third;
    CHECK(soon([&] {  // connections of before may still be counted, which is another error
      third = server.post("/v1/completions", {{"prompt", "a"}});
      return third.status == 429;
    }));
    CHECK(third.headers["retry-after"] == "1");
    CHECK(third.json()["error"]["code"] == "queue_full");
    CHECK(third.json()["error"]["type"] == "rate_limit_error");
  }
  // Their clients have gone: the work ends.
  CHECK(soon([&] { return server.metric("nine_requests_in_work") == 0; }));
  // Six connections: the next is refused.
  {
    std::vector<std::unique_ptr<HttpClient>> open;
    for (int i = 0; i < 6; ++i) open.push_back(std::make_unique<HttpClient>(server.port()));
    HttpAnswer refused;
    CHECK(soon([&] {
      // A connection above may have come while an earlier one had not ended: then it was refused.
      open.push_back(std::make_unique<HttpClient>(server.port()));
      refused = server.get("/health");
      return refused.status == 503;
    }));
    CHECK(refused.headers["retry-after"] == "1");
  }
  CHECK(soon([&] { return server.get("/health").status == 200; }));
}

TEST_CASE("nine_serve: an answer that takes too long is an error, and its work ends") {
  const ServeRun server({"m=" + model_b(), "--timeout", "0.5", "--max-prompt-tokens", "10000000",
                         "--max-log-probs", "10000000", "--max-body", "100000000"});
  const HttpAnswer answer = server.post("/score", {{"texts", endless()}});
  CHECK(answer.status == 503);
  CHECK(answer.headers.at("retry-after") == "5");
  CHECK(has(message_of(answer), "longer than 0.5 seconds"));
  CHECK(soon([&] { return server.metric("nine_requests_in_work") == 0; }));
  CHECK(server.post("/score", {{"texts", "the"}}).status == 200);
}

TEST_CASE("nine_serve: one address has its own limit of requests") {
  const ServeRun server({"m=" + model_b(), "--client-requests", "1", "--max-prompt-tokens",
                         "10000000", "--max-log-probs", "10000000", "--max-body", "100000000"});
  {
    const std::string request = http_request("POST", "/score", json_text({{"texts", endless()}}));
    HttpClient busy(server.port());
    busy.send(request);
    CHECK(soon([&] { return server.metric("nine_requests_in_work") == 1; }));
    const HttpAnswer answer = server.post("/score", {{"texts", "the"}});
    CHECK(answer.status == 429);
    CHECK(answer.headers.at("retry-after") == "1");
    CHECK(answer.json()["error"]["code"] == "rate_limit_exceeded");
  }
  CHECK(soon([&] { return server.post("/score", {{"texts", "the"}}).status == 200; }));
}

TEST_CASE("nine_serve: an error names the field of its own path, and shortens what it quotes") {
  const ServeRun server({"m=" + model_a()});
  const auto refused = [&](const char* path, const Json& body, const std::string& param) {
    const HttpAnswer answer = server.post(path, body);
    CHECK(answer.status == 400);
    CHECK(answer.json()["error"]["param"] == param);
  };
  refused("/v1/completions", {{"prompt", "a\nb"}}, "prompt");
  refused("/score", {{"texts", "a\nb"}}, "texts");
  const auto sets = [](const Json& set) { return Json::array({set}); };
  refused("/restrict", {{"texts", "a\nb"}, {"sets", sets({"cat", "dog"})}}, "texts");
  refused("/explain", {{"text", "a\nb"}}, "text");
  refused("/restrict", {{"texts", "a"}, {"sets", sets(Json::array({"cat", 7}))}}, "sets");
  refused("/restrict", {{"texts", "a"}, {"sets", sets({"cat", "d g"})}}, "sets");
  const std::string name(900'000, 'x');
  const HttpAnswer answer = server.post("/score", {{"texts", "a"}, {name, 1}});
  CHECK(answer.status == 400);
  CHECK(answer.body.size() < 1000);
  CHECK(has(message_of(answer), "there is no key 'xxx"));
  CHECK(server.get("/" + std::string(1100, 'x')).status == 414);
}

TEST_CASE("nine_serve: /metrics counts the answers that no path gave") {
  const ServeRun server(
      {"m=" + model_a(), "--read-timeout", "0.2", "--max-headers", "1000", "--connections", "3"});
  const auto counted = [&](int status) {
    return server.metric(concat("nine_answers_total{path=\"other\",status=\"", status, "\"}"));
  };
  CHECK(server.get("/health", {"X-Long: " + std::string(2000, 'x')}).status == 431);
  for (const char* part : {"GET /he", "GET /health HTTP/1.1\r\nHost:"}) {
    HttpClient slow(server.port());
    slow.send(part);
    CHECK(slow.read().status == 408);
  }
  CHECK(soon([&] { return counted(431) == 1 && counted(408) == 2 && counted(400) == 0; }));
  {
    std::vector<std::unique_ptr<HttpClient>> open;
    for (int i = 0; i < 6; ++i) open.push_back(std::make_unique<HttpClient>(server.port()));
    CHECK(open.back()->read().status == 503);
  }
  CHECK(soon([&] { return counted(503) >= 1; }));
  // No answer took longer than this test: the time of an answer begins with its connection.
  CHECK(soon([&] { return server.metric("nine_answer_seconds_sum{path=\"other\"}") < 600; }));
}

}  // namespace nine::tests::test_serve_limits
