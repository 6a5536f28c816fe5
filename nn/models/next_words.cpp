#include "nn/models/next_words.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "autograd/functions.h"
#include "core/threads.h"
#include "kernels/ops.h"

namespace nine {
namespace {

// Returns how many of the likeliest words choose_among() needs; 0: it needs all words.
int64_t words_to_choose_among(const SamplingOptions& options) {
  if (options.temperature > 0 && options.top_k == 0) return 0;
  // One word more, because <unk> may be among them.
  return (options.temperature == 0 ? 1 : options.top_k) + (options.allow_unknown ? 0 : 1);
}

// Chooses among the likeliest words, best first, with their log p. The word is that of
// choose_word() among all words, because at least words_to_choose_among() words are given.
NextWord choose_among(std::span<const int32_t> words, std::span<const double> log_p,
                      const SamplingOptions& options, double uniform) {
  // The likeliest words in the order of their ids, as choose_word() sees words.
  std::vector<size_t> order(words.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::erase_if(order,
                [&](size_t i) { return !options.allow_unknown && words[i] == options.unknown; });
  if (options.temperature > 0)
    order.resize(std::min(order.size(), static_cast<size_t>(options.top_k)));
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return words[a] < words[b]; });
  std::vector<double> of_order;
  for (const size_t i : order) of_order.push_back(log_p[i]);
  SamplingOptions rest = options;
  rest.allow_unknown = true;
  rest.top_k = 0;
  const size_t chosen = order[static_cast<size_t>(choose_word(of_order, rest, uniform))];
  return {.word = words[chosen], .log_p = log_p[chosen]};
}

// Returns the members' rows of each head's contexts; the contexts themselves if these are all rows.
std::vector<Var> rows_of(DecodingHead::Contexts contexts, std::span<const WantedWord> members) {
  std::vector<int32_t> rows;
  for (const WantedWord& member : members) rows.push_back(member.row);
  std::vector<int32_t> all(static_cast<size_t>(contexts.front().shape().rows()));
  std::iota(all.begin(), all.end(), 0);
  std::vector<Var> of_members(contexts.begin(), contexts.end());
  if (rows == all) return of_members;
  const Tensor ids = Tensor::from(rows, {std::ssize(rows)});
  for (Var& of_head : of_members) of_head = embedding(of_head, of_head.tape().on_device(ids));
  return of_members;
}

}  // namespace

NextWords::Group NextWords::group_of(const WantedWord& wanted, int32_t excluded) const {
  if (wanted.sampling == nullptr) return {Way::all, 0};
  const SamplingOptions& s = *wanted.sampling;
  const bool draws = head_.draws() && s.temperature > 0 && s.top_k == 0 && s.top_p == 1;
  if (draws) return {wanted.all ? Way::draw_of_all : Way::draw, 0};
  const int64_t k = std::min(words_to_choose_among(s), head_.words() - (excluded >= 0 ? 1 : 0));
  // Finding many of the likeliest words takes longer than choosing among all words.
  const bool few = k > 0 && !wanted.all && k <= std::max<int64_t>(64, head_.words() / 8);
  return few ? Group{Way::likeliest, k} : Group{Way::all, 0};
}

void NextWords::predict(DecodingHead::Contexts contexts, std::span<const WantedWord> wanted,
                        const Take& take, int32_t excluded) {
  std::map<Group, std::vector<size_t>> groups;
  for (size_t i = 0; i < wanted.size(); ++i) groups[group_of(wanted[i], excluded)].push_back(i);
  std::vector<WantedWord> members;
  for (const auto& entry : groups) {
    const Group& group = entry.first;
    const std::vector<size_t>& indices = entry.second;
    // Each member's work reads all words, or a few. The first bounds the memory for log p; a GPU
    // has log p of all words in every case.
    const bool all = group.way == Way::all || group.way == Way::draw_of_all;
    const size_t together = all || !head_.independent_rows() ? ops::kHeadPanel : indices.size();
    for (size_t first = 0; first < indices.size(); first += together) {
      const size_t count = std::min(together, indices.size() - first);
      members.clear();
      for (size_t r = 0; r < count; ++r) members.push_back(wanted[indices[first + r]]);
      predict_group(contexts, members, group, excluded);
      parallel_for(
          static_cast<int64_t>(count),
          [&](int64_t i) {
            const auto r = static_cast<size_t>(i);
            NextWord next;
            try {
              next = chosen(members[r], r, group);
            } catch (...) {
              next.error = std::current_exception();
            }
            take(indices[first + r], next);
          },
          all ? static_cast<double>(20 * static_cast<int64_t>(count) * head_.words()) : 0);
    }
  }
}

void NextWords::predict_group(DecodingHead::Contexts contexts, std::span<const WantedWord> members,
                              const Group& group, int32_t excluded) {
  const std::vector<Var> rows = rows_of(contexts, members);
  if (group.way == Way::likeliest) return head_.best_words(rows, group.k, excluded, memory_, best_);
  if (group.way == Way::all) return head_.all_log_probs(rows, excluded, memory_, log_p_);
  std::vector<Draw> draws;
  for (const WantedWord& member : members)
    draws.push_back({.uniform = member.uniform,
                     .temperature = member.sampling->temperature,
                     .never = member.sampling->allow_unknown ? -1 : member.sampling->unknown});
  head_.draw_words(rows, draws, excluded, memory_, best_,
                   group.way == Way::draw ? nullptr : &log_p_);
}

// Returns the prediction of a member of predict_group(), which has the row `row` there.
NextWord NextWords::chosen(const WantedWord& member, size_t row, const Group& group) const {
  const auto words = static_cast<size_t>(head_.words()), k = static_cast<size_t>(group.k);
  if (group.way == Way::likeliest)
    return choose_among(std::span(best_.words).subspan(row * k, k),
                        std::span(best_.log_probs).subspan(row * k, k), *member.sampling,
                        member.uniform);
  NextWord next;
  if (group.way != Way::draw) next.all = std::span(log_p_).subspan(row * words, words);
  if (group.way != Way::all) {
    next.word = best_.words[row];
    next.log_p = best_.log_probs[row];
    require(next.word >= 0, kNoWordMayFollow);
  } else if (member.sampling != nullptr) {
    next.word = choose_word(next.all, *member.sampling, member.uniform);
    next.log_p = next.all[static_cast<size_t>(next.word)];
  }
  return next;
}

}  // namespace nine
