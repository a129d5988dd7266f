#include "preflight/lead/course.h"

#include <algorithm>
#include <limits>

namespace chokepoint::preflight::lead {
namespace {

using std::chrono::milliseconds;

}  // namespace

LeadProgress::LeadProgress(Agents& to, const Wanted& want, const sys::Clock& time, Tell progress)
    : agents(to),
      wanted(want),
      clock(time),
      tell_(std::move(progress)),
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

bool LeadProgress::is_present(HostIndex host) const {
  return host < measured.hosts.size() && measured.hosts[host].presence == Presence::Present;
}

std::vector<HostIndex> LeadProgress::present() const {
  std::vector<HostIndex> list;
  for (HostIndex host = 0; host < measured.hosts.size(); ++host) {
    if (is_present(host)) {
      list.push_back(host);
    }
  }
  return list;
}

std::optional<Event> LeadProgress::next(std::int64_t until_ns) {
  const std::int64_t wait = std::max<std::int64_t>(0, until_ns - clock.monotonic_ns());
  Result<std::optional<Event>> event =
      agents.next(net::Patience::of(std::chrono::nanoseconds(wait)));
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

void LeadProgress::lose(HostIndex host, Presence presence, Error error, std::string during) {
  HostResult& result = measured.hosts[host];
  result.presence = presence;
  result.error = std::move(error);
  result.lost_during = presence == Presence::Lost ? std::move(during) : "";
  forget_troubles_of(host);
}

// What failed just before somebody was gone failed for that.
void LeadProgress::forget_troubles_of(HostIndex host) {
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

void LeadProgress::trouble(HostIndex a, HostIndex b, const std::string& test, Error error) {
  if (is_present(a) && is_present(b)) {
    measured.troubles.push_back({.a = a, .b = b, .test = test, .error = std::move(error)});
    trouble_steps_.push_back(steps_);
  }
}

PairResult* LeadProgress::pair(HostIndex a, HostIndex b) {
  const auto wanted_pair = std::minmax(a, b);
  const auto key = [](const PairResult& each) { return std::pair(each.a, each.b); };
  const auto at =
      std::ranges::lower_bound(measured.pairs, plan::Pair(wanted_pair), std::less<>(), key);
  return at != measured.pairs.end() && key(*at) == plan::Pair(wanted_pair) ? &*at : nullptr;
}

WayResult* LeadProgress::way(HostIndex from, HostIndex to) {
  PairResult* both = pair(from, to);
  if (both == nullptr) {
    return nullptr;
  }
  return from < to ? &both->there : &both->back;
}

bool LeadProgress::has_time_for(milliseconds step) const {
  return deadline_ns_ == std::numeric_limits<std::int64_t>::max() ||
         clock.monotonic_ns() + step.count() * kNsPerMs <= deadline_ns_;
}

void LeadProgress::begin(std::string doing, milliseconds estimate) {
  ++steps_;
  doing_ = std::move(doing);
  step_ = estimate;
  tell(0);
}

void LeadProgress::tell(double share_of_step) const {
  if (!tell_) {
    return;
  }
  const auto within = static_cast<std::int64_t>(static_cast<double>(step_.count()) * share_of_step);
  const milliseconds done = done_ + milliseconds(within);
  const double share = static_cast<double>(done.count()) / static_cast<double>(total_.count());
  tell_({.share = std::min(1.0, share), .doing = doing_, .left = left(done)});
}

void LeadProgress::end() {
  done_ += step_;
  step_ = milliseconds(0);
}

// What is left by the estimate, longer where what is done took longer.
milliseconds LeadProgress::left(milliseconds done) const {
  const double elapsed = static_cast<double>(clock.monotonic_ns() - started_ns_) / kNsPerMs;
  const double slower =
      done.count() > 0 ? std::max(1.0, elapsed / static_cast<double>(done.count())) : 1.0;
  const auto rest = static_cast<double>(std::max<std::int64_t>(0, (total_ - done).count()));
  return milliseconds(static_cast<std::int64_t>(rest * slower));
}

}  // namespace chokepoint::preflight::lead
