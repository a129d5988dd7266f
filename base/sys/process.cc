#include "base/sys/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <set>
#include <string_view>
#include <thread>
#include <tuple>
#include <unordered_map>

#include "base/sys/child_output.h"
#include "base/sys/clock.h"
#include "base/sys/number.h"
#include "base/sys/thread.h"

namespace chokepoint::sys {
namespace {

// In this process's own order, with entries that no shell would make: a name twice, no '='.
std::vector<std::string> merged_environment(const Spawn& spawn) {
  const auto is_of = [](std::string_view entry, std::string_view name) {
    return entry.starts_with(name) && entry.substr(name.size()).starts_with('=');
  };
  const auto is_passed_on = [&](std::string_view entry) {
    return !std::ranges::any_of(spawn.environment, [&](const auto& each) {
      return is_of(entry, each.first);
    }) && (!spawn.inherited || std::ranges::any_of(*spawn.inherited, [&](const auto& name) {
      return is_of(entry, name);
    }));
  };
  std::vector<std::string> merged;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    if (is_passed_on(*entry)) {
      merged.emplace_back(*entry);
    }
  }
  for (const auto& [name, value] : spawn.environment) {
    merged.push_back(name + "=" + value);
  }
  return merged;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> list;
  for (std::string& text : strings) {
    list.push_back(text.data());
  }
  list.push_back(nullptr);
  return list;
}

// By notice_children(), of this process's caller.
bool had_children_ignored = false;

// In a child that shares nothing with other threads but memory: no allocation, no lock.

// By number, with a `struct sigaction` of the kernel's that is all zeros: sigaction() leaves out
// the C library's own two signals, and these would stay ignored.
void reset_signal(int number) {
  constexpr std::size_t kSetBytes = 8;
  const std::array<unsigned long, 4> by_default{};
  syscall(SYS_rt_sigaction, number, by_default.data(), nullptr, kSetBytes);
}

// The child starts as from a shell: its own group, no signal blocked or ignored, whatever this
// process did with its own. Returns errno of what failed.
int arrange(const Spawn& spawn) {
  for (int number = 1; number < NSIG; ++number) {
    if (!spawn.keep_ignored || !is_ignored(number)) {
      reset_signal(number);
    }
  }
  if (spawn.keep_ignored) {
    ignore_children_as_before();
  }
  setpgid(0, 0);
  const bool has_terminal = spawn.foreground && isatty(STDIN_FILENO) == 1;
  const int terminal = spawn.terminal >= 0 ? spawn.terminal : has_terminal ? STDIN_FILENO : -1;
  if (terminal >= 0) {
    tcsetpgrp(terminal, getpid());
  }
  for (const auto& [from, to] :
       {std::pair(spawn.in, STDIN_FILENO), std::pair(spawn.out, STDOUT_FILENO),
        std::pair(spawn.err, STDERR_FILENO)}) {
    if (from >= 0 && dup2(from, to) < 0) {
      return errno;
    }
  }
  return spawn.folder.empty() || chdir(spawn.folder.c_str()) == 0 ? 0 : errno;
}

[[noreturn]] void become(const Spawn& spawn, char** arguments, char** environment, int report) {
  int code = arrange(spawn);
  if (code == 0) {
    pthread_sigmask(SIG_SETMASK, &spawn.blocked, nullptr);
    execvpe(arguments[0], arguments, environment);
    code = errno;
  }
  [[maybe_unused]] const ssize_t put = write(report, &code, sizeof code);
  _exit(EXIT_FAILURE);
}

// Returns errno. posix_spawn() of an old C library cannot give a child the terminal, or a folder.
int start_child(const Spawn& spawn, char** arguments, char** environment, pid_t* pid) {
  std::array<int, 2> report{};
  if (pipe2(report.data(), O_CLOEXEC) != 0) {
    return errno;
  }
  const Descriptor ours(report[0]);
  Descriptor theirs(report[1]);
  // No handler of this process runs in the child, and the terminal does not stop it for taking it.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  *pid = fork();
  const int forked = errno;
  if (*pid == 0) {
    become(spawn, arguments, environment, theirs.get());
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (*pid < 0) {
    return forked;
  }
  theirs.reset();
  int code = 0;
  if (read(ours.get(), &code, sizeof code) == sizeof code) {
    waitpid(*pid, nullptr, 0);
  }
  return code;
}

// Linux before 5.3 has no descriptor of a process: a thread waits for the child, and leaves it to
// be reaped by whoever started it.
Descriptor watch_by_thread(pid_t pid) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return {};
  }
  Descriptor readable(ends[0]);
  auto waiter = start_thread("wait for child", [pid, end = Descriptor(ends[1])] {
    siginfo_t ended{};
    while (waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOWAIT) != 0 &&
           errno == EINTR) {
    }
    [[maybe_unused]] const ssize_t told = write(end.get(), "", 1);
  });
  if (!waiter) {
    return {};
  }
  waiter->detach();
  return readable;
}

// By number: glibc 2.36 declares pidfd_open() without C linkage.
Descriptor watch(pid_t pid) {
  Descriptor pidfd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  return pidfd || errno != ENOSYS ? std::move(pidfd) : watch_by_thread(pid);
}

ExitStatus status_of(int raw) {
  constexpr int kSignalBase = 128;
  if (WIFSIGNALED(raw)) {
    return {kSignalBase + WTERMSIG(raw), WTERMSIG(raw)};
  }
  return {WEXITSTATUS(raw), 0};
}

}  // namespace

bool is_ignored(int number) {
  struct sigaction action{};
  return sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

void notice_children() {
  had_children_ignored = signal(SIGCHLD, SIG_DFL) == SIG_IGN || had_children_ignored;
}

void ignore_children_as_before() {
  if (had_children_ignored) {
    signal(SIGCHLD, SIG_IGN);
  }
}

Result<Process> Process::start(const Spawn& spawn) {
  if (spawn.command.empty()) {
    return fail(ErrorKind::Usage, "start", "", "no command given");
  }
  std::vector<std::string> arguments = spawn.command;
  std::vector<std::string> environment = merged_environment(spawn);
  pid_t pid = -1;
  const int code =
      start_child(spawn, pointers(arguments).data(), pointers(environment).data(), &pid);
  if (code != 0) {
    Error error = from_errno(code, "start", spawn.command[0]);
    error.next_step = code == ENOENT ? "is it installed, and in PATH?" : "";
    return fail(std::move(error));
  }
  // The child is not reaped before this, so the number cannot be another process's.
  return Process(pid, watch(pid));
}

Result<Process> Process::fork(const std::function<int()>& work) { return fork_with(work, true); }

Result<Process> Process::fork_to_outlive(const std::function<int()>& work) {
  return fork_with(work, false);
}

Result<Process> Process::fork_with(const std::function<int()>& work, bool ends_with_parent) {
  const pid_t parent = getpid();
  const pid_t pid = ::fork();
  if (pid < 0) {
    return fail(from_errno(errno, "start", "fork"));
  }
  if (pid == 0) {
    setpgid(0, 0);
    if (ends_with_parent) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
    }
    // The caller's stack is a copy of the parent's: an exception must not unwind into it.
    try {
      _exit(!ends_with_parent || getppid() == parent ? work() : EXIT_FAILURE);
    } catch (...) {
      _exit(EXIT_FAILURE);
    }
  }
  setpgid(pid, pid);  // both do, so that neither has to wait for the other
  return Process(pid, watch(pid));
}

Result<> Process::signal(int number) const {
  if (ended_ || kill(-pid_, number) == 0 || errno == ESRCH) {
    return {};
  }
  return fail(from_errno(errno, "signal", std::to_string(pid_)));
}

Result<std::optional<ExitStatus>> Process::collect(int options) {
  while (!ended_) {
    int raw = 0;
    const pid_t got = waitpid(pid_, &raw, options);
    if (got == pid_) {
      ended_ = status_of(raw);
    } else if (got == 0) {
      return std::nullopt;
    } else if (errno != EINTR) {
      return fail(from_errno(errno, "wait", std::to_string(pid_)));
    }
  }
  return ended_;
}

Result<std::optional<ExitStatus>> Process::poll() { return collect(WNOHANG); }

Result<ExitStatus> Process::wait() {
  TRY(const std::optional<ExitStatus> status, collect(0));
  return status.value_or(ExitStatus{});
}

Result<std::optional<ExitStatus>> Process::wait_until(std::chrono::steady_clock::time_point until,
                                                      int interrupt) {
  using std::chrono::milliseconds;
  constexpr milliseconds kSlice{20};  // where the kernel has no descriptors of processes
  constexpr milliseconds kLongest{std::chrono::hours(1)};  // poll() takes an int
  for (;;) {
    TRY(const std::optional<ExitStatus> status, poll());
    const auto left = std::chrono::ceil<milliseconds>(until - std::chrono::steady_clock::now());
    if (status || left.count() <= 0) {
      return status;
    }
    std::array<pollfd, 2> watched{pollfd{descriptor(), POLLIN, 0}, pollfd{interrupt, POLLIN, 0}};
    const milliseconds wait = std::min(left, descriptor() < 0 ? kSlice : kLongest);
    ::poll(watched.data(), watched.size(), static_cast<int>(wait.count()));
    if (watched[1].revents != 0) {
      return std::nullopt;
    }
  }
}

namespace {

using namespace std::chrono_literals;

// A process stuck in the kernel outlives SIGKILL for as long as it is stuck: not waited for longer.
constexpr auto kMaxWait = 1000ms;

using Children = std::unordered_map<pid_t, std::vector<pid_t>>;

struct Stat {
  pid_t parent = 0;
  char state = 0;
};

// "pid (comm) state ppid …"; comm may hold spaces and brackets, so from the last one on.
std::optional<Stat> stat_of(const Root& root, const std::string& pid) {
  const std::optional<std::string> stat = root.text("/proc/" + pid + "/stat");
  const std::size_t close = stat ? stat->rfind(") ") : std::string::npos;
  if (close == std::string::npos || stat->size() < close + 5) {
    return std::nullopt;
  }
  const std::string_view rest = std::string_view(*stat).substr(close + 4);
  return Stat{parse_number<pid_t>(rest.substr(0, rest.find(' '))).value_or(0), (*stat)[close + 2]};
}

Children living_children(const Root& root) {
  Children children;
  for (const std::string& name : root.list("/proc")) {
    const std::optional<pid_t> pid = parse_number<pid_t>(name);
    if (!pid) {
      continue;
    }
    const std::optional<Stat> stat = stat_of(root, name);
    if (stat && stat->state != 'Z' && stat->state != 'X') {
      children[stat->parent].push_back(*pid);
    }
  }
  return children;
}

// Parents before children.
std::vector<pid_t> all_below(pid_t pid, const Children& children) {
  std::vector<pid_t> found{pid};
  for (std::size_t next = 0; next < found.size(); ++next) {
    const auto below = children.find(found[next]);
    if (below != children.end()) {
      std::ranges::copy(below->second, std::back_inserter(found));
    }
  }
  found.erase(found.begin());
  return found;
}

bool is_running(pid_t pid, const Root& root) {
  const std::optional<Stat> stat = stat_of(root, std::to_string(pid));
  return stat && stat->state != 'Z' && stat->state != 'X';
}

template <class Condition>
void await(Condition condition, std::chrono::milliseconds limit, const Clock& clock) {
  const std::int64_t deadline = clock.monotonic_ns() + std::chrono::nanoseconds(limit).count();
  while (!condition() && clock.monotonic_ns() < deadline) {
    std::this_thread::sleep_for(1ms);
  }
}

// A process and those below it, remembered although their parents die.
class Tree {
 public:
  Tree(pid_t top, const Root& root) : root_(root), members_{top} { grow(); }

  // True where it found members that it did not know.
  bool grow() {
    const std::size_t before = members_.size();
    const Children children = living_children(root_);
    for (const pid_t member : std::vector(members_.begin(), members_.end())) {
      const std::vector<pid_t> below = all_below(member, children);
      members_.insert(below.begin(), below.end());
    }
    return members_.size() > before;
  }

  std::vector<pid_t> running() const {
    std::vector<pid_t> list;
    std::ranges::copy_if(members_, std::back_inserter(list),
                         [&](pid_t one) { return is_running(one, root_); });
    return list;
  }

  std::vector<pid_t> in_motion() const {
    std::vector<pid_t> list = running();
    std::erase_if(list, [&](pid_t one) {
      const std::optional<Stat> stat = stat_of(root_, std::to_string(one));
      return !stat || stat->state == 'T';
    });
    return list;
  }

  void await_end(std::chrono::milliseconds limit, const Clock& clock) const {
    await([&] { return running().empty(); }, limit, clock);
  }

  // Zombies that are this process's own children; another's stay its own. A process shows as one as
  // soon as its first thread is gone, and is to be had once the last one is.
  void reap(const Clock& clock) const {
    const auto is_left = [](pid_t member) { return waitpid(member, nullptr, WNOHANG) == 0; };
    await([&] { return std::ranges::count_if(members_, is_left) == 0; }, kMaxWait, clock);
  }

 private:
  const Root& root_;
  std::set<pid_t> members_;
};

void signal_all(const std::vector<pid_t>& pids, int number) {
  for (const pid_t pid : pids) {
    kill(pid, number);
  }
}

// What is stopped cannot fork, so that none slips away between the look and the kill.
void freeze(Tree& tree, const Clock& clock) {
  do {
    signal_all(tree.running(), SIGSTOP);
    await([&] { return tree.in_motion().empty(); }, kMaxWait, clock);
  } while (tree.grow());
}

}  // namespace

namespace {

Error killed(Process& process, std::string_view subject, ErrorKind kind, std::string_view reason) {
  std::ignore = process.signal(SIGKILL);
  std::ignore = process.wait_until(std::chrono::steady_clock::now() + kMaxWait);
  return {.kind = kind,
          .operation = "run",
          .subject = std::string(subject),
          .reason = std::string(reason)};
}

}  // namespace

Result<Captured> capture_output(Spawn spawn, std::chrono::milliseconds wait, std::size_t most_bytes,
                                int interrupt) {
  using Steady = std::chrono::steady_clock;
  const std::string subject = spawn.command.front();
  TRY(ChildOutput child, start_child(std::move(spawn), "run"));
  Process& process = child.process;
  Captured captured;
  const auto until = Steady::now() + wait;
  while (child.out.descriptor() >= 0 || child.err.descriptor() >= 0) {
    // poll() passes over a descriptor of -1.
    std::array<pollfd, 3> watched{pollfd{child.out.descriptor(), POLLIN, 0},
                                  pollfd{child.err.descriptor(), POLLIN, 0},
                                  pollfd{interrupt, POLLIN, 0}};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Steady::now()).count();
    if (left <= 0 || (::poll(watched.data(), watched.size(), static_cast<int>(left)) == 0)) {
      return fail(killed(process, subject, ErrorKind::Timeout, "took too long"));
    }
    if (watched[2].revents != 0) {
      std::ignore = process.signal(SIGINT);
      interrupt = -1;
    }
    child.out.take(captured.out, most_bytes);
    child.err.take_last(captured.err);
    if (captured.out.size() > most_bytes) {
      return fail(killed(process, subject, ErrorKind::Malformed, "wrote too much"));
    }
  }
  // It may have closed its outputs and go on.
  TRY(const std::optional<ExitStatus> status, process.wait_until(until));
  if (!status) {
    return fail(killed(process, subject, ErrorKind::Timeout, "took too long"));
  }
  captured.status = *status;
  return captured;
}

Result<> adopt_orphans() {
  if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) {
    return fail(from_errno(errno, "adopt orphans", "this process"));
  }
  return {};
}

std::vector<pid_t> descendants(pid_t pid, const Root& root) {
  return all_below(pid, living_children(root));
}

std::size_t end_tree(pid_t pid, std::chrono::milliseconds grace, const Root& root,
                     const Clock& clock) {
  // Found before the first signal: once a parent is gone its children have another one.
  Tree tree(pid, root);
  signal_all(tree.running(), SIGTERM);
  tree.await_end(grace, clock);
  freeze(tree, clock);
  const std::vector<pid_t> victims = tree.running();
  signal_all(victims, SIGKILL);
  tree.await_end(kMaxWait, clock);
  tree.reap(clock);
  return victims.size();
}

namespace {

constexpr const char* kVariable = "CHOKEPOINT_PARENT";

}  // namespace

std::pair<std::string, std::string> tie_to_this_process() {
  return {kVariable, std::to_string(getpid())};
}

void end_with_parent() {
  const char* text = std::getenv(kVariable);
  const std::optional<pid_t> parent = parse_number<pid_t>(text == nullptr ? "" : text);
  // Another's, inherited through a program that knows nothing of it.
  if (!parent || *parent != getppid()) {
    return;
  }
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  // It may have gone before the kernel was asked.
  if (getppid() != *parent) {
    raise(SIGTERM);
  }
  unsetenv(kVariable);
}

}  // namespace chokepoint::sys
