// Reads columns of text segment by segment, for evaluation. A network that carries a state keeps it
// between segments; a network with a window reads the last words again.
#pragma once

#include <vector>

#include "nn/models/language_network.h"

namespace nine {

/// Reads `columns` parallel texts, each from its beginning. With a window of W steps, a segment is
/// read together with the floor(W/2) words before it, or all words if there are fewer. So every
/// prediction, except at a text's beginning, uses at least floor(W/2) earlier words.
class SegmentReader {
 public:
  SegmentReader(const LanguageNetwork& network, int64_t columns);

  /// Returns the most rows that the next segment may have; `most` without a window.
  int64_t next_rows(int64_t most) const;
  /// Returns the most rows of every segment after the first; `most` without a window.
  static int64_t later_rows(const LanguageNetwork& network, int64_t most);
  /// Returns the first row that the prediction behind a row uses: that of the row's segment, with
  /// the rows that are read again before it. Without a window this is row 0.
  static int64_t first_row(const LanguageNetwork& network, int64_t row);
  /// Reads `rows` rows of ids, row t * columns + c. Returns the head's inputs after them, (rows *
  /// columns, width). The tape must not record.
  Var read(Tape& tape, std::span<const int32_t> ids, int64_t rows);

 private:
  const LanguageNetwork& network_;
  int64_t columns_;
  CarriedState carried_;
  std::vector<LstmState> state_;
  std::vector<int32_t> kept_;  // with a window: the rows before the next segment
};

}  // namespace nine
