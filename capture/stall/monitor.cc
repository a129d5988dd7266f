#include "capture/stall/monitor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "base/record/names.h"
#include "capture/job/kinship.h"
#include "capture/packet/address_text.h"

namespace chokepoint::capture::stall {
namespace {

using record::entered;
using record::RankDoes;
using record::StallRank;
using record::StallState;
using record::waited_for;

// The times of docs/internals/run-stalls.md, "When a job stands".
constexpr std::int64_t kSampleIntervalNs = 1'000'000'000;
constexpr std::int64_t kSilentNs = 4'000'000'000;
constexpr std::size_t kMaxRanks = 64;
constexpr std::size_t kMaxParts = 16;     // of a process
constexpr std::size_t kMaxEnqueued = 64;  // likewise
constexpr std::size_t kMaxProcesses = 1'024;
// The first events of a stall come quickly, for `live` and the hook, which follow the record.
constexpr std::int64_t kFirstEventsIntervalNs = 5'000'000'000;
constexpr int kFirstEvents = 12;
constexpr std::int64_t kCollectivesOfAStep = 3;  // at least, of a job whose steps are not found
constexpr std::int64_t kLaterEventsIntervalNs = 60'000'000'000;

std::string_view kind_text(record::CollectiveKind kind) {
  const auto place = static_cast<std::size_t>(kind);
  return place < record::kCollectiveKinds.size() ? record::kCollectiveKinds.at(place)
                                                 : record::kCollectiveKinds.front();
}

std::string name_of(const StallRank& rank) {
  return rank.rank ? fmt::format("rank {}", *rank.rank) : fmt::format("process {}", rank.pid);
}

std::string file_text(const StallRank& rank) {
  const std::string& name = rank.file.empty() ? rank.mount : rank.file;
  return name.empty() ? "a file" : name;
}

// The rank that explains most of a stall.
const StallRank* worst_of(const record::Stall& stall) {
  const auto worst = std::ranges::max_element(stall.ranks, {}, &StallRank::does);
  return worst == stall.ranks.end() ? nullptr : &*worst;
}

}  // namespace

std::string words_of(const record::Stall& stall) {
  const StallRank* worst = worst_of(stall);
  if (!stall.paths.empty() && (worst == nullptr || worst->does < RankDoes::Reads)) {
    return fmt::format("{} does not answer", stall.paths.front().peer);
  }
  if (worst == nullptr) {
    return "no rank was seen";
  }
  std::string name = name_of(*worst);
  switch (worst->does) {
    case RankDoes::Stopped:
      return name + " is stopped";
    case RankDoes::Reads:
      return fmt::format("{} hangs reading {}", name, file_text(*worst));
    case RankDoes::Writes:
      return fmt::format("{} hangs writing {}", name, file_text(*worst));
    case RankDoes::Differs:
      return fmt::format("{} is in {}, its neighbour in another collective", name,
                         entered(*worst) ? text_of(*entered(*worst)) : "a collective");
    case RankDoes::Absent:
      return fmt::format("{} has not come to {}", name,
                         waited_for(*worst) ? text_of(*waited_for(*worst)) : "a collective");
    case RankDoes::Spins:
      return name + " fills a core and does not communicate";
    case RankDoes::Moves:
      return name + " works, and no step ends";
    case RankDoes::Waits:
      return fmt::format("{} waits for others in {}", name,
                         entered(*worst) ? text_of(*entered(*worst)) : "a collective");
    case RankDoes::Sleeps:
      return name + " sleeps";
  }
  return name;
}

Monitor::Monitor(Options options, const sys::Root& root, record::Writer& writer)
    : options_(std::move(options)), root_(root), writer_(writer), pause_(options_.after_ns) {
  if (options_.takes_stacks) {
    stacks_.emplace(root, writer);
  }
}

void Monitor::note_over(const record::Collective& row) {
  const std::lock_guard lock(mutex_);
  newest_ns_ = std::max(newest_ns_, row.end_ns);
  ++over_;
}

void Monitor::note_waiting(const record::Collective& row, std::int64_t process) {
  const std::lock_guard lock(mutex_);
  if (parts_.size() == kMaxProcesses && !parts_.contains(process)) {
    return;
  }
  Parts& parts = parts_[process];
  const Part part{.flow = row.flow.value_or(0),
                  .collective = {.kind = std::string(kind_text(row.kind)),
                                 .number = row.number,
                                 .bytes = row.bytes.value_or(0),
                                 .is_entered = row.own_ready_ns.known(),
                                 .is_peer_there = row.peer_ready_ns.known()},
                  .start_ns = row.start_ns};
  std::erase_if(parts, [&](const Part& known) {
    return known.flow == part.flow && known.collective.kind == part.collective.kind &&
           known.collective.number == part.collective.number;
  });
  parts.push_back(part);
  if (parts.size() > kMaxParts) {
    parts.pop_front();
  }
}

void Monitor::note_enqueued(pid_t pid, std::span<const record::Collective> newest) {
  const std::lock_guard lock(mutex_);
  if (enqueued_.size() == kMaxProcesses && !enqueued_.contains(pid)) {
    enqueued_.erase(enqueued_.begin());
  }
  std::vector<record::StallCollective>& enqueued = enqueued_[pid];
  enqueued.clear();
  for (const record::Collective& row : newest.first(std::min(newest.size(), kMaxEnqueued))) {
    newest_ns_ = std::max(newest_ns_, row.enqueued_ns.value_or(0));
    enqueued.push_back({.kind = std::string(kind_text(row.kind)),
                        .number = row.number,
                        .is_entered = true,
                        .communicator = row.communicator.value_or(0),
                        .size = row.bytes.value_or(0)});
  }
}

void Monitor::poll(const Moment& moment) {
  if (hook_) {
    const auto ended = hook_->poll();
    if (!ended || *ended) {
      hook_.reset();
    }
  }
  if (stacks_) {
    stacks_->poll(moment.now_ns);
  }
  std::int64_t progress_ns =
      std::max(moment.newest_step_ns, moment.is_traffic_usual ? moment.now_ns : 0);
  std::int64_t rounds = 0;
  {
    const std::lock_guard lock(mutex_);
    progress_ns = std::max(progress_ns, newest_ns_);
    rounds = over_ / kCollectivesOfAStep;
  }
  const bool goes_on = progress_ns > pause_.since_ns();
  // Steps are found long after they began where they are known by collectives only.
  pause_.note_steps(std::max(moment.steps, rounds), moment.usual_ms);
  pause_.note_progress(progress_ns);
  // What is found late, as a collective's end whose other parts never came, lies before the stall:
  // it only began a little later.
  const bool stands_still = pause_.length_ns(moment.now_ns) >= pause_.sampling_start_ns();
  if (goes_on && !stands_still && !ranks_.empty()) {
    end_stall(moment);
  }
  if (pause_.is_known() && !moment.processes.empty() &&
      pause_.length_ns(moment.now_ns) >= pause_.sampling_start_ns()) {
    follow(moment);
  }
}

void Monitor::end_stall(const Moment& moment) {
  ranks_.clear();
  if (stacks_) {
    stacks_->end_stall();
  }
  const std::lock_guard lock(mutex_);
  if (events_ > 0) {
    write_event({.since_ns = pause_.since_ns(), .usual_ms = pause_.usual_ms()}, moment.now_ns);
  }
  events_ = 0;
  parts_.clear();
  figures_ = {};
}

// Near the limit, or behind it.
void Monitor::follow(const Moment& moment) {
  if (moment.now_ns - sampled_ns_ < kSampleIntervalNs) {
    return;
  }
  sampled_ns_ = moment.now_ns;
  sample_ranks(moment);
  const std::int64_t length_ns = pause_.length_ns(moment.now_ns);
  const bool are_known =
      std::ranges::all_of(ranks_, [](const auto& known) { return known.second->is_known(); });
  if (length_ns < pause_.limit_ns() || !are_known) {
    return;
  }
  const record::Stall stall = seen(moment);
  const double for_s = static_cast<double>(length_ns) / 1e9;
  const bool stood = figures().state == StallState::Stands;
  {
    const std::lock_guard lock(mutex_);
    figures_ = {.state = stall.state, .for_s = for_s, .what = words_of(stall)};
  }
  const bool begins_to_stand = stall.state == StallState::Stands && !stood;
  if (begins_to_stand ||
      moment.now_ns - event_ns_ >=
          (events_ < kFirstEvents ? kFirstEventsIntervalNs : kLaterEventsIntervalNs)) {
    write_event(stall, moment.now_ns);
  }
  if (begins_to_stand && !options_.hook.empty()) {
    run_hook(stall, for_s);
  }
  // Also where the ranks of this node wait: which rank of which node is missing, only all know.
  if (stacks_ && stall.state >= StallState::Waits) {
    stacks_->look(stall, moment.now_ns);
  }
}

void Monitor::sample_ranks(const Moment& moment) {
  const job::Kinship kinship(root_, moment.processes);
  std::set<pid_t> present;
  for (const job::JobProcess& process : moment.processes) {
    if (kinship.is_rank(process) && present.size() < kMaxRanks) {
      present.insert(process.pid);
      const auto known = ranks_.find(process.pid);
      if (known == ranks_.end() || known->second->process().start_ticks != process.start_ticks) {
        ranks_[process.pid] = std::make_unique<RankWatch>(root_, process);
      }
    }
  }
  std::erase_if(ranks_, [&](const auto& known) { return !present.contains(known.first); });
  for (auto& [pid, rank] : ranks_) {
    std::vector<pid_t> helpers;
    for (const job::JobProcess& process : moment.processes) {
      const job::JobProcess* whose =
          present.contains(process.pid) ? nullptr : kinship.rank_of(process);
      if (whose != nullptr && whose->pid == pid) {
        helpers.push_back(process.pid);
      }
    }
    rank->sample(root_, helpers, moment.now_ns);
  }
}

record::Stall Monitor::seen(const Moment& moment) {
  record::Stall stall{.since_ns = pause_.since_ns(),
                      .usual_ms = pause_.usual_ms(),
                      .limit_ms = static_cast<double>(pause_.limit_ns()) / 1e6};
  for (auto& [pid, rank] : ranks_) {
    StallRank report = rank->report(root_, moment.now_ns);
    add_collectives(report, rank->process().record_id);
    add_enqueued(report);
    stall.ranks.push_back(std::move(report));
  }
  std::vector<StallRank*> ranks;
  for (StallRank& rank : stall.ranks) {
    ranks.push_back(&rank);
  }
  record::compare_collectives(ranks);
  for (const socket::Silent& silent : moment.silent) {
    if (moment.now_ns - silent.since_ns >= kSilentNs) {
      stall.paths.push_back({.flow = silent.flow,
                             .peer = packet::text_of(silent.peer, silent.is_ipv6),
                             .for_s = static_cast<double>(moment.now_ns - silent.since_ns) / 1e9,
                             .unacked_packets = silent.unacked_packets,
                             .resent_packets = silent.resent_packets});
    }
  }
  stall.state = state_of(stall, pause_.length_ns(moment.now_ns));
  return stall;
}

// A rank that sleeps or spins is explained by its collectives.
void Monitor::add_collectives(StallRank& report, std::int64_t process) {
  const std::lock_guard lock(mutex_);
  const bool is_only_rank = ranks_.size() == 1;
  auto known = parts_.find(process);
  if (known == parts_.end() && is_only_rank) {
    known = parts_.find(0);  // connections of an unknown process
  }
  if (known == parts_.end()) {
    return;
  }
  bool is_in_one = false;
  bool is_waited_for = false;
  bool differs = false;
  for (const Part& part : known->second) {
    if (part.start_ns < pause_.since_ns() - kSampleIntervalNs) {
      continue;  // left over from before
    }
    report.collectives.push_back(part.collective);
    const bool is_own = part.collective.is_entered;
    is_in_one = is_in_one || is_own;
    is_waited_for = is_waited_for || (!is_own && part.collective.is_peer_there);
    differs = differs || std::ranges::any_of(known->second, [&](const Part& other) {
                return is_own && !part.collective.is_peer_there && other.flow == part.flow &&
                       !other.collective.is_entered && other.collective.is_peer_there;
              });
  }
  if (report.does != RankDoes::Sleeps && report.does != RankDoes::Spins) {
    return;
  }
  if (differs) {
    report.does = RankDoes::Differs;
  } else if (is_in_one) {
    report.does = RankDoes::Waits;
  } else if (is_waited_for && report.does == RankDoes::Sleeps) {
    report.does = RankDoes::Absent;
  }
}

void Monitor::add_enqueued(StallRank& report) const {
  const std::lock_guard lock(mutex_);
  const auto known = enqueued_.find(static_cast<pid_t>(report.pid));
  if (known != enqueued_.end()) {
    report.collectives.insert(report.collectives.end(), known->second.begin(), known->second.end());
  }
}

StallState Monitor::state_of(const record::Stall& stall, std::int64_t length_ns) const {
  const auto has = [&](RankDoes does) {
    return std::ranges::count(stall.ranks, does, &StallRank::does) > 0;
  };
  if (length_ns >= pause_.working_limit_ns() || has(RankDoes::Stopped)) {
    return StallState::Stands;
  }
  if (has(RankDoes::Moves)) {
    return StallState::Moves;
  }
  if (has(RankDoes::Reads) || has(RankDoes::Writes) || has(RankDoes::Differs) ||
      !stall.paths.empty()) {
    return StallState::Stands;
  }
  // An endless loop, or an evaluation: from outside both look the same.
  if (has(RankDoes::Spins)) {
    return StallState::Moves;
  }
  return has(RankDoes::Absent) ? StallState::Stands : StallState::Waits;
}

void Monitor::write_event(const record::Stall& stall, std::int64_t now_ns) {
  event_ns_ = now_ns;
  ++events_;
  writer_.add(record::Event{
      .t_ns = now_ns, .kind = std::string(record::kStall), .detail = record::text_of(stall)});
}

void Monitor::run_hook(const record::Stall& stall, double for_s) {
  std::vector<std::int64_t> pids;
  std::ranges::transform(stall.ranks, std::back_inserter(pids), &record::StallRank::pid);
  auto started = sys::Process::start(
      {.command = {"/bin/sh", "-c", options_.hook},
       .environment = {{"CHOKEPOINT_STALL", words_of(stall)},
                       {"CHOKEPOINT_STALL_PIDS", fmt::format("{}", fmt::join(pids, " "))},
                       {"CHOKEPOINT_STALL_NODE", options_.node},
                       {"CHOKEPOINT_STALL_SECONDS", fmt::format("{:.0f}", for_s)},
                       {"CHOKEPOINT_STALL_RECORD", options_.record}}});
  if (started) {
    hook_.emplace(std::move(*started));
  }
}

Figures Monitor::figures() const {
  const std::lock_guard lock(mutex_);
  return figures_;
}

}  // namespace chokepoint::capture::stall
