// Word error rate as NIST's sclite counts it, and MAPSSWE, the test of sc_stats for the errors of
// two recognisers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nine {

/// The kind of an aligned word: a word of the reference alone is a deletion, a word of the
/// hypothesis alone is an insertion.
enum class Edit : uint8_t { correct, substitution, deletion, insertion };

/// Returns the alignment of least cost in the order of the words: a substitution costs 4, a
/// deletion or an insertion 3, as in sclite. Among alignments of equal cost it makes sclite's
/// choice (src/sclite/net_dp.c of SCTK 2.4). With these costs another alignment may have fewer
/// errors.
std::vector<Edit> align_words(std::span<const std::string_view> reference,
                              std::span<const std::string_view> hypothesis);

/// The words and errors of one or more utterances.
struct WordErrors {
  int64_t correct = 0, substitutions = 0, deletions = 0, insertions = 0;

  int64_t words() const { return correct + substitutions + deletions; }  ///< words of the reference
  int64_t errors() const { return substitutions + deletions + insertions; }
  /// Returns errors / words in percent; 0 without words.
  double rate() const;
  WordErrors& operator+=(const WordErrors& other);
};
/// Returns `count` in percent of `words` with one decimal, halves rounded up, as sclite prints it:
/// "6.3" for 1 of 16. "0.0" without words.
std::string percent_text(int64_t count, int64_t words);
/// Counts the words and errors of an alignment.
WordErrors count_errors(std::span<const Edit> alignment);
/// Counts the words and errors of a hypothesis, a line of words, against its reference.
WordErrors count_word_errors(std::string_view reference, std::string_view hypothesis);

/// The errors of two systems in a segment: a part of an utterance in which at least one system has
/// errors. Two or more consecutive words that both systems have right end a segment.
struct ErrorSegment {
  int64_t errors_a = 0, errors_b = 0;
};
/// Appends the segments of an utterance, given the alignments of two systems with one reference.
/// The boundaries, the end of an utterance included, are those of sc_stats (src/sclite/mtchprs.c
/// with two correct words). Error: the alignments have references of different lengths.
void append_segments(std::span<const Edit> a, std::span<const Edit> b,
                     std::vector<ErrorSegment>& segments);

/// The result of the matched pairs sentence-segment word error test (Gillick & Cox, 1989), whose
/// null hypothesis is that the mean difference of errors a segment, A - B, is 0.
struct Mapsswe {
  int64_t segments = 0;
  double mean = 0, deviation = 0;  ///< of errors_a - errors_b; the variance divides by segments - 1
  /// mean / (deviation / sqrt(segments)). If all differences are the same number other than 0, z is
  /// infinite and p is 0. With fewer than two segments there is no deviation: z is 0 and p is 1.
  double z = 0;
  double p = 1;  ///< two-sided, normal
};
/// Tests the segments' errors of systems A and B.
Mapsswe mapsswe(std::span<const ErrorSegment> segments);

}  // namespace nine
