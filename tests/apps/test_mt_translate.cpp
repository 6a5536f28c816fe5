// mt_translate and the library's Translator on a checkpoint of a small random model: the program
// against the search called directly, the library against the program.
#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <thread>
#include <type_traits>

#include "apps/mt_translate/translate_text.h"
#include "checks/op_cases.h"
#include "core/json.h"
#include "core/safetensors.h"
#include "data/measures/bleu.h"
#include "data/measures/chrf.h"
#include "data/n_best.h"
#include "nn/models/language_model.h"
#include "nn/models/model_directory.h"
#include "nn/models/translation_config.h"
#include "nn/models/translator.h"
#include "tests/support/conversation.h"
#include "tests/support/programs.h"
#include "tests/support/support.h"

namespace nine::tests::test_mt_translate {
namespace {

using Strings = std::vector<std::string>;
using Ids = BeamSearch::Ids;

Vocabulary dictionary_of(const std::string& words) {
  const std::string lines[] = {words};
  return Vocabulary::build(count_words_of_lines(lines), Specials::kTranslation);
}

// A checkpoint as mt_train writes it, of a model with weights that say something.
struct Checkpoint {
  TemporaryDirectory dir;
  std::string path = dir.path().string();
  Vocabulary source = dictionary_of("ein hund katze lau@@ f@@ t schläft ."),
             target = dictionary_of("a dog cat ru@@ ns sleeps . fast");
  ParameterSet set{{.seed = 7}};
  Transformer model;

  // With a bias where a word is `excluded` by it.
  explicit Checkpoint(const std::string& head = "mix:2*lin,log", const std::string& excluded = "")
      : model(set, {.src_vocab = source.size(),
                    .tgt_vocab = target.size(),
                    .encoder_layers = 1,
                    .decoder_layers = 2,
                    .dim = 16,
                    .ffn = 24,
                    .heads = 2,
                    .dropout = 0,
                    .head = {.spec = parse_head(head), .bias = !excluded.empty()},
                    .max_length = 30}) {
    const View words = set.at("tgt_embedding.weight").value();
    for (int64_t i = 0; i < words.elements(); ++i) words.as<float>()[i] *= 3;
    if (!excluded.empty())
      set.at("head.bias").value().view().as<float>()[target.id(excluded)] = -INFINITY;
    std::vector<NamedView> tensors = set.named(set.values());
    tensors.push_back({kPositionsName, model.positions()});
    write_safetensors(dir / "model.safetensors", tensors, model.metadata());
    Json config = translation_config(model);
    config["head"] = head;
    dir.write("config.json", config.dump());
    dir.write(kSourceDict, source.dict_text());
    dir.write(kTargetDict, target.dict_text());
  }

  std::vector<Ids> ids(const Strings& lines, const Vocabulary& dictionary) const {
    std::vector<Ids> all;
    for (const std::string& line : lines) all.push_back(dictionary.encode(line));
    return all;
  }
  std::string words(const Ids& ids) const {
    std::string out;
    for (const int32_t id : ids) out += (out.empty() ? "" : " ") + target.word(id);
    return out;
  }
};

Strings lines_of(const std::string& text) {
  Strings lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string text_of_lines(const Strings& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

std::string run(const Strings& arguments, const std::string& input = {}) {
  const Outcome r = run_program("mt_translate", arguments, input);
  CAPTURE(r.err);
  REQUIRE(r.code == 0);
  return r.out;
}

const Strings kLines = {"ein hund lau@@ f@@ t .", "", "katze schläft", "unbekannt . .",
                        "ein ein ein ein ein ein"};

}  // namespace

TEST_CASE(
    "mt_translate: one line out for each line in, n-best lists and attention, as the search finds "
    "them") {
  const Checkpoint c;
  const std::vector<Ids> sources = c.ids(kLines, c.source);
  CHECK(sources[3][0] == Specials::kTranslation.unknown);
  const BeamSearch beam_search(c.model);
  const auto found = beam_search.translate(
      sources, {.beam = 4, .length_penalty = 0.7, .max_length = 9, .n_best = 3, .attention = true});
  const Strings options{"--checkpoint",     c.path, "--beam",       "4",
                        "--length-penalty", "0.7",  "--max-length", "9"};
  const auto with = [&](Strings more) {
    more.insert(more.begin(), options.begin(), options.end());
    return more;
  };
  Strings best, lists;
  for (size_t i = 0; i < found.size(); ++i) {
    best.push_back(c.words(found[i][0].words));
    for (const Hypothesis& h : found[i])
      lists.push_back(concat(i, " ||| ", c.words(h.words), " ||| ", h.score));
  }
  CHECK(best[1].empty());
  CHECK(run(with({}), text_of_lines(kLines)) == text_of_lines(best));
  CHECK(run(with({"--threads", "1", "--batch", "1"}), text_of_lines(kLines)) ==
        text_of_lines(best));
  const std::string in = c.dir.write("in.txt", text_of_lines(kLines)), out = c.dir / "out.txt",
                    attention = c.dir / "attention.jsonl";
  CHECK(run(with({"--input", in, "--output", out, "--n-best", "3", "--attention", attention}))
            .empty());
  CHECK(slurp(out) == text_of_lines(lists));
  const Strings rows = lines_of(slurp(attention));
  REQUIRE(rows.size() == kLines.size());
  const auto first = Json::parse(rows[0]);
  CHECK(first["line"] == 0);
  CHECK(first["source"] == Strings{"ein", "hund", "lau@@", "f@@", "t", ".", "</s>"});
  CHECK(first["target"].size() == found[0][0].words.size());
  std::vector<float> shares;
  for (const auto& row : first["attention"]) {
    CHECK(row.size() == 7);
    for (const auto& x : row) shares.push_back(x.get<float>());
  }
  CHECK(shares == found[0][0].attention);
  CHECK(Json::parse(rows[1])["attention"].empty());
}

TEST_CASE(
    "mt_translate: samples, prefixes, word scores, alignments and ensembles, as the search has "
    "them") {
  const Checkpoint c, other("lin");
  const std::vector<Ids> sources = c.ids(kLines, c.source);
  const Strings prefix_lines = {"a", "", "", "dog .", "cat"};
  const std::string prefix = c.dir.write("prefix", text_of_lines(prefix_lines)),
                    scores = c.dir / "scores", pairs = c.dir / "pairs";
  const Strings with_files{"--prefix", prefix, "--word-scores", scores, "--alignment", pairs};
  const BeamSearch one(c.model),
      both(std::vector<const Transformer*>{&c.model, &other.model}, Specials::kTranslation.end);
  struct Case {
    const BeamSearch& search;
    SearchOptions options;
    Strings flags;
  };
  const Case cases[] = {{one, {.beam = 3}, {c.path, "--beam", "3"}},
                        {both, {.beam = 3}, {c.path, other.path, "--beam", "3"}},
                        {one,
                         {.samples = 2,
                          .sampling = {.allow_unknown = true,
                                       .temperature = 0.8,
                                       .top_k = 5,
                                       .top_p = 0.9,
                                       .unknown = Specials::kTranslation.unknown},
                          .seed = 7},
                         {c.path, "--samples", "2", "--temperature", "0.8", "--top-k", "5",
                          "--top-p", "0.9", "--seed", "7"}}};
  for (const Case& at : cases) {
    CAPTURE(at.flags);
    SearchOptions options = at.options;
    options.max_length = 9;
    options.attention = true;
    const auto found = at.search.translate(sources, options, {}, c.ids(prefix_lines, c.target));
    Strings lines, numbers, aligned;
    for (size_t s = 0; s < found.size(); ++s)
      for (size_t h = 0; h < (options.samples > 0 ? found[s].size() : 1); ++h) {
        const Hypothesis& best = found[s][h];
        lines.push_back(c.words(best.words));
        std::string& row = numbers.emplace_back();
        for (const double x : best.word_log_probs) row += concat(row.empty() ? "" : " ", x);
        std::string& words = aligned.emplace_back();
        for (size_t t = 0; t < best.words.size(); ++t) {
          const auto begin =
              best.attention.begin() + static_cast<int64_t>(t * (sources[s].size() + 1));
          const auto top =
              std::max_element(begin, begin + static_cast<int64_t>(sources[s].size())) - begin;
          words += concat(words.empty() ? "" : " ", top, "-", t);
        }
      }
    const Strings flags = joined({"--checkpoint"}, at.flags);
    CHECK(run(joined(joined(flags, with_files), {"--max-length", "9"}), text_of_lines(kLines)) ==
          text_of_lines(lines));
    CHECK(slurp(scores) == text_of_lines(numbers));
    CHECK(slurp(pairs) == text_of_lines(aligned));
    CHECK(run(joined(joined(flags, with_files), {"--max-length", "9", "--batch", "1", "--flush"}),
              text_of_lines(kLines)) == text_of_lines(lines));
    CHECK(slurp(scores) == text_of_lines(numbers));
  }
  const auto said = [&](const Strings& arguments, int code, const std::string& input = "ein\n") {
    const Outcome r =
        run_program("mt_translate", joined({"--checkpoint", c.path}, arguments), input);
    CHECK(r.code == code);
    return r.err;
  };
  CHECK(has(said({"--prefix", prefix}, 1), "the input has 1 lines, but " + prefix + " has 5"));
  CHECK(has(said({"--prefix", prefix}, 1, text_of_lines(kLines) + "ein\n"),
            "the input has 6 lines, but"));
  CHECK(has(said({"--temperature", "0.5"}, 2), "--temperature is for --samples"));
  CHECK(has(said({"--samples", "2", "--beam", "2"}, 2), "--beam is for a search"));
  CHECK(has(said({"--samples", "2", "--temperature", "0"}, 2), "leave out --samples"));
  CHECK(has(said({"--alignment", "-"}, 2), "would mix on standard output"));
  CHECK(has(said({"--device", "cuda"}, 1), "CUDA"));
  CHECK(has(said({c.path}, 2), "--checkpoint " + c.path + " is named twice"));
  const std::string different = other.dir / "tgt.dict.txt";
  std::string words = slurp(different);
  std::swap(words[0], words[words.find('\n') + 1]);
  std::ofstream(different) << words;
  CHECK(has(said({other.path, "--beam", "1"}, 1), "have different dictionaries"));
}

TEST_CASE("mt_translate --flush: each line is answered before the next, with the same bytes") {
  const Checkpoint c;
  const std::string codes = c.dir.write("codes", "#version: 0.2\nei n</w>\ne i\nhun d</w>\n"),
                    attention = c.dir / "attention";
  const Strings options{"--checkpoint", c.path, "--max-length", "9", "--max-unknown", "1"};
  const auto check = [&](const Strings& more, int lists) {
    const Strings arguments = joined(options, more);
    CAPTURE(arguments);
    const Outcome whole = run_program("mt_translate", arguments, text_of_lines(kLines));
    const std::string rows = slurp(attention);
    Conversation talk("mt_translate", joined(arguments, {"--flush"}));
    std::string out;
    for (size_t i = 0; i < kLines.size(); ++i) {
      out += talk.ask(kLines[i] + "\n", kLines[i].empty() ? 1 : lists);
      if (!rows.empty()) CHECK(lines_of(slurp(attention)).size() == i + 1);
    }
    const Outcome end = talk.end();
    CHECK(end.code == 0);
    CHECK(end.out.empty());
    CHECK(out == whole.out);
    CHECK(slurp(attention) == rows);
    CHECK(end.err.substr(0, end.err.find('\n')) == whole.err.substr(0, whole.err.find('\n')));
  };
  check({}, 1);
  check({"--n-best", "3"}, 3);
  check({"--no-allow-unknown", "--codes", codes}, 1);
  check({"--attention", attention}, 1);
  // Scores come at the end.
  const Strings score{"--score", "--reference", c.dir.write("ref", "a dog .\n\na cat\n")};
  Conversation scored("mt_translate", joined(joined(options, score), {"--flush"}));
  const std::string text = "ein hund .\n\nkatze\n";
  for (const std::string& line : lines_of(text)) scored.ask(line + "\n");
  const std::string err = run_program("mt_translate", joined(options, score), text).err;
  CHECK(has(scored.end().err, err.substr(err.find("BLEU"))));
  Conversation fewer("mt_translate", joined(joined(options, score), {"--flush"}));
  fewer.ask("ein\n");
  CHECK(has(fewer.end().err, "standard input has 1 lines, but "));
  // An error comes after the answers to the lines before.
  std::string line;
  for (int i = 0; i < 30; ++i) line += "ein ";
  Conversation wrong("mt_translate", joined(options, {"--flush"}));
  CHECK(wrong.ask("\n" + line + "\n") == "\n");
  const Outcome end = wrong.end();
  CHECK(end.code == 1);
  CHECK(has(end.err, "standard input, line 2 has 30 tokens"));
  for (const Strings& other : {Strings{"--checkpoint", c.path, "--score-given", codes},
                               Strings{"--score", "--reference", codes}}) {
    const Outcome r = run_program("mt_translate", joined(other, {"--flush"}));
    CHECK(r.code == 2);
    CHECK(has(r.err, "--flush is for translating"));
  }
}

TEST_CASE("mt_translate --skip-long: a line of too many tokens has no words, and is named") {
  const Checkpoint c;
  const Strings options{"--checkpoint", c.path, "--skip-long"};
  std::string most, more;  // as many tokens as the model has positions for, and one more
  for (int i = 0; i < 29; ++i) most += "ein ";
  more = most + "ein";
  const Outcome r = run_program("mt_translate", options,
                                text_of_lines(Strings{"katze .", more, most, more, "ein hund"}));
  CHECK(r.code == 0);
  CHECK(r.out ==
        run({"--checkpoint", c.path}, text_of_lines(Strings{"katze .", "", most, "", "ein hund"})));
  for (const char* line : {"2", "4"})
    CHECK(has(r.err, concat("warning: standard input, line ", line,
                            " has 30 tokens, but the model has positions for 29")));
  CHECK_FALSE(has(r.err, "line 3"));
  Conversation talk("mt_translate", joined(options, {"--flush"}));
  CHECK(talk.ask(more + "\n") == "\n");
  CHECK(talk.ask("katze .\n") == run({"--checkpoint", c.path}, "katze .\n"));
  CHECK(has(talk.end().err, "warning: standard input, line 1 has 30 tokens"));
}

TEST_CASE("mt_translate: --no-allow-unknown keeps <unk> out of translations") {
  // A model that likes <unk>: its word vector is the last hidden state's own direction and more.
  Checkpoint c("lin");
  const View words = c.set.at("tgt_embedding.weight").value();
  float* unknown = words.as<float>() + Specials::kTranslation.unknown * 16;
  const auto likeliest = [&] {
    const BeamSearch search(c.model);
    return search.translate(std::vector<Ids>{{4, 5}}, {.beam = 1, .max_length = 3})[0][0].words[0];
  };
  std::copy_n(words.as<float>() + likeliest() * 16, 16, unknown);
  for (int i = 0; i < 16; ++i) unknown[i] *= 3;
  REQUIRE(likeliest() == Specials::kTranslation.unknown);
  std::vector<NamedView> tensors = c.set.named(c.set.values());
  tensors.push_back({kPositionsName, c.model.positions()});
  write_safetensors(c.dir / "model.safetensors", tensors, c.model.metadata());
  const std::string text = c.source.word(4) + " " + c.source.word(5) + "\n";
  for (const char* beam : {"1", "5"}) {
    const Strings options{"--checkpoint", c.path, "--beam", beam, "--n-best", beam};
    CHECK(has(run(options, text), "<unk>"));
    const std::string without = run(joined(options, {"--no-allow-unknown"}), text);
    CHECK(!without.empty());
    CHECK(!has(without, "<unk>"));
  }
  const Outcome r = run_program(
      "mt_translate", {"--checkpoint", c.path, "--score-given", c.dir / "x", "--no-allow-unknown"});
  CHECK(has(r.err, "--allow-unknown is for translating"));
}

TEST_CASE("mt_translate: ||| in a word is written so that the n-best list reads back") {
  const Checkpoint c;
  std::string dict = slurp(c.dir / kTargetDict);
  dict.replace(dict.find("cat "), 3, "|||");
  dict.replace(dict.find("sleeps "), 6, "a||||b");
  c.dir.write(kTargetDict, dict);
  const Translator translator = Translator::load(c.path);
  const std::vector<Translation> found{
      {{.words = translator.target().encode("a ||| dog a||||b"), .score = -1.5}}};
  const auto written = [&](bool n_best) {
    std::ostringstream out;
    app::write_translations(found, translator, {.n_best = n_best, .first = 3}, out);
    return out.str();
  };
  CHECK(written(false) == "a ||| dog a||||b\n");
  CHECK(written(true) == "3 ||| a &#124;&#124;&#124; dog a&#124;&#124;&#124;|b ||| -1.5\n");
  const auto lists =
      read_n_best(c.dir.write("list", written(true)), {.format = NBestFormat::moses});
  CHECK(lists.at(0).hypotheses.at(0).words == "a &#124;&#124;&#124; dog a&#124;&#124;&#124;|b");
}

// The random model hardly ever ends a sentence, so that only a wide beam has some that are ended.
TEST_CASE("mt_translate: --count-end counts </s> in a hypothesis's length") {
  const Checkpoint c;
  const std::vector<Ids> sources = c.ids(kLines, c.source);
  const auto lists = [&](bool count_end) {
    Strings lines;
    const auto found = BeamSearch(c.model).translate(
        sources,
        {.beam = 60, .length_penalty = 1.5, .count_end = count_end, .max_length = 2, .n_best = 60});
    for (size_t i = 0; i < found.size(); ++i)
      for (const Hypothesis& h : found[i])
        lines.push_back(concat(i, " ||| ", c.words(h.words), " ||| ", h.score));
    return text_of_lines(lines);
  };
  const Strings options{"--checkpoint", c.path,         "--beam", "60",       "--length-penalty",
                        "1.5",          "--max-length", "2",      "--n-best", "60"};
  Strings counting = options;
  counting.push_back("--count-end");
  CHECK(run(options, text_of_lines(kLines)) == lists(false));
  CHECK(run(counting, text_of_lines(kLines)) == lists(true));
  CHECK(lists(true) != lists(false));
}

TEST_CASE("mt_translate: codes cut the input and join the output; raw text is tokenised") {
  const Checkpoint c;
  const std::string codes = c.dir.write("codes", "#version: 0.2\nl a\nla u\ne i\nei n</w>\n");
  const auto found =
      BeamSearch(c.model).translate(c.ids({"ein lau@@ f@@ t ."}, c.source), {.max_length = 12});
  std::string words = c.words(found[0][0].words);
  for (size_t at = 0; (at = words.find("@@ ")) != std::string::npos;) words.erase(at, 3);
  if (words.ends_with("@@")) words.resize(words.size() - 2);
  const Strings options{"--checkpoint", c.path, "--max-length", "12"};
  const auto with = [&](Strings more) {
    more.insert(more.begin(), options.begin(), options.end());
    return more;
  };
  CHECK(run(with({"--codes", codes}), "ein lauft .\n") == words + "\n");
  CHECK(run(with({"--codes", codes, "--tokenize-input", "13a"}), "ein lauft.\n") == words + "\n");
  CHECK(run(with({"--join"}), "ein lau@@ f@@ t .\n") == words + "\n");

  // What a vocabulary does not list, or not often enough, is cut again: "ein", then "lau@@" too.
  const std::string listed =
      c.dir.write("vocabulary", "ein 2\nlau@@ 9\nf@@ 9\nt 9\n. 9\nei@@ 9\nn 9\n");
  const auto cut = [&](const Strings& more) { return run(with(more), "ein lauft .\n"); };
  CHECK(cut({"--codes", codes, "--vocabulary", listed}) == words + "\n");
  CHECK(cut({"--codes", codes, "--vocabulary", listed, "--vocabulary-threshold", "3"}) ==
        run(with({"--join"}), "ei@@ n lau@@ f@@ t .\n"));
  CHECK(cut({"--codes", codes, "--vocabulary", c.dir.write("less", "ein 2\n")}) ==
        run(with({"--join"}), "ein l@@ a@@ u@@ f@@ t .\n"));
  // The vocabulary is of the source, and these texts are of the target language.
  const std::string target = c.dir.write("target", "ein\n");
  for (const auto& [flag, code] : {std::pair("--score-given", 2), {"--prefix", 1}}) {
    const Outcome refused = run_program(
        "mt_translate",
        joined({"--checkpoint", c.path, "--codes", codes, "--vocabulary", listed}, {flag, target}),
        "ein\n");
    CHECK(refused.code == code);
    CHECK(has(refused.err, "text of the target language"));
  }
  CHECK(run(with({"--join"}), "ei@@ n lau@@ f@@ t .\n") != words + "\n");
  CHECK(run(with({"--join"}), "ein l@@ a@@ u@@ f@@ t .\n") != words + "\n");
}

TEST_CASE("mt_translate: a tab separates words as a space does, with and without codes") {
  const Checkpoint c;
  const std::string codes = c.dir.write("codes", "#version: 0.2\nl a\nla u\ne i\nei n</w>\n");
  const Strings whole{"--checkpoint", c.path, "--max-length", "12"},
      cut{"--checkpoint", c.path, "--max-length", "12", "--codes", codes};
  CHECK(run(whole, "ein\thund \t.\n") == run(whole, "ein hund .\n"));
  CHECK(run(cut, "ein\tlauft \t.\n") == run(cut, "ein lauft .\n"));
}

TEST_CASE("mt_translate: given translations are scored") {
  const Checkpoint c;
  const Strings given{"a dog ru@@ ns .", "", "cat", "fast fast", "sleeps"};
  const auto scores = BeamSearch(c.model).score(c.ids(kLines, c.source), c.ids(given, c.target));
  Strings sums, tokens;
  for (const auto& line : scores) {
    sums.push_back(concat(std::accumulate(line.begin(), line.end(), 0.0)));
    tokens.emplace_back();
    for (const double x : line) tokens.back() += (tokens.back().empty() ? "" : " ") + concat(x);
  }
  const std::string file = c.dir.write("given.txt", text_of_lines(given));
  CHECK(run({"--checkpoint", c.path, "--score-given", file}, text_of_lines(kLines)) ==
        text_of_lines(sums));
  CHECK(run({"--checkpoint", c.path, "--score-given", file, "--tokens"}, text_of_lines(kLines)) ==
        text_of_lines(tokens));
}

TEST_CASE("mt_translate: BLEU and chrF of its own translations and of a file") {
  const Checkpoint c;
  const Strings reference{"a dog ru@@ ns .", "", "cat sleeps", "a dog .", "a a a a"};
  const std::string file = c.dir.write("reference.txt", text_of_lines(reference)),
                    out = c.dir / "out.txt";
  const std::string printed = run({"--checkpoint", c.path, "--output", out, "--score",
                                   "--reference", file, "--tokenize", "none"},
                                  text_of_lines(kLines));
  const Strings translated = lines_of(slurp(out));
  const std::string expected =
      corpus_bleu(translated, reference, {.tokenizer = BleuTokenizer::none}).text() + "\n" +
      corpus_chrf(translated, reference).text() + "\n";
  CHECK(printed == expected);
  CHECK(run({"--score", "--reference", file, "--tokenize", "none", "--input", out}) == expected);
  const Strings capitals{"A Dog ru@@ ns .", "", "Cat sleeps", "a dog .", "A a A a"};
  CHECK(run({"--score", "--reference", c.dir.write("capitals.txt", text_of_lines(capitals)),
             "--lowercase", "--chrf-word-order", "2", "--width", "4", "--input", out}) ==
        corpus_bleu(translated, capitals, {.lowercase = true}).text(4) + "\n" +
            corpus_chrf(translated, capitals, {.word_order = 2, .lowercase = true}).text(4) + "\n");
  // One file under two names; subwords in one text alone.
  const auto said = [&](const std::string& input, const std::string& references) {
    const Outcome r =
        run_program("mt_translate", {"--score", "--input", input, "--reference", references});
    CHECK_MESSAGE(r.code == 0, r.err);
    return r.err;
  };
  CHECK(has(said(file, c.dir / "./reference.txt"),
            "are one file: the text is scored against itself"));
  const std::string whole = c.dir.write("whole.txt", "a dog runs .\n\ncat\na dog .\na\n");
  CHECK(has(
      said(whole, file),
      concat("warning: ", file, " has 1 word that ends in @@, parts of subwords, and ", whole)));
  CHECK(said(whole, c.dir.write("other.txt", "a dog runs .\n\ncat\na dog .\na\n")).empty());
  // Pieces of SentencePiece, and tokens of OpenNMT.
  const std::string pieces =
                        c.dir.write("pieces", "\u2581a \u2581dog \u2581run s .\n\ncat\na\na\n"),
                    tokens = c.dir.write("tokens", "a dog run \uFFEDs .\n\ncat\na dog .\na\n");
  CHECK(has(said(pieces, whole), concat("warning: ", pieces, " has 3 words that begin with")));
  CHECK(has(said(whole, tokens), concat("warning: ", tokens, " has 1 word that begins or ends")));
  CHECK(!has(said(pieces, c.dir.write("pieces2", slurp(pieces) + "")), "words that begin"));
  // Where translations go to standard output, scores do not.
  const Outcome both =
      run_program("mt_translate",
                  {"--checkpoint", c.path, "--score", "--reference", file, "--tokenize", "none"},
                  text_of_lines(kLines));
  CHECK(both.out == text_of_lines(translated));
  CHECK(has(both.err, expected));
}

TEST_CASE("mt_translate: errors say what is wrong and where") {
  const Checkpoint c;
  const auto said = [&](const Strings& arguments, int code, const std::string& input = "ein\n") {
    const Outcome r = run_program("mt_translate", arguments, input);
    CHECK(r.code == code);
    return r.err;
  };
  CHECK(has(said({}, 2), "no model: give --checkpoint DIR"));
  const std::string list = c.dir.write("nb", "0 ||| ein mann ||| -1.5\n1 ||| ein ||| -2\n");
  const std::string is_list = list + " is an n-best list, each line `number ||| words ||| score`";
  CHECK(has(said({"--score", "--input", list, "--reference", c.dir.write("two", "ein\nein\n")}, 1),
            is_list));
  CHECK(has(said({"--checkpoint", c.path, "--score-given", list, "--input", c.dir / "two"}, 1),
            is_list));
  CHECK(has(said({"--checkpoint", c.path, "--input", list}, 1), is_list));
  CHECK(!has(said({"--score", "--input", c.dir.write("bars", "0 ||| ein ||| -1\n1 ||| ein\n"),
                   "--reference", c.dir / "two"},
                  0),
             "n-best"));
  CHECK(has(said({"--checkpoint", c.path, "--n-best", "6"}, 2),
            "a search with --beam 5 has no more than 5 hypotheses"));
  CHECK(has(said({"--checkpoint", c.path, "--score"}, 2),
            "--score and --reference FILE belong together"));
  CHECK(has(said({"--score", "--reference", "r", "--beam", "2"}, 2), "--beam is for translating"));
  CHECK(has(said({"--checkpoint", c.path, "--tokens"}, 2), "--tokens is for --score-given"));
  CHECK(has(said({"--checkpoint", c.dir / "none"}, 1), "none"));
  std::string line;
  for (int i = 0; i < 30; ++i) line += "ein ";
  CHECK(has(said({"--checkpoint", c.path}, 1, "ein\n" + line + "\n"),
            "standard input, line 2 has 30 tokens, but the model has positions for 29"));
  const std::string file = c.dir.write("given.txt", "a\nb\n");
  CHECK(has(said({"--checkpoint", c.path, "--score-given", file}, 1),
            "has 2: each source line needs its translation on the same line"));
  CHECK(has(said({"--checkpoint", c.path, "--output", c.dir / "no/where"}, 1),
            "where: No such file or directory"));
  // Nothing that was there is lost, and references are read before anything is translated.
  CHECK(has(said({"--checkpoint", c.path, "--input", file, "--output", file}, 2),
            "is also --input and would be lost"));
  CHECK(has(said({"--checkpoint", c.path, "--output", file, "--score", "--reference",
                  c.dir / "./given.txt"},
                 2),
            "is also --reference"));
  CHECK(has(said({"--checkpoint", c.path, "--output", c.dir / "o", "--attention", c.dir / "o"}, 2),
            "is also --attention: one of the two would be lost"));
  CHECK(has(said({"--checkpoint", c.path, "--attention", "-"}, 2), "would mix on standard output"));
  CHECK(has(said({"--checkpoint", c.path, "--score", "--reference", "-"}, 2),
            "--input and --reference are both standard input, which can be read only once"));
  CHECK(has(
      said({"--checkpoint", c.path, "--output", c.dir / "o", "--score", "--reference", file}, 1),
      "has 1 lines, but " + file + " has 2"));
  CHECK_FALSE(std::filesystem::exists(c.dir / "o"));
  CHECK(
      has(said({"--checkpoint", c.path, "--glossaries", "ein"}, 2), "--glossaries is for --codes"));
  CHECK(has(said({"--checkpoint", c.path}, 0, "ein nie gesehen\n"),
            "50.00% of the input's tokens are unknown"));
  CHECK(slurp(file) == "a\nb\n");
  CHECK(run({"--checkpoint", c.path, "--input", c.dir.write("nothing.txt", "")}).empty());
}

TEST_CASE("checkpoints of the other kind are called by their name") {
  const Checkpoint c;
  const TemporaryDirectory dir;
  const std::string lm = dir / "lm";
  REQUIRE(run_program("lm_train", {"--sample", "--sample-sentences", "500", "--hidden", "4",
                                   "--embed", "4", "--after", "1u", "--run", lm})
              .code == 0);
  CHECK(has(run_program("mt_translate", {"--checkpoint", lm}, "a\n").err,
            "is a language model (lm_train, lm_score), not a translation model"));
  CHECK(has(run_program("lm_score", {"--checkpoint", c.path}, "a\n").err,
            "is a translation model (mt_train, mt_translate), not a language model"));
  CHECK(has(run_program("lm_score", {"--checkpoint", dir.write("file", "")}, "a\n").err,
            "is a file: a checkpoint is a directory"));
  CHECK(has(
      run_program("lm_score", {"--checkpoint", dir.write("n.arpa", "\\data\\\nngram 1=2\n")}, "a\n")
          .err,
      "is an n-gram model (ARPA), which --interpolate takes: a checkpoint is a directory"));
  CHECK(has(error_of([&] { Translator::load(lm); }),
            "is a language model (lm_train, lm_score), not a translation model"));
  CHECK(has(error_of([&] { LanguageModel::load(c.path); }),
            "is a translation model (mt_train, mt_translate), not a language model"));
  CHECK(has(error_of([&] { Translator::load(dir / "file"); }),
            "is a file: a checkpoint is a directory"));
  CHECK(has(error_of([&] { Translator::load(dir / "none"); }), "none"));
}

static_assert(std::is_nothrow_move_constructible_v<Translator>);
static_assert(std::is_nothrow_move_assignable_v<Translator>);
static_assert(!std::is_copy_constructible_v<Translator>);

TEST_CASE("Translator: translations and n-best lists are mt_translate's") {
  const Checkpoint c;
  const Translator translator = Translator::load(c.path);
  const SearchOptions search{.beam = 4, .length_penalty = 0.7, .max_length = 9, .n_best = 3};
  const Strings options{"--checkpoint",     c.path, "--beam",       "4",
                        "--length-penalty", "0.7",  "--max-length", "9"};
  CHECK(text_of_lines(translator.translate(kLines, search)) == run(options, text_of_lines(kLines)));
  CHECK(text_of_lines(translator.translate(kLines)) ==
        run({"--checkpoint", c.path}, text_of_lines(kLines)));
  Strings with = options, lists;
  with.insert(with.end(), {"--n-best", "3"});
  const auto found = translator.n_best(kLines, search);
  REQUIRE(found.size() == kLines.size());
  for (size_t i = 0; i < found.size(); ++i)
    for (const TranslatedText& t : found[i]) {
      lists.push_back(concat(i, " ||| ", t.text, " ||| ", t.score));
      CHECK(t.log_prob <= t.score);
    }
  CHECK(text_of_lines(lists) == run(with, text_of_lines(kLines)));
  CHECK(found[1].size() == 1);
  CHECK(found[0].size() == 3);
  CHECK(translator.translate({"ein hund ."})[0] ==
        translator.n_best({"ein hund ."}, {})[0][0].text);
  CHECK(translator.translate({}).empty());
  CHECK(translator.score({}, {}).empty());
}

TEST_CASE("Translator: log-probabilities are those of mt_translate --score-given") {
  const Checkpoint c;
  const Translator translator = Translator::load(c.path);
  const Strings given{"a dog ru@@ ns .", "", "cat", "fast fast", "sleeps never"};
  Strings tokens;
  for (const auto& line : translator.score(kLines, given)) {
    tokens.emplace_back();
    for (const double x : line) tokens.back() += (tokens.back().empty() ? "" : " ") + concat(x);
  }
  const std::string file = c.dir.write("given.txt", text_of_lines(given));
  CHECK(text_of_lines(tokens) ==
        run({"--checkpoint", c.path, "--score-given", file, "--tokens"}, text_of_lines(kLines)));
  CHECK(translator.score({"ein hund ."}, {"a dog ."})[0].size() == 4);
}

TEST_CASE("Translator: codes cut and join, or the joining alone; raw text") {
  const Checkpoint c;
  const std::string codes = c.dir.write("codes", "#version: 0.2\nl a\nla u\ne i\nei n</w>\n");
  const SearchOptions search{.max_length = 12};
  const Strings options{"--checkpoint", c.path, "--max-length", "12"};
  const auto with = [&](Strings more) {
    more.insert(more.begin(), options.begin(), options.end());
    return more;
  };
  const Translator cut = Translator::load(c.path, {.codes = codes}),
                   raw = Translator::load(c.path, {.codes = codes, .raw = true}),
                   joining = Translator::load(c.path, {.join = true}),
                   plain = Translator::load(c.path);
  CHECK(text_of_lines(cut.translate({"ein lauft ."}, search)) ==
        run(with({"--codes", codes}), "ein lauft .\n"));
  CHECK(cut.translate({"ein lauft ."}, search) == raw.translate({"ein lauft."}, search));
  CHECK(cut.translate({"ein\tlauft \t."}, search) == cut.translate({"ein lauft ."}, search));
  CHECK(text_of_lines(joining.translate({"ein lau@@ f@@ t ."}, search)) ==
        run(with({"--join"}), "ein lau@@ f@@ t .\n"));
  CHECK(cut.source_ids({"ein lauft ."}, "x") == plain.source_ids({"ein lau@@ f@@ t ."}, "x"));
  const std::vector<int32_t> ids = plain.target_ids({"a ru@@ ns ."}, "x")[0];
  CHECK(plain.text(ids) == "a ru@@ ns .");
  CHECK(joining.text(ids) == "a runs .");
  CHECK(cut.text(ids) == "a runs .");
  CHECK(has(error_of([&] { Translator::load(c.path, {.codes = c.dir / "no"}); }), "no"));
}

TEST_CASE("Translator: errors name the text and the line") {
  const Checkpoint c;
  const Translator translator = Translator::load(c.path);
  std::string line;
  for (int i = 0; i < 30; ++i) line += "ein ";
  CHECK(has(error_of([&] {
              translator.translate({"ein", line});
            }),
            "the text to translate, line 2 has 30 tokens, but the model has positions for 29"));
  CHECK(has(error_of([&] {
              translator.score({"ein", "ein"}, {"a", line});
            }),
            "the translations, line 2 has 30 tokens"));
  CHECK(
      has(error_of([&] { translator.score({line}, {"a"}); }), "the sources, line 1 has 30 tokens"));
  CHECK(has(error_of([&] {
              translator.score({"ein", "hund"}, {"a"});
            }),
            "2 sources and 1 translations"));
  CHECK(has(error_of([&] { translator.n_best({"ein"}, {.beam = 2, .n_best = 3}); }),
            "beam 2 and n-best 3"));
}

TEST_CASE("Translator: parts; moved, it goes on as it was; what is left takes another model") {
  const Checkpoint c, other("lin");
  Translator first = Translator::load(c.path);
  CHECK(first.source().size() == c.source.size());
  CHECK(first.target().size() == c.target.size());
  CHECK(first.directory() == c.path);
  CHECK(first.network().config().decoder_layers == 2);
  CHECK(first.search().max_words() == 29);
  const Strings translated = first.translate(kLines);
  const Transformer* network = &first.network();
  Translator second = std::move(first);
  CHECK(&second.network() == network);
  CHECK(second.translate(kLines) == translated);
  first = Translator::load(other.path);
  CHECK(text_of_lines(first.translate(kLines)) ==
        run({"--checkpoint", other.path}, text_of_lines(kLines)));
  first = std::move(second);
  CHECK(first.translate(kLines) == translated);
}

TEST_CASE("mt_translate: a --max-length beyond the model's positions is refused, a cut is said") {
  const Checkpoint c;
  const Outcome r =
      run_program("mt_translate", {"--checkpoint", c.path, "--max-length", "31"}, "ein hund .\n");
  CHECK(r.code == 2);
  CHECK_MESSAGE(has(r.err, "--max-length 31: the model " + c.path +
                               " has positions for 30 words; give at most 30"),
                r.err);
  CHECK(run_program("mt_translate", {"--checkpoint", c.path, "--max-length", "30"}, "ein hund .\n")
            .code == 0);
  // Without </s>, by a bias that excludes it, every translation is as long as the positions.
  Checkpoint endless("lin", "dog");
  const View bias = endless.set.at("head.bias").value();
  bias.as<float>()[Specials::kTranslation.end] = -INFINITY;
  std::vector<NamedView> tensors = endless.set.state();
  tensors.push_back({kPositionsName, endless.model.positions()});
  write_safetensors(endless.dir / "model.safetensors", tensors, endless.model.metadata());
  const Outcome cut = run_program("mt_translate", {"--checkpoint", endless.path}, "ein\n\nhund\n");
  CHECK(cut.code == 0);
  CHECK_MESSAGE(
      has(cut.err,
          "translations that ended after 30 words, because the model has no more positions: 2"),
      cut.err);
  const Outcome asked =
      run_program("mt_translate", {"--checkpoint", endless.path, "--max-length", "7"}, "ein\n");
  CHECK(asked.code == 0);
  CHECK_MESSAGE(!has(asked.err, "cut at"), asked.err);
}

TEST_CASE("Translator: first used by several threads at once") {
  const Checkpoint c;
  const Translator translator = Translator::load(c.path);
  constexpr size_t kThreads = 3;
  std::vector<Strings> translated(kThreads);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] { translated[i] = translator.translate(kLines); });
  for (std::thread& thread : threads) thread.join();
  const std::string expected = run({"--checkpoint", c.path}, text_of_lines(kLines));
  for (const Strings& lines : translated) CHECK(text_of_lines(lines) == expected);
}

TEST_CASE(
    "mt_translate: a bias of -inf excludes a word; another number that is not finite does not "
    "open") {
  const auto lists = [](const Checkpoint& c) {
    const Outcome r = run_program(
        "mt_translate", {"--checkpoint", c.path, "--n-best", "8", "--beam", "8"}, "ein hund .\n");
    REQUIRE_MESSAGE(r.code == 0, r.err);
    return r.out;
  };
  for (const char* head : {"lin", "mix:2*lin,log"}) {
    const std::string all = lists(Checkpoint(head)),
                      word = all.substr(6, all.find(' ', 6) - 6);  // 0 ||| word
    const Checkpoint without(head, word);
    CHECK(has(all, " " + word + " "));
    CHECK_MESSAGE(!has(lists(without), " " + word + " "), lists(without));
    const Outcome given = run_program(
        "mt_translate",
        {"--checkpoint", without.path, "--score-given", without.dir.write("given", word + "\n")},
        "ein hund .\n");
    CHECK(given.out == "-inf\n");
  }
  Checkpoint broken("lin", "dog");
  broken.set.at("head.bias").value().view().as<float>()[3] = NAN;
  write_safetensors(broken.dir / "model.safetensors", broken.set.state(), broken.model.metadata());
  const Outcome r = run_program("mt_translate", {"--checkpoint", broken.path}, "ein hund .\n");
  CHECK(r.code == 1);
  CHECK_MESSAGE(has(r.err, "model.safetensors: tensor 'head.bias' has nan at [3]"), r.err);
}

}  // namespace nine::tests::test_mt_translate
