// The common interface of networks that read texts word by word.
#pragma once

#include <cstdint>
#include <span>

#include "core/error.h"
#include "nn/key_value_cache.h"

namespace nine {

/// Reads several texts, the slots, side by side. LanguageNetwork::decoder() makes it for a language
/// model; a TranslationDecoder also reads source sentences. The network must outlive the decoder
/// and keep its weights.
class StepDecoder {
 public:
  virtual ~StepDecoder() = default;
  /// Lets `slots` texts begin.
  virtual void start(int64_t slots) = 0;
  /// Lets a text begin in a slot, in place of its earlier text. slot = the number of slots adds
  /// one. Resets the tape. Error: a translation, whose slots belong to sources.
  virtual void begin(Tape&, int32_t) { fail("[StepDecoder] this decoder's texts begin together"); }
  /// Reads a word into the slot of each of `rows`. Slots without a row read no more. A slot may
  /// have several rows: its next words, in order. Returns the head's input for predicting the word
  /// after each row, (number of rows, width), valid until the tape's reset(). The tape must be on
  /// the network's device and must not record. On the CPU a row has the same bits whether it is
  /// read alone or with rows of other slots, and with or after its slot's earlier words. Error: the
  /// slots have different numbers of rows, and mixes_counts() is false.
  virtual Var step(Tape& tape, std::span<const DecoderRow> rows) = 0;
  /// True if the slots of one step may have different numbers of rows.
  virtual bool mixes_counts() const { return false; }
  /// Lets slot i continue the text of slot from[i]; -1: slot i reads no more. Error: not one
  /// element of `from` for each slot.
  virtual void reorder(std::span<const int32_t> from) = 0;
};

}  // namespace nine
