// Work in parts that processes share. All processes get the results in the parts' order.
#pragma once

#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "core/communicator.h"
#include "core/error.h"

namespace nine {

/// Runs make(i) for each part on rank i mod size(). Every process then calls `take` with the
/// results of all parts, in their order. With one process the calls are make(0), take, make(1), ...
void for_shared_parts(Communicator& communicator, int64_t parts,
                      const std::function<std::string(int64_t part)>& make,
                      const std::function<void(std::string_view result)>& take);

/// Writes numbers and lists of numbers as their bytes in memory.
class ByteWriter {
 public:
  template <class T>
  void put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  template <class T>
  void put(std::span<const T> values) {
    static_assert(std::is_trivially_copyable_v<T>);
    put(values.size());
    bytes_.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  }
  template <class T>
  void put(const std::vector<T>& values) {
    put(std::span<const T>(values));
  }
  /// Writes each value of std::tie(number, list, ...).
  template <class... T>
  void put_all(const std::tuple<T&...>& values) {
    std::apply([&](const auto&... value) { (put(value), ...); }, values);
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// Reads the values that a ByteWriter of the same program wrote, in the same order. Error: the
/// bytes end too early.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}
  bool empty() const { return bytes_.empty(); }
  template <class T>
  T get() {
    T value;
    copy(&value, sizeof value);
    return value;
  }
  template <class T>
  std::vector<T> list() {
    std::vector<T> values(get<size_t>());
    copy(values.data(), values.size() * sizeof(T));
    return values;
  }

  /// Reads values that put_all() wrote from as many values.
  template <class... T>
  void get_all(const std::tuple<T&...>& values) {
    std::apply([&](auto&... value) { (read(value), ...); }, values);
  }

 private:
  template <class T>
  void read(T& value) {
    value = get<T>();
  }
  template <class T>
  void read(std::vector<T>& values) {
    values = list<T>();
  }
  void copy(void* to, size_t bytes) {
    if (bytes > bytes_.size()) fail("[ByteReader] the received bytes end too early");
    if (bytes > 0) std::memcpy(to, bytes_.data(), bytes);
    bytes_.remove_prefix(bytes);
  }
  std::string_view bytes_;
};

}  // namespace nine
