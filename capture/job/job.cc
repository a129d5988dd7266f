#include "capture/job/job.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/sys/signals.h"
#include "capture/job/caller_environment.h"
#include "capture/job/live_job.h"
#include "capture/job/terminal.h"

namespace chokepoint::capture::job {
namespace {

constexpr int kNotFound = 127;
constexpr int kNotExecutable = 126;

// What can be passed on, and what tells of children and of who wants the terminal.
Result<sys::Signals> block_signals() {
  return sys::Signals::watch({SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH,
                              SIGCONT, SIGTSTP, SIGTTIN, SIGTTOU, SIGPWR, SIGXCPU, SIGCHLD});
}

sigset_t blocked_now() {
  sigset_t mask;
  sigemptyset(&mask);
  pthread_sigmask(SIG_BLOCK, nullptr, &mask);
  return mask;
}

sys::Spawn spawn_for(const Launch& launch, const sigset_t& blocked) {
  sys::Spawn spawn{.command = launch.command, .keep_ignored = true, .blocked = blocked};
  spawn.environment = withheld_variables();
  spawn.environment.insert(spawn.environment.end(), launch.environment.begin(),
                           launch.environment.end());
  return spawn;
}

// A script without a "#!" line is the shell's.
Result<sys::Process> start_as_shells_do(sys::Spawn& spawn) {
  Result<sys::Process> process = sys::Process::start(spawn);
  if (process || process.error().code != ENOEXEC ||
      spawn.command[0].find('/') == std::string::npos) {
    return process;
  }
  spawn.command.insert(spawn.command.begin(), "/bin/sh");
  return sys::Process::start(spawn);
}

// The child had taken the terminal before it found that there is nothing to run.
void undo(const Terminal& terminal, bool gave_terminal, OutputWatch& output) {
  if (gave_terminal) {
    terminal.give(getpgrp());
  }
  for (const Relay& relay : output.release()) {
    waitpid(relay.pid(), nullptr, 0);
  }
}

}  // namespace

int exit_code_of_failed_start(const Error& error) {
  return error.kind == ErrorKind::NotFound ? kNotFound : kNotExecutable;
}

Result<std::unique_ptr<Job>> Job::start(const Launch& launch, const sys::Clock& clock) {
  Result<OutputWatch> output = launch.watch_output ? OutputWatch::open(clock) : OutputWatch();
  if (!output) {
    return std::unexpected(output.error());
  }
  return start(launch, *std::move(output));
}

Result<std::unique_ptr<Job>> Job::start(const Launch& launch, OutputWatch output) {
  sys::Spawn spawn = spawn_for(launch, blocked_now());
  // Ignored, as some callers leave it, nobody could learn how a child ended.
  signal(SIGCHLD, SIG_DFL);
  Result<sys::Signals> signals = block_signals();
  if (!signals) {
    return std::unexpected(signals.error());
  }
  TRY(sys::adopt_orphans());
  Terminal terminal = Terminal::controlling();
  const bool gets_terminal = terminal.is_ours() && is_alone_in_group();
  spawn.terminal = gets_terminal ? terminal.descriptor() : -1;
  output.connect(spawn);
  const Result<sys::Process> process = start_as_shells_do(spawn);
  if (!process) {
    undo(terminal, gets_terminal, output);
    return std::unexpected(process.error());
  }
  return std::make_unique<LiveJob>(process->pid(), *std::move(signals), std::move(terminal),
                                   gets_terminal, output.release());
}

}  // namespace chokepoint::capture::job
