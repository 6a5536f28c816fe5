// Computes the log-probabilities of a text under a language model.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/communicator.h"
#include "core/error.h"
#include "data/corpus.h"
#include "data/lm_batches.h"
#include "nn/models/language_model.h"
#include "nn/models/language_network.h"
#include "nn/training/mixture_weight_stats.h"

namespace nine {

/// Returns the ids of lines, as LanguageModel scores them. With carry_state, a model of raw text
/// reads the lines together as one text, and </s> follows each document (DocumentEnds).
Corpus corpus_of(const LanguageModel& model, std::span<const std::string> lines,
                 bool carry_state = false);

/// Calls `callback` with the nats (-log p) of each sentence's tokens, </s> last, in the text's
/// order. A word that the model excludes has infinite nats. Several processes share batches or
/// columns out; each gets all nats. Error: a log p that is not a number.
void score_text(const LanguageModel& model, const Corpus& text, const ScoringOptions& options,
                const std::function<void(std::span<const double>)>& callback,
                Communicator& communicator = one_process());

/// Evaluates a whole text with carried state, as validation does (EvalSegments): in file order, in
/// `columns` columns and segments of `segment` rows. Writes the nats of each token of the text into
/// token_nats, if set; NaN for tokens that Remainder::left_out leaves out. A network with a window
/// reads segments of another length (SegmentReader). Several processes share the columns out; each
/// gets the same result. `undo_margin` as in ScoringOptions.
Evaluation evaluate_carried(const LanguageNetwork& model, Tape& tape, const Corpus& text,
                            int64_t columns = 10, int64_t segment = 100,
                            std::vector<double>* token_nats = nullptr,
                            Communicator& communicator = one_process(), double undo_margin = 0,
                            Remainder remainder = Remainder::read);

/// Evaluates a whole text sentence by sentence, each from a fresh state, as score_text does without
/// carried state; computes at most `batch_tokens` positions at once. Several processes share the
/// batches out; each gets the same result.
Evaluation evaluate_sentences(const LanguageNetwork& model, Tape& tape, const Corpus& text,
                              Communicator& communicator = one_process(),
                              int64_t batch_tokens = ScoringOptions{}.batch_tokens);

/// Sentences [first, end) of a text; end -1: up to the last sentence. Messages count `before` more
/// sentences, which were read before this text.
struct SentenceRange {
  int64_t first = 0, end = -1, before = 0;
};
/// Returns the batches that encode_sentences makes of these sentences, in order, with the same
/// `before`. Error: batch_tokens < 1.
std::vector<SentenceRange> sentence_batches(const LanguageNetwork& model, const Corpus& text,
                                            int64_t batch_tokens, SentenceRange range = {});

/// Neighbouring sentences of a text, one per column, each encoded from a state of zeros; or one
/// segment of a sentence that is longer than a batch may be.
struct EncodedSentences {
  int64_t first = 0, count = 0;  ///< sentences first ... first + count - 1 of the text
  int64_t before = 0;            ///< of the SentenceRange
  /// Tokens begin ... begin + rows - 1 of each sentence. begin > 0 only for later segments of a
  /// long sentence.
  int64_t begin = 0, rows = 0;
  /// (rows * count, hidden size); row t * count + c predicts token begin + t of column c.
  Var hidden;
  Tensor targets;  ///< (rows, count) int32: the tokens; -1 after a sentence's end

  /// Returns compute(). An Error in it, whose message may name a row of the batch, gets the numbers
  /// of the sentences.
  template <class F>
  auto naming_sentences(F&& compute) const {
    try {
      return compute();
    } catch (const OutOfMemory&) {
      throw;
    } catch (const Error& e) {
      fail("sentence ", before + first + 1,
           count > 1 ? concat(" to ", before + first + count) : std::string(), ": ", e.what());
    }
  }
};
/// Calls `callback` for the range's sentences in order, under NoGrad, with one recording of the
/// tape per call. Computes at most `batch_tokens` positions at once. A longer sentence is a batch
/// by itself, in segments; the state is carried from segment to segment, or, for a network with a
/// window, SegmentReader reads the segments. Error: batch_tokens < 1.
void encode_sentences(const LanguageNetwork& model, Tape& tape, const Corpus& text,
                      int64_t batch_tokens,
                      const std::function<void(const EncodedSentences&)>& callback,
                      SentenceRange range = {});

/// Calls callback(sentence, nats of each token, </s> last) for the range's sentences in order, each
/// from a state of zeros. `batch_tokens` as in encode_sentences.
void score_sentences(const LanguageNetwork& model, Tape& tape, const Corpus& text,
                     int64_t batch_tokens,
                     const std::function<void(int64_t, std::span<const double>)>& callback,
                     double undo_margin = 0, SentenceRange range = {});

}  // namespace nine
