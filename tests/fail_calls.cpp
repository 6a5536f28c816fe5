// Loaded before the C library (LD_PRELOAD) by test_out_of_memory.cpp: one allocation of a program
// fails. Allocations are counted from main() to its return.
//
// NINE_ALLOCATIONS="count": the program runs as it is; how many there were goes into the file
// `allocations` of its working directory.
// NINE_ALLOCATIONS="FIRST END STEP": for n = FIRST, FIRST + STEP, ... below END a copy of the
// process runs main() in the new directory n, and its n-th allocation fails. Its streams are in the
// files `out` and `err` there; how it ended, as wait() says it, is in `status`.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

// The names are the C library's own.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-inconsistent-declaration-parameter-name)
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* p, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
}

namespace {

using Main = int (*)(int, char**, char**);

std::atomic<bool> g_counting = false;
std::atomic<long> g_count = 0;
long g_failing = 0;
Main g_main = nullptr;

bool fails() {
  if (!g_counting || ++g_count != g_failing) return false;
  errno = ENOMEM;
  return true;
}

int counted_main(int argc, char** argv, char** environment) {
  g_counting = true;
  const int code = g_main(argc, argv, environment);
  g_counting = false;
  return code;
}

void write_number(const char* file, long number) {
  if (FILE* out = std::fopen(file, "w")) {
    std::fprintf(out, "%ld\n", number);
    std::fclose(out);
  }
}

bool enter(long n) {
  char name[32];
  std::snprintf(name, sizeof name, "%ld", n);
  if (mkdir(name, 0700) != 0 || chdir(name) != 0) return false;
  dup2(open("out", O_WRONLY | O_CREAT, 0600), STDOUT_FILENO);
  dup2(open("err", O_WRONLY | O_CREAT, 0600), STDERR_FILENO);
  return true;
}

int instead_of_main(int argc, char** argv, char** environment) {
  const char* wish = std::getenv("NINE_ALLOCATIONS");
  long first = 0, end = 0, step = 1;
  if (wish == nullptr || std::sscanf(wish, "%ld %ld %ld", &first, &end, &step) != 3) {
    const int code = counted_main(argc, argv, environment);
    if (wish != nullptr) write_number("allocations", g_count);
    return code;
  }
  prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);  // clearing huge pages would take most of the time
  for (long n = first; n < end; n += step) {
    const pid_t child = fork();
    if (child == 0) {
      if (!enter(n)) _exit(125);
      alarm(120);  // one that waits for ever ends by this signal
      g_failing = n;
      return counted_main(argc, argv, environment);
    }
    int status = -1;
    waitpid(child, &status, 0);
    char file[48];
    std::snprintf(file, sizeof file, "%ld/status", n);
    write_number(file, status);
  }
  return 0;
}

}  // namespace

extern "C" {

void* malloc(size_t size) noexcept { return fails() ? nullptr : __libc_malloc(size); }
void* calloc(size_t count, size_t size) noexcept {
  return fails() ? nullptr : __libc_calloc(count, size);
}
void* realloc(void* p, size_t size) noexcept { return fails() ? nullptr : __libc_realloc(p, size); }
void* aligned_alloc(size_t alignment, size_t size) noexcept {
  return fails() ? nullptr : __libc_memalign(alignment, size);
}
int posix_memalign(void** p, size_t alignment, size_t size) noexcept {
  if (fails()) return ENOMEM;
  *p = __libc_memalign(alignment, size);
  return *p == nullptr ? ENOMEM : 0;
}
void* mmap(void* address, size_t size, int protection, int flags, int file, off_t offset) noexcept {
  using Mmap = void* (*)(void*, size_t, int, int, int, off_t);
  static const auto original = reinterpret_cast<Mmap>(dlsym(RTLD_NEXT, "mmap"));
  return file < 0 && fails() ? MAP_FAILED
                             : original(address, size, protection, flags, file, offset);
}

int __libc_start_main(Main main, int argc, char** argv, void (*init)(), void (*fini)(),
                      void (*rtld_fini)(), void* stack_end) {
  using Start = int (*)(Main, int, char**, void (*)(), void (*)(), void (*)(), void*);
  g_main = main;
  return reinterpret_cast<Start>(dlsym(RTLD_NEXT, "__libc_start_main"))(
      instead_of_main, argc, argv, init, fini, rtld_fini, stack_end);
}
}
// NOLINTEND(bugprone-reserved-identifier,readability-inconsistent-declaration-parameter-name)
