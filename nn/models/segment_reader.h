// Reading columns of text segment by segment, for evaluation: what came before a segment is a
// carried state, or, for a network with a window, words that are read again.
#pragma once

#include <vector>

#include "nn/models/language_network.h"

namespace nine {

/// `columns` texts side by side, each from its beginning. With a window of W steps, a segment is
/// read together with the W/2 words before it (rounded down; fewer at the beginning), so that no
/// word but a text's first ones is predicted from fewer.
class SegmentReader {
 public:
  SegmentReader(const LanguageNetwork& network, int64_t columns);

  /// The most rows that the next segment may have: `most`, where there is no window.
  int64_t next_rows(int64_t most) const;
  /// The most rows of every segment but the first: `most`, where there is no window.
  static int64_t later_rows(const LanguageNetwork& network, int64_t most);
  /// Reads `rows` rows of ids, row t * columns + c: the head's inputs after them, (rows * columns,
  /// width). The tape must not record.
  Var read(Tape& tape, std::span<const int32_t> ids, int64_t rows);

 private:
  const LanguageNetwork& network_;
  int64_t columns_;
  CarriedState carried_;
  std::vector<LstmState> state_;
  std::vector<int32_t> kept_;  // rows before the next segment, with a window
};

}  // namespace nine
