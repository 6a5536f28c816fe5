// A map that keeps what was used last.
#pragma once

#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace nine::cuda {

/// Values under strings, at most `capacity` of them: one more drops the one that was not used for
/// the longest time.
template <class Value>
class LruMap {
 public:
  explicit LruMap(size_t capacity) : capacity_(capacity) {}

  /// The value of `key`, which counts as a use of it; null: there is none.
  Value* find(std::string_view key) {
    const auto found = places_.find(key);
    if (found == places_.end()) return nullptr;
    order_.splice(order_.begin(), order_, found->second);
    return &found->second->second;
  }
  /// Keeps a value under a key that has none. Returns what was dropped for it.
  std::optional<Value> insert(std::string key, Value value) {
    std::optional<Value> dropped;
    if (order_.size() >= capacity_) {
      dropped = std::move(order_.back().second);
      places_.erase(order_.back().first);
      order_.pop_back();
    }
    order_.emplace_front(std::move(key), std::move(value));
    places_.emplace(order_.front().first, order_.begin());
    return dropped;
  }
  void erase(std::string_view key) {
    const auto found = places_.find(key);
    if (found == places_.end()) return;
    const auto place = found->second;
    places_.erase(found);  // its key is a part of the place
    order_.erase(place);
  }
  size_t size() const { return order_.size(); }

 private:
  using Order = std::list<std::pair<std::string, Value>>;  // the one used last comes first
  size_t capacity_;
  Order order_;
  std::unordered_map<std::string_view, typename Order::iterator> places_;
};

}  // namespace nine::cuda
