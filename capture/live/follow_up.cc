#include "capture/live/follow_up.h"

#include <fmt/ostream.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <thread>
#include <vector>

#include "base/cli/text.h"
#include "base/record/runs.h"
#include "base/record/schema.h"
#include "base/sys/process.h"

namespace chokepoint::capture::live {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr const char* kOwnProgram = "/proc/self/exe";
constexpr const char* kOwnName = "chokepoint";
// A shell that waits for the job's end is not kept longer than this for a verdict.
constexpr milliseconds kVerdictPatience{10'000};
// Other nodes' watches end together with this one.
constexpr milliseconds kOthersPatience{5'000};
constexpr milliseconds kLookInterval{100};
constexpr std::size_t kMaxAnswerBytes = 64 << 10;

// What the program prints; nullopt where it fails or takes too long.
std::optional<std::string> answer_of(std::vector<std::string> command) {
  command.insert(command.begin(), kOwnProgram);
  const auto answer = sys::capture_output(
      {.command = std::move(command), .environment = {sys::tie_to_this_process()}},
      kVerdictPatience, kMaxAnswerBytes);
  return answer && answer->status.code == 0 ? std::optional(answer->out) : std::nullopt;
}

// With standard error for its output: standard output is the job's. The exit code; 1 where it
// could not be started.
int shown(const cli::Context& context, std::vector<std::string> command) {
  context.err.flush();
  command.insert(command.begin(), kOwnProgram);
  auto process = sys::Process::start({.command = std::move(command),
                                      .environment = {sys::tie_to_this_process()},
                                      .out = STDERR_FILENO});
  if (!process) {
    fmt::print(context.err, "chokepoint: run: {}\n", cli::printable(describe(process.error())));
    return 1;
  }
  const Result<sys::ExitStatus> ended = process->wait();
  return ended ? ended->code : 1;
}

bool is_anyone_writing(const std::string& folder) {
  const auto records = record::record_files(folder);
  return records && std::ranges::any_of(*records, record::is_being_written);
}

std::string command_line(const char* command, const std::string& folder) {
  const std::array words{std::string(kOwnName), std::string(command), folder};
  return record::shell_line(words);
}

void print_line(const cli::Context& context, const char* label, const std::string& text) {
  fmt::print(context.err, "  {:<13} {}\n", label, cli::printable(text));
}

void print_verdict(const cli::Context& context, const std::string& folder) {
  const auto until = Clock::now() + kOthersPatience;
  while (is_anyone_writing(folder) && Clock::now() < until) {
    std::this_thread::sleep_for(kLookInterval);
  }
  const bool is_going_on = is_anyone_writing(folder);
  const auto verdict =
      is_going_on ? std::nullopt : answer_of({"diagnose", folder, "--brief", "--quiet"});
  if (is_going_on) {
    print_line(context, "verdict", "other nodes are still being watched");
  } else if (verdict && !verdict->empty()) {
    print_line(context, "verdict", verdict->substr(0, verdict->find('\n')));
  }
  print_line(context, "next", command_line("diagnose", folder));
}

}  // namespace

void follow_up(const cli::Context& context, const std::string& folder, const FollowUp& wanted) {
  if (wanted.diagnoses) {
    shown(context, {"diagnose", folder});
  } else if (!context.quiet) {
    print_verdict(context, folder);
  }
  if (wanted.reports) {
    shown(context, {"report", folder});
  }
}

bool check_before(const cli::Context& context) {
  constexpr int kFound = 3;
  const int host = shown(context, {"doctor"});
  const bool is_first = context.environment("SLURM_PROCID").value_or("0") == "0";
  const bool has_hosts = context.environment("SLURM_JOB_NODELIST").has_value();
  const int cluster =
      has_hosts && is_first ? shown(context, {"preflight", "--quick", "--launch", "slurm"}) : 0;
  return host != kFound && cluster != kFound;
}

}  // namespace chokepoint::capture::live
