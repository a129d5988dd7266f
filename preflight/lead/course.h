// A preflight under way: the agents, who of them is there, what was measured so far, how much time
// is left. Every phase works on it; whoever leads owns it. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/sys/clock.h"
#include "preflight/agents/agents.h"
#include "preflight/lead/wanted.h"

namespace chokepoint::preflight::lead {

inline constexpr std::int64_t kNsPerMs = 1'000'000;

class LeadProgress {
 public:
  LeadProgress(Agents& to, const Wanted& want, const sys::Clock& time, Tell progress);

  Agents& agents;
  const Wanted& wanted;
  const sys::Clock& clock;
  Measured measured = {};
  std::optional<Error> broken = {};
  std::vector<int> silences = {};  // of each host: tasks in a row that it left unanswered

  bool is_over() const { return measured.was_interrupted || broken.has_value(); }
  bool is_present(HostIndex host) const;
  std::vector<HostIndex> present() const;
  const std::string& name_of(HostIndex host) const { return wanted.hosts[host].name; }

  // Waits no longer than until then; what ends the preflight is kept here and comes as nothing.
  std::optional<Event> next(std::int64_t until_ns);

  void lose(HostIndex host, Presence presence, Error error, std::string during);
  // Nothing where one of the two is gone: then that is the reason.
  void trouble(HostIndex a, HostIndex b, const std::string& test, Error error);
  void leave_out(std::string what) { measured.left_out.push_back(std::move(what)); }

  // Nothing where the plan has no such pair. `measured.pairs` is in order.
  PairResult* pair(HostIndex a, HostIndex b);
  WayResult* way(HostIndex from, HostIndex to);

  // Time: a step counts with what it should take.
  std::int64_t deadline_ns() const { return deadline_ns_; }
  bool has_time_for(std::chrono::milliseconds step) const;
  void expect(std::chrono::milliseconds total) { total_ = total; }
  void expect_more(std::chrono::milliseconds more) { total_ += more; }
  void begin(std::string doing, std::chrono::milliseconds estimate);
  void tell(double share_of_step) const;
  void end();
  const std::string& doing() const { return doing_; }

  TaskNumber next_number() { return ++number_; }

 private:
  std::chrono::milliseconds left(std::chrono::milliseconds done) const;
  void forget_troubles_of(HostIndex host);

  Tell tell_;
  std::int64_t started_ns_;
  std::int64_t deadline_ns_;
  std::chrono::milliseconds total_{1};
  std::chrono::milliseconds done_{0};
  std::chrono::milliseconds step_{0};
  std::string doing_;
  std::uint64_t steps_ = 0;
  std::vector<std::uint64_t> trouble_steps_;  // when each of measured.troubles came
  TaskNumber number_ = 0;
};

}  // namespace chokepoint::preflight::lead
