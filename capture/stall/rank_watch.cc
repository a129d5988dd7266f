#include "capture/stall/rank_watch.h"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "capture/counter/kernel_file.h"

namespace chokepoint::capture::stall {
namespace {

using counter::Doing;
using record::RankDoes;

// A rank works from these rates on, and hangs after this time; a judgement, tried by scripts/bench
// stalls: docs/internals/run-stalls.md.
constexpr std::int64_t kSampleSpanNs = 5'000'000'000;  // of the samples that count
constexpr std::int64_t kMinSampledNs = 2'500'000'000;  // as long at least
constexpr std::int64_t kMinHangNs = 4'000'000'000;
constexpr std::size_t kMaxHelpers = 64;
constexpr std::size_t kMaxFrames = 8;
constexpr double kMaxIdlePercent = 5;  // of a core, for threads beside the first
constexpr double kMinCallsPerS = 5;
constexpr double kMinBytesPerS = 64 * 1024;
constexpr double kPercent = 100;

// Words of "NAME: VALUE" lines.
std::uint64_t value_of(std::string_view text, std::string_view name) {
  for (counter::Words lines = counter::lines_of(text);;) {
    const std::string_view line = lines.next();
    if (line.empty()) {
      return 0;
    }
    if (line.starts_with(name) && line.substr(name.size()).starts_with(':')) {
      counter::Words words(line.substr(name.size() + 1));
      return counter::number_in(words.next()).value_or(0);
    }
  }
}

// That write out what was written before: the kernel works for them, and counts no bytes.
bool flushes(std::optional<std::int64_t> system_call) {
  constexpr std::array kFlushes{SYS_fsync,  SYS_fdatasync,       SYS_sync,
                                SYS_syncfs, SYS_sync_file_range, SYS_msync};
  return system_call && std::ranges::count(kFlushes, *system_call) > 0;
}

std::vector<std::string> frames_in(std::string_view stack) {
  std::vector<std::string> frames;
  for (counter::Words lines = counter::lines_of(stack); frames.size() < kMaxFrames;) {
    const std::string_view line = lines.next();
    if (line.empty()) {
      return frames;
    }
    const std::size_t begin = line.find("] ");
    frames.emplace_back(begin == std::string_view::npos ? line : line.substr(begin + 2));
  }
  return frames;
}

}  // namespace

RankWatch::RankWatch(const sys::Root& root, const job::JobProcess& rank)
    : process_(rank),
      first_{.thread = counter::FirstThread(root, rank.pid)},
      mounts_(host::mounts_of_process(root, rank.pid)) {}

void RankWatch::note(Thread& thread, Doing doing, std::int64_t now_ns) {
  if (thread.since_ns == 0 || thread.doing != doing) {
    thread.doing = doing;
    thread.since_ns = now_ns;
  }
}

void RankWatch::add_traces(const sys::Root& root, pid_t pid, bool is_rank, Traces& traces) {
  constexpr std::size_t kToFaults = 7;  // words behind the name in brackets, from the state on
  constexpr int kKindsOfFaults = 4;     // minor and major, and those of children that have ended
  const auto tick_ns = 1'000'000'000 / static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
  const std::string stat = root.text(fmt::format("/proc/{}/stat", pid)).value_or("");
  if (const auto read = counter::process_stat_in(stat)) {
    traces.cpu_ns += read->cpu_ns;
  }
  const std::size_t bracket = stat.rfind(") ");
  if (bracket != std::string::npos) {
    counter::Words words(std::string_view(stat).substr(bracket + 2));
    words.skip(kToFaults);
    for (int kind = 0; kind < kKindsOfFaults; ++kind) {
      traces.calls += counter::number_in(words.next()).value_or(0);
    }
    words.skip(2);
    const std::uint64_t user = counter::number_in(words.next()).value_or(0);
    const std::uint64_t system = counter::number_in(words.next()).value_or(0);
    traces.cpu_ns += (user + system) * tick_ns;
  }
  const std::string io = root.text(fmt::format("/proc/{}/io", pid)).value_or("");
  traces.calls += value_of(io, "syscr") + value_of(io, "syscw");
  traces.bytes += value_of(io, "rchar") + value_of(io, "wchar") + value_of(io, "read_bytes") +
                  value_of(io, "write_bytes");
  if (is_rank) {
    const std::string status = root.text(fmt::format("/proc/{}/status", pid)).value_or("");
    traces.calls += value_of(status, "voluntary_ctxt_switches");
  }
}

void RankWatch::sample(const sys::Root& root, const std::vector<pid_t>& helpers,
                       std::int64_t now_ns) {
  Traces traces{.t_ns = now_ns};
  if (const auto found = first_.thread.sample(root, mounts_, buffer_)) {
    note(first_, found->doing, now_ns);
  }
  add_traces(root, process_.pid, true, traces);
  std::erase_if(helpers_,
                [&](const auto& known) { return std::ranges::count(helpers, known.first) == 0; });
  for (const pid_t pid : helpers) {
    if (helpers_.size() == kMaxHelpers && !helpers_.contains(pid)) {
      break;
    }
    Thread& helper =
        helpers_.try_emplace(pid, Thread{.thread = counter::FirstThread(root, pid)}).first->second;
    if (const auto found = helper.thread.sample(root, mounts_, buffer_)) {
      note(helper, found->doing, now_ns);
    }
    add_traces(root, pid, false, traces);
  }
  samples_.push_back(traces);
  while (samples_.size() > 2 && now_ns - samples_[1].t_ns >= kSampleSpanNs) {
    samples_.pop_front();
  }
}

bool RankWatch::is_known() const {
  return samples_.size() > 1 && samples_.back().t_ns - samples_.front().t_ns >= kMinSampledNs;
}

RankWatch::Thread& RankWatch::hanging(bool is_helper) {
  if (!is_helper) {
    return first_;
  }
  return std::ranges::find_if(helpers_,
                              [](const auto& each) {
                                return each.second.doing == Doing::Reads ||
                                       each.second.doing == Doing::Writes;
                              })
      ->second;
}

RankDoes RankWatch::does(bool& is_by_helper, std::int64_t now_ns) const {
  const Traces& from = samples_.front();
  const Traces& to = samples_.back();
  const double seconds = static_cast<double>(std::max<std::int64_t>(to.t_ns - from.t_ns, 1)) / 1e9;
  // Sums fall where a helper has ended.
  const auto rate = [&](std::uint64_t Traces::* sum) {
    return to.*sum > from.*sum ? static_cast<double>(to.*sum - from.*sum) / seconds : 0;
  };
  const double cpu_percent = kPercent * rate(&Traces::cpu_ns) / 1e9;
  const bool moves_bytes = rate(&Traces::bytes) >= kMinBytesPerS;
  const auto hangs = [&](const Thread& thread) {
    return (thread.doing == Doing::Reads || thread.doing == Doing::Writes) &&
           now_ns - thread.since_ns >= kMinHangNs && !moves_bytes;
  };
  const auto waits_in = [](const Thread& thread) {
    return thread.doing == Doing::Reads ? RankDoes::Reads : RankDoes::Writes;
  };
  if (first_.doing == Doing::Stopped) {
    return RankDoes::Stopped;
  }
  if (hangs(first_)) {
    return waits_in(first_);
  }
  const bool computes = cpu_percent >= kMaxIdlePercent || first_.doing == Doing::Runs;
  if (moves_bytes || (computes && rate(&Traces::calls) >= kMinCallsPerS)) {
    return RankDoes::Moves;
  }
  const auto helper =
      std::ranges::find_if(helpers_, [&](const auto& each) { return hangs(each.second); });
  if (helper != helpers_.end()) {
    is_by_helper = true;
    return waits_in(helper->second);
  }
  return computes ? RankDoes::Spins : RankDoes::Sleeps;
}

record::StallRank RankWatch::report(const sys::Root& root, std::int64_t now_ns) {
  record::StallRank report{.pid = process_.pid};
  if (process_.rank.rank) {
    report.rank = *process_.rank.rank;
  }
  bool is_by_helper = false;
  report.does = does(is_by_helper, now_ns);
  const Traces& from = samples_.front();
  const Traces& to = samples_.back();
  if (to.t_ns > from.t_ns && to.cpu_ns > from.cpu_ns) {
    report.cpu_percent = kPercent * static_cast<double>(to.cpu_ns - from.cpu_ns) /
                         static_cast<double>(to.t_ns - from.t_ns);
  }
  Thread& thread = hanging(is_by_helper);
  report.for_s = static_cast<double>(now_ns - thread.since_ns) / 1e9;
  if (const auto close = thread.thread.inspect(root, mounts_, buffer_)) {
    report.state = close->state;
    report.waits_in = close->waits_in;
    report.system_call = close->system_call;
    if (close->sample.is_of_files()) {
      report.file = close->file;
      report.mount = close->sample.mount == "?" ? "" : close->sample.mount;
    }
    if (report.does != RankDoes::Stopped && flushes(close->system_call)) {
      report.does = RankDoes::Moves;
    }
  }
  report.stack = frames_in(root.text(fmt::format("/proc/{}/stack", process_.pid)).value_or(""));
  return report;
}

}  // namespace chokepoint::capture::stall
