#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>

#include "core/error.h"
#include "core/quote.h"
#include "data/text.h"
#include "data/tokenizers/token_model.h"
#include "data/unicode.h"

namespace nine {

namespace {

constexpr double kUnknownPenalty = 10;  // SentencePiece's kUnkPenalty
constexpr int32_t kUnknown = -2;        // unknown text in a path

}  // namespace

UnigramModel::UnigramModel(const TokenList& tokens, std::vector<double> scores, Settings settings)
    : settings_(std::move(settings)), scores_(std::move(scores)), path_scores_(scores_) {
  require(std::ssize(scores_) == tokens.size(), "[UnigramModel] ", scores_.size(), " scores of ",
          tokens.size(), " tokens");
  std::vector<bool> left_out(scores_.size(), false), defined(scores_.size(), false);
  for (int32_t id : settings_.not_in_text) left_out[static_cast<size_t>(id)] = true;
  for (int32_t id : settings_.user_defined) defined[static_cast<size_t>(id)] = true;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  double lowest = kInfinity;
  std::vector<std::pair<std::string_view, int32_t>> sorted;
  for (int32_t id = 0; id < tokens.size(); ++id) {
    const auto i = static_cast<size_t>(id);
    require(std::isfinite(scores_[i]), "the token ", quote(tokens.token(id)), " has the score ",
            scores_[i], ", and a finite number was expected");
    // SentencePiece takes the lowest score of its normal pieces, Hugging Face of all.
    if (!settings_.single || (!left_out[i] && !defined[i])) lowest = std::min(lowest, scores_[i]);
    if (!left_out[i] && tokens.has(id)) sorted.emplace_back(tokens.token(id), id);
  }
  if (lowest == kInfinity) lowest = 0;
  // The score of SentencePiece 0.2.3, which is above those of all other pieces.
  for (int32_t id : settings_.user_defined)
    path_scores_[static_cast<size_t>(id)] =
        0.1 * (static_cast<double>(tokens.token(id).size()) - 1.0);
  unknown_score_ = settings_.single ? static_cast<float>(lowest) - 10.0F : lowest - kUnknownPenalty;
  for (size_t byte = 0; byte < bytes_.size(); ++byte) {
    bytes_[byte] =
        settings_.byte_fallback ? tokens.find(byte_token(static_cast<uint8_t>(byte))) : -1;
    if (bytes_[byte] < 0) settings_.byte_fallback = false;
  }
  // The trie, level by level: a node's tokens are a range of the sorted tokens.
  std::sort(sorted.begin(), sorted.end());
  struct Range {
    size_t begin, end, depth;
  };
  std::vector<Range> ranges{{0, sorted.size(), 0}};
  trie_.push_back({});
  for (size_t node = 0; node < trie_.size(); ++node) {
    auto [begin, end, depth] = ranges[node];
    if (begin < end && sorted[begin].first.size() == depth) {
      if (depth > 0) trie_[node].id = sorted[begin].second;
      ++begin;  // tokens are distinct
    }
    trie_[node].first_child = static_cast<uint32_t>(trie_.size());
    while (begin < end) {
      const char byte = sorted[begin].first[depth];
      size_t stop = begin + 1;
      while (stop < end && sorted[stop].first[depth] == byte) ++stop;
      ++trie_[node].children;
      trie_.push_back({.byte = static_cast<uint8_t>(byte)});
      ranges.push_back({begin, stop, depth + 1});
      begin = stop;
    }
  }
}

void UnigramModel::encode(std::string_view piece, std::vector<int32_t>& ids) const {
  settings_.single ? best_path<float>(piece, ids) : best_path<double>(piece, ids);
}

template <class Real>
void UnigramModel::best_path(std::string_view piece, std::vector<int32_t>& ids) const {
  struct Best {  // the best path to a place
    size_t from = std::string_view::npos;
    Real score = 0;
    int32_t id = -1;
  };
  std::vector<Best> best(piece.size() + 1);
  const auto offer = [&](size_t from, size_t to, Real score, int32_t id) {
    if (best[to].from == std::string_view::npos || score > best[to].score)
      best[to] = {from, score, id};
  };
  for (size_t at = 0; at < piece.size();) {
    size_t length = utf8_length(piece[at]);
    if (at + length > piece.size() ||
        find_invalid_utf8(piece.substr(at, length)) != std::string_view::npos)
      length = 1;
    const Real before = best[at].score;
    bool has_character = false;
    const Node* node = trie_.data();
    for (size_t end = at; end < piece.size();) {
      const auto byte = static_cast<uint8_t>(piece[end]);
      const std::span<const Node> children(trie_.data() + node->first_child, node->children);
      const auto child =
          std::lower_bound(children.begin(), children.end(), byte,
                           [](const Node& one, uint8_t wanted) { return one.byte < wanted; });
      if (child == children.end() || child->byte != byte) break;
      node = &*child;
      ++end;
      if (node->id < 0) continue;
      offer(at, end, static_cast<Real>(path_scores_[static_cast<size_t>(node->id)]) + before,
            node->id);
      has_character = has_character || end - at == length;
    }
    if (!has_character)
      offer(at, at + length, static_cast<Real>(unknown_score_) + before, kUnknown);
    at += length;
  }
  const size_t first = ids.size();
  const auto put_unknown = [&](size_t begin, size_t end) {
    if (settings_.byte_fallback) {
      for (size_t i = end; i-- > begin;) ids.push_back(bytes_[static_cast<uint8_t>(piece[i])]);
    } else {
      if (settings_.unknown < 0) fail_without_token(piece.substr(begin, end - begin));
      ids.push_back(settings_.unknown);
    }
  };
  size_t run_end = std::string_view::npos;  // of a run of unknown text
  for (size_t end = piece.size(); end > 0;) {
    const Best& b = best[end];
    if (b.id == kUnknown) {
      if (run_end == std::string_view::npos) run_end = end;
    } else {
      if (run_end != std::string_view::npos) put_unknown(end, run_end);
      run_end = std::string_view::npos;
      ids.push_back(b.id);
    }
    end = b.from;
  }
  if (run_end != std::string_view::npos) put_unknown(0, run_end);
  std::reverse(ids.begin() + static_cast<std::ptrdiff_t>(first), ids.end());
}

Json UnigramModel::json(const TokenList& tokens) const {
  Json vocab = Json::array();
  for (int32_t id = 0; id < tokens.size(); ++id)
    vocab.push_back({std::string(tokens.token(id)), scores_[static_cast<size_t>(id)]});
  return {{"type", "Unigram"},
          {"unk_id", settings_.unknown < 0 ? Json() : Json(settings_.unknown)},
          {"vocab", std::move(vocab)},
          {"byte_fallback", settings_.byte_fallback}};
}

}  // namespace nine
