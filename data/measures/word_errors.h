// Word error rate as NIST's sclite counts it, and the test of two recognisers' errors that sc_stats
// calls MAPSSWE.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nine {

/// What became of a word: a word of the reference alone is a deletion, one of the hypothesis alone
/// an insertion.
enum class Edit : uint8_t { correct, substitution, deletion, insertion };

/// The alignment of least cost, in the order of the words: a substitution costs 4, a deletion or an
/// insertion 3, as in sclite, whose choice among alignments of equal cost is followed too
/// (src/sclite/net_dp.c of SCTK 2.4). These costs prefer right words to few errors: now and then
/// there is an alignment with one error less.
std::vector<Edit> align_words(std::span<const std::string_view> reference,
                              std::span<const std::string_view> hypothesis);

/// Words and errors of one utterance or of many.
struct WordErrors {
  int64_t correct = 0, substitutions = 0, deletions = 0, insertions = 0;

  int64_t words() const { return correct + substitutions + deletions; }  ///< of the reference
  int64_t errors() const { return substitutions + deletions + insertions; }
  /// errors / words, in percent; 0 without words.
  double rate() const;
  WordErrors& operator+=(const WordErrors& other);
};
/// `count` in percent of `words` with one decimal, halves rounded up, as sclite prints it: "6.3" of
/// 1 in 16. "0.0" without words.
std::string percent_text(int64_t count, int64_t words);
/// The counts of an alignment.
WordErrors count_errors(std::span<const Edit> alignment);

/// A part of an utterance that at least one of two systems has errors in, between stretches of two
/// or more words that both have right.
struct ErrorSegment {
  int64_t errors_a = 0, errors_b = 0;
};
/// Appends the segments of an utterance, given the alignments of two systems with one reference.
/// The boundaries are sc_stats' (src/sclite/mtchprs.c, two correct words), its way of ending an
/// utterance included. Error: the two have references of different lengths.
void append_segments(std::span<const Edit> a, std::span<const Edit> b,
                     std::vector<ErrorSegment>& segments);

/// Matched pairs sentence segment word error test (Gillick & Cox, 1989): whether the mean
/// difference of errors a segment, A - B, is 0.
struct Mapsswe {
  int64_t segments = 0;
  double mean = 0, deviation = 0;  ///< of the differences; deviation with segments - 1
  /// mean / (deviation / sqrt(segments)): infinite, and p 0, where all segments differ by the same
  /// number that is not 0; 0, and p 1, of one segment, which has no deviation.
  double z = 0;
  double p = 1;  ///< two-sided, normal
};
Mapsswe mapsswe(std::span<const ErrorSegment> segments);

}  // namespace nine
