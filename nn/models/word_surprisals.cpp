#include "nn/models/word_surprisals.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <unordered_map>

#include "core/log_sum_exp.h"
#include "core/ops.h"
#include "core/quote.h"
#include "data/tokenizers/raw_text.h"
#include "kernels/ops.h"
#include "nn/models/language_network.h"
#include "nn/models/score_text.h"

namespace nine {
namespace {

using TokenIds = std::vector<int32_t>;

bool is_space(char c) { return std::string_view(" \t\n\r\v\f").find(c) != std::string_view::npos; }

// The tokens that end a word, by what stands before the end in the token.
class WordEnds {
 public:
  explicit WordEnds(const ModelTokenizer& tokenizer, const Vocabulary& vocabulary) {
    const Specials& specials = vocabulary.specials();
    for (int32_t id = 0; id < vocabulary.size(); ++id) {
      const std::string bytes = tokenizer.bytes(id);
      const bool ends_text =
          id == specials.end ||
          (id >= specials.size && id - specials.size < tokenizer.tokenizer().size() &&
           tokenizer.tokenizer().is_special(id - specials.size));
      if (ends_text || (!bytes.empty() && is_space(bytes[0]))) add("", id);
      has_spaces_ = has_spaces_ || std::ranges::any_of(bytes, is_space);
      for (size_t at = 1; at < bytes.size(); ++at)
        if (is_space(bytes[at]) && !is_space(bytes[at - 1])) add(bytes.substr(0, at), id);
    }
  }
  // Returns the tokens that begin with `before` and then end the word; of an empty `before`, those
  // that begin with white space or end the text.
  std::span<const int32_t> after(const std::string& before) const {
    const auto found = tokens_.find(before);
    return found == tokens_.end() ? std::span<const int32_t>() : found->second;
  }
  // True if a token has white space, which ends a word.
  bool has_spaces() const { return has_spaces_; }
  // Returns the size of the longest `before` that has tokens.
  size_t longest() const { return longest_; }

 private:
  void add(const std::string& before, int32_t id) {
    tokens_[before].push_back(id);
    longest_ = std::max(longest_, before.size());
  }
  std::unordered_map<std::string, TokenIds> tokens_;
  size_t longest_ = 0;
  bool has_spaces_ = false;
};

std::string without_spaces(std::string text) {
  std::erase_if(text, is_space);
  return text;
}

// Error: the words of a line have no places in its tokens. The message says why.
void require_same_text(const ModelTokenizer& tokenizer, const std::string& line,
                       std::span<const int32_t> ids) {
  const std::string text = tokenizer.decode(ids);
  if (text == line) return;
  const int32_t unknown = tokenizer.unknown();
  const bool spaces = without_spaces(text) == without_spaces(line);
  const std::string of_words =
      ", so that its words have no places in the text: the surprisal of words needs a tokenizer "
      "that ";
  if (const auto count = std::ranges::count(ids, unknown); count > 0)
    fail("the tokenizer has no token for a part of ", quote(line), ", where it has its unknown ",
         "token ", count == 1 ? "once" : concat(count, " times"), of_words,
         "has tokens for the whole text, such as one of bytes");
  fail("the tokenizer reads ", quote(line), " as ", quote(text), of_words,
       spaces ? "keeps white space; one of whole words (WordLevel) does not"
              : "does not normalise this text");
}

// The question how probable it is, at a token of a sequence, that the word ends after `before`.
struct Question {
  size_t token;
  std::string before;
  double p = 0;  // the answer
};

// A token sequence, from the beginning of a text, with </s> last; and what is asked of it.
struct Sequence {
  TokenIds ids;
  std::vector<Question> questions;
  std::vector<double> log_p = {0};  // of the first tokens: log_p[k] of the first k

  // Returns the log-probability of the tokens before a question and of its answer.
  double log_answer(size_t question) const {
    return log_p[questions[question].token] + std::log(questions[question].p);
  }
};

// Fills the answers and log-probabilities of sequences.
void answer(const LanguageModel& model, const WordEnds& ends, std::span<Sequence> sequences,
            int64_t batch_tokens) {
  TokenIds flat;
  std::vector<int64_t> offsets{0};
  for (const Sequence& s : sequences) {
    flat.insert(flat.end(), s.ids.begin(), s.ids.end());
    offsets.push_back(std::ssize(flat));
  }
  if (flat.empty()) return;
  const Corpus corpus = Corpus::of_ids(std::move(flat), std::move(offsets), {}, {}, 0);
  const LanguageNetwork& network = model.network();
  Arena arena("score", model.device());
  Tape tape(arena);
  const auto take = [&](const EncodedSentences& batch) {
    const int64_t rows = batch.targets.elements(), words = network.vocab();
    const int32_t* target = batch.targets.data<int32_t>();
    for (int64_t first = 0; first < rows; first += ops::kHeadPanel) {
      const int64_t part = std::min(ops::kHeadPanel, rows - first);
      const Tensor log_p = network.log_probabilities(row_range(batch.hidden, first, part));
      for (int64_t r = first; r < first + part; ++r) {
        if (target[r] < 0) continue;
        const std::span row(log_p.data<double>() + (r - first) * words, static_cast<size_t>(words));
        Sequence& s = sequences[static_cast<size_t>(batch.first + r % batch.count)];
        const auto at = static_cast<size_t>(batch.begin + r / batch.count);
        s.log_p.push_back(s.log_p.back() + row[static_cast<size_t>(target[r])]);
        for (Question& q : s.questions) {
          if (q.token != at) continue;
          for (const int32_t id : ends.after(q.before))
            q.p += std::exp(row[static_cast<size_t>(id)]);
        }
      }
    }
  };
  encode_sentences(network, tape, corpus, batch_tokens, take);
}

// Where W of a word is the sum of: questions of sequences.
struct Term {
  size_t sequence, question;
};

}  // namespace

std::vector<std::vector<WordSurprisal>> word_surprisals(const LanguageModel& model,
                                                        std::span<const std::string> lines,
                                                        int64_t batch_tokens) {
  const ModelTokenizer* const tokenizer = model.tokenizer();
  require(tokenizer != nullptr,
          "the surprisal of words is for a model that reads raw text (lm_train --text); a model of "
          "words has the log-probability of each word");
  const WordEnds ends(*tokenizer, model.vocabulary());
  require(
      ends.has_spaces(),
      "the tokenizer has no token with white space, as one of whole words (WordLevel), so that ",
      "its tokens do not show where a word ends: take the log-probability of each token");
  const int32_t end = model.vocabulary().specials().end;
  std::vector<Sequence> sequences;
  std::vector<std::vector<WordSurprisal>> all;
  std::vector<std::vector<Term>> terms;  // of each word of all lines
  TokenCache cache;
  for (const std::string& line : lines) {
    TokenIds ids;
    tokenizer->encode(line, cache, ids);
    require_same_text(*tokenizer, line, ids);
    const size_t own = sequences.size();
    sequences.push_back({.ids = ids, .questions = {}});
    sequences.back().ids.push_back(end);
    std::vector<WordSurprisal>& words = all.emplace_back();
    for_each_raw_word(line, [&](size_t begin, size_t stop) {
      words.push_back({static_cast<int64_t>(begin), static_cast<int64_t>(stop)});
      std::vector<Term>& of = terms.emplace_back();
      // Asks behind the tokens of the line up to `place`, which most often begin the line's own.
      const auto ask = [&](size_t place, std::string before) {
        TokenIds cut;
        tokenizer->encode(std::string_view(line).substr(0, place), cache, cut);
        const size_t count = cut.size();
        size_t sequence = own;
        if (count > ids.size() || !std::equal(cut.begin(), cut.end(), ids.begin())) {
          sequence = sequences.size();
          cut.push_back(end);
          sequences.push_back({.ids = std::move(cut), .questions = {}});
        }
        std::vector<Question>& questions = sequences[sequence].questions;
        of.push_back({sequence, questions.size()});
        questions.push_back({count, std::move(before)});
      };
      ask(stop, "");
      for (size_t size = 1; size <= std::min(ends.longest(), stop); ++size)
        if (std::string before = line.substr(stop - size, size); !ends.after(before).empty())
          ask(stop - size, std::move(before));
    });
  }
  answer(model, ends, sequences, batch_tokens);
  size_t term = 0;
  for (std::vector<WordSurprisal>& words : all) {
    double before = 0;
    for (WordSurprisal& word : words) {
      RunningLogSumExp<double, double, LibraryMath> sum;
      for (const auto& [sequence, question] : terms[term])
        sum.add(sequences[sequence].log_answer(question));
      ++term;
      const double now = sum.value();
      word.bits = (before - now) / std::numbers::ln2;
      before = now;
    }
  }
  return all;
}

}  // namespace nine
