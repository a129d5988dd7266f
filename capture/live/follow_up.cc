#include "capture/live/follow_up.h"

#include <fmt/ostream.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <thread>
#include <tuple>
#include <vector>

#include "base/cli/text.h"
#include "base/record/runs.h"
#include "base/record/schema.h"
#include "base/sys/descriptor.h"
#include "base/sys/process.h"

namespace chokepoint::capture::live {
namespace {

using net::Deadline;
using std::chrono::milliseconds;

constexpr const char* kOwnProgram = "/proc/self/exe";
constexpr const char* kOwnName = "chokepoint";
constexpr milliseconds kCheckInterval{100};
constexpr milliseconds kMostToRemember{8000};
constexpr std::size_t kMaxResponseBytes = 64 << 10;
// A program that was interrupted removes what it has not finished.
constexpr milliseconds kKillAfter{200};

using Variables = std::vector<std::pair<std::string, std::string>>;

// What the program prints; nullopt where it fails or takes too long.
std::optional<std::string> response_of(std::vector<std::string> command, const Deadline& deadline,
                                       Variables variables = {}) {
  variables.push_back(sys::tie_to_this_process());
  command.insert(command.begin(), kOwnProgram);
  const auto left = std::chrono::ceil<milliseconds>(deadline.until - Deadline::Clock::now());
  const auto response =
      sys::capture_output({.command = std::move(command), .environment = std::move(variables)},
                          left, kMaxResponseBytes, deadline.interrupt);
  return response && response->status.code == 0 ? std::optional(response->out) : std::nullopt;
}

// With `out` for its output. The exit code; 1 where it could not be started, or was interrupted.
int shown(const cli::Context& context, std::vector<std::string> command, int out, int interrupt) {
  context.err.flush();
  command.insert(command.begin(), kOwnProgram);
  auto process = sys::Process::start(
      {.command = std::move(command), .environment = {sys::tie_to_this_process()}, .out = out});
  if (!process) {
    fmt::print(context.err, "chokepoint: run: {}\n", cli::printable(describe(process.error())));
    context.err.flush();
    return 1;
  }
  auto ended = process->wait_until(Deadline::Clock::time_point::max(), interrupt);
  for (const int number : {SIGINT, SIGKILL}) {
    if (ended && !*ended) {
      std::ignore = process->signal(number);
      ended = process->wait_until(Deadline::Clock::now() + kKillAfter);
    }
  }
  return ended && *ended ? (*ended)->code : 1;
}

bool is_anyone_writing(const std::string& folder) {
  const auto records = record::record_files(folder);
  return records && std::ranges::any_of(*records, record::is_being_written);
}

std::string command_line(std::initializer_list<std::string> command, const std::string& folder) {
  std::vector<std::string> words{kOwnName};
  words.insert(words.end(), command);
  words.push_back(folder);
  return record::shell_line(words);
}

void print_line(const cli::Context& context, const char* label, const std::string& text) {
  fmt::print(context.err, "  {:<13} {}\n", label, cli::printable(text));
}

enum class Others : std::uint8_t { Ended, Writing, Unknown };

// Other nodes' watches end together with this one: waits for them. In a process of its own, since a
// network folder that does not answer blocks the process that reads it.
Others await_others(const std::string& folder, const Deadline& deadline) {
  auto waiter = sys::Process::fork([&] {
    while (is_anyone_writing(folder)) {
      std::this_thread::sleep_for(kCheckInterval);
    }
    return 0;
  });
  if (!waiter) {
    return Others::Unknown;
  }
  const auto ended = waiter->wait_until(deadline.until, deadline.interrupt);
  if (ended && *ended) {
    return (*ended)->code == 0 ? Others::Ended : Others::Unknown;
  }
  std::ignore = waiter->signal(SIGKILL);
  return Others::Writing;
}

// A part of what time there is: a verdict is worth nothing without the time to reach it.
Deadline part_for_others(const Deadline& deadline) {
  return deadline.at_most((deadline.until - Deadline::Clock::now()) / 2);
}

void print_verdict(const cli::Context& context, const std::string& folder,
                   const Deadline& deadline) {
  const Others others = await_others(folder, part_for_others(deadline));
  const auto verdict = others == Others::Ended
                           ? response_of({"diagnose", folder, "--brief", "--quiet"}, deadline)
                           : std::nullopt;
  if (sys::is_readable(deadline.interrupt)) {
    return;
  }
  if (others == Others::Writing) {
    print_line(context, "verdict", "other nodes are still being watched");
  } else if (verdict && !verdict->empty()) {
    print_line(context, "verdict", verdict->substr(0, verdict->find('\n')));
  }
  print_line(context, "next", command_line({"diagnose"}, folder));
  context.err.flush();
}

void remember(const cli::Context& context, const std::string& folder, const std::string& history,
              const Deadline& deadline) {
  // Not as an argument, which every user of the host may read: a URL may hold a password.
  const auto added = response_of({"history", "add", folder, "--quiet"}, deadline,
                                 {{"CHOKEPOINT_HISTORY", history}});
  if (!added && !context.quiet && !sys::is_readable(deadline.interrupt)) {
    print_line(context, "history", "not added: " + command_line({"history", "add"}, folder));
    context.err.flush();
  }
}

}  // namespace

void follow_up(const cli::Context& context, const std::string& folder, const FollowUp& wanted,
               const Deadline& deadline) {
  if (wanted.diagnoses) {
    shown(context, {"diagnose", folder}, wanted.out, deadline.interrupt);
  } else if (!context.quiet) {
    print_verdict(context, folder, deadline);
  }
  if (wanted.reports && !sys::is_readable(deadline.interrupt)) {
    shown(context, {"report", folder}, wanted.out, deadline.interrupt);
  }
  if (!wanted.history.empty() && !sys::is_readable(deadline.interrupt)) {
    remember(context, folder, wanted.history, deadline.at_most(kMostToRemember));
  }
}

bool check_before(const cli::Context& context) {
  constexpr int kFound = 3;
  constexpr int kNoProcess = -1;  // before the job a signal ends this process
  const int host = shown(context, {"doctor"}, STDERR_FILENO, kNoProcess);
  const bool is_first = context.environment("SLURM_PROCID").value_or("0") == "0";
  const bool has_hosts = context.environment("SLURM_JOB_NODELIST").has_value();
  const int cluster =
      has_hosts && is_first
          ? shown(context, {"preflight", "--quick", "--launch", "slurm"}, STDERR_FILENO, kNoProcess)
          : 0;
  return host != kFound && cluster != kFound;
}

}  // namespace chokepoint::capture::live
