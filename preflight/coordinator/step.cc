#include "preflight/coordinator/step.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace chokepoint::preflight::coordinator {
namespace {

using std::chrono::milliseconds;

// Beside what the agent itself gives a task: the way there and back, through a coordinator with
// thousands of them.
constexpr std::chrono::milliseconds kGrace{5000};
constexpr int kMaxSilences = 2;

Error silent(const std::string& name) {
  return {.kind = ErrorKind::Timeout,
          .operation = "preflight",
          .subject = name,
          .reason = "its agent did not answer",
          .next_step = "look at the host, and at what 'chokepoint serve' wrote there"};
}

}  // namespace

RunningPreflight::RunningPreflight(Agents& to, const Wanted& want, const sys::Clock& time,
                                   OnProgress progress)
    : agents(to),
      wanted(want),
      clock(time),
      on_progress_(std::move(progress)),
      started_ns_(time.monotonic_ns()),
      deadline_ns_(want.limit.count() > 0 ? started_ns_ + want.limit.count() * kNsPerMs
                                          : std::numeric_limits<std::int64_t>::max()) {
  silences.resize(want.hosts.size());
  measured.plan = want.effort.name;
  measured.seed = want.seed;
  measured.program = want.program;
  for (const HostWanted& host : want.hosts) {
    measured.hosts.push_back({.name = host.name, .presence = Presence::Unreachable});
  }
}

bool RunningPreflight::is_present(HostIndex host) const {
  return host < measured.hosts.size() && measured.hosts[host].presence == Presence::Present;
}

std::vector<HostIndex> RunningPreflight::present() const {
  std::vector<HostIndex> list;
  for (HostIndex host = 0; host < measured.hosts.size(); ++host) {
    if (is_present(host)) {
      list.push_back(host);
    }
  }
  return list;
}

std::optional<Event> RunningPreflight::next(std::int64_t until_ns) {
  const std::int64_t wait = std::max<std::int64_t>(0, until_ns - clock.monotonic_ns());
  Result<std::optional<Event>> event =
      agents.next(net::Deadline::of(std::chrono::nanoseconds(wait)));
  if (event) {
    return std::move(*event);
  }
  if (event.error().kind == ErrorKind::Interrupted) {
    measured.was_interrupted = true;
  } else {
    broken = std::move(event.error());
  }
  return std::nullopt;
}

void RunningPreflight::lose(HostIndex host, Presence presence, Error error, std::string during) {
  HostResult& result = measured.hosts[host];
  result.presence = presence;
  result.error = std::move(error);
  result.lost_during = presence == Presence::Lost ? std::move(during) : "";
  forget_troubles_of(host);
}

// What failed just before a host was gone failed because of that.
void RunningPreflight::forget_troubles_of(HostIndex host) {
  for (std::size_t i = measured.troubles.size(); i-- > 0;) {
    const Trouble& each = measured.troubles[i];
    if (trouble_steps_[i] + 1 < steps_) {
      return;
    }
    if (each.a == host || each.b == host) {
      measured.troubles.erase(measured.troubles.begin() + static_cast<std::ptrdiff_t>(i));
      trouble_steps_.erase(trouble_steps_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
}

void RunningPreflight::trouble(HostIndex a, HostIndex b, const std::string& test, Error error) {
  if (is_present(a) && is_present(b)) {
    measured.troubles.push_back({.a = a, .b = b, .test = test, .error = std::move(error)});
    trouble_steps_.push_back(steps_);
  }
}

PairResult* RunningPreflight::pair(HostIndex a, HostIndex b) {
  const auto wanted_pair = std::minmax(a, b);
  const auto key = [](const PairResult& each) { return std::pair(each.a, each.b); };
  const auto at = std::ranges::lower_bound(measured.pairs, Pair(wanted_pair), std::less<>(), key);
  return at != measured.pairs.end() && key(*at) == Pair(wanted_pair) ? &*at : nullptr;
}

PathResult* RunningPreflight::path(HostIndex from, HostIndex to) {
  PairResult* both = pair(from, to);
  if (both == nullptr) {
    return nullptr;
  }
  return from < to ? &both->there : &both->back;
}

bool RunningPreflight::has_time_for(milliseconds step) const {
  return deadline_ns_ == std::numeric_limits<std::int64_t>::max() ||
         clock.monotonic_ns() + step.count() * kNsPerMs <= deadline_ns_;
}

void RunningPreflight::begin(std::string doing, milliseconds estimate) {
  ++steps_;
  doing_ = std::move(doing);
  step_ = estimate;
  report_progress(0);
}

void RunningPreflight::report_progress(double share_of_step) const {
  if (!on_progress_) {
    return;
  }
  const auto within = static_cast<std::int64_t>(static_cast<double>(step_.count()) * share_of_step);
  const milliseconds done = done_ + milliseconds(within);
  const double share = static_cast<double>(done.count()) / static_cast<double>(total_.count());
  on_progress_({.share = std::min(1.0, share), .doing = doing_, .left = left(done)});
}

void RunningPreflight::end() {
  done_ += step_;
  step_ = milliseconds(0);
}

// What is left by the estimate, longer where what is done took longer.
milliseconds RunningPreflight::left(milliseconds done) const {
  const double elapsed = static_cast<double>(clock.monotonic_ns() - started_ns_) / kNsPerMs;
  const double slower =
      done.count() > 0 ? std::max(1.0, elapsed / static_cast<double>(done.count())) : 1.0;
  const auto rest = static_cast<double>(std::max<std::int64_t>(0, (total_ - done).count()));
  return milliseconds(static_cast<std::int64_t>(rest * slower));
}

std::string words_of(const RunningPreflight& progress, const Job& job) {
  std::string test(name_of(job.task.kind));
  if (!job.peer) {
    return test;
  }
  const bool both = job.task.sends == job.task.receives;
  return fmt::format("{} {} {} {} {}", test, both ? "between" : "from",
                     progress.name_of(job.task.sends ? job.host : *job.peer), both ? "and" : "to",
                     progress.name_of(job.task.sends ? *job.peer : job.host));
}

Step::Step(RunningPreflight& progress, std::vector<Job> jobs)
    : progress_(progress), jobs_(std::move(jobs)), queues_(progress.measured.hosts.size()) {
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    queues_[jobs_[i].host].jobs.push_back(i);
  }
}

void Step::run() {
  look_at_ns_ = std::numeric_limits<std::int64_t>::max();
  for (HostIndex host = 0; host < queues_.size(); ++host) {
    begin_next(host);
  }
  while (running_ > 0) {
    const std::int64_t until = std::min(look_at_ns_, progress_.deadline_ns());
    if (const std::optional<Event> event = progress_.next(until)) {
      handle(*event);
    }
    if (progress_.is_over() || is_late()) {
      give_up_all();
      return;
    }
    end_overdue(progress_.clock.monotonic_ns());
  }
}

bool Step::is_late() const { return progress_.clock.monotonic_ns() >= progress_.deadline_ns(); }

void Step::begin_next(HostIndex host) {
  Queue& queue = queues_[host];
  while (!queue.running && queue.next < queue.jobs.size()) {
    const std::size_t place = queue.jobs[queue.next++];
    const Job& job = jobs_[place];
    const bool are_there =
        progress_.is_present(host) && (!job.peer || progress_.is_present(*job.peer));
    if (!are_there || is_late()) {
      ++ended_;
      continue;
    }
    const std::int64_t bound = (longest(job.task) + kGrace).count() * kNsPerMs;
    const Running begun{.number = progress_.next_number(),
                        .job = place,
                        .until_ns = progress_.clock.monotonic_ns() + bound};
    queue.running = begun;
    look_at_ns_ = std::min(look_at_ns_, begun.until_ns);
    ++running_;
    progress_.agents.ask(host, begun.number, job.task);
  }
}

void Step::handle(const Event& event) {
  std::visit([this](const auto& each) { on(each); }, event);
}

// Too late: who is there was decided, and the rounds are made.
void Step::on(const AgentJoined& /*came*/) {}

void Step::on(const AgentLeft& went) {
  if (progress_.is_present(went.host)) {
    drop(went.host, Presence::Lost, went.error);
  }
}

void Step::on(const Answered& answered) {
  if (answered.host >= queues_.size()) {
    return;
  }
  const std::optional<Running> running = queues_[answered.host].running;
  if (!running || running->number != answered.task) {
    return;
  }
  progress_.silences[answered.host] = 0;
  finished(answered.host);
  keep(jobs_[running->job], answered);
  begin_next(answered.host);
}

void Step::keep(const Job& job, const Answered& answered) {
  std::optional<Error> error;
  if (!answered.document) {
    error = answered.document.error();
  } else if (const Result<> kept = job.keep(*answered.document); !kept) {
    error = kept.error();
  }
  if (error && job.failed) {
    job.failed(*error);
  } else if (error) {
    const HostIndex peer = job.peer.value_or(job.host);
    progress_.trouble(job.host, peer, std::string(name_of(job.task.kind)), std::move(*error));
  }
}

void Step::end_overdue(std::int64_t now) {
  if (now < look_at_ns_) {
    return;
  }
  look_at_ns_ = std::numeric_limits<std::int64_t>::max();
  for (HostIndex host = 0; host < queues_.size(); ++host) {
    if (queues_[host].running && now >= queues_[host].running->until_ns) {
      overdue(host);
    }
    if (queues_[host].running) {
      look_at_ns_ = std::min(look_at_ns_, queues_[host].running->until_ns);
    }
  }
}

void Step::overdue(HostIndex host) {
  if (++progress_.silences[host] >= kMaxSilences) {
    drop(host, Presence::Lost, silent(progress_.name_of(host)));
    return;
  }
  const Running running = *queues_[host].running;
  progress_.agents.give_up(host, running.number);
  finished(host);
  keep(jobs_[running.job], {.host = host,
                            .task = running.number,
                            .document = std::unexpected(silent(progress_.name_of(host)))});
  begin_next(host);
}

void Step::drop(HostIndex host, Presence presence, Error error) {
  progress_.lose(host, presence, std::move(error), running_at(host));
  if (queues_[host].running) {
    progress_.agents.give_up(host, queues_[host].running->number);
    finished(host);
  }
  begin_next(host);
  give_up_with(host);
}

void Step::give_up_with(HostIndex peer) {
  for (HostIndex host = 0; host < queues_.size(); ++host) {
    const std::optional<Running> running = queues_[host].running;
    if (running && jobs_[running->job].peer == peer) {
      progress_.agents.give_up(host, running->number);
      finished(host);
      begin_next(host);
    }
  }
}

void Step::give_up_all() {
  for (HostIndex host = 0; host < queues_.size(); ++host) {
    if (queues_[host].running) {
      progress_.agents.give_up(host, queues_[host].running->number);
      finished(host);
    }
  }
}

void Step::finished(HostIndex host) {
  queues_[host].running.reset();
  --running_;
  ++ended_;
  progress_.report_progress(static_cast<double>(ended_) / static_cast<double>(jobs_.size()));
}

// Its own task, or the one in which it is the peer.
std::string Step::running_at(HostIndex host) const {
  for (HostIndex each = 0; each < queues_.size(); ++each) {
    const std::optional<Running>& running = queues_[each].running;
    if (running && (each == host || jobs_[running->job].peer == host)) {
      return words_of(progress_, jobs_[running->job]);
    }
  }
  return progress_.doing();
}

}  // namespace chokepoint::preflight::coordinator
