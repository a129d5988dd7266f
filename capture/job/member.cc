#include "capture/job/member.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/record/schema.h"

namespace chokepoint::capture::job {
namespace {

constexpr std::size_t kLongestCommand = 512;
constexpr std::int64_t kSecondNs = 1'000'000'000;
// What /proc/uptime's hundredths and our two looks at clocks may differ by.
constexpr std::int64_t kSameClockNs = 100'000'000;

std::string path_of(pid_t pid, const char* file) {
  return "/proc/" + std::to_string(pid) + "/" + file;
}

std::string cut(std::string text) {
  if (text.size() <= kLongestCommand) {
    return text;
  }
  std::size_t end = kLongestCommand;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) {
    --end;
  }
  return text.substr(0, end) + "…";
}

std::string read_command(const sys::Root& root, pid_t pid, const StatLine& stat) {
  const std::string line = root.read(path_of(pid, "cmdline")).value_or("");
  std::vector<std::string> words;
  std::string_view rest = std::string_view(line).substr(0, 4 * kLongestCommand);
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, rest.find('\0'));
    words.emplace_back(word);
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
  }
  return words.empty() ? "[" + stat.name + "]" : cut(record::shell_line(words));
}

// "net:[4026531840]"
std::uint64_t read_network(const sys::Root& root, pid_t pid) {
  std::error_code error;
  const std::string target =
      std::filesystem::read_symlink(root.at(path_of(pid, "ns/net")), error).string();
  const std::size_t open = target.find('[');
  return error || open == std::string::npos ? 0
                                            : std::strtoull(target.c_str() + open + 1, nullptr, 10);
}

bool has_no_words(const JobProcess& process) { return process.command.starts_with('['); }

bool is_same_program(const StatLine& one, const StatLine& other) {
  return one.name == other.name && one.stack == other.stack && one.arguments == other.arguments &&
         one.arguments_end == other.arguments_end && one.environment == other.environment &&
         one.environment_end == other.environment_end;
}

void read_program(const sys::Root& root, Member& member) {
  const pid_t pid = member.process.pid;
  member.process.command = read_command(root, pid, member.stat);
  member.process.network = read_network(root, pid);
  member.rank = host::find_rank(root.read(path_of(pid, "environ")).value_or(""));
}

int exit_code_of(int status) {
  return WIFSIGNALED(status) ? kSignalBase + WTERMSIG(status) : WEXITSTATUS(status);
}

record::Figure figure(const std::optional<int>& number) {
  return number ? record::Figure(*number) : record::Figure();
}

}  // namespace

Member read_member(const sys::Root& root, pid_t pid, const StatLine& stat,
                   std::int64_t uptime_lead_ns) {
  Member member{.stat = stat};
  const auto hertz = static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
  member.process.pid = pid;
  member.process.parent = stat.parent;
  member.process.start_ticks = stat.start_ticks;
  member.process.start_ns =
      static_cast<std::int64_t>(stat.start_ticks * (kSecondNs / hertz)) - uptime_lead_ns;
  read_program(root, member);
  return member;
}

bool update_member(const sys::Root& root, const StatLine& stat, Member& member) {
  const bool is_same = is_same_program(stat, member.stat);
  const bool same_parent = stat.parent == member.process.parent;
  member.stat = stat;
  member.process.parent = stat.parent;
  // In the middle of an exec() a process has no words, and may look afterwards as it did before.
  const bool had_no_words = has_no_words(member.process);
  if (!is_same || had_no_words) {
    read_program(root, member);
  }
  return !is_same || !same_parent || (had_no_words && !has_no_words(member.process));
}

void end_member(const std::optional<StatLine>& stat, Member& member) {
  member.is_over = true;
  // The kernel tells it to whom it told where the stack is.
  const bool is_known = stat && stat->has_ended() && member.stat.stack != 0 &&
                        stat->start_ticks == member.process.start_ticks;
  if (is_known) {
    member.exit_code = exit_code_of(stat->wait_status);
  }
}

std::int64_t read_uptime_lead(const sys::Root& root, std::int64_t now_ns) {
  const std::string uptime = root.text("/proc/uptime").value_or("");
  if (uptime.empty()) {
    return 0;
  }
  const double seconds = std::strtod(uptime.c_str(), nullptr);
  const auto lead = static_cast<std::int64_t>(seconds * static_cast<double>(kSecondNs)) - now_ns;
  return std::abs(lead) < kSameClockNs ? 0 : lead;
}

record::Process row_of(const Member& member, std::optional<std::int64_t> end_ns) {
  const JobProcess& process = member.process;
  return {.id = process.record_id,
          .pid = process.pid,
          .parent_pid = process.parent,
          .command = process.command,
          .rank = figure(process.rank.rank),
          .local_rank = figure(process.rank.local_rank),
          .world_size = figure(process.rank.world_size),
          .start_ns = process.start_ns,
          .end_ns = end_ns ? record::Figure(*end_ns) : record::Figure(),
          .exit_status = figure(member.exit_code)};
}

}  // namespace chokepoint::capture::job
