// What nine_serve answers, beside lm_score and mt_translate, and that no answer depends on the
// other requests. test_serve_*.cpp have its limits, its access, its life and its parts.
#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "core/error.h"
#include "nn/models/language_model.h"
#include "tests/apps/lm_score_runs.h"
#include "tests/apps/serve_runs.h"
#include "tests/support/support.h"

namespace nine::tests::test_nine_serve {
namespace {

// An answer without what differs from request to request: its name and its time.
std::string without_names(const HttpAnswer& answer) {
  REQUIRE_MESSAGE(answer.status == 200, answer.body);
  Json json = answer.json();
  json.erase("id");
  json.erase("created");
  return json_text(json);
}

// What a stream's events say of the first choice: its text, and the arrays of its logprobs.
struct Streamed {
  std::string text;
  Json logprobs = Json::object();
  explicit Streamed(const HttpAnswer& stream) {
    REQUIRE_MESSAGE(stream.status == 200, stream.body);
    for (const std::string& line : split(stream.body, '\n')) {
      if (line.empty() || line == "data: [DONE]") continue;
      REQUIRE(line.starts_with("data: "));
      const Json event = parse_json(line.substr(6));
      if (event["choices"].empty()) continue;
      text += event["choices"][0]["text"].get<std::string>();
      const Json& parts = event["choices"][0]["logprobs"];
      if (parts.is_null()) continue;
      for (const char* name : {"tokens", "token_logprobs", "top_logprobs", "text_offset"})
        for (const Json& element : parts[name]) logprobs[name].push_back(element);
    }
  }
};

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
  // Texts computed in one step, on average since the counts before.
  double steps = 0, texts = 0;
  const auto texts_in_step = [&] {
    const double steps_before = std::exchange(steps, server.metric("nine_steps_total")),
                 texts_before = std::exchange(texts, server.metric("nine_step_texts_total"));
    return (texts - texts_before) / (steps - steps_before);
  };
  std::vector<std::string> alone;
  for (int i = 0; i < kClients; ++i) alone.push_back(without_names(answer(i)));
  const double texts_alone = texts_in_step();
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
  CHECK(texts_in_step() > 1.2 * texts_alone);
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
  const int32_t cat = LanguageModel::load(model_a()).vocabulary().id("cat");
  const ServeRun excludes({"m=" + changed_model(dir, "m", model_a(), "head.bias", cat, -INFINITY)});
  const HttpAnswer excluded = excludes.post(
      "/restrict", {{"texts", "the dog"}, {"sets", Json::array({Json::array({"cat", "dog"})})}});
  CHECK(excluded.status == 400);
  CHECK(has(message_of(excluded), "excludes the word 'cat' by a bias of -inf"));
}

TEST_CASE("nine_serve: /explain derives the log-probabilities that the engine computes") {
  const TemporaryDirectory dir;
  const std::string text = dir.write("t", "a b c\nb a\nc c a b\na a b c\nb b c\n");
  Strings models;
  int i = 0;
  const Strings words{"--word-norm", "log-unigram:scaled"}, context{"--context-norm", "max"};
  for (const auto& [head, more] : {std::pair("lin", Strings()),
                                   {"log:p=4", Strings()},
                                   {"mix:2*lin,rbf", Strings()},
                                   {"pol", Strings()},
                                   {"lin", words},
                                   {"lin", context},
                                   {"mix:2*lin", joined(words, context)}}) {
    const std::string run = dir / concat("r", i++);
    const Outcome r = run_program(
        "lm_train",
        joined({"--train", text, "--valid", text, "--run", run, "--head", head, "--layers", "1",
                "--hidden", "8", "--embed", "8", "--batch", "2", "--after", "8u"},
               more));
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

TEST_CASE("nine_serve: a stream has the text and the log-probabilities of the whole answer") {
  const ServeRun server({"raw=" + raw_model()});
  int bad = 0;
  for (int seed = 1; seed <= 12; ++seed) {
    CAPTURE(seed);
    // At such a temperature most tokens are bytes that are no characters.
    Json asked{{"prompt", "the caf\xC3\xA9"}, {"max_tokens", 60},      {"seed", seed},
               {"temperature", 100},          {"echo", seed % 2 == 0}, {"logprobs", 2}};
    if (seed % 3 == 0) asked["stop"] = {"a", "e\n", "\xC3\xA9\xC3\xA9"};
    const HttpAnswer whole = server.post("/v1/completions", asked);
    asked["stream"] = true;
    const Streamed stream(server.post("/v1/completions", asked));
    const std::string text = text_of(whole);
    CHECK(stream.text == text);
    CHECK(stream.logprobs == whole.json()["choices"][0]["logprobs"]);
    bad += has(text, "\xEF\xBF\xBD") ? 1 : 0;
  }
  CHECK(bad > 6);
}

}  // namespace nine::tests::test_nine_serve
