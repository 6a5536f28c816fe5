// Loaded before the C library (LD_PRELOAD) by tests/faults/failing_calls.cpp: one call of a program
// fails. Calls are counted from main() to its return.
//
// NINE_FAILING="KIND count": the program runs as it is; how many calls there were goes into the
// file `calls` of its working directory. NINE_FAILING="KIND FIRST END STEP": for n = FIRST, FIRST +
// STEP, ... below END a copy of the process runs main() in the new directory n, where call n fails.
// Its streams are in the files `out` and `err` there; how it ended, as wait() says it, is in
// `status`.
//
// KIND is allocation: memory, call n alone; write: what needs room on a disk (bytes of files other
// than the standard streams, fsync, new files, directories, links and names), call n alone; disk:
// the same, call n and all after it, as on a disk that is full and stays so; kill: the same calls,
// before the n-th of which the program is killed.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

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

enum class Kind : uint8_t { allocation, write, disk, kill };
constexpr const char* kKinds[] = {"allocation", "write", "disk", "kill"};

std::atomic<bool> g_counting = false;
std::atomic<long> g_count = 0;
Kind g_kind = Kind::allocation;
long g_failing = 0;
Main g_main = nullptr;

bool counted_fails(int error) {
  const long n = ++g_count;
  const bool after = g_kind == Kind::disk && g_failing > 0 && n > g_failing;
  if (n != g_failing && !after) return false;
  if (g_kind == Kind::kill) raise(SIGKILL);
  errno = error;
  return true;
}

bool no_memory() { return g_counting && g_kind == Kind::allocation && counted_fails(ENOMEM); }
bool no_room() { return g_counting && g_kind != Kind::allocation && counted_fails(ENOSPC); }
bool no_room_in(int file) { return file > STDERR_FILENO && no_room(); }

// The C library's function of that name, behind the one of this file.
template <class Function>
Function* original(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
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
  const char* wish = std::getenv("NINE_FAILING");
  if (wish == nullptr) return g_main(argc, argv, environment);
  char kind[16] = {};
  long first = 0, end = 0, step = 1;
  const int read = std::sscanf(wish, "%15s %ld %ld %ld", kind, &first, &end, &step);
  for (size_t k = 0; k < std::size(kKinds); ++k)
    if (std::strcmp(kind, kKinds[k]) == 0) g_kind = static_cast<Kind>(k);
  if (read != 4) {
    const int code = counted_main(argc, argv, environment);
    write_number("calls", g_count);
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

void* malloc(size_t size) noexcept { return no_memory() ? nullptr : __libc_malloc(size); }
void* calloc(size_t count, size_t size) noexcept {
  return no_memory() ? nullptr : __libc_calloc(count, size);
}
void* realloc(void* p, size_t size) noexcept {
  return no_memory() ? nullptr : __libc_realloc(p, size);
}
void* aligned_alloc(size_t alignment, size_t size) noexcept {
  return no_memory() ? nullptr : __libc_memalign(alignment, size);
}
int posix_memalign(void** p, size_t alignment, size_t size) noexcept {
  if (no_memory()) return ENOMEM;
  *p = __libc_memalign(alignment, size);
  return *p == nullptr ? ENOMEM : 0;
}
void* mmap(void* address, size_t size, int protection, int flags, int file, off_t offset) noexcept {
  static const auto next = original<void*(void*, size_t, int, int, int, off_t)>("mmap");
  return file < 0 && no_memory() ? MAP_FAILED
                                 : next(address, size, protection, flags, file, offset);
}

ssize_t write(int file, const void* bytes, size_t size) {
  static const auto next = original<ssize_t(int, const void*, size_t)>("write");
  return no_room_in(file) ? -1 : next(file, bytes, size);
}
ssize_t writev(int file, const iovec* parts, int count) {
  static const auto next = original<ssize_t(int, const iovec*, int)>("writev");
  return no_room_in(file) ? -1 : next(file, parts, count);
}
ssize_t pwrite(int file, const void* bytes, size_t size, off_t at) {
  static const auto next = original<ssize_t(int, const void*, size_t, off_t)>("pwrite");
  return no_room_in(file) ? -1 : next(file, bytes, size, at);
}
int fsync(int file) {
  static const auto next = original<int(int)>("fsync");
  return no_room_in(file) ? -1 : next(file);
}
int open(const char* path, int flags, ...) {
  using Open = int(const char*, int, ...);
  static const auto next = original<Open>("open");
  va_list more;
  va_start(more, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0;
  va_end(more);
  return (flags & O_CREAT) != 0 && no_room() ? -1 : next(path, flags, mode);
}
FILE* fopen64(const char* path, const char* mode) {  // C++'s file streams
  static const auto next = original<FILE*(const char*, const char*)>("fopen64");
  return std::strpbrk(mode, "wa") != nullptr && no_room() ? nullptr : next(path, mode);
}
int mkdir(const char* path, mode_t mode) noexcept {
  static const auto next = original<int(const char*, mode_t)>("mkdir");
  return no_room() ? -1 : next(path, mode);
}
int rename(const char* from, const char* to) noexcept {
  static const auto next = original<int(const char*, const char*)>("rename");
  return no_room() ? -1 : next(from, to);
}
int renameat2(int from_in, const char* from, int to_in, const char* to, unsigned flags) noexcept {
  static const auto next = original<int(int, const char*, int, const char*, unsigned)>("renameat2");
  return no_room() ? -1 : next(from_in, from, to_in, to, flags);
}
int symlink(const char* target, const char* link) noexcept {
  static const auto next = original<int(const char*, const char*)>("symlink");
  return no_room() ? -1 : next(target, link);
}

int __libc_start_main(Main main, int argc, char** argv, void (*init)(), void (*fini)(),
                      void (*rtld_fini)(), void* stack_end) {
  using Start = int(Main, int, char**, void (*)(), void (*)(), void (*)(), void*);
  g_main = main;
  return original<Start>("__libc_start_main")(instead_of_main, argc, argv, init, fini, rtld_fini,
                                              stack_end);
}
}
// NOLINTEND(bugprone-reserved-identifier,readability-inconsistent-declaration-parameter-name)
