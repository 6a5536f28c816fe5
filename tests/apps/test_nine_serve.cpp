// nine_serve from the outside: what it answers beside lm_score and mt_translate, that no answer
// depends on the other requests, and every limit.
#include <doctest/doctest.h>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/error.h"
#include "tests/apps/lm_score_runs.h"
#include "tests/apps/mt_runs.h"
#include "tests/apps/serve_runs.h"
#include "tests/support/support.h"

namespace nine::tests::test_nine_serve {
namespace {

namespace fs = std::filesystem;

// A model of raw text, trained when it is first asked for.
const std::string& raw_model() {
  static const TemporaryDirectory dir;
  static const std::string run = [] {
    std::string text;
    for (int i = 0; i < 300; ++i)
      text += concat(i % 2 == 0 ? "The cat" : "A dog", " saw ",
                     i % 3 == 0 ? "him" : "the caf\xC3\xA9", i % 5 == 0 ? "!" : ".", "\n");
    const Outcome r = run_program("lm_train", {"--text",       dir.write("text", text),
                                               "--run",        dir / "raw",
                                               "--layers",     "1",
                                               "--hidden",     "16",
                                               "--embed",      "16",
                                               "--batch",      "4",
                                               "--bptt",       "16",
                                               "--lr",         "0.01",
                                               "--after",      "60u",
                                               "--vocab-size", "270"});
    REQUIRE_MESSAGE(r.code == 0, r.err);
    return dir / "raw";
  }();
  return run;
}

// A translation model, and a sentence of its language.
struct TranslationModel {
  Reversed data;
  std::string run = data.dir / "run";
  std::string sentence;
  TranslationModel() {
    const Outcome r = train(tiny(run, data.files({"--after", "40u"})));
    REQUIRE_MESSAGE(r.code == 0, r.err);
    for (const auto& entry : fs::directory_iterator(data.dir.path()))
      if (entry.is_regular_file() && sentence.empty())
        sentence = split(slurp(entry.path()), '\n').front();
  }
};
const TranslationModel& translation_model() {
  static const TranslationModel model;
  return model;
}

// A prompt whose tokens take longer than a test waits.
const std::string& endless() {
  static const std::string text = [] {
    std::string all;
    for (int i = 0; i < 3'000'000; ++i) all += "the ";
    return all;
  }();
  return text;
}

std::string message_of(const HttpAnswer& answer) {
  return answer.json()["error"]["message"].get<std::string>();
}

// The text of the first choice.
std::string text_of(const HttpAnswer& answer) {
  CAPTURE(answer.body);
  REQUIRE(answer.status == 200);
  return answer.json()["choices"][0]["text"].get<std::string>();
}

// An answer without what differs from request to request: its name and its time.
std::string without_names(const HttpAnswer& answer) {
  REQUIRE_MESSAGE(answer.status == 200, answer.body);
  Json json = answer.json();
  json.erase("id");
  json.erase("created");
  return json_text(json);
}

}  // namespace

TEST_CASE("nine_serve: /v1/completions continues as lm_score --generate does") {
  for (const std::string& model : {model_b(), transformer_model()}) {
    const ServeRun server({"m=" + model});
    for (const char* temperature : {"0", "1", "0.7"}) {
      const bool greedy = std::stod(temperature) == 0;
      Strings how{"--checkpoint",  model,      "--generate", "--max-words", "9",
                  "--temperature", temperature};
      if (!greedy) how = joined(how, {"--seed", "7", "--top-p", "0.9"});
      const std::string wanted = lm_score(how, "the old\n");
      const HttpAnswer answer =
          server.post("/v1/completions", {{"model", "m"},
                                          {"prompt", "the old"},
                                          {"max_tokens", 9},
                                          {"seed", 7},
                                          {"temperature", std::stod(temperature)},
                                          {"top_p", greedy ? 1.0 : 0.9},
                                          {"echo", true}});
      CHECK(text_of(answer) + "\n" == wanted);
    }
    // Continuations of several prompts: the same random numbers as lm_score's.
    const Strings lines = split(lm_score({"--checkpoint", model, "--generate", "--max-words", "5",
                                          "--samples", "3", "--seed", "4"},
                                         "a dog\nshe\n"),
                                '\n');
    const Json choices = server
                             .post("/v1/completions", {{"prompt", {"a dog", "she"}},
                                                       {"n", 3},
                                                       {"seed", 4},
                                                       {"max_tokens", 5},
                                                       {"echo", true}})
                             .json()["choices"];
    REQUIRE(choices.size() == 6);
    for (size_t i = 0; i < 6; ++i) {
      CHECK(choices[i]["text"] == lines[i]);
      CHECK(choices[i]["index"] == i);
    }
  }
}

TEST_CASE("nine_serve: log-probabilities are those of lm_score, and the likeliest those of --top") {
  const std::string text = "the cat saw a dog";
  for (const std::string& model : {model_a(), transformer_model()}) {
    const ServeRun server({"m=" + model});
    const HttpAnswer answer = server.post(
        "/v1/completions",
        {{"prompt", text}, {"max_tokens", 1}, {"temperature", 0}, {"echo", true}, {"logprobs", 3}});
    REQUIRE_MESSAGE(answer.status == 200, answer.body);
    const Json json = answer.json(), logprobs = json["choices"][0]["logprobs"];
    const std::vector<double> wanted = scored_tokens(model, text + "\n").front();
    const std::vector<TopLine> top = top_lines(model, text + "\n", 3);
    REQUIRE(logprobs["tokens"].size() == 6);
    REQUIRE(logprobs["token_logprobs"].size() == 6);
    for (size_t i = 0; i < 5; ++i) {
      CHECK(logprobs["token_logprobs"][i].get<double>() ==
            doctest::Approx(wanted[i]).epsilon(1e-5));
      size_t k = 0;
      for (const auto& [word, log_p] :
           logprobs["top_logprobs"][i].get_ref<const Json::object_t&>()) {
        const std::string bare = word.starts_with(' ') ? word.substr(1) : word;
        CHECK(bare == top[i].top[k].first);
        CHECK(std::exp(log_p.get<double>()) == doctest::Approx(top[i].top[k].second).epsilon(1e-3));
        ++k;
      }
    }
    CHECK(logprobs["text_offset"] == Json({0, 3, 7, 11, 13, 17}));
    CHECK(json["usage"]["prompt_tokens"] == 5);
    CHECK(json["usage"]["completion_tokens"] == 1);
    // /score has the end of the sentence, too.
    const Json scored = server.post("/score", {{"texts", text}}).json()["results"][0];
    REQUIRE(scored["tokens"].size() == wanted.size());
    double sum = 0;
    for (size_t i = 0; i < wanted.size(); ++i) {
      CHECK(scored["tokens"][i]["log_p"].get<double>() == doctest::Approx(wanted[i]).epsilon(1e-5));
      sum += scored["tokens"][i]["log_p"].get<double>();
    }
    CHECK(scored["log_p"].get<double>() == doctest::Approx(sum));
    CHECK(scored["tokens"].back()["token"] == "</s>");
  }
}

TEST_CASE("nine_serve: a model of raw text: ids as its tokenizer counts them, stop, stream") {
  const ServeRun server({"raw=" + raw_model()});
  const Json model = server.get("/v1/models/raw").json();
  CHECK(model["reads"] == "raw text");
  const int end = model["end_token"].get<int>();
  CHECK(end == model["tokens"].get<int>() - 2);
  const Json greedy{{"prompt", "The cat"}, {"max_tokens", 24}, {"temperature", 0}};
  const std::string whole = text_of(server.post("/v1/completions", greedy));
  REQUIRE(whole.size() > 6);
  // The prompt as ids, with </s> before it: its tokens have the same log-probabilities.
  const Json by_text =
      server
          .post("/v1/completions",
                {{"prompt", "The cat"}, {"max_tokens", 0}, {"echo", true}, {"logprobs", 1}})
          .json()["choices"][0]["logprobs"];
  std::vector<int> ids{end};
  {
    const Outcome tokens = run_program(
        "bpe", {"apply", "--tokenizer", raw_model() + "/checkpoints/best/tokenizer.json"},
        "The cat");
    for (const std::string& id : split(tokens.out, ' ')) ids.push_back(std::stoi(id));
  }
  REQUIRE(ids.size() == by_text["tokens"].size() + 1);
  {
    const Json by_ids =
        server
            .post("/v1/completions",
                  {{"prompt", ids}, {"max_tokens", 0}, {"echo", true}, {"logprobs", 1}})
            .json()["choices"][0];
    CHECK(by_ids["text"] == "The cat");
    CHECK(by_ids["logprobs"]["token_logprobs"][0].is_null());
    for (size_t i = 1; i < ids.size(); ++i)
      CHECK(by_ids["logprobs"]["token_logprobs"][i] == by_text["token_logprobs"][i - 1]);
  }
  CHECK(server.post("/v1/completions", {{"prompt", {end + 1}}}).status == 400);
  // A stop text ends the answer before itself.
  const std::string stop = whole.substr(4, 2);
  Json stopped = greedy;
  stopped["stop"] = {stop, "never there"};
  const HttpAnswer cut = server.post("/v1/completions", stopped);
  CHECK(text_of(cut) == whole.substr(0, whole.find(stop)));
  CHECK(cut.json()["choices"][0]["finish_reason"] == "stop");
  // A stream's parts are the answer.
  for (Json asked : {greedy, stopped}) {
    const std::string wanted = text_of(server.post("/v1/completions", asked));
    asked["stream"] = true;
    asked["stream_options"] = {{"include_usage", true}};
    const HttpAnswer stream = server.post("/v1/completions", asked);
    CHECK(stream.headers.at("content-type") == "text/event-stream");
    std::string text;
    int parts = 0, usages = 0, reasons = 0;
    for (const std::string& line : split(stream.body, '\n')) {
      if (line.empty()) continue;
      REQUIRE(line.starts_with("data: "));
      if (line == "data: [DONE]") continue;
      const Json event = parse_json(line.substr(6));
      if (!event["usage"].is_null()) {
        ++usages;
        CHECK(event["choices"].empty());
        continue;
      }
      text += event["choices"][0]["text"].get<std::string>();
      reasons += event["choices"][0]["finish_reason"].is_null() ? 0 : 1;
      ++parts;
    }
    CHECK(text == wanted);
    CHECK(parts > (asked.contains("stop") ? 0 : 1));
    CHECK(usages == 1);
    CHECK(reasons == 1);
    CHECK(stream.body.ends_with("data: [DONE]\n\n"));
  }
}

TEST_CASE("nine_serve: 64 clients at once get the bytes that each gets alone") {
  const ServeRun server({"lstm=" + model_b(), "transformer=" + transformer_model(),
                         "raw=" + raw_model(), "mt=" + translation_model().run});
  const auto request = [](int i) -> std::pair<std::string, Json> {
    const char* const prompts[] = {"the cat", "a dog saw", "she", "", "the old man fed the"};
    if (i % 8 == 7)
      return {"/translate", {{"q", translation_model().sentence}, {"beam", 1 + i % 3}}};
    if (i % 8 == 6)
      return {"/score", {{"model", "lstm"}, {"texts", prompts[i % 5]}, {"top", i % 4}}};
    Json asked{{"model", i % 3 == 0   ? "lstm"
                         : i % 3 == 1 ? "transformer"
                                      : "raw"},
               {"prompt", prompts[i % 5]},
               {"max_tokens", 1 + i % 17},
               {"seed", i},
               {"temperature", i % 4 == 0 ? 0.0 : 0.3 * (i % 5)},
               {"top_p", i % 2 == 0 ? 1.0 : 0.8},
               {"n", 1 + i % 3},
               {"echo", i % 5 == 0}};
    if (i % 4 == 1) asked["logprobs"] = i % 6;
    if (i % 7 == 3) asked["top_k"] = 4;
    return {"/v1/completions", std::move(asked)};
  };
  const auto answer = [&](int i) {
    const auto [path, body] = request(i);
    return server.post(path, body);
  };
  constexpr int kClients = 64;
  std::vector<std::string> alone;
  for (int i = 0; i < kClients; ++i) alone.push_back(without_names(answer(i)));
  for (int round = 0; round < 2; ++round) {
    std::vector<HttpAnswer> together(kClients);
    std::vector<std::thread> clients;
    for (int i = 0; i < kClients; ++i)
      clients.emplace_back([&, i] { together[static_cast<size_t>(i)] = answer(i); });
    for (std::thread& client : clients) client.join();
    for (int i = 0; i < kClients; ++i)
      CHECK(without_names(together[static_cast<size_t>(i)]) == alone[static_cast<size_t>(i)]);
  }
  // They were computed together indeed.
  CHECK(server.metric("nine_step_texts_total") > 1.2 * server.metric("nine_steps_total"));
}

TEST_CASE("nine_serve: /translate and /languages") {
  const TranslationModel& model = translation_model();
  const ServeRun server({"mt:de-en=" + model.run});
  CHECK(server.get("/languages").json() ==
        Json::array({{{"code", "de"}, {"name", "de"}, {"targets", {"en"}}},
                     {{"code", "en"}, {"name", "en"}, {"targets", Json::array()}}}));
  const auto translated = [&](const std::string& text, const Strings& more = {}) {
    const Outcome r =
        run_program("mt_translate", joined({"--checkpoint", model.run}, more), text + "\n");
    REQUIRE_MESSAGE(r.code == 0, r.err);
    return r.out;
  };
  const std::string wanted = translated(model.sentence);
  const Json asked{{"q", model.sentence}, {"source", "de"}, {"target", "en"}};
  CHECK(server.post("/translate", asked).json()["translatedText"].get<std::string>() + "\n" ==
        wanted);
  // A form, as libretranslatepy sends it; two lines; a list.
  std::string form = "source=de&target=en&q=";
  for (const char c : model.sentence) form += c == ' ' ? std::string("+") : std::string(1, c);
  const HttpAnswer by_form = server.ask("POST", "/translate", form + "%0a",
                                        {"Content-Type: application/x-www-form-urlencoded"});
  REQUIRE_MESSAGE(by_form.status == 200, by_form.body);
  CHECK(by_form.json()["translatedText"] == wanted);
  const Json list =
      server.post("/translate", {{"q", {model.sentence, ""}}, {"source", "auto"}}).json();
  CHECK(list["translatedText"][0].get<std::string>() + "\n" == wanted);
  CHECK(list["translatedText"][1] == "");
  CHECK(list["detectedLanguage"]["language"] == "de");
  // Alternatives are the n-best list; attention has a row for each word, which sums to 1.
  Json more = asked;
  more["alternatives"] = 2;
  more["attention"] = true;
  const Json answer = server.post("/translate", more).json();
  const Strings lines = split(translated(model.sentence, {"--n-best", "3"}), '\n');
  REQUIRE(answer["alternatives"].size() + 1 == lines.size());
  for (size_t i = 1; i < lines.size(); ++i)
    CHECK(has(lines[i], "||| " + answer["alternatives"][i - 1].get<std::string>() + " |||"));
  for (const Json& row : answer["attention"][0]["weights"]) {
    double sum = 0;
    for (const Json& weight : row) sum += weight.get<double>();
    CHECK(sum == doctest::Approx(1).epsilon(1e-4));
  }
  // Errors have LibreTranslate's form.
  const HttpAnswer other =
      server.post("/translate", {{"q", "x"}, {"source", "en"}, {"target", "de"}});
  CHECK(other.status == 400);
  CHECK(other.json()["error"] == "no model translates from en to de: see /languages");
  CHECK(server.post("/translate", {{"q", "x"}, {"format", "html"}}).status == 400);
  CHECK(
      server.ask("POST", "/translate", "q=%4", {"Content-Type: application/x-www-form-urlencoded"})
          .status == 400);
}

TEST_CASE("nine_serve: /restrict chooses as lm_score --restrict does") {
  const ServeRun server({"m=" + model_a()});
  const TemporaryDirectory dir;
  const Outcome r = run_program(
      "lm_score",
      {"--checkpoint", model_a(), "--restrict", dir.write("sets", "cat dog\n"), "--choices"},
      "the cat saw a dog\n");
  REQUIRE_MESSAGE(r.code == 0, r.err);
  const Json answer = server
                          .post("/restrict", {{"texts", {"the cat saw a dog"}},
                                              {"sets", Json::array({Json::array({"cat", "dog"})})}})
                          .json();
  REQUIRE(answer["choices"].size() == 2);
  CHECK(answer["positions"] == 2);
  for (const Json& choice : answer["choices"])
    CHECK(has(r.out, choice["chosen"].get<std::string>()));
  const HttpAnswer unknown =
      server.post("/restrict", {{"texts", "the cat"}, {"sets", {{"cat", "dog", "zebra"}}}});
  CHECK(unknown.status == 400);
  CHECK(has(message_of(unknown), "does not know the word 'zebra'"));
}

TEST_CASE("nine_serve: /explain derives the log-probabilities that the engine computes") {
  const TemporaryDirectory dir;
  const std::string text = dir.write("t", "a b c\nb a\nc c a b\na a b c\nb b c\n");
  Strings models;
  int i = 0;
  for (const char* head : {"lin", "log:p=4", "mix:2*lin,rbf", "pol"}) {
    const std::string run = dir / concat("r", i++);
    const Outcome r = run_program(
        "lm_train", {"--train", text, "--valid", text, "--run", run, "--head", head, "--layers",
                     "1", "--hidden", "8", "--embed", "8", "--batch", "2", "--after", "8u"});
    REQUIRE_MESSAGE(r.code == 0, r.err);
    models.push_back(run);
  }
  const ServeRun server(models);
  for (int m = 0; m < i; ++m) {
    const HttpAnswer answer =
        server.post("/explain", {{"model", concat("r", m)}, {"text", "a b c"}, {"top", 2}});
    REQUIRE_MESSAGE(answer.status == 200, answer.body);
    const Json json = answer.json();
    REQUIRE(json["positions"].size() == 4);
    for (const Json& position : json["positions"]) {
      CHECK(position["words"].size() == 3);
      for (const Json& word : position["words"]) {
        CHECK(word["log_p"].get<double>() ==
              doctest::Approx(word["engine_log_p"].get<double>()).epsilon(1e-4));
        double p = 0;
        for (const Json& c : word["components"])
          p += c["prior"].get<double>() * std::exp(c["S"].get<double>() - c["log_z"].get<double>());
        CHECK(std::log(p) == doctest::Approx(word["log_p"].get<double>()).epsilon(1e-9));
      }
    }
  }
}

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

TEST_CASE("nine_serve: an answer has a limit of log-probabilities") {
  const ServeRun server({"m=" + model_b()});
  std::string text;
  for (int i = 0; i < 4000; ++i) text += "the ";
  const HttpAnswer answer = server.post("/score", {{"texts", Strings(40, text)}, {"top", 20}});
  CHECK(answer.status == 400);
  CHECK(has(answer.body, "log-probabilities"));
}

TEST_CASE("nine_serve: the limits of all requests") {
  const ServeRun server({"m=" + model_b(), "--queue", "2", "--connections", "6",
                         "--max-prompt-tokens", "10000000", "--max-body", "100000000"});
  {
    HttpClient first(server.port()), second(server.port());
    for (HttpClient* client : {&first, &second})
      client->send(http_request("POST", "/v1/completions", json_text({{"prompt", endless()}})));
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
    HttpClient busy(server.port());
    busy.send(http_request("POST", "/score", json_text({{"texts", endless()}})));
    CHECK(soon([&] { return server.metric("nine_requests_in_work") == 1; }));
    const HttpAnswer answer = server.post("/score", {{"texts", "the"}});
    CHECK(answer.status == 429);
    CHECK(answer.headers.at("retry-after") == "1");
    CHECK(answer.json()["error"]["code"] == "rate_limit_exceeded");
  }
  CHECK(soon([&] { return server.post("/score", {{"texts", "the"}}).status == 200; }));
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
                    brief = dir.write("brief", "x\n"), empty = dir.write("empty", "\n");
  for (const std::string& file : {brief, empty})
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
  refused({model_a(), "--token-file", dir / "none"}, 1, "No such file");
  refused({dir / "none"}, 1, "none");
  refused({"m:de-en=" + model_a()}, 1, "has no languages");
  refused({"m:de=" + model_a()}, 2, "two codes with a dash");
}

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
  HttpClient running(server.port());
  running.send(
      http_request("POST", "/score", json_text({{"texts", endless().substr(0, 4 * 20'000)}})));
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
      {"m=" + model_b(), "--max-prompt-tokens", "10000000", "--max-body", "100000000"});
  for (const bool stream : {false, true}) {
    HttpClient client(server.port());
    client.send(http_request("POST", "/v1/completions",
                             json_text({{"prompt", endless()}, {"stream", stream}})));
    CHECK(soon([&] { return server.metric("nine_requests_in_work") == 1; }));
    // It does not hold back a short text.
    CHECK(server.post("/score", {{"texts", "the"}}).status == 200);
    client.close();
    CHECK(soon([&] { return server.metric("nine_requests_in_work") == 0; }));
  }
  CHECK(server.metric("nine_gone_clients_total") == 2);
}

TEST_CASE("nine_serve: memory does not grow with requests" * doctest::test_suite("check")) {
  ServeRun server({"m=" + model_a(), "raw=" + raw_model(), "--keep-alive", "30"});
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

}  // namespace nine::tests::test_nine_serve
