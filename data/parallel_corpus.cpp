#include "data/parallel_corpus.h"

#include <algorithm>
#include <utility>

#include "core/crc32c.h"
#include "core/error.h"
#include "core/files.h"
#include "data/text.h"

namespace nine {
namespace {

int64_t lines_left(TextReader& reader) {
  int64_t n = 0;
  for (std::string_view line; reader.next_line(line);) ++n;
  return n;
}

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

template <class Visit>
void read_pairs(const std::vector<std::string>& source, const std::vector<std::string>& target,
                const Visit& visit) {
  TextReader left(source), right(target);
  std::string_view s, t;
  for (int64_t pairs = 0;; ++pairs) {
    const bool more_left = left.next_line(s), more_right = right.next_line(t);
    if (more_left && more_right) {
      visit(s, t);
      continue;
    }
    if (!more_left && !more_right) return;
    const int64_t of_source = pairs + (more_left ? 1 + lines_left(left) : 0),
                  of_target = pairs + (more_right ? 1 + lines_left(right) : 0);
    fail(joined(source), " has ", of_source, " lines, but ", joined(target), " has ", of_target,
         ": each line of one must be the translation of the same line of the other");
  }
}

}  // namespace

PairText pairs_of_files(std::vector<std::string> source, std::vector<std::string> target) {
  return [source = std::move(source), target = std::move(target),
          again = false](const auto& visit) mutable {
    // A pipe would seem empty at the second reading, or block.
    if (std::exchange(again, true))
      for (const auto* side : {&source, &target})
        for (const std::string& path : *side)
          require(!is_device_or_pipe(path), path,
                  " is a pipe or a device, but this text is read twice: write the text to a file "
                  "(a file packed by gzip or zstd needs no unpacking)");
    if (source.size() != target.size()) return read_pairs(source, target, visit);
    for (size_t i = 0; i < source.size(); ++i) read_pairs({source[i]}, {target[i]}, visit);
  };
}

PairText pairs_of_lines(std::span<const std::string> source, std::span<const std::string> target) {
  require(source.size() == target.size(), "a text of ", source.size(), " source lines and ",
          target.size(), " target lines is not parallel");
  return [=](const auto& visit) {
    for (size_t i = 0; i < source.size(); ++i) visit(source[i], target[i]);
  };
}

PairCounts::PairCounts(const PairText& text, bool joint) {
  WordCounts& of_target = joint ? source : target;
  text([&](std::string_view s, std::string_view t) {
    source.add_sentence(s);
    of_target.add_sentence(t);
  });
}

void ParallelCorpus::Side::add(std::span<const int32_t> ids) {
  flat.insert(flat.end(), ids.begin(), ids.end());
  offsets.push_back(std::ssize(flat));
  unknown += std::count(ids.begin(), ids.end(), unknown_id);
  spelled.add(ids.first(ids.size() - 1));
}

std::span<const int32_t> ParallelCorpus::Side::sentence(int64_t i) const {
  const auto begin = static_cast<size_t>(offsets[static_cast<size_t>(i)]),
             end = static_cast<size_t>(offsets[static_cast<size_t>(i) + 1]);
  return std::span(flat).subspan(begin, end - begin);
}

std::vector<int64_t> ParallelCorpus::Side::counts(int64_t words) const {
  std::vector<int64_t> counts(static_cast<size_t>(words), 0);
  for (const int32_t id : flat) ++counts[static_cast<size_t>(id)];
  return counts;
}

namespace {

LineEncoder encoder_of(const Vocabulary& vocabulary) {
  return [&vocabulary, words = std::vector<std::string_view>()](std::string_view line,
                                                                std::vector<int32_t>& ids) mutable {
    split_words(line, words);
    vocabulary.encode(words, ids);
  };
}

}  // namespace

ParallelCorpus::ParallelCorpus(const PairText& text, const Vocabulary& source,
                               const Vocabulary& target, const PairSelection& selection)
    : ParallelCorpus(text, {encoder_of(source), encoder_of(target)}, selection) {}

ParallelCorpus::ParallelCorpus(const PairText& text, const PairEncoding& encoding,
                               const PairSelection& selection) {
  const auto encode = [&](Side& side, const LineEncoder& encoder, std::string_view text_line,
                          std::vector<int32_t>& ids) {
    if (encoding.raw) {
      side.lines.add_raw_line(text_line);
    } else {
      side.lines.add(text_line);
    }
    side.spelled.add_beginning(text_line);
    ids.clear();
    encoder(text_line, ids);
    ids.push_back(Specials::kTranslation.end);
  };
  source_.unknown_id = encoding.source_unknown;
  target_.unknown_id = encoding.target_unknown;
  int64_t line = 0;
  std::vector<int32_t> from, to;
  text([&](std::string_view s, std::string_view t) {
    ++line;
    encode(source_, encoding.source, s, from);
    encode(target_, encoding.target, t, to);
    if (!selection.keep_empty && (from.size() == 1 || to.size() == 1)) {
      ++skipped_empty_;
    } else if (selection.max_length > 0 &&
               std::max(std::ssize(from), std::ssize(to)) > selection.max_length) {
      ++skipped_long_;
    } else {
      source_.add(from);
      target_.add(to);
      lines_.push_back(line);
    }
  });
}

void ParallelCorpus::set_target_weights(std::vector<double> weights) {
  require(weights.size() == target_.flat.size(), "[ParallelCorpus] ", weights.size(),
          " weights of ", target_.flat.size(), " tokens");
  target_weights_ = std::move(weights);
}

std::span<const double> ParallelCorpus::target_weights(int64_t i) const {
  if (target_weights_.empty()) return {};
  return std::span(target_weights_)
      .subspan(static_cast<size_t>(target_.offsets[static_cast<size_t>(i)]), target(i).size());
}

int64_t ParallelCorpus::longest() const {
  int64_t most = 0;
  for (int64_t i = 0; i < pairs(); ++i) most = std::max({most, source_length(i), target_length(i)});
  return most;
}

uint32_t ParallelCorpus::id_checksum() const {
  uint32_t crc = 0;
  for (const Side* side : {&source_, &target_}) {
    crc = crc32c(crc, side->flat.data(), side->flat.size() * sizeof(int32_t));
    crc = crc32c(crc, side->offsets.data(), side->offsets.size() * sizeof(int64_t));
  }
  return crc;
}

}  // namespace nine
