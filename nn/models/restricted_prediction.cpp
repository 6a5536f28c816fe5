#include "nn/models/restricted_prediction.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "autograd/functions.h"
#include "core/log_sum_exp.h"
#include "core/quote.h"
#include "core/shared_parts.h"
#include "data/corpus.h"
#include "data/measures/significance.h"
#include "data/text.h"
#include "kernels/ops.h"
#include "nn/models/score_text.h"

namespace nine {
namespace {

// The sets' words as ids of one vocabulary.
struct SetIds {
  struct Place {
    int32_t set, word;
  };
  std::vector<std::vector<int32_t>> ids;       // of the words of each set
  std::map<int32_t, std::vector<Place>> sets;  // by id: the word's place in each set

  SetIds(std::span<const WordSet> word_sets, const Vocabulary& vocabulary) {
    for (size_t s = 0; s < word_sets.size(); ++s) {
      ids.emplace_back();
      for (const std::string& word : word_sets[s].words) {
        const int32_t id = vocabulary.id(word);
        require(id != Specials::kLanguageModel.unknown, "[restricted_choices] '", word,
                "' is not in the model's vocabulary");
        sets[id].push_back({static_cast<int32_t>(s), static_cast<int32_t>(ids.back().size())});
        ids.back().push_back(id);
      }
    }
  }
};

// Returns the choice among `ids` for log p of every word of the vocabulary; the text has the set's
// word `place.word`.
RestrictedChoice choice_of(std::span<const double> log_p, std::span<const int32_t> ids,
                           SetIds::Place place) {
  RestrictedChoice c{.set = place.set, .word = place.word};
  const auto at = [&](size_t i) { return log_p[static_cast<size_t>(ids[i])]; };
  const auto word = static_cast<size_t>(place.word);
  double other = -INFINITY;
  size_t chosen = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (i != word) other = std::max(other, at(i));
    require(std::isfinite(at(i)), "the model excludes word ", i + 1, " of set ", place.set + 1,
            " by a bias of -inf: leave it out of the set");
    if (at(i) > at(chosen) || (at(i) == at(chosen) && ids[i] < ids[chosen])) chosen = i;
  }
  const auto of = [&](int64_t i) { return at(static_cast<size_t>(i)); };
  c.chosen = static_cast<int32_t>(chosen);
  c.nats = LogSumExp::of(std::ssize(ids), of).value() - at(word);
  c.margin = at(word) - other;
  require(std::isfinite(c.nats) && std::isfinite(c.margin), "the choice among the words of set ",
          place.set + 1, " has more nats than a double holds: the model's scores are too large");
  return c;
}

// Appends the choices of a batch of encoded sentences. Only its positions with a word of a set go
// through the output layer, a few at a time.
void append_choices(const LanguageNetwork& network, const EncodedSentences& batch,
                    const SetIds& sets, std::vector<RestrictedChoice>& choices) {
  const int32_t* const target = batch.targets.data<int32_t>();
  std::vector<int32_t> rows;
  for (int64_t i = 0; i < batch.targets.elements(); ++i)
    if (sets.sets.contains(target[i])) rows.push_back(static_cast<int32_t>(i));
  for (size_t first = 0; first < rows.size(); first += ops::kHeadPanel) {
    const auto part = std::span(rows).subspan(
        first, std::min(rows.size() - first, static_cast<size_t>(ops::kHeadPanel)));
    const Tensor log_p = network.log_probabilities(embedding(
        batch.hidden,
        Tensor::from(std::vector<int32_t>(part.begin(), part.end()), {std::ssize(part)})));
    const auto words = static_cast<size_t>(log_p.elements() / std::ssize(part));
    for (size_t r = 0; r < part.size(); ++r)
      for (const SetIds::Place place : sets.sets.at(target[part[r]])) {
        choices.push_back(choice_of({log_p.data<double>() + r * words, words},
                                    sets.ids[static_cast<size_t>(place.set)], place));
        choices.back().sentence = batch.first + part[r] % batch.count;
        choices.back().token = batch.begin + part[r] / batch.count;
      }
  }
}

// The sums of a quantity over each sentence's choices, and the numbers of choices.
struct SentenceSums {
  std::vector<double> sums, counts;

  template <class Quantity>
  SentenceSums(std::span<const RestrictedChoice> choices, Quantity&& quantity) {
    for (size_t i = 0; i < choices.size(); ++i) {
      if (i == 0 || choices[i].sentence != choices[i - 1].sentence) {
        sums.push_back(0);
        counts.push_back(0);
      }
      sums.back() += quantity(i);
      ++counts.back();
    }
  }
  Estimate mean(const BootstrapOptions& options) const {
    if (sums.empty()) return {};
    double sum = 0, count = 0;
    for (size_t s = 0; s < sums.size(); ++s) sum += sums[s], count += counts[s];
    const Estimate e{sum / count, percentile_interval(bootstrap_ratios(sums, counts, options))};
    require(
        std::isfinite(e.value) && std::isfinite(e.interval.low) && std::isfinite(e.interval.high),
        "the nats of the choices add up to more than a double holds: the model's scores are "
        "too large");
    return e;
  }
};

bool right(const RestrictedChoice& c) { return c.chosen == c.word; }

}  // namespace

std::vector<std::string> drop_unknown_words(std::vector<WordSet>& sets,
                                            std::span<const Vocabulary* const> vocabularies,
                                            const std::string& name) {
  const Specials& specials = Specials::kLanguageModel;
  const auto text_of = [](const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
    return text;
  };
  std::vector<std::string> unknown;
  std::map<std::vector<std::string>, std::string> set_of;  // key: the known words, sorted
  for (WordSet& set : sets) {
    const std::string text = text_of(set.words);
    WordSet known;
    for (size_t w = 0; w < set.words.size(); ++w) {
      const std::string& word = set.words[w];
      require(word != specials.text(specials.unknown) && word != specials.text(specials.end), name,
              ": ", word, " is not a word of a text: remove it from the set ", quote(text));
      if (!std::all_of(vocabularies.begin(), vocabularies.end(),
                       [&](const Vocabulary* v) { return v->id(word) != specials.unknown; })) {
        if (std::find(unknown.begin(), unknown.end(), word) == unknown.end())
          unknown.push_back(word);
        continue;
      }
      known.words.push_back(word);
      if (!set.counts.empty()) known.counts.push_back(set.counts[w]);
    }
    require(known.words.size() >= 2, name, ": of the set ", quote(text), " the vocabulary holds ",
            known.words.size(), known.words.size() == 1 ? " word" : " words",
            "; a set needs two or more");
    std::vector<std::string> sorted = known.words;
    std::sort(sorted.begin(), sorted.end());
    const auto [same, is_new] = set_of.emplace(std::move(sorted), text);
    require(is_new, name, ": without the words that the vocabulary lacks, the set ", quote(text),
            " is the set ", quote(same->second),
            ", and its choices would count twice: remove one of the two");
    set = std::move(known);
  }
  return unknown;
}

std::vector<RestrictedChoice> restricted_choices(const LanguageModel& model,
                                                 std::span<const std::string> lines,
                                                 std::span<const WordSet> sets,
                                                 int64_t batch_tokens,
                                                 const std::function<void(int64_t)>& progress,
                                                 Communicator& communicator) {
  require(model.tokenizer() == nullptr,
          "the model reads raw text, and its vocabulary has parts of words: a choice among words "
          "needs a model of words");
  const SetIds ids(sets, model.vocabulary());
  const Corpus text = Corpus::of_lines(lines, model.vocabulary());
  Arena arena("score", model.device());
  Tape tape(arena);
  std::vector<RestrictedChoice> choices;
  const std::vector<SentenceRange> batches = sentence_batches(model.network(), text, batch_tokens);
  const auto make = [&](int64_t i) {
    std::vector<RestrictedChoice> own;
    encode_sentences(
        model.network(), tape, text, batch_tokens,
        [&](const EncodedSentences& batch) { append_choices(model.network(), batch, ids, own); },
        batches[static_cast<size_t>(i)]);
    ByteWriter out;
    out.put(own);
    return out.take();
  };
  size_t done = 0;
  for_shared_parts(communicator, std::ssize(batches), make, [&](std::string_view result) {
    const auto part = ByteReader(result).list<RestrictedChoice>();
    choices.insert(choices.end(), part.begin(), part.end());
    if (progress) progress(batches[done].end);
    ++done;
  });
  std::sort(choices.begin(), choices.end(),
            [](const RestrictedChoice& x, const RestrictedChoice& y) {
              return std::tie(x.sentence, x.token, x.set) < std::tie(y.sentence, y.token, y.set);
            });
  return choices;
}

RestrictedMeasures measure_choices(std::span<const RestrictedChoice> choices,
                                   const BootstrapOptions& options) {
  const SentenceSums accuracy(choices, [&](size_t i) { return right(choices[i]) ? 1.0 : 0.0; }),
      nats(choices, [&](size_t i) { return choices[i].nats; }),
      margin(choices, [&](size_t i) { return choices[i].margin; });
  return {.positions = std::ssize(choices),
          .sentences = std::ssize(accuracy.sums),
          .accuracy = accuracy.mean(options),
          .cross_entropy = nats.mean(options),
          .margin = margin.mean(options)};
}

RestrictedComparison compare_choices(std::span<const RestrictedChoice> a,
                                     std::span<const RestrictedChoice> b,
                                     const BootstrapOptions& options) {
  const auto place = [](const RestrictedChoice& c) {
    return std::tie(c.sentence, c.token, c.set, c.word);
  };
  require(std::equal(a.begin(), a.end(), b.begin(), b.end(),
                     [&](const auto& x, const auto& y) { return place(x) == place(y); }),
          "[compare_choices] the choices of A and B are not of the same positions");
  RestrictedComparison c{.a = measure_choices(a, options), .b = measure_choices(b, options)};
  for (size_t i = 0; i < a.size(); ++i) {
    c.only_a += right(a[i]) && !right(b[i]) ? 1 : 0;
    c.only_b += right(b[i]) && !right(a[i]) ? 1 : 0;
  }
  c.p = mcnemar_exact(c.only_a, c.only_b);
  c.cross_entropy = SentenceSums(a, [&](size_t i) { return b[i].nats - a[i].nats; }).mean(options);
  return c;
}

}  // namespace nine
