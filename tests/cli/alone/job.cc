// usage: alone_job END REPORT
//
// The job of tests/cli/alone: prints known bytes, and writes what it finds of its own process to
// the descriptor REPORT, a line each. END: exit:N, signal:N, spin, pause, or wait: note signals
// until SIGTERM. It stands on the C library alone, so that it starts under limits that end most
// other programs.
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <initializer_list>

namespace {

// More than a pipe and a relay hold: whoever lost its reader learns it before the end.
constexpr std::size_t kPrintedBytes = 200'000;
constexpr std::size_t kMaxShownBytes = 200;
constexpr int kDescriptors = 64;
constexpr int kLimits = 16;
constexpr int kEndOfWait = 3;

int report_to = -1;

[[gnu::format(printf, 1, 2)]] void report(const char* format, ...) {
  va_list words;
  va_start(words, format);
  vdprintf(report_to, format, words);
  va_end(words);
}

std::uint64_t hash_of(std::uint64_t hash, const char* bytes, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    hash = (hash ^ static_cast<unsigned char>(bytes[i])) * 1'099'511'628'211U;
  }
  return hash;
}

constexpr std::uint64_t kNothing = 14'695'981'039'346'656'037U;

void report_text(const char* what, const char* text) {
  const std::size_t size = strlen(text);
  const std::size_t name = strcspn(text, "=\n");
  if (size <= kMaxShownBytes && strpbrk(text, "\n") == nullptr) {
    report("%s %s\n", what, text);
  } else {
    report("%s %.*s=… of %zu bytes, %016lx\n", what, static_cast<int>(name > 40 ? 40 : name), text,
           size, hash_of(kNothing, text, size));
  }
}

void report_signals() {
  sigset_t blocked;
  sigset_t pending;
  sigprocmask(SIG_BLOCK, nullptr, &blocked);
  sigpending(&pending);
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction action{};
    const bool is_there = sigaction(number, nullptr, &action) == 0;
    report("signal %d: blocked %d, pending %d, ignored %d\n", number, sigismember(&blocked, number),
           sigismember(&pending, number), is_there && action.sa_handler == SIG_IGN ? 1 : 0);
  }
}

void report_limits() {
  for (int number = 0; number < kLimits; ++number) {
    rlimit limit{};
    getrlimit(static_cast<__rlimit_resource>(number), &limit);
    report("limit %d: %lu %lu\n", number, limit.rlim_cur, limit.rlim_max);
  }
}

// Of the outputs only whether they are there: the relay is a pipe, whatever they are.
void report_descriptors() {
  for (int number = 0; number < kDescriptors; ++number) {
    struct stat status{};
    if (fstat(number, &status) != 0) {
      continue;
    }
    if (number == STDOUT_FILENO || number == STDERR_FILENO) {
      report("descriptor %d\n", number);
    } else {
      report("descriptor %d: %o, %ld bytes, flags %o, at %ld\n", number, status.st_mode,
             status.st_size, fcntl(number, F_GETFL), lseek(number, 0, SEEK_CUR));
    }
  }
}

void report_rights() {
  __user_cap_header_struct head{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3]{};
  syscall(SYS_capget, &head, &sets);
  report("capabilities %x%08x %x%08x %x%08x\n", sets[1].effective, sets[0].effective,
         sets[1].permitted, sets[0].permitted, sets[1].inheritable, sets[0].inheritable);
  unsigned long bounding = 0;
  for (unsigned long one = 0; one < 64; ++one) {
    bounding |= prctl(PR_CAPBSET_READ, one, 0, 0, 0) == 1 ? 1UL << one : 0;
  }
  report("bounding set %lx, ambient %d, securebits %d, no new privileges %d\n", bounding,
         prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, 0, 0, 0),
         prctl(PR_GET_SECUREBITS, 0, 0, 0, 0), prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
  uid_t users[3]{};
  gid_t groups[3]{};
  getresuid(&users[0], &users[1], &users[2]);
  getresgid(&groups[0], &groups[1], &groups[2]);
  report("users %u %u %u, groups %u %u %u, %d others\n", users[0], users[1], users[2], groups[0],
         groups[1], groups[2], getgroups(0, nullptr));
}

void report_process() {
  char name[16]{};
  prctl(PR_GET_NAME, name);
  int ends_with_parent = 0;
  int adopts = 0;
  prctl(PR_GET_PDEATHSIG, &ends_with_parent);
  prctl(PR_GET_CHILD_SUBREAPER, &adopts);
  report("name %s, ends with its parent %d, adopts %d, dumpable %d\n", name, ends_with_parent,
         adopts, prctl(PR_GET_DUMPABLE));
  errno = 0;
  const int nice = getpriority(PRIO_PROCESS, 0);
  report("nice %d, scheduler %d, timer slack %d, io priority %ld\n", nice, sched_getscheduler(0),
         prctl(PR_GET_TIMERSLACK), syscall(SYS_ioprio_get, 1, 0));
  cpu_set_t cores;
  sched_getaffinity(0, sizeof cores, &cores);
  report("cores %016lx\n", hash_of(kNothing, reinterpret_cast<const char*>(&cores), sizeof cores));
  const mode_t mask = umask(0);
  umask(mask);
  report("umask %o, personality %ld\n", mask, syscall(SYS_personality, 0xffffffffUL));
  char folder[4096];
  report_text("folder", getcwd(folder, sizeof folder) == nullptr ? strerror(errno) : folder);
}

void report_file(const char* path) {
  char bytes[4096];
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t size = file < 0 ? -1 : read(file, bytes, sizeof bytes - 1);
  bytes[size <= 0 ? 0 : size - 1] = '\0';  // the last newline
  report_text(path, size < 0 ? strerror(errno) : bytes);
  close(file);
}

void report_input() {
  std::uint64_t hash = kNothing;
  std::size_t size = 0;
  char bytes[4096];
  ssize_t got = 0;
  while (isatty(STDIN_FILENO) == 0 && (got = read(STDIN_FILENO, bytes, sizeof bytes)) > 0) {
    hash = hash_of(hash, bytes, static_cast<std::size_t>(got));
    size += static_cast<std::size_t>(got);
  }
  report("input %zu bytes, %016lx, %s\n", size, hash, got < 0 ? strerror(errno) : "to its end");
}

// All byte values but newline, and no newline at the end.
void print(const char* stream, int to) {
  static char bytes[kPrintedBytes];
  for (std::size_t i = 0; i < sizeof bytes; ++i) {
    bytes[i] = i % 257 == 256 || i % 256 == '\n' ? '+' : static_cast<char>(i % 256);
  }
  std::size_t done = 0;
  ssize_t put = 0;
  while (done < sizeof bytes && (put = write(to, bytes + done, sizeof bytes - done)) >= 0) {
    done += static_cast<std::size_t>(put);
  }
  report("%s: %s\n", stream, put < 0 ? strerror(errno) : "written");
}

volatile sig_atomic_t is_over = 0;

void note_signal(int number, siginfo_t*, void*) {
  report("got %d\n", number);
  is_over = number == SIGTERM ? 1 : 0;
}

[[noreturn]] void wait_for_signals() {
  struct sigaction action{};
  action.sa_sigaction = note_signal;
  action.sa_flags = SA_SIGINFO;
  sigfillset(&action.sa_mask);
  sigset_t noted;
  sigemptyset(&noted);
  for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGCONT}) {
    sigaction(number, &action, nullptr);
    sigaddset(&noted, number);
  }
  sigset_t others;
  sigprocmask(SIG_BLOCK, &noted, &others);
  for (int number = 1; number < NSIG; ++number) {
    if (sigismember(&noted, number) == 1) {
      sigdelset(&others, number);
    }
  }
  report("ready\n");
  while (is_over == 0) {
    sigsuspend(&others);
  }
  exit(kEndOfWait);
}

[[noreturn]] void end_by(int number) {
  struct sigaction action{};
  action.sa_handler = SIG_DFL;
  sigaction(number, &action, nullptr);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, number);
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
  raise(number);
  abort();
}

[[noreturn]] void end(const char* how) {
  if (strncmp(how, "exit:", 5) == 0) {
    _exit(atoi(how + 5));
  }
  if (strncmp(how, "signal:", 7) == 0) {
    end_by(atoi(how + 7));
  }
  if (strcmp(how, "pause") == 0) {
    report("ready\n");
    pause();
    _exit(kEndOfWait);
  }
  if (strcmp(how, "wait") == 0) {
    wait_for_signals();
  }
  for (volatile std::uint64_t turns = 0;;) {
    turns = turns + 1;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    return 2;
  }
  report_to = atoi(argv[2]);
  for (int i = 1; i < argc; ++i) {
    report_text("argument", argv[i]);
  }
  for (char** entry = environ; *entry != nullptr; ++entry) {
    report_text("variable", *entry);
  }
  report_signals();
  report_limits();
  report_descriptors();
  report_rights();
  report_process();
  report_file("/proc/self/oom_score_adj");
  report_file("/proc/self/cgroup");
  report_input();
  print("output", STDOUT_FILENO);
  print("error output", STDERR_FILENO);
  if (write(STDERR_FILENO, "\n", 1) < 0) {
    report("no newline\n");
  }
  report("printed\n");
  end(argv[1]);
}
