#include "tests/support/programs.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "core/json.h"

namespace nine::tests {
namespace fs = std::filesystem;

void require_sctk() {
  REQUIRE_MESSAGE(std::system("command -v sctk > /dev/null 2>&1") == 0,
                  "sctk is not installed (make check installs it)");
}

std::string slurp(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void put(const fs::path& file, std::string_view bytes) {
  std::ofstream(file, std::ios::binary) << bytes;
}

TemporaryDirectory::TemporaryDirectory(const fs::path& parent) {
  std::string name = (parent / "nine-test-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary directory " + name);
  path_ = name;
}
TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string TemporaryDirectory::write(const std::string& name, std::string_view bytes) const {
  put(path_ / name, bytes);
  return *this / name;
}

Program::Program(const std::string& program, const std::vector<std::string>& arguments,
                 const std::string& input, const std::function<void()>& prepare) {
  put(streams_ / "in", input);
  const std::string binary =
      program.starts_with('/') ? program : std::string(NINE_BIN_DIR) + "/" + program;
  std::vector<char*> argv{const_cast<char*>(binary.c_str())};
  for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  const std::string in = streams_ / "in", out = streams_ / "out", err = streams_ / "err";
  pid_ = fork();
  if (pid_ < 0)
    throw std::runtime_error(
        "no process for " +
        binary);  // never to be signalled: kill(-1) reaches every process of the user
  if (pid_ > 0) return;
  dup2(open(in.c_str(), O_RDONLY), STDIN_FILENO);
  dup2(open(out.c_str(), O_WRONLY | O_CREAT, 0600), STDOUT_FILENO);
  dup2(open(err.c_str(), O_WRONLY | O_CREAT, 0600), STDERR_FILENO);
  if (prepare) prepare();
  execv(binary.c_str(), argv.data());
  _exit(127);
}

Program::~Program() {
  if (ended_) return;
  signal(SIGKILL);
  wait();
}

void Program::signal(int number) const { kill(pid_, number); }

bool Program::running() {
  if (!ended_) ended_ = waitpid(pid_, &status_, WNOHANG) == pid_;
  return !ended_;
}

Outcome Program::wait() {
  if (!ended_) waitpid(pid_, &status_, 0);
  ended_ = true;
  return {WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_),
          slurp(streams_ / "out"), slurp(streams_ / "err")};
}

Outcome run_program(const std::string& program, const std::vector<std::string>& arguments,
                    const std::string& input, int kill_after_ms, int signal) {
  Program running(program, arguments, input);
  if (kill_after_ms > 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(kill_after_ms));
    running.signal(signal);
  }
  return running.wait();
}

std::vector<std::string> tiny_lm_flags(const std::string& run, const std::string& updates) {
  return {"--sample", "--sample-sentences",
          "300",      "--layers",
          "1",        "--hidden",
          "12",       "--embed",
          "12",       "--batch",
          "6",        "--bptt",
          "9",        "--log-every",
          "5",        "--after",
          updates,    "--run",
          run};
}

std::vector<Json> log_of(const std::string& run) {
  std::vector<Json> events;
  std::istringstream lines(slurp(run + "/log.jsonl"));
  for (std::string line; std::getline(lines, line);) events.push_back(Json::parse(line));
  return events;
}

std::vector<double> trained_numbers(const std::string& run, const char* name) {
  std::vector<double> found;
  for (const Json& e : log_of(run))
    if (e["event"] == "train") found.push_back(e[name]);
  return found;
}

std::string results_of(const std::string& run) {
  std::string out;
  for (Json e : log_of(run)) {
    if (e["event"] == "resume") continue;
    for (const char* key : {"time_s", "tokens_per_s", "ms_per_step", "peak_mib", "threads"})
      e.erase(key);
    out += e.dump() + "\n";
  }
  return out;
}

std::string weights_of(const std::string& run) {
  return slurp(run + "/checkpoints/latest/model.safetensors");
}

}  // namespace nine::tests
