// How a tokenizer cuts a text into pieces before its model cuts the pieces into tokens.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/json.h"
#include "data/tokenizers/normalizer.h"
#include "data/tokenizers/split_pattern.h"

namespace nine {

/// Calls f(span of pieces) for some pieces at a time.
template <class F>
class PieceBatch {
 public:
  explicit PieceBatch(F& f) : f_(f) {}
  void add(std::string_view piece) {
    pieces_[size_++] = piece;
    if (size_ == pieces_.size()) flush();
  }
  void flush() { f_(std::span<const std::string_view>(pieces_.data(), std::exchange(size_, 0))); }

 private:
  F& f_;
  std::array<std::string_view, 16> pieces_;
  size_t size_ = 0;
};

/// The steps of a pre-tokeniser, in order.
class PreTokenizer {
 public:
  PreTokenizer() = default;
  /// Reads the member "pre_tokenizer" of a tokenizer.json, which may be null. Errors name a type or
  /// a member that Nine does not know.
  explicit PreTokenizer(const Json& part);

  /// True if pieces are bytes, so that the model's tokens are spelled in GPT-2's alphabet.
  bool of_bytes() const { return of_bytes_; }
  /// Calls f(pieces) with the pieces of a text from left to right, some at a time. `at_start`: true
  /// if the text is the first part of the input. A byte that is not of valid UTF-8 matches no
  /// pattern. The pieces are valid during the call of f.
  template <class F>
  void for_each_batch(std::string_view text, bool at_start, F&& f) const {
    if (plain_ != nullptr) {
      PieceBatch<F> batch(f);
      for_each_validity(text, [&](std::string_view part, bool valid) {
        if (!valid) return batch.add(part);
        size_t done = 0;
        plain_->for_each(part, [&](size_t begin, size_t end) {
          if (begin > done) batch.add(part.substr(done, begin - done));
          batch.add(part.substr(begin, end - begin));
          done = end;
        });
        if (done < part.size()) batch.add(part.substr(done));
      });
      batch.flush();
      return;
    }
    Pieces pieces;
    pieces.now.push_back(text);
    run(pieces, at_start);
    f(std::span<const std::string_view>(pieces.now));
  }
  /// Calls f(piece) for the same pieces.
  template <class F>
  void for_each(std::string_view text, bool at_start, F&& f) const {
    for_each_batch(text, at_start, [&](std::span<const std::string_view> pieces) {
      for (const std::string_view piece : pieces) f(piece);
    });
  }

 private:
  enum class Behavior { isolated, removed, merged_with_previous, merged_with_next, contiguous };
  struct Pieces {
    std::vector<std::string_view> now, next;
    std::deque<std::string> texts;  // pieces that are not part of the text
  };
  struct SplitStep {
    std::shared_ptr<const SplitPattern> pattern;  // null: `text` is plain
    std::string text;
    Behavior behavior = Behavior::isolated;
    bool invert = false;
  };
  struct ByteLevel {
    bool add_prefix_space = true;
    std::shared_ptr<const SplitPattern> pattern;  // null: it does not cut
  };
  struct Metaspace {
    std::string replacement;
    enum class Prepend { never, first, always } prepend = Prepend::always;
    bool split = true;
  };
  struct WhiteSpaceSplit {};
  struct Digits {
    bool individual = false;
  };
  using Step = std::variant<SplitStep, ByteLevel, Metaspace, WhiteSpaceSplit, Digits>;

  void add(const Json& part, int depth);
  void run(Pieces& pieces, bool at_start) const;
  static void cut(const SplitStep& step, std::string_view piece, bool first, Pieces& pieces);
  static void cut(const ByteLevel& step, std::string_view piece, bool first, Pieces& pieces);
  static void cut(const Metaspace& step, std::string_view piece, bool first, Pieces& pieces);
  static void cut(const WhiteSpaceSplit& step, std::string_view piece, bool first, Pieces& pieces);
  static void cut(const Digits& step, std::string_view piece, bool first, Pieces& pieces);

  std::vector<Step> steps_;
  bool of_bytes_ = false;
  const SplitPattern* plain_ = nullptr;  // the only pattern, if the steps do no more than cut by it
};

}  // namespace nine
