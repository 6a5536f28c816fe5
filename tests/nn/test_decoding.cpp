// Translating: the cached decoder against the model itself, the search against its rules written
// without a cache and against all translations there are.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "checks/op_cases.h"
#include "core/interrupt.h"
#include "core/ops.h"
#include "nn/models/beam_search.h"
#include "nn/models/transformer.h"
#include "tests/support/compare.h"
#include "tests/support/support.h"

namespace nine::tests::test_decoding {

using namespace nine::checks;

namespace {

using Ids = BeamSearch::Ids;
constexpr int32_t kEnd = 2;

struct Model {
  explicit Model(const TransformerConfig& c, uint64_t seed = 3, DType dtype = DType::float64,
                 double sharpness = 2)
      : set({.dtype = dtype, .seed = seed}), model(set, c) {
    // Norms and biases away from 1 and 0, and word vectors that make some words much likelier than
    // others.
    for (const NamedView& p : set.named(set.values())) {
      const Doubles noise = random_values({{p.view.shape, -0.3, 0.3}}, stream_id(p.name) + seed)[0];
      const bool words = p.name == "tgt_embedding.weight" || p.name == "head.weight";
      for (size_t i = 0; i < noise.size(); ++i) {
        const auto set_to = [&](auto* x) {
          x[i] = static_cast<std::remove_reference_t<decltype(x[i])>>(words ? sharpness * x[i]
                                                                            : x[i] + noise[i]);
        };
        if (dtype == DType::float64)
          set_to(p.view.as<double>());
        else
          set_to(p.view.as<float>());
      }
    }
  }
  ParameterSet set;
  Transformer model;
};

TransformerConfig tiny(NormOrder norm = NormOrder::post, int64_t words = 9,
                       const char* head = "lin") {
  return {.src_vocab = words,
          .tgt_vocab = words,
          .encoder_layers = 2,
          .decoder_layers = 2,
          .dim = 12,
          .ffn = 20,
          .heads = 3,
          .dropout = 0,
          .style = {.norm = norm},
          .head = {.spec = parse_head(head)},
          .max_length = 40};
}

Tensor row_of(const Ids& ids) { return tensor_of(ids, {1, static_cast<int64_t>(ids.size())}); }
Tensor length_of(const Ids& ids) { return tensor_of(Ints{static_cast<int32_t>(ids.size())}, {1}); }

// log p of every next word, without a cache: the whole model on the source and the prefix.
class Oracle {
 public:
  Oracle(const Transformer& model, Ids source) : model_(model), source_(std::move(source)) {
    source_.push_back(kEnd);
  }

  const Doubles& next(const Ids& prefix) {
    const auto found = known_.find(prefix);
    if (found != known_.end()) return found->second;
    Arena pool("oracle");
    Tape tape(pool);
    const NoGrad guard(tape);
    Ids in = prefix;
    in.insert(in.begin(), kEnd);
    const Tensor lengths = length_of(source_);
    const Var memory = model_.encode(tape, row_of(source_), lengths);
    const Var hidden = model_.decode(memory, lengths, row_of(in), length_of(in));
    const auto size = static_cast<int64_t>(in.size());
    Doubles log_p;
    for (int32_t v = 0; v < model_.config().tgt_vocab; ++v) {
      Ids target(in.size(), -1);
      target.back() = v;
      log_p.push_back(-model_.loss(hidden, row_of(target), 1)
                           .nll.value()
                           .to_vector()[static_cast<size_t>(size - 1)]);
    }
    if (prefix.empty()) {  // a translation has a word
      const double rest = std::log1p(-std::exp(log_p[kEnd]));
      for (double& x : log_p) x -= rest;
      log_p[kEnd] = -INFINITY;
    }
    return known_[prefix] = log_p;
  }

 private:
  const Transformer& model_;
  Ids source_;
  std::map<Ids, Doubles> known_;
};

struct Ranking {
  double alpha;
  bool count_end = false;
};

struct Found {
  Ids words;
  double log_p;
  bool complete;
  double score(Ranking r) const {
    return log_p /
           std::pow(static_cast<double>(words.size()) + (r.count_end && complete ? 1 : 0), r.alpha);
  }
};

std::vector<Found> ranked(std::vector<Found> all, Ranking r) {
  std::stable_sort(all.begin(), all.end(),
                   [&](const Found& a, const Found& b) { return a.score(r) > b.score(r); });
  return all;
}

// The rules of nn/models/beam_search.h, plainly.
std::vector<Found> plain_search(Oracle& oracle, int64_t words, size_t beam, Ranking ranking,
                                size_t most, size_t n_best = 1, int32_t excluded = -1) {
  struct Open {
    Ids words;
    double log_p = 0;
  };
  std::vector<Open> open{{{}, 0}};
  std::vector<Found> finished;
  for (size_t step = 0; step < most; ++step) {
    std::vector<Open> extended;
    for (const Open& o : open) {
      const Doubles& log_p = oracle.next(o.words);
      for (int32_t v = 0; v < words; ++v) {
        Ids longer = o.words;
        longer.push_back(v);
        if (v != excluded && log_p[static_cast<size_t>(v)] > -INFINITY)
          extended.push_back({longer, o.log_p + log_p[static_cast<size_t>(v)]});
      }
    }
    std::stable_sort(extended.begin(), extended.end(),
                     [](const Open& a, const Open& b) { return a.log_p > b.log_p; });
    extended.resize(std::min(extended.size(), 2 * beam));
    std::vector<Open> next;
    bool top = false;
    for (size_t i = 0; i < extended.size(); ++i) {
      Open& o = extended[i];
      const bool ends = o.words.back() == kEnd;
      if (i < beam && (ends || step + 1 == most)) {
        finished.push_back({o.words, o.log_p, ends});
        if (ends) finished.back().words.pop_back();
        top = top || i == 0;
      } else if (!ends && next.size() < beam) {
        next.push_back(o);
      }
    }
    if (ranking.alpha == 0 ? top && finished.size() >= n_best : finished.size() >= beam) break;
    open = next;
  }
  return ranked(finished, ranking);
}

// Every translation of at most `most` words.
void all_translations(Oracle& oracle, int64_t words, size_t most, const Ids& prefix, double log_p,
                      std::vector<Found>& out) {
  if (prefix.size() == most) {
    out.push_back({prefix, log_p, false});
    return;
  }
  const Doubles next = oracle.next(prefix);
  for (int32_t v = 0; v < words; ++v) {
    const double p = log_p + next[static_cast<size_t>(v)];
    Ids longer = prefix;
    longer.push_back(v);
    if (v != kEnd)
      all_translations(oracle, words, most, longer, p, out);
    else if (!prefix.empty())
      out.push_back({prefix, p, true});
  }
}

void check_same(const Translation& got, const std::vector<Found>& want, Ranking ranking,
                size_t count) {
  REQUIRE(got.size() == std::min(count, want.size()));
  for (size_t i = 0; i < got.size(); ++i) {
    CHECK(got[i].words == want[i].words);
    CHECK(got[i].complete == want[i].complete);
    CHECK(got[i].log_prob == doctest::Approx(want[i].log_p).epsilon(1e-11));
    CHECK(got[i].score == doctest::Approx(want[i].score(ranking)).epsilon(1e-11));
  }
}

std::vector<Ids> random_sentences(size_t count, int32_t words, int64_t longest, uint64_t seed) {
  std::vector<Ids> out;
  for (size_t i = 0; i < count; ++i) {
    const auto length = static_cast<int64_t>(
        random_indices({{{1}, 1, static_cast<int32_t>(longest) + 1}}, seed + i)[0][0]);
    out.push_back(random_indices({{{length}, 3, words}}, seed + 100 + i)[0]);
  }
  return out;
}

}  // namespace

TEST_CASE("decoding: given translations have the model's log-probabilities, cached or not") {
  for (const char* head : {"lin", "rbf", "mix:2*lin,log"})
    for (int kind = 0; kind < 5; ++kind) {
      CAPTURE(head);
      const bool shared = kind == 1;
      TransformerConfig c = tiny(shared ? NormOrder::pre : NormOrder::post, 9, head);
      c.head.spec.untied = c.head.spec.mixture && shared;
      c.shared_vocab = shared;
      c.tie_embeddings = shared;
      c.head.bias = !shared;
      if (kind >= 3)
        c.style = {.activation = Activation::geglu,
                   .positions = kind == 3 ? Positions::sinusoidal : Positions::rotary,
                   .rotary_base = 20,
                   .norm = NormOrder::pre,
                   .norm_type = NormType::rms,
                   .kv_heads = 1,
                   .qk_norm = true,
                   .linear_bias = false};
      if (kind == 2) {  // what another engine may have trained
        c.final_norms = true;
        c.embed_scale = 0.8;
      }
      Model m(c);
      if (kind == 2)
        m.model.use_positions(Tensor::from(random_values({{{c.max_length, c.dim}, -1, 1}}, 6)[0],
                                           {c.max_length, c.dim}));
      const std::vector<Ids> sources = random_sentences(7, 9, 12, 1);
      std::vector<Ids> targets = random_sentences(7, 9, 15, 2);
      targets[3].clear();
      const auto got = BeamSearch(m.model).score(sources, targets, 3);
      for (size_t i = 0; i < sources.size(); ++i) {
        Ids source = sources[i], in = targets[i], out = targets[i];
        source.push_back(kEnd);
        in.insert(in.begin(), kEnd);
        out.push_back(kEnd);
        Arena pool("whole");
        Tape tape(pool);
        const NoGrad guard(tape);
        const TranslationBatch batch{row_of(source), row_of(in),
                                     row_of(out),    length_of(source),
                                     length_of(in),  static_cast<int64_t>(out.size())};
        const Doubles nll = m.model.loss(tape, batch, 1).nll.value().to_vector();
        REQUIRE(got[i].size() == nll.size());
        for (size_t t = 0; t < nll.size(); ++t)
          CHECK(got[i][t] == doctest::Approx(-nll[t]).epsilon(1e-12));
      }
    }
}

TEST_CASE("decoding: the search follows its rules, for any beam and length penalty") {
  int different = 0;
  for (const uint64_t seed : {3, 4, 5}) {
    Model m(tiny(seed % 2 == 0 ? NormOrder::pre : NormOrder::post, 9,
                 seed == 5 ? "mix:2*lin,log" : "lin"),
            seed);
    const BeamSearch beam_search(m.model);
    for (const Ids& source : random_sentences(4, 9, 6, 50 + seed)) {
      Oracle oracle(m.model, source);
      Ids greedy;
      for (const size_t beam : {1, 2, 3, 5})
        for (const Ranking r : {Ranking{0}, {0.6}, {1}, {1, true}, {1.5}, {1.5, true}}) {
          CAPTURE(beam);
          CAPTURE(r.alpha);
          const auto size = static_cast<int64_t>(beam);
          const SearchOptions options{.beam = size,
                                      .length_penalty = r.alpha,
                                      .count_end = r.count_end,
                                      .max_length = 6,
                                      .n_best = size};
          const Translation got = beam_search.translate(std::vector<Ids>{source}, options)[0];
          check_same(got, plain_search(oracle, 9, beam, r, 6, beam), r, beam);
          if (beam == 1) greedy = got[0].words;
          different += got[0].words != greedy;
        }
      // Greedy by itself: the likeliest word, again and again.
      Ids words;
      while (words.size() < 6) {
        const Doubles& next = oracle.next(words);
        const auto best =
            static_cast<int32_t>(std::max_element(next.begin(), next.end()) - next.begin());
        if (best == kEnd) break;
        words.push_back(best);
      }
      CHECK(words == greedy);
    }
  }
  CHECK(different > 10);  // or the models are too sure of themselves to test anything
}

TEST_CASE("decoding: an excluded word is in no translation, and log p of the others stays") {
  Model m(tiny());
  const BeamSearch search(m.model);
  const std::vector<Ids> sources = random_sentences(4, 9, 8, 11);
  const int32_t word = search.translate(sources, {.beam = 1})[0][0].words[0];
  for (const size_t beam : {size_t{1}, size_t{3}, size_t{5}}) {
    const auto n = static_cast<int64_t>(beam);
    const auto found =
        search.translate(sources, {.beam = n, .max_length = 6, .n_best = n, .excluded = word});
    for (size_t i = 0; i < sources.size(); ++i) {
      Oracle oracle(m.model, sources[i]);
      check_same(found[i], plain_search(oracle, 9, beam, {1}, 6, beam, word), {1}, beam);
      for (const Hypothesis& h : found[i])
        CHECK(std::count(h.words.begin(), h.words.end(), word) == 0);
    }
  }
  CHECK_THROWS_WITH_AS(static_cast<void>(search.translate(sources, {.excluded = kEnd})),
                       doctest::Contains("the excluded word is 2"), Error);
  CHECK_THROWS_AS(static_cast<void>(search.translate(sources, {.excluded = 9})), Error);
}

TEST_CASE("decoding: a hypothesis' alignment, and an interrupt") {
  // Two words; three columns, the last of which is </s>.
  Hypothesis by_hand{.words = {5, 6}, .attention = {0.1F, 0.2F, 0.7F, 0.4F, 0.4F, 0.2F}};
  CHECK(alignment(by_hand) == std::vector<int64_t>{1, 0});
  by_hand.attention.clear();
  CHECK(alignment(by_hand).empty());

  struct Enough {};
  Model m(tiny());
  const BeamSearch search(m.model);
  const std::vector<Ids> sources = random_sentences(40, 9, 8, 11);
  const auto translate = [&](const BeamSearch::Progress& progress) {
    static_cast<void>(search.translate(sources, {.batch = 2}, progress));
  };
  CHECK_THROWS_AS(translate([](int64_t) { throw Enough(); }), Enough);
  const InterruptCheck check([] { throw Enough(); });
  CHECK_THROWS_AS(translate({}), Enough);
  CHECK_THROWS_AS(static_cast<void>(search.score(sources, sources)), Enough);
}

TEST_CASE("decoding: a beam that holds everything finds what an exhaustive search finds") {
  for (const double alpha : {0.5, 1.0, 2.0}) {
    Model m(tiny(NormOrder::post, 5), 11);
    const Ids source = {3, 4, 3};
    Oracle oracle(m.model, source);
    std::vector<Found> all;
    all_translations(oracle, 5, 3, {}, 0, all);
    CHECK(all.size() == 4 + 16 + 64);
    const Translation got = BeamSearch(m.model).translate(
        std::vector<Ids>{source},
        {.beam = 400, .length_penalty = alpha, .max_length = 3, .n_best = 400})[0];
    check_same(got, ranked(all, {alpha}), {alpha}, all.size());
  }
}

TEST_CASE("decoding: the same bits in any batch, in any company, with any number of threads") {
  const Restore restore;
  TransformerConfig c = tiny(NormOrder::post, 300);
  c.dim = 64;
  c.heads = 2;
  c.ffn = 100;
  Model m(c, 3, DType::float32, 4);
  const std::vector<Ids> sources = random_sentences(23, 300, 14, 7);
  const BeamSearch beam_search(m.model);
  const auto run = [&](std::span<const Ids> part, int64_t batch, int count) {
    set_threads(count);
    return beam_search.translate(
        part, {.beam = 4, .max_length = 20, .n_best = 4, .batch = batch, .attention = true});
  };
  const auto same = [](const Translation& a, const Translation& b) {
    REQUIRE(a.size() == b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      CHECK(a[i].words == b[i].words);
      CHECK(a[i].log_prob == b[i].log_prob);
      CHECK(a[i].attention == b[i].attention);
    }
  };
  const auto all = run(sources, 64, 1);
  for (const auto& [batch, count] : {std::pair<int64_t, int>{64, 2}, {5, 3}, {1, 1}}) {
    const auto again = run(sources, batch, count);
    for (size_t i = 0; i < sources.size(); ++i) same(again[i], all[i]);
  }
  for (const size_t i : {size_t{0}, size_t{9}, size_t{22}})
    same(run(std::span(sources).subspan(i, 1), 64, 2)[0], all[i]);
  const std::vector<Ids> words(sources.size(), Ids{5, 6, 7, 8});
  set_threads(1);
  const auto scores = beam_search.score(sources, words, 64);
  set_threads(2);
  CHECK(beam_search.score(sources, words, 3) == scores);
}

TEST_CASE(
    "decoding: n-best lists are ranked, have no translation twice, and their log-probabilities are "
    "those of scoring") {
  Model m(tiny());
  const std::vector<Ids> sources = random_sentences(5, 9, 8, 3);
  const BeamSearch beam_search(m.model);
  const auto found =
      beam_search.translate(sources, {.beam = 6, .max_length = 8, .n_best = 6, .attention = true});
  for (size_t s = 0; s < sources.size(); ++s) {
    CHECK(found[s].size() == 6);
    Oracle oracle(m.model, sources[s]);
    const double first = std::log1p(
        -std::exp(beam_search.score(std::vector<Ids>{sources[s]}, std::vector<Ids>{Ids{}})[0][0]));
    for (size_t i = 0; i < found[s].size(); ++i) {
      const Hypothesis& h = found[s][i];
      for (size_t j = 0; j < i; ++j)
        CHECK((h.score <= found[s][j].score &&
               (h.words != found[s][j].words || h.complete != found[s][j].complete)));
      const Doubles log_p =
          beam_search.score(std::vector<Ids>{sources[s]}, std::vector<Ids>{h.words})[0];
      double sum = -first;
      for (size_t t = 0; t < log_p.size() - !h.complete; ++t) sum += log_p[t];
      CHECK(h.log_prob == doctest::Approx(sum).epsilon(1e-11));
      // Each word's shares of the source.
      const size_t width = sources[s].size() + 1;
      REQUIRE(h.attention.size() == h.words.size() * width);
      for (size_t t = 0; t < h.words.size(); ++t) {
        double all = 0;
        for (size_t i2 = 0; i2 < width; ++i2)
          all += static_cast<double>(h.attention[t * width + i2]);
        CHECK(all == doctest::Approx(1).epsilon(1e-6));
      }
    }
  }
}

TEST_CASE("decoding: attention is that of each word's own prefix") {
  // A hypothesis alone in its beam has kept the same shares as the same words among others.
  Model m(tiny());
  const std::vector<Ids> source = random_sentences(1, 9, 8, 31);
  const BeamSearch beam_search(m.model);
  const Hypothesis greedy =
      beam_search.translate(source, {.beam = 1, .max_length = 5, .attention = true})[0][0];
  const Translation many = beam_search.translate(
      source, {.beam = 400, .max_length = 5, .n_best = 400, .attention = true})[0];
  int met = 0;
  for (const Hypothesis& h : many) {
    size_t common =
        0;  // words that both begin with; the shares of the word after them are equal too
    while (common < std::min(h.words.size(), greedy.words.size()) &&
           h.words[common] == greedy.words[common])
      ++common;
    const size_t rows = std::min({common + 1, h.words.size(), greedy.words.size()}),
                 width = source[0].size() + 1;
    met += rows > 2;
    CHECK(std::equal(h.attention.begin(), h.attention.begin() + static_cast<int64_t>(rows * width),
                     greedy.attention.begin()));
  }
  CHECK(met > 0);
}

TEST_CASE("decoding: empty sources, ties, limits and errors") {
  Model m(tiny());
  const BeamSearch beam_search(m.model);
  const std::vector<Ids> sources = {{}, {3, 4}, {}};
  std::vector<int64_t> progress;
  const auto found =
      beam_search.translate(sources, {}, [&](int64_t done) { progress.push_back(done); });
  CHECK(found[0].size() == 1);
  CHECK(found[0][0].words.empty());
  CHECK(!found[1][0].words.empty());
  CHECK(progress.back() == 3);
  CHECK(beam_search.translate({}, {}).empty());
  CHECK(beam_search.max_words() == 39);
  CHECK(
      beam_search.translate(std::vector<Ids>{Ids(39, 3)}, {.max_length = 200})[0][0].words.size() <=
      40);

  // Words 5 and 7 with the same vectors: 5 is taken.
  const View w = m.set.at("tgt_embedding.weight").value();
  ops::copy(w.row_range(5, 1), w.row_range(7, 1));
  const BeamSearch tied(m.model);
  for (const Translation& t :
       tied.translate(random_sentences(20, 9, 8, 3), {.beam = 1, .max_length = 8}))
    CHECK(std::count(t[0].words.begin(), t[0].words.end(), 7) == 0);

  const auto fails = [&](const std::vector<Ids>& s, const SearchOptions& o) {
    return error_of([&] { beam_search.translate(s, o); });
  };
  CHECK(has(fails({{3}, Ids(40, 3)}, {}),
            "sentence 2 has 40 words, but the model has positions for 39"));
  CHECK(has(fails({{3, 9}}, {}), "word 9 is outside of the dictionary of 9"));
  CHECK(has(fails({{3}}, {.beam = 2, .n_best = 3}), "beam 2 and n-best 3"));
  CHECK(has(error_of([&] { beam_search.score(sources, std::vector<Ids>(2)); }),
            "3 sources and 2 translations"));
  CHECK(
      has(error_of([&] { beam_search.score(std::vector<Ids>{Ids{3}}, std::vector<Ids>{Ids{30}}); }),
          "30 is outside"));
}

TEST_CASE("decoding: log p of a translation is the sum of its words' and of </s>'s") {
  Model m(tiny());
  const std::vector<Ids> sources = random_sentences(5, 9, 8, 3);
  const BeamSearch search(m.model);
  for (const SearchOptions& options :
       {SearchOptions{.beam = 4, .max_length = 8, .n_best = 4},
        {.max_length = 8, .samples = 3, .sampling = {.allow_unknown = true}}}) {
    const auto found = search.translate(sources, options);
    for (size_t s = 0; s < sources.size(); ++s)
      for (const Hypothesis& h : found[s]) {
        REQUIRE(h.word_log_probs.size() == h.words.size() + h.complete);
        double sum = 0;
        for (const double x : h.word_log_probs) sum += x;
        CHECK(h.log_prob == doctest::Approx(sum).epsilon(1e-12));
        const Doubles plain =
            search.score(std::vector<Ids>{sources[s]}, std::vector<Ids>{h.words})[0];
        for (size_t t = 1; t < h.word_log_probs.size(); ++t)
          CHECK(h.word_log_probs[t] == doctest::Approx(plain[t]).epsilon(1e-11));
      }
  }
}

TEST_CASE("decoding: a prefix is how each translation begins, and its log p counts") {
  Model m(tiny());
  const BeamSearch search(m.model);
  const std::vector<Ids> sources = random_sentences(4, 9, 8, 11),
                         prefixes{{5, 4}, {}, {7}, {3, 8, 6}};
  for (const SearchOptions& options :
       {SearchOptions{.beam = 3, .max_length = 7, .n_best = 3},
        {.max_length = 7, .samples = 4, .sampling = {.allow_unknown = true}}}) {
    const auto found = search.translate(sources, options, {}, prefixes),
               alone = search.translate(sources, options);
    for (size_t s = 0; s < sources.size(); ++s)
      for (const Hypothesis& h : found[s]) {
        REQUIRE(h.words.size() >= prefixes[s].size());
        CHECK(std::equal(prefixes[s].begin(), prefixes[s].end(), h.words.begin()));
        const Doubles plain =
            search.score(std::vector<Ids>{sources[s]}, std::vector<Ids>{h.words})[0];
        for (size_t t = 1; t < h.word_log_probs.size(); ++t)
          CHECK(h.word_log_probs[t] == doctest::Approx(plain[t]).epsilon(1e-11));
      }
    CHECK(found[1][0].words == alone[1][0].words);
    CHECK(found[1][0].log_prob == alone[1][0].log_prob);
  }
  CHECK(has(error_of([&] { search.translate(sources, {}, {}, std::vector<Ids>(3)); }),
            "4 sources and 3 prefixes"));
}

TEST_CASE("decoding: samples have the model's distribution, and do not depend on their company") {
  Model m(tiny(NormOrder::post, 5), 11);
  const BeamSearch search(m.model);
  const std::vector<Ids> source{{3, 4, 3}};
  SearchOptions options{.max_length = 2, .samples = 900, .sampling = {.allow_unknown = true}};
  std::map<Ids, int> counts;
  const auto many = search.translate(source, options)[0];
  for (const Hypothesis& h : many) ++counts[h.words];
  Oracle oracle(m.model, source[0]);
  int likely = 0;
  for (int32_t word = 0; word < 5; ++word) {
    if (word == kEnd) continue;
    const double p = std::exp(oracle.next({})[static_cast<size_t>(word)]);
    int count = 0;
    for (const auto& [words, n] : counts) count += words[0] == word ? n : 0;
    // Within four standard deviations.
    CHECK(std::abs(count - 900 * p) <= 4 * std::sqrt(900 * p * (1 - p)) + 1);
    likely += p > 0.05;
  }
  CHECK(likely >= 2);
  // The same numbers for the same sentence, in another batch and at another place.
  options.samples = 3;
  options.batch = 1;
  options.first_number = 7;
  const std::vector<Ids> several = random_sentences(4, 5, 6, 21);
  const auto all = search.translate(several, options);
  options.batch = 64;
  CHECK(search.translate(several, options)[2][1].words == all[2][1].words);
  options.first_number = 9;
  const auto third = search.translate(std::span(several).subspan(2, 1), options)[0];
  for (size_t i = 0; i < 3; ++i) {
    CHECK(third[i].words == all[2][i].words);
    CHECK(third[i].log_prob == all[2][i].log_prob);
  }
  // Temperature 0 is greedy search; few likeliest words are the search's.
  options.sampling.temperature = 0;
  options.max_length = 5;
  CHECK(search.translate(source, options)[0][0].words ==
        search.translate(source, {.beam = 1, .max_length = 5})[0][0].words);
}

TEST_CASE("decoding: an ensemble of a model with itself is the model; of two it is neither") {
  Model one(tiny(), 3), two(tiny(NormOrder::pre), 4);
  const std::vector<Ids> sources = random_sentences(5, 9, 8, 3), targets(5, Ids{5, 6, 7});
  const SearchOptions options{.beam = 3, .max_length = 8, .n_best = 3, .attention = true};
  const BeamSearch alone(one.model), other(two.model),
      twice(std::vector<const Transformer*>{&one.model, &one.model}, kEnd),
      both(std::vector<const Transformer*>{&one.model, &two.model}, kEnd);
  const auto want = alone.translate(sources, options), found = twice.translate(sources, options);
  for (size_t s = 0; s < sources.size(); ++s)
    for (size_t i = 0; i < want[s].size(); ++i) {
      CHECK(found[s][i].words == want[s][i].words);
      CHECK(found[s][i].log_prob == doctest::Approx(want[s][i].log_prob).epsilon(1e-11));
    }
  const auto a = alone.score(sources, targets), b = other.score(sources, targets),
             mean = both.score(sources, targets);
  for (size_t s = 0; s < sources.size(); ++s)
    for (size_t t = 0; t < 4; ++t)
      CHECK(mean[s][t] ==
            doctest::Approx(std::log((std::exp(a[s][t]) + std::exp(b[s][t])) / 2)).epsilon(1e-11));
  Model large(tiny(NormOrder::post, 12));
  CHECK(has(error_of([&] {
              BeamSearch(std::vector<const Transformer*>{&one.model, &large.model}, kEnd);
            }),
            "9 and 12 words"));
}

}  // namespace nine::tests::test_decoding
