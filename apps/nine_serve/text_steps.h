// Reads and continues texts of a language model side by side: of each text that grows a token at a
// time, of each prompt many tokens at a time.
//
//   TextSteps steps(network, head);
//   steps.start(texts);                   // ReadText*, each with options of its own
//   while (!steps.idle()) steps.step();   // add() lets further texts join
//
// On the CPU a text's tokens and log-probabilities have the same bits with every choice of
// neighbours and with every cut of a prompt. The products, the output layer and the sampling
// compute each row alone.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "autograd/tape.h"
#include "core/arena.h"
#include "nn/decoding_head.h"
#include "nn/models/language_network.h"
#include "nn/models/next_words.h"
#include "nn/models/sampling.h"

namespace nine::app {

/// The log-probability of a token of a text, natural, under the model itself (temperature 1).
struct TokenLogP {
  double log_p = 0;
  std::vector<int32_t> top;       ///< the likeliest tokens, likeliest first; ties: the smaller id
  std::vector<double> top_log_p;  ///< log p of the tokens in `top`
};

/// A text that TextSteps reads. The first four members are the caller's.
struct ReadText {
  std::vector<int32_t> ids;  ///< the given tokens, then the added tokens
  int64_t most = 0;          ///< most tokens to add, </s> included
  SamplingOptions sampling = {};
  /// The key of the random numbers; see uniform_of().
  uint64_t seed = 1;
  int64_t number = 0, sample = 0;
  /// Number of likeliest tokens to record at each position; -1: record no log-probabilities.
  int64_t top = -1;
  bool score_given = false;  ///< with `top` >= 0: records log p of the given tokens too

  bool begun = false;  ///< start() and add() set it, with `given`
  size_t given = 0;    ///< how many ids were given
  /// Of the recorded tokens: with score_given of all ids, otherwise of the added ids.
  std::vector<TokenLogP> log_p = {};
  bool ended = false;             ///< the last added token is </s>
  bool stopped = false;           ///< set by the caller: the text takes part in no later step
  std::exception_ptr error = {};  ///< why the text cannot continue; the group's other texts go on

  int64_t added() const { return std::ssize(ids) - static_cast<int64_t>(given); }
  /// True if nothing more is to be read or added.
  bool done() const;
  /// True if the prediction of ids[position], or of the id that comes to be there, is needed.
  bool needs(size_t position) const;
};

/// A group of texts. For one thread.
class TextSteps {
 public:
  /// Both must outlive this object. `head` is that of `network`. The steps have a pool of
  /// `pool_bytes`; 0: as much as the device has available.
  TextSteps(const LanguageNetwork& network, const DecodingHead& head, size_t pool_bytes = 0);

  /// Begins a group, which replaces the last one. A text must live until take_done() returned its
  /// place. A text of an earlier group, which may have been of another TextSteps, goes on where it
  /// stood: its ids are read again.
  void start(std::vector<ReadText*> texts);
  /// True if a text may join the group by add(). A recurrent network reads the prompt of a text
  /// that joins token by token, so a long prompt is better read in a group of its own.
  bool joins(const ReadText& text) const;
  /// Adds a text to the group, with the rules of start(). Returns its place: one whose text
  /// take_done() has returned, or a new one.
  size_t add(ReadText* text);
  /// Reads, of each text that needs another prediction, its next token, or several of its prompt. A
  /// prompt that several texts begin with is read once: the other texts wait, and go on where the
  /// first of them added a token. A text without a token to choose, or with a probability that is
  /// not a number, gets `error`. Returns how many tokens were read.
  int64_t step();
  /// Returns the places of the texts that have ended since the last call, and forgets these texts.
  std::vector<size_t> take_done();
  /// True if no text of the group needs another prediction.
  bool idle() const;

 private:
  struct Slot {
    ReadText* text = nullptr;     // null: taken by take_done()
    size_t read = 0;              // </s> and then ids
    std::optional<size_t> first;  // the place whose text reads the prompt for this text, too
    bool live() const { return text != nullptr && !text->done(); }
    // How many tokens can be read: those before the last prediction that is needed.
    size_t known() const { return text->ids.size() + (text->added() < text->most ? 1 : 0) - read; }
  };
  // A prediction that a text needs: of ids[position].
  struct Prediction {
    ReadText* text;
    size_t position;
    int32_t word = -1;     // the token that is there or was chosen
    TokenLogP log_p = {};  // if the text records it
    std::exception_ptr error = {};
  };
  void begin(size_t place, ReadText* text);
  std::vector<size_t> counts() const;
  void leave_prompt(size_t i);
  void want(ReadText& text, size_t position, size_t row);
  void predict(const Var& hidden);
  static void take(Prediction& made);
  void part_from(std::span<const size_t> firsts);
  static void take_given(ReadText& text, const ReadText& first);

  Arena arena_;
  Tape tape_;
  NoGrad guard_;
  std::unique_ptr<StepDecoder> decoder_;
  NextWords next_;
  std::vector<Slot> slots_;
  std::vector<Prediction> predictions_;  // of a step, in the order of its rows
  std::vector<WantedWord> wanted_;       // for each of predictions_
};

/// Returns log p of a token among all tokens' `log_p`, and the `count` likeliest tokens.
TokenLogP token_log_p(std::span<const double> log_p, int32_t token, int64_t count);

}  // namespace nine::app
