// Raw text in, raw text out: lm_train --text, and the programs that use its model.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>

#include "core/json.h"
#include "data/tokenizers/model_tokenizer.h"
#include "data/tokenizers/raw_text.h"
#include "nn/models/language_model.h"
#include "tests/apps/lm_score_runs.h"
#include "tests/support/conversation.h"
#include "tests/support/support.h"

namespace nine::tests::test_raw_text {
namespace {

namespace fs = std::filesystem;

// Documents of a few lines, with capitals, punctuation and characters of several bytes.
std::string some_text(int documents, uint64_t seed, const char* end = "\n") {
  std::mt19937_64 random(seed);
  const auto one_of = [&](std::initializer_list<const char*> all) {
    return std::string(all.begin()[random() % all.size()]);
  };
  std::string text;
  for (int d = 0; d < documents; ++d) {
    for (uint64_t line = 0, lines = 1 + random() % 3; line < lines; ++line)
      text += one_of({"The cat", "A dog", "The old caf\xC3\xA9", "Jos\xC3\xA9"}) +
              one_of({" saw", " heard", " didn't like"}) +
              one_of({" him", " the bird", " a tree"}) + one_of({".", "!", ", again."}) + "\n";
    text += end;
  }
  return text;
}

Strings flags(const std::string& run, const Strings& more) {
  return joined({"--layers", "1", "--hidden", "16", "--embed", "16", "--batch", "4", "--lr", "0.01",
                 "--log-every", "10", "--threads", "1", "--run", run},
                more);
}

Outcome train(const std::string& run, const Strings& more) {
  return run_program("lm_train", flags(run, more));
}

// A run on raw text, made at the first call.
struct Made {
  TemporaryDirectory dir;
  std::string text = dir.write("text", some_text(120, 1)),
              test = dir.write("test", some_text(9, 2)), run = dir / "run";
  Outcome outcome =
      train(run, {"--text", text, "--test", test, "--vocab-size", "300", "--after", "2e"});
};
const Made& made() {
  static const Made m;
  REQUIRE_MESSAGE(m.outcome.code == 0, m.outcome.err);
  return m;
}

// Writes the tokenizer with the same tokens that puts a space before each line.
std::string prefixed(const TemporaryDirectory& dir, const std::string& tokenizer) {
  Json json = read_json_object(fs::path(tokenizer));
  for (Json& part : json["pre_tokenizer"]["pretokenizers"])
    if (part["type"] == "ByteLevel") part["add_prefix_space"] = true;
  return dir.write("prefixed.json", json.dump());
}

// The number behind the last `before` in a text.
double number_after(const std::string& text, const std::string& before) {
  const size_t at = text.rfind(before);
  REQUIRE_MESSAGE(at != std::string::npos, text);
  return std::stod(text.substr(at + before.size()));
}

std::vector<double> numbers(const std::string& text) {
  std::vector<double> out;
  for (const std::string& line : split(text, '\n'))
    for (const std::string& number : split(line, ' ')) out.push_back(std::stod(number));
  return out;
}

}  // namespace

TEST_CASE("lm_score: a text without words has no perplexity a word") {
  for (const char* text : {"\n", " \n\t\n"}) {
    const Outcome r = run_program("lm_score", {"--checkpoint", made().run}, text);
    REQUIRE_MESSAGE(r.code == 0, r.err);
    CHECK_MESSAGE(!has(r.err, " a word"), r.err);
    CHECK_MESSAGE(has(r.err, "tokens, no words, "), r.err);
  }
}

TEST_CASE("lm_train --text: the checkpoint has the tokenizer, and the last twentieth is held out") {
  const Made& m = made();
  CHECK(has(m.outcome.err, "validation text: the last 6 of 120 documents of --text"));
  CHECK(has(m.outcome.err, "300 tokens in the vocabulary"));
  const fs::path best = fs::path(m.run) / "checkpoints" / "best";
  CHECK(fs::exists(best / "tokenizer.json"));
  CHECK(fs::exists(best / "dict.txt"));
  CHECK(read_json_object(best / "state.json")["files"].contains("tokenizer.json"));
  const LanguageModel model = LanguageModel::load(m.run);
  REQUIRE(model.tokenizer() != nullptr);
  CHECK(model.tokenizer()->tokenizer().size() == 298);
  const std::string text = slurp(m.text);
  CHECK(model.tokenizer()->decode(model.tokenizer()->encode(text)) == text);
  // The counts are those of the text that is trained on.
  const RawText raw = RawText::read({m.text});
  std::vector<RawPart> documents = raw.documents(DocumentEnds::blank_lines);
  REQUIRE(documents.size() == 120);
  documents.resize(114);
  const Corpus trained = encode_parts(*model.tokenizer(), documents);
  CHECK(model.vocabulary().counts() == [&] {
    std::vector<int64_t> counts = trained.counts(300);
    counts[0] = counts[1] = 0;  // dict.txt leaves the special words out
    return counts;
  }());
  const Json config = read_json_object(fs::path(m.run) / "config.json");
  CHECK(config["order"] == "file");
  CHECK(config["resolved"]["document_ends"] == "blank lines");
  CHECK(config["resolved"]["identity"].contains("tokenizer"));
  CHECK(config["resolved"]["identity"]["text"] == trained.checksum());
}

TEST_CASE("lm_train --text: figures per token, word and byte, in the log and on the screen") {
  const Made& m = made();
  const std::string text = slurp(m.test);
  bool tested = false;
  for (const Json& event : log_of(m.run)) {
    if (event["event"] == "valid") CHECK(event.contains("bits_per_byte"));
    if (event["event"] != "test") continue;
    tested = true;
    const double nats = event["nll"].get<double>() * event["tokens"].get<double>();
    int64_t words = 0;
    for_each_raw_word(text, [&](size_t, size_t) { ++words; });
    CHECK(event["bits_per_byte"].get<double>() ==
          doctest::Approx(nats / std::log(2) / static_cast<double>(text.size())));
    CHECK(event["word_ppl"].get<double>() ==
          doctest::Approx(std::exp(nats / static_cast<double>(words))));
    CHECK(number_after(m.outcome.out, "a word, ") ==
          doctest::Approx(event["bits_per_byte"].get<double>()).epsilon(1e-3));
    // lm_score reads the same text in the same way.
    const Outcome scored = run_program(
        "lm_score", {"--checkpoint", m.run, "--carry-state", "--input", m.test, "--tokens"});
    CHECK(scored.code == 0);
    CHECK(number_after(scored.err, "perplexity ") ==
          doctest::Approx(event["ppl"].get<double>()).epsilon(1e-4));
    CHECK(number_after(scored.err, "a word, ") ==
          doctest::Approx(event["bits_per_byte"].get<double>()).epsilon(1e-3));
    const std::vector<double> log_p = numbers(scored.out);
    CHECK(std::ssize(log_p) == event["tokens"].get<int64_t>());
    CHECK(std::accumulate(log_p.begin(), log_p.end(), 0.0) == doctest::Approx(-nats));
    CHECK(static_cast<int64_t>(split(scored.out, '\n').size()) ==
          std::count(text.begin(), text.end(), '\n'));
  }
  CHECK(tested);
}

TEST_CASE("lm_train --text: an interrupted run resumes with the same bits") {
  const TemporaryDirectory dir;
  const std::string text = dir.write("text", some_text(60, 3));
  const Strings more{"--text", text, "--vocab-size", "280", "--documents", "--save-every", "10u"};
  CHECK(train(dir / "whole", joined(more, {"--after", "40u"})).code == 0);
  CHECK(train(dir / "parts", joined(more, {"--after", "20u"})).code == 0);
  CHECK(train(dir / "parts", joined(more, {"--after", "40u"})).code == 0);
  CHECK(weights_of(dir / "parts") == weights_of(dir / "whole"));
  // Another text, tokenizer or order is another run.
  dir.write("text", some_text(60, 4));
  const Outcome other = train(dir / "parts", joined(more, {"--after", "60u"}));
  CHECK(other.code == 2);
  CHECK(has(other.err, "--text was"));
  dir.write("text", some_text(60, 3));
  CHECK(has(train(dir / "parts", joined(more, {"--after", "60u", "--normalize", "nfc"})).err,
            "--normalize was none"));
  CHECK(train(dir / "parts", joined(more, {"--after", "60u"})).code == 0);
}

TEST_CASE("lm_train --text: a given tokenizer, initial weights, and a text of lines") {
  const Made& m = made();
  const TemporaryDirectory dir;
  const std::string tokenizer = m.run + "/checkpoints/best/tokenizer.json",
                    lines = dir.write("lines", some_text(60, 5, "")),
                    valid = dir.write("valid", some_text(8, 6, ""));
  const Outcome run = train(dir / "run", {"--text", lines, "--valid", valid, "--tokenizer",
                                          tokenizer, "--init", m.run, "--after", "10u"});
  REQUIRE_MESSAGE(run.code == 0, run.err);
  CHECK(!has(run.err, "validation text: the last"));
  CHECK(has(run.err, "tensors of"));
  CHECK(slurp(dir / "run/checkpoints/best/tokenizer.json") == slurp(tokenizer));
  CHECK(read_json_object(fs::path(dir / "run/config.json"))["resolved"]["document_ends"] ==
        "lines");
  // Another tokenizer is said, also if its tokens are the same.
  const auto begun = [&](const Strings& text) {
    const Outcome other =
        train(dir / "other", joined(text, {"--init", m.run, "--after", "1u", "--restart"}));
    CHECK_MESSAGE(other.code == 0, other.err);
    return other.err;
  };
  const std::string another = "the tokenizer of this run is another one";
  CHECK(has(begun({"--text", lines, "--vocab-size", "270"}), another));
  const std::string same_tokens = begun({"--text", lines, "--tokenizer", prefixed(dir, tokenizer)});
  CHECK(has(same_tokens, another));
  CHECK(!has(same_tokens, "dropped"));
  CHECK(!has(begun({"--text", lines}), another));
  CHECK(has(begun({"--train", lines}), "dropped"));
}

TEST_CASE("raw text: the tokenizer's own unknown token counts as unknown") {
  const TemporaryDirectory dir;
  // Knows a, b, space and LF alone.
  const std::string tokenizer = dir.write(
      "tokenizer.json", R"({"version": "1.0", "model": {"type": "BPE", "unk_token": "<unk>",
      "vocab": {"<unk>": 0, "a": 1, "b": 2, " ": 3, "\n": 4}, "merges": []}})");
  std::string known, foreign;
  for (int i = 0; i < 30; ++i) {
    known += "ab ba\nbaa c\n\n";  // one of 13 tokens, and </s>
    foreign += "xyz zyx\nuvw\n\n";
  }
  const std::string text = dir.write("known", known), other = dir.write("foreign", foreign);
  const auto train_on = [&](const char* run, const std::string& t, const Strings& more) {
    return train(dir / run, joined({"--text", t, "--tokenizer", tokenizer, "--after", "5u"}, more));
  };
  const Outcome run = train_on("run", text, {"--valid", text});
  REQUIRE_MESSAGE(run.code == 0, run.err);
  CHECK_MESSAGE(has(run.err, ", 30 unknown)"), run.err);
  const Outcome strict = train_on("strict", text, {"--valid", text, "--max-unknown", "0"});
  CHECK(strict.code == 1);
  CHECK_MESSAGE(has(strict.err, "of the 420 tokens are unknown to the tokenizer " + tokenizer),
                strict.err);
  const Outcome wrong = train_on("wrong", text, {"--valid", other});
  CHECK(wrong.code == 1);
  CHECK_MESSAGE(has(wrong.err, "--valid " + other + ": "), wrong.err);

  const auto score = [&](const std::string& input) {
    return run_program("lm_score", {"--checkpoint", dir / "run", "--input", input});
  };
  const Outcome scored = score(text);
  REQUIRE_MESSAGE(scored.code == 0, scored.err);
  CHECK_MESSAGE(has(scored.err, ", 7.69% unknown tokens)"), scored.err);
  CHECK(score(other).code == 1);
  // A translation model's side.
  const auto translation = [&](const std::string& target, const Strings& more) {
    return run_program(
        "mt_train",
        joined({"--raw",    "--src",   text,       "--tgt", target,     "--tokenizer", tokenizer,
                "--layers", "1",       "--hidden", "16",    "--ffn",    "16",          "--heads",
                "2",        "--after", "2u",       "--run", dir / "mt", "--restart"},
               more));
  };
  const Outcome foreign_target = translation(other, {});
  CHECK(foreign_target.code == 1);
  CHECK_MESSAGE(has(foreign_target.err, "--tgt " + other + ": "), foreign_target.err);
  CHECK(translation(text, {"--max-unknown", "0"}).code == 1);
  REQUIRE(translation(text, {}).code == 0);
  for (const char* how : {"--beam", "--samples"}) {
    const Outcome translated = run_program("mt_translate",
                                           {"--checkpoint", dir / "mt", "--no-allow-unknown", how,
                                            "3", "--token-pairs", dir / "pairs"},
                                           "ab ba\nbaa c\n");
    CHECK_MESSAGE(translated.code == 0, translated.err);
    CHECK_MESSAGE(has(translated.err, "% of the input's tokens are unknown"), translated.err);
    for (const std::string& pair : split(slurp(dir / "pairs"), '\n'))
      CHECK_MESSAGE(!has(pair.substr(pair.find("|||")), "<id_0>"), pair);
  }
  // No continuation has the unknown token: of 400 drawn tokens of an untrained model some would.
  const auto texts =
      LanguageModel::load(dir / "run").generate({"a"}, {.max_words = 40, .samples = 10});
  REQUIRE(texts.size() == 10);
  for (const std::string& made : texts)
    CHECK_MESSAGE(made.find_first_not_of("ab \n") == std::string::npos, made);
}

TEST_CASE("lm_train --text: what is wrong with a text is said") {
  const TemporaryDirectory dir;
  const std::string good = dir.write("good", some_text(30, 1));
  const auto error = [&](const Strings& more, int code) {
    const Outcome run = train(dir / "run", joined(more, {"--after", "1u", "--restart"}));
    CHECK(run.code == code);
    return run.err;
  };
  CHECK(has(error({"--text", good, "--vocab-size", "5000"}, 1), "gives a vocabulary of"));
  CHECK(has(error({"--text", good, "--vocab-size", "5000"}, 1), "lower --vocab-size 5000"));
  CHECK(has(error({"--text", good, "--vocab-size", "200"}, 2), "it is at least 258"));
  CHECK(has(error({"--text", dir.write("bad",
                                       "good\nb\xFF"
                                       "d\n")},
                  1),
            "line 2"));
  CHECK(has(error({"--text", dir.write("empty", "")}, 1), "is empty"));
  CHECK(has(error({"--text", dir.write("one", "One document.\n\n")}, 1),
            "nothing can be held out: give a validation text"));
  CHECK(has(error({"--text", dir.write("marked", "One.\n<|endoftext|>\nTwo.\n<|endoftext|>\n"),
                   "--vocab-size", "5000"},
                  1),
            "--text has <|endoftext|> 2 times, and it is text like any other"));
  CHECK(has(error({"--text", dir / "none"}, 1), "does not exist"));
  CHECK(has(error({"--text", good, "--train", good}, 2), "leave out --train"));
  CHECK(has(error({"--text", good, "--sentences"}, 2), "--documents"));
  CHECK(has(error({"--text", good, "--vocab", good}, 2), "leave out --vocab"));
  CHECK(has(error({"--train", good, "--normalize", "nfc"}, 2), "--text"));
  CHECK(has(error({"--text", good, "--tokenizer", dir.write("t.json", "{\"model\": 1")}, 1),
            "t.json"));
  CHECK(
      has(error({"--text", good, "--tokenizer", good, "--normalize", "nfc"}, 2), "used as it is"));
  // tiktoken's ranks have no split: GPT-4's is assumed, and said.
  std::string ranks;
  for (int byte = 0; byte < 256; ++byte) {
    const std::string two = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    ranks += concat(two[static_cast<size_t>(byte / 4)], two[static_cast<size_t>(byte % 4 * 16)],
                    "== ", byte, '\n');
  }
  const std::string file = dir.write("ranks", ranks);
  CHECK(has(error({"--text", good, "--tokenizer", file}, 0), "assumed: the split of GPT-4"));
  CHECK(!has(error({"--text", good, "--tokenizer", file, "--split", "gpt2", "--special-tokens",
                    "<|x|>=256"},
                   0),
             "assumed"));
  CHECK(has(error({"--text", good, "--tokenizer", dir.write("k.json", "{}"), "--split", "gpt2"}, 1),
            "leave out the split"));
  CHECK(has(error({"--text", good, "--split", "gpt2"}, 2), "--tokenizer"));
  // Without --vocab-size the vocabulary is as large as the text allows; a single document with
  // --valid is enough.
  CHECK(error({"--text", dir.write("one", some_text(1, 8) + "More words, and more.\n"), "--valid",
               good},
              0)
            .find("258 tokens in the vocabulary") != std::string::npos);
}

TEST_CASE("lm_score: prose from a model of raw text") {
  const Made& m = made();
  const Strings generate{"--checkpoint", m.run, "--generate", "--max-words", "30"};
  const std::string text = lm_score(joined(generate, {"--seed", "3"}), "The old\n");
  CHECK(has(run_program("lm_score", joined(generate, {"--lines", "2"}), "The old\n").err,
            "leave out --lines"));
  CHECK(text.starts_with("The old"));
  CHECK(text.ends_with("\n"));
  CHECK(!has(text, "\xC4\xA0"));  // no spelling of a token
  CHECK(find_invalid_utf8(text) == std::string_view::npos);
  // Texts as JSON objects: each is what the library generates, and a cut character is U+FFFD.
  const LanguageModel model = LanguageModel::load(m.run);
  const std::vector<std::string> made =
      model.generate({"Jos", "caf\xC3\xA9"}, {.max_words = 3, .samples = 40});
  const Strings lines = split(lm_score({"--checkpoint", m.run, "--generate", "--max-words", "3",
                                        "--samples", "40", "--json"},
                                       "Jos\ncaf\xC3\xA9"),
                              '\n');
  REQUIRE(lines.size() == made.size());
  for (size_t i = 0; i < lines.size(); ++i) {
    const Json line = parse_json(lines[i]);
    CHECK(line["line"] == static_cast<int64_t>(i / 40 + 1));
    CHECK(line["sample"] == static_cast<int64_t>(i % 40 + 1));
    CHECK(line["text"] == visible_text(made[i]));
  }
}

TEST_CASE("lm_score: lines of raw text, token by token and word by word") {
  const Made& m = made();
  const std::string text = "The cat saw him.\n\n  Jos\xC3\xA9 didn't like\ta caf\xC3\xA9!\r\nA dog";
  const LanguageModel model = LanguageModel::load(m.run);
  Strings lines;
  for_each_raw_line(text, [&](std::string_view line) { lines.emplace_back(line); });
  const auto log_p = model.score(lines);
  const std::string scores = lm_score({"--checkpoint", m.run}, text),
                    tokens = lm_score({"--checkpoint", m.run, "--tokens"}, text);
  CHECK(split(scores, '\n').size() == 4);
  for (size_t l = 0; l < lines.size(); ++l) {
    CHECK(split(split(tokens, '\n')[l], ' ').size() == model.tokenizer()->encode(lines[l]).size());
    CHECK(std::stod(split(scores, '\n')[l]) ==
          doctest::Approx(std::accumulate(log_p[l].begin(), log_p[l].end(), 0.0)));
  }
  const Strings words = split(lm_score({"--checkpoint", m.run, "--words"}, text), '\n');
  const Strings begin{"line\tword\tbegin\tend\ttext\tbits",
                      "1\t1\t0\t3\tThe\t",
                      "1\t2\t4\t7\tcat\t",
                      "1\t3\t8\t11\tsaw\t",
                      "1\t4\t12\t16\thim.\t",
                      "3\t1\t2\t6\tJos\xC3\xA9\t",
                      "3\t2\t7\t13\tdidn't\t",
                      "3\t3\t14\t18\tlike\t",
                      "3\t4\t19\t20\ta\t",
                      "3\t5\t21\t26\tcaf\xC3\xA9!\t",
                      "4\t1\t0\t1\tA\t",
                      "4\t2\t2\t5\tdog\t"};
  REQUIRE(words.size() == begin.size());
  for (size_t i = 0; i < words.size(); ++i) CHECK(words[i].starts_with(begin[i]));
  const Strings top = split(lm_score({"--checkpoint", m.run, "--top", "2"}, "The cat\n"), '\n');
  CHECK(top.size() == 1 + model.tokenizer()->encode("The cat\n").size());
  CHECK(has(top.back(), "\xC4\x8A"));  // the line's end is a token
}

TEST_CASE("lm_score --flush: the answers to lines of raw text are the bytes of the whole text") {
  const Made& m = made();
  const std::string text = "The cat saw him.\n\nJos\xC3\xA9 heard\r\nA dog";
  for (const Strings& more : {Strings{},
                              {"--tokens"},
                              {"--words"},
                              {"--top", "2"},
                              {"--generate", "--json", "--max-words", "4"}}) {
    CAPTURE(more);
    const Strings arguments = joined({"--checkpoint", m.run}, more);
    const Outcome whole = run_program("lm_score", arguments, text),
                  flushed = run_program("lm_score", joined(arguments, {"--flush"}), text);
    CHECK(whole.code == 0);
    CHECK(flushed.code == 0);
    CHECK(flushed.out == whole.out);
    CHECK(flushed.err == whole.err);
  }
  Conversation c("lm_score", {"--checkpoint", m.run, "--flush"});
  const std::string first = c.ask("The cat saw him.\n", 1);  // before the next line is there
  CHECK(std::stod(first) < 0);
  CHECK(c.end().code == 0);
}

TEST_CASE("raw text: tasks for words, and models that cut texts otherwise, are errors") {
  const Made& m = made();
  const TemporaryDirectory dir;
  const std::string sets = dir.write("sets", "the a\n"), text = dir.write("text", "The cat\n");
  const std::string& words = model_a();
  const auto error = [&](const Strings& arguments, const std::string& program = "lm_score") {
    const Outcome run = run_program(program, arguments, "The cat\n");
    CHECK(run.code != 0);
    return run.err;
  };
  CHECK(
      has(error({"--checkpoint", m.run, "--restrict", sets}), "--restrict is for models of words"));
  CHECK(has(error({"--checkpoint", m.run, "--clusters", "2:inner"}), "--clusters is for models"));
  CHECK(has(error({"--compare", m.run, m.run, "--top", "2"}), "is for models of words"));
  CHECK(has(error({"--checkpoint", words, "--words"}), "--tokens gives"));
  CHECK(has(error({"--checkpoint", m.run, "--words", "--carry-state"}), "leave out"));
  CHECK(has(error({"--compare", m.run, words}), "cut a text into different tokens"));
  CHECK(has(error({"--compare", words, m.run}), "cut a text into different tokens"));
  // Two models of one tokenizer are compared token by token.
  const std::string tokenizer = m.run + "/checkpoints/best/tokenizer.json";
  REQUIRE(
      train(dir / "other", {"--text", m.text, "--tokenizer", tokenizer, "--after", "5u"}).code ==
      0);
  // The same tokens, but a tokenizer that begins each line with a space.
  REQUIRE(train(dir / "prefixed",
                {"--text", m.text, "--tokenizer", prefixed(dir, tokenizer), "--after", "5u"})
              .code == 0);
  CHECK(has(error({"--compare", m.run, dir / "prefixed"}), "compare the bits per byte"));
  CHECK(has(error({"--compare", m.run, dir / "none"}), "no such directory"));
  CHECK(has(error({"--checkpoint", dir / "none", "--words"}), "no such directory"));
  const std::string compared =
      lm_score({"--compare", dir / "other", m.run, "--resamples", "100"}, some_text(3, 9));
  CHECK(has(compared, "\xC4\xA0"));
  // A model of raw text without its tokenizer is no model of words.
  const TemporaryDirectory alone;
  for (const char* name : {"model.safetensors", "config.json", "dict.txt"})
    fs::copy_file(fs::path(m.run) / "checkpoints/best" / name, alone.path() / name);
  CHECK(has(error({"--checkpoint", alone.path().string()}), "lacks the tokenizer"));
  // A checkpoint whose tokenizer was changed does not open.
  const fs::path best = fs::canonical(dir / "other/checkpoints/best");
  put(best / "tokenizer.json", slurp(best / "tokenizer.json") + " ");
  CHECK(has(error({"--checkpoint", dir / "other"}), "tokenizer.json"));
}

TEST_CASE("lm_rescore: hypotheses are cut by the model's tokenizer, each with a line end") {
  const Made& m = made();
  const TemporaryDirectory dir;
  const Strings hypotheses{"The cat saw him.", "Cat the him saw.", "Jos\xC3\xA9 heard a tree!",
                           "Jos\xC3\xA9 hurt a tree!"};
  const LanguageModel model = LanguageModel::load(m.run);
  std::string nbest, chosen;
  size_t tokens = 0;
  for (size_t u = 0; u < 2; ++u) {
    std::vector<double> log_p;
    for (size_t h = 2 * u; h < 2 * u + 2; ++h) {
      nbest += concat("u", u, "\t-1\t", hypotheses[h], '\n');
      const std::vector<double> of_tokens = model.score({hypotheses[h] + "\n"})[0];
      tokens += of_tokens.size();
      log_p.push_back(std::accumulate(of_tokens.begin(), of_tokens.end(), 0.0));
    }
    chosen += concat(hypotheses[2 * u + (log_p[1] > log_p[0] ? 1 : 0)], " (u", u, ")\n");
  }
  const std::string reference = "u0\tThe cat saw him.\nu1\tJos\xC3\xA9 heard a tree!\n";
  const Outcome run =
      run_program("lm_rescore", {"--checkpoint", m.run, "--nbest", dir.write("nbest", nbest),
                                 "--reference", dir.write("reference", reference), "--lambda", "1",
                                 "--mu", "0", "--output", dir / "out"});
  REQUIRE_MESSAGE(run.code == 0, run.err);
  CHECK(has(run.err, concat("4 of them different, ", tokens, " tokens")));
  CHECK(slurp(dir / "out/hyp.trn") == chosen);
  // Models that cut texts otherwise cannot be mixed token by token.
  const Outcome mixed =
      run_program("lm_rescore", {"--checkpoint", m.run, model_a(), "--nbest", dir / "nbest",
                                 "--reference", dir / "reference", "--lambda", "1", "--mu", "0",
                                 "--max-unknown", "1", "--output", dir / "mixed"});
  CHECK(mixed.code == 1);
  CHECK(has(mixed.err, "cut a text into different tokens"));
}

}  // namespace nine::tests::test_raw_text
