#include "tests/apps/mt_runs.h"

namespace nine::tests {

Strings tiny(const std::string& run, const Strings& more) {
  return joined({"--layers", "1", "--hidden", "16", "--ffn", "16", "--heads", "2", "--warmup", "20",
                 "--lr", "0.01", "--run", run},
                more);
}

Outcome train(const Strings& arguments) { return run_program("mt_train", arguments); }

Reversed::Reversed(int pairs) {
  const Strings words{"a", "b", "c", "d", "e"}, capitals{"A", "B", "C", "D", "E"};
  std::string s, t;
  for (int i = 0; i < pairs; ++i) {
    std::string back;
    for (int k = 0, code = i * i + 7 * i; k < 1 + i % 6; ++k, code /= 5) {
      const auto w = static_cast<size_t>(code % 5);
      s += (k > 0 ? " " : "") + words[w];
      back = capitals[w] + (k > 0 ? " " : "") + back;
    }
    s += "\n";
    t += back + "\n";
  }
  dir.write("s", s);
  dir.write("t", t);
}

Strings Reversed::files(const Strings& more) const {
  return joined({"--src", dir / "s", "--tgt", dir / "t", "--valid-src", dir / "s", "--valid-tgt",
                 dir / "t", "--batch-tokens", "150"},
                more);
}

}  // namespace nine::tests
