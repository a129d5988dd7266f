#include "analysis/evidence/job_log.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <initializer_list>
#include <vector>

#include "analysis/evidence/lines.h"
#include "analysis/evidence/log_steps.h"
#include "analysis/evidence/nccl_log.h"
#include "base/sys/number.h"

namespace chokepoint::analysis {
namespace {

using FailureKind = LogFailure::Kind;

constexpr std::size_t kMaxLogLineBytes = 8192;
constexpr std::size_t kMaxFailures = 4096;
constexpr std::size_t kMaxLogGroups = 4096;
constexpr std::int64_t kMaxLogRank = 1 << 20;

// A line of a kind has both texts. Of several the first row counts.
struct LineKind {
  FailureKind kind;
  std::string_view text;
  std::string_view also = {};
};

constexpr std::array kLineKinds{
    LineKind{FailureKind::Terminated, "torch.distributed.elastic.", "Error"},  // the launcher's own
    LineKind{FailureKind::Terminated, "SignalException"},
    LineKind{FailureKind::GpuFault, "NVRM: Xid"},
    LineKind{FailureKind::GpuMemory, "CUDA out of memory"},
    LineKind{FailureKind::GpuMemory, "HIP out of memory"},
    LineKind{FailureKind::GpuFault, "CUDA error:"},
    LineKind{FailureKind::GpuFault, "NCCL WARN Cuda failure"},
    LineKind{FailureKind::GpuFault, "fallen off the bus"},
    LineKind{FailureKind::HostMemory, "Out of memory: Killed process"},
    LineKind{FailureKind::HostMemory, "Memory cgroup out of memory"},
    LineKind{FailureKind::HostMemory, "oom_kill event"},
    LineKind{FailureKind::HostMemory, "oom-kill event"},
    LineKind{FailureKind::HostMemory, "DefaultCPUAllocator: can't allocate memory"},
    LineKind{FailureKind::Killed, "Fatal Python error:"},
    LineKind{FailureKind::Killed, "Segmentation fault"},
    LineKind{FailureKind::Killed, "DataLoader worker (pid", "is killed by signal"},
    LineKind{FailureKind::Killed, "DataLoader worker (pid", "exited unexpectedly"},
    LineKind{FailureKind::CollectiveTimeout, "Watchdog caught collective operation timeout"},
    LineKind{FailureKind::CollectiveTimeout, "Timed out waiting", "ms for"},
    LineKind{FailureKind::CollectiveTimeout, "Application timeout caused pair closure"},
    LineKind{FailureKind::MeetingTimeout, "Timed out after", "waiting for clients"},
    LineKind{FailureKind::MeetingTimeout, "client socket has timed out"},
    LineKind{FailureKind::MeetingTimeout, "wait timeout after"},
    LineKind{FailureKind::PeerLost, "Connection closed by peer"},
    LineKind{FailureKind::PeerLost, "Connection reset by peer"},
    LineKind{FailureKind::PeerLost, "Connection refused"},
    LineKind{FailureKind::PeerLost, "Broken pipe"},
    LineKind{FailureKind::PeerLost, "remote process exited or there was a network error"},
    LineKind{FailureKind::PeerLost, "Got completion from peer"},
    LineKind{FailureKind::PeerLost, "Connection closed by remote peer"},
    LineKind{FailureKind::PeerLost, "Call to recv from", "failed"},
    LineKind{FailureKind::PeerLost, "Call to send to", "failed"},
    LineKind{FailureKind::PeerLost, "NCCL communicator was aborted"},
    LineKind{FailureKind::PeerLost, "ncclRemoteError"},
    LineKind{FailureKind::MeetingTimeout, "torch.distributed.Dist", "Error"},
    LineKind{FailureKind::Terminated, "closing signal SIGTERM"},
    LineKind{FailureKind::Terminated, "death signal"},
};

bool is_digit(char letter) { return std::isdigit(static_cast<unsigned char>(letter)) != 0; }

std::optional<std::int64_t> number_at(std::string_view text) {
  const std::size_t end =
      static_cast<std::size_t>(std::ranges::find_if_not(text, is_digit) - text.begin());
  const auto number = sys::parse_number<std::int64_t>(text.substr(0, end));
  return number && *number < kMaxLogRank * kMaxLogRank ? number : std::nullopt;
}

std::optional<std::int64_t> number_behind(std::string_view text, std::string_view label) {
  const std::size_t at = text.find(label);
  return at == text.npos ? std::nullopt : number_at(text.substr(at + label.size()));
}

std::optional<std::int64_t> rank_behind(std::string_view text, std::string_view label) {
  const auto rank = number_behind(text, label);
  return rank && *rank < kMaxLogRank ? rank : std::nullopt;
}

// "  3: text", as srun -l has it.
std::optional<std::int64_t> label_of(std::string_view line) {
  const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
  const auto rank = number_at(line.substr(begin));
  const std::size_t end = line.find_first_not_of("0123456789", begin);
  return rank && *rank < kMaxLogRank && end != line.npos && line.substr(end).starts_with(": ")
             ? rank
             : std::nullopt;
}

std::string_view inside(std::string_view text, std::string_view from, char to) {
  const std::size_t begin = text.find(from);
  if (begin == text.npos) {
    return {};
  }
  const std::string_view rest = text.substr(begin + from.size());
  return rest.substr(0, rest.find(to));
}

std::optional<std::int64_t> rank_of(std::string_view line) {
  for (const std::string_view label : {"[rank", "[default", "[Rank ", "(default_pg) Rank "}) {
    if (const auto rank = rank_behind(line, label)) {
      return rank;
    }
  }
  // "[PG 1 Rank 3]", "[PG ID 1 PG GUID 7 Rank 3]"
  if (const std::size_t group = line.find("[PG "); group != line.npos) {
    if (const auto rank = rank_behind(line.substr(group), " Rank ")) {
      return rank;
    }
  }
  return label_of(line);
}

constexpr std::string_view kWorld = "default_pg";

// Of a watchdog's line; empty where it names none, as older ones do not.
std::string group_of(std::string_view line) {
  std::string_view name = inside(line, "PG GUID ", ' ');
  if (name.empty()) {
    name = inside(line, "[PG ", ' ');
  }
  return std::string(name.contains(kWorld) ? kWorld : name.substr(0, kMaxFieldBytes));
}

// Behind the first of the labels that the line has.
std::optional<std::int64_t> number_behind_any(std::string_view line,
                                              std::initializer_list<std::string_view> labels) {
  for (const std::string_view label : labels) {
    if (const auto number = number_behind(line, label)) {
      return number;
    }
  }
  return std::nullopt;
}

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kDay = 86'400 * kSecond;

std::int64_t begin_of_month(std::int64_t month) {
  constexpr std::array<std::int64_t, 12> kDays{0,   31,  60,  91,  121, 152,
                                               182, 213, 244, 274, 305, 335};
  return kDays.at(static_cast<std::size_t>(std::clamp<std::int64_t>(month, 1, 12) - 1)) * kDay;
}

// "12:34:56.789", also with a comma.
std::optional<std::int64_t> time_of_day(std::string_view text) {
  if (text.size() < 8 || text[2] != ':' || text[5] != ':') {
    return std::nullopt;
  }
  const auto hour = number_at(text.substr(0, 2));
  const auto minute = number_at(text.substr(3, 2));
  const auto second = number_at(text.substr(6, 2));
  if (!hour || !minute || !second) {
    return std::nullopt;
  }
  std::int64_t ns = ((*hour * 60 + *minute) * 60 + *second) * kSecond;
  std::int64_t unit = kSecond / 10;
  const std::size_t point = 8;
  if (text.size() > point && (text[point] == '.' || text[point] == ',')) {
    for (std::size_t at = point + 1; at < text.size() && is_digit(text[at]) && unit > 0; ++at) {
      ns += (text[at] - '0') * unit;
      unit /= 10;
    }
  }
  return ns;
}

// "2026-11-29 12:34:56" anywhere near the line's begin, or glog's "E1129 12:34:56".
std::int64_t time_in_year(std::string_view line) {
  constexpr std::size_t kNear = 96;
  const std::string_view head = line.substr(0, kNear);
  for (std::size_t at = 0; at + 14 <= head.size(); ++at) {
    const std::string_view here = head.substr(at);
    const bool is_iso = is_digit(here[0]) && here[4] == '-' && here[7] == '-' && here.size() > 18;
    // The month has one digit or two.
    const std::size_t space = here.find(' ');
    const bool is_glog = std::string_view("IWEF").contains(here[0]) && is_digit(here[1]) &&
                         (space == 4 || space == 5);
    const auto of_day = is_iso    ? time_of_day(here.substr(11))
                        : is_glog ? time_of_day(here.substr(space + 1))
                                  : std::nullopt;
    const auto month =
        number_at(is_iso ? here.substr(5, 2) : here.substr(1, is_glog ? space - 3 : 0));
    const auto day =
        number_at(is_iso ? here.substr(8, 2) : here.substr(is_glog ? space - 2 : 0, 2));
    if (of_day && month && day) {
      return begin_of_month(*month) + (*day - 1) * kDay + *of_day;
    }
  }
  return -1;
}

// The last line of a Python traceback: "ValueError: text", "torch.OutOfMemoryError: text".
bool is_exception(std::string_view line) {
  const std::size_t colon = line.find(": ");
  const std::string_view before = line.substr(0, std::min(colon, line.size()));
  const auto is_of_name = [](char letter) {
    return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_' || letter == '.';
  };
  return !before.empty() && std::ranges::all_of(before, is_of_name) &&
         (before.ends_with("Error") || before.ends_with("Exception") ||
          before.ends_with("Interrupt") || before.ends_with("Exit"));
}

// Without what stands before each line of a rank.
std::string_view without_label(std::string_view line) {
  for (const std::string_view label : {"[rank", "[default"}) {
    const std::size_t end = line.find("]:");
    if (line.starts_with(label) && end != line.npos) {
      line.remove_prefix(end + 2);
    }
  }
  if (label_of(line)) {
    line.remove_prefix(line.find(": ") + 2);
  }
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  return line;
}

// Of nearly all lines the answer is no: one pass for all texts.
bool may_have_kind(std::string_view line) {
  static const re2::RE2 any = [] {
    std::vector<std::string> texts;
    for (const LineKind& each : kLineKinds) {
      texts.push_back(re2::RE2::QuoteMeta(re2::StringPiece(each.text.data(), each.text.size())));
    }
    return re2::RE2(fmt::format("{}", fmt::join(texts, "|")), re2::RE2::Latin1);
  }();
  return re2::RE2::PartialMatch(re2::StringPiece(line.data(), line.size()), any);
}

std::optional<FailureKind> kind_of(std::string_view line) {
  if (!may_have_kind(line)) {
    return std::nullopt;
  }
  for (const LineKind& each : kLineKinds) {
    if (line.contains(each.text) && line.contains(each.also)) {
      return each.kind;
    }
  }
  return std::nullopt;
}

// "ALLREDUCE" is "all_reduce" in a Flight Recorder's dump.
std::string operation_of_type(std::string_view type) {
  constexpr auto kNames = std::to_array<std::array<std::string_view, 2>>(
      {{"ALLREDUCE", "all_reduce"},
       {"_ALLGATHER_BASE", "_all_gather_base"},
       {"ALLGATHER", "all_gather"},
       {"_REDUCE_SCATTER_BASE", "_reduce_scatter_base"},
       {"REDUCE_SCATTER", "reduce_scatter"},
       {"BROADCAST", "broadcast"},
       {"ALLTOALL_BASE", "all_to_all"},
       {"ALLTOALL", "all_to_all"}});
  const auto known = std::ranges::find(kNames, type, [](const auto& each) { return each[0]; });
  std::string name(known == kNames.end() ? type : (*known)[1]);
  std::ranges::transform(name, name.begin(),
                         [](unsigned char letter) { return std::tolower(letter); });
  return name;
}

class JobLog {
 public:
  explicit JobLog(const std::string& file) : rank_of_file_(rank_in_name(file, false)) {
    found_.tool = Tool::JobLog;
    found_.file = file;
  }

  void add(std::string_view line, std::uint64_t number) {
    const std::string_view text = without_label(line);
    if (line.starts_with('[') || line.starts_with(' ')) {
      highest_ = std::max(highest_, rank_of(line).value_or(-1));
    }
    add_state(line);
    add_launchers_end(line);
    nccl_.add(line);
    if (const auto step = steps_.parse(line)) {
      const auto own = rank_of(line);
      steps_.add(*step, own ? own : rank_of_file_, time_in_year(line), number);
    }
    if (text == "Failures:" || text.starts_with("Root Cause (first observed failure):")) {
      in_table_ = true;
    } else if (in_table_) {
      in_table_ = !text.starts_with("====");
      add_end(text);
      return;
    }
    in_traceback_ = in_traceback_ || text.starts_with("Traceback (most recent call last)");
    auto kind = kind_of(line);
    if (!kind && in_traceback_ && is_exception(text)) {
      kind = FailureKind::Exception;
    }
    if (is_exception(text)) {
      in_traceback_ = false;
    }
    if (kind) {
      keep(*kind, line, text, number);
    }
  }

  Result<ToolFile> take() {
    found_.printed = steps_.take();
    if (found_.failures.empty() && found_.ends.empty() && states_.empty() && nccl_.is_empty() &&
        found_.printed.empty()) {
      return malformed(found_.file,
                       "has no failure, no lines of NCCL, and no steps with their time");
    }
    if (left_out_ > 0) {
      found_.left_out.push_back(std::to_string(left_out_) + " lines of failures are not read");
    }
    if (std::ranges::any_of(found_.ends, [](const RankEnd& end) { return end.rank >= 0; })) {
      std::erase_if(found_.ends, [](const RankEnd& end) { return end.rank < 0; });
    }
    name_groups();
    add_members();
    for (auto& [rank, states] : states_) {
      found_.ranks.push_back({.rank = rank, .states = std::move(states)});
    }
    found_.nccl = nccl_.take();
    return std::move(found_);
  }

 private:
  void keep(FailureKind kind, std::string_view line, std::string_view text, std::uint64_t number) {
    if (found_.failures.size() >= kMaxFailures) {
      ++left_out_;
      return;
    }
    const auto own = rank_of(line);
    found_.failures.push_back({.kind = kind,
                               .rank = own ? own : rank_of_file_,
                               .in_year_ns = time_in_year(line),
                               .line = number,
                               .text = std::string(text.substr(0, kMaxFieldBytes))});
  }

  // "failed (exitcode: -6) local_rank: 3 (pid: 26026) of binary: …", before the table, which may be
  // cut off.
  void add_launchers_end(std::string_view line) {
    if (!line.contains("(exitcode: ")) {
      return;
    }
    const auto local_rank = rank_behind(line, "local_rank: ");
    const std::string_view code = inside(line, "failed (exitcode: ", ')');
    const auto exit_code = sys::parse_number<std::int64_t>(code);
    if (local_rank && exit_code && found_.ends.empty()) {
      found_.ends.push_back({.local_rank = *local_rank, .exit_code = *exit_code});
    }
  }

  //   [1]:
  //     host      : node1
  //     rank      : 1 (local_rank: 1)
  //     exitcode  : -9 (pid: 12345)  (SIGKILL)
  void add_end(std::string_view text) {
    const std::string_view key = text.substr(0, text.find_first_of(" :"));
    const std::size_t colon = text.find(": ");
    const std::string_view value = colon == text.npos ? "" : text.substr(colon + 2);
    if (text.starts_with('[') && text.ends_with("]:") && found_.ends.size() < kMaxFailures) {
      found_.ends.emplace_back();
    } else if (found_.ends.empty()) {
      return;
    }
    RankEnd& end = found_.ends.back();
    if (key == "rank") {
      end.rank = rank_behind(text, ": ").value_or(-1);
    } else if (key == "host") {
      end.host = value.substr(0, kMaxFieldBytes);
    } else if (key == "exitcode") {
      end.exit_code = sys::parse_number<std::int64_t>(value.substr(0, value.find(' '))).value_or(0);
    }
  }

  // What a watchdog says of its group: how far this rank has come.
  void add_state(std::string_view line) {
    if (!line.contains("WorkNCCL(") && !line.contains("[PG ")) {
      return;
    }
    const auto enqueued =
        number_behind_any(line, {"last enqueued work: ", "last enqueued NCCL work: "});
    const auto completed =
        number_behind_any(line, {"last completed work: ", "last completed NCCL work: "});
    const auto sequence = number_behind(line, "WorkNCCL(SeqNum=");
    const auto rank = rank_of(line);
    if (!rank || (!(enqueued && completed) && !sequence)) {
      return;
    }
    const std::string name = group_of(line);
    highest_ = std::max(highest_, *rank);
    auto& states = states_[*rank];
    if (!states.contains(name) && ++groups_ > kMaxLogGroups) {
      return;
    }
    GroupState& state = states[name];
    if (enqueued && completed) {
      state.enqueued = *enqueued;
      state.completed = *completed;
      if (const auto at = number_behind_any(line, {"at work: ", "at work sequence id: "})) {
        state.calls.try_emplace(*at);
      }
    }
    if (sequence) {
      state.enqueued = std::max(state.enqueued, *sequence);
      state.completed = std::max(state.completed, *sequence - 1);
      state.calls[*sequence] = {.operation = operation_of_type(inside(line, "OpType=", ','))};
    }
  }

  // A line that names no group is of the one in which the rank has ended all before that call; else
  // of the world's, which most jobs have alone.
  void name_groups() {
    for (auto& [rank, states] : states_) {
      const auto unnamed = states.find("");
      if (unnamed == states.end()) {
        continue;
      }
      const GroupState state = std::move(unnamed->second);
      states.erase(unnamed);
      const auto same = std::ranges::find_if(states, [&](const auto& each) {
        return !state.calls.empty() && each.second.completed + 1 == state.calls.begin()->first;
      });
      if (same == states.end()) {
        states[std::string(kWorld)] = state;
      } else {
        same->second.calls = state.calls;
      }
    }
  }

  // Of a log of all ranks: who is not in a call of the world's group in which most are has not come
  // to it.
  void add_members() {
    const auto inside = std::ranges::count_if(
        states_, [](const auto& each) { return each.second.contains(std::string(kWorld)); });
    if (rank_of_file_ || 2 * inside <= highest_ + 1) {
      return;
    }
    std::vector<std::int64_t> all;
    for (std::int64_t rank = 0; rank <= highest_; ++rank) {
      all.push_back(rank);
      states_.try_emplace(rank);
    }
    for (auto& [rank, states] : states_) {
      if (const auto world = states.find(std::string(kWorld)); world != states.end()) {
        world->second.members = all;
      }
    }
  }

  ToolFile found_;
  NcclLog nccl_;
  std::int64_t highest_ = -1;  // of the ranks that lines are of
  LogSteps steps_;
  std::optional<std::int64_t> rank_of_file_;
  std::map<std::int64_t, std::map<std::string, GroupState>> states_;
  std::size_t groups_ = 0;
  std::uint64_t left_out_ = 0;
  bool in_traceback_ = false;
  bool in_table_ = false;
};

}  // namespace

Result<ToolFile> read_job_log(ByteSource& source, const std::string& file) {
  JobLog log(file);
  LineReader lines(source, kMaxLogLineBytes);
  while (const auto line = lines.next()) {
    log.add(*line, lines.number());
  }
  return source.flaw().empty() ? log.take() : malformed(file, source.flaw());
}

}  // namespace chokepoint::analysis
