// Word lattices of speech recognisers: graphs whose paths are hypotheses, in HTK's Standard Lattice
// Format (SLF) and in Kaldi's text form.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/enum_names.h"
#include "data/string_table.h"

namespace nine {

/// The format of a file of lattices.
enum class LatticeFormat : uint8_t {
  slf,   ///< HTK's: one lattice a file
  kaldi  ///< the text form of Kaldi's Lattice or CompactLattice: many lattices a file
};
template <>
inline constexpr EnumNames<LatticeFormat, 2> kEnumNames<LatticeFormat>{
    "format of lattices", {{{LatticeFormat::slf, "slf"}, {LatticeFormat::kaldi, "kaldi"}}}};

/// The weights of a path's score: acoustic * a + language * l + word_penalty * words, where a and l
/// are the sums over its links.
struct LatticeScales {
  double acoustic = 1, language = 1, word_penalty = 0;
};

/// A link of a lattice. Scores are natural logarithms, larger is better.
struct LatticeLink {
  int32_t from = 0, to = 0;  ///< nodes, from < to
  int32_t word = -1;         ///< in Lattice::words; -1: no word
  double acoustic = 0, language = 0;
};

/// A lattice. Nodes are numbered so that each link goes to a later node; node 0 is the start. Every
/// node is on a path from the start to an end.
struct Lattice {
  std::string utterance;
  int32_t nodes = 0;
  std::vector<LatticeLink> links;  ///< sorted by `from`
  std::vector<LatticeLink> ends;   ///< of each node where a path may end, by `from`: the scores of
                                   ///< ending there; `to` is the number of nodes
  StringTable words;
  std::vector<double> times;  ///< of the nodes, in seconds; empty if the file has none
  LatticeScales scales;       ///< those that the file names (SLF's acscale, lmscale, wdpenalty)
  int64_t removed = 0;        ///< links that were on no path from the start to an end

  /// Returns the place of the first link that leaves a node.
  size_t first_link(int32_t node) const;
  /// Returns the score of a link.
  static double score(const LatticeLink& link, const LatticeScales& scales) {
    return scales.acoustic * link.acoustic + scales.language * link.language +
           (link.word >= 0 ? scales.word_penalty : 0);
  }
};

/// Settings of reading lattices.
struct LatticeOptions {
  LatticeFormat format = LatticeFormat::slf;
  /// True: a mark of pronunciation at a word's end, such as (2), is no part of the word.
  bool drop_pronunciations = true;
};

/// True if a label stands for no word: !NULL, <eps>, the marks of a sentence's ends (<s>, </s>,
/// !SENT_START, !SENT_END, !ENTER, !EXIT), silence and noises (<sil>, -pau-, [NOISE], ++NOISE++).
/// With Kaldi's lattices, also 0.
bool is_no_word(std::string_view label, LatticeFormat format);

/// Reads the lattices of a file, which gzip or zstd may have packed. An SLF file without UTTERANCE
/// has the name of the file, without folder and endings, as its utterance. Errors name file and
/// line: those of TextReader; a malformed line; a score that is not a number; other numbers of
/// nodes or links than the file says; a node that is not defined, or twice; a word with a space;
/// weights that are no pair of costs (kaldi); a cycle; no path from
/// the start to an end; several starts; a sublattice; a repeated utterance (kaldi); no lattice. A
/// link or an end with a score of -infinity, or of kLogZero (data/n_best.h) and below, is left out.
std::vector<Lattice> read_lattices(const std::string& path, const LatticeOptions& options);

}  // namespace nine
