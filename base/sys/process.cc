#include "base/sys/process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>

namespace chokepoint::sys {
namespace {

// All, or all but the ignored. By bytes: sigfillset() leaves out the C library's own two, and
// posix_spawn would leave those ignored.
sigset_t reset_signals(bool keep_ignored) {
  sigset_t reset;
  std::memset(&reset, 0xff, sizeof(reset));
  for (int number = 1; keep_ignored && number < NSIG; ++number) {
    struct sigaction action{};
    if (sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) {
      sigdelset(&reset, number);
    }
  }
  return reset;
}

// What posix_spawn is told: owned for one call.
class SpawnPlan {
 public:
  SpawnPlan() {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }

  void arrange(const Spawn& spawn) {
    redirect(spawn.in, STDIN_FILENO);
    redirect(spawn.out, STDOUT_FILENO);
    redirect(spawn.err, STDERR_FILENO);
    if (!spawn.folder.empty()) {
      posix_spawn_file_actions_addchdir_np(&actions_, spawn.folder.c_str());
    }
    if (spawn.foreground && isatty(STDIN_FILENO) == 1) {
      posix_spawn_file_actions_addtcsetpgrp_np(&actions_, STDIN_FILENO);
    }
    if (spawn.terminal >= 0) {
      posix_spawn_file_actions_addtcsetpgrp_np(&actions_, spawn.terminal);
    }
    // The child starts as from a shell: its own group, no signal blocked or ignored, whatever this
    // process did with its own.
    const sigset_t reset = reset_signals(spawn.keep_ignored);
    posix_spawnattr_setsigmask(&attributes_, &spawn.blocked);
    posix_spawnattr_setsigdefault(&attributes_, &reset);
    posix_spawnattr_setpgroup(&attributes_, 0);
    constexpr int kFlags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP;
    posix_spawnattr_setflags(&attributes_, static_cast<short>(kFlags));
  }

  int run(pid_t* pid, char** arguments, char** environment) const {
    return posix_spawnp(pid, arguments[0], &actions_, &attributes_, arguments, environment);
  }

 private:
  void redirect(int from, int to) {
    if (from >= 0) {
      posix_spawn_file_actions_adddup2(&actions_, from, to);
    }
  }

  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

std::vector<std::string> merged_environment(const Spawn& spawn) {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos) {
      variables[text.substr(0, equals)] = text.substr(equals + 1);
    }
  }
  for (const auto& [name, value] : spawn.environment) {
    variables[name] = value;
  }
  std::vector<std::string> merged;
  for (const auto& [name, value] : variables) {
    merged.push_back(name);
    merged.back().append("=").append(value);
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

// By number: glibc 2.36 declares pidfd_open() without C linkage.
int open_pidfd(pid_t pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }

ExitStatus status_of(int raw) {
  constexpr int kSignalBase = 128;
  if (WIFSIGNALED(raw)) {
    return {kSignalBase + WTERMSIG(raw), WTERMSIG(raw)};
  }
  return {WEXITSTATUS(raw), 0};
}

}  // namespace

Result<Process> Process::start(const Spawn& spawn) {
  if (spawn.command.empty()) {
    return fail(ErrorKind::Usage, "start", "", "no command given");
  }
  std::vector<std::string> arguments = spawn.command;
  std::vector<std::string> environment = merged_environment(spawn);
  SpawnPlan plan;
  plan.arrange(spawn);
  pid_t pid = -1;
  const int code = plan.run(&pid, pointers(arguments).data(), pointers(environment).data());
  if (code != 0) {
    Error error = from_errno(code, "start", spawn.command[0]);
    error.next_step = code == ENOENT ? "is it installed, and in PATH?" : "";
    return fail(std::move(error));
  }
  // The child is not reaped before this, so the number cannot be another process's.
  return Process(pid, Descriptor(open_pidfd(pid)));
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
  const Result<std::optional<ExitStatus>> status = collect(0);
  if (!status) {
    return std::unexpected(status.error());
  }
  return status->value_or(ExitStatus{});
}

}  // namespace chokepoint::sys
