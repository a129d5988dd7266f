// Tasks that are on at the same time, until all of them have ended: the barrier between what may
// disturb each other. Each host works off its own tasks in order. A task that fails is noted as a
// trouble, and the next one follows. A task whose host or peer disconnects is dropped. A task that
// exceeds its time limit is given up. A host that does not answer twice in a row counts as lost.
// One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/sys/clock.h"
#include "preflight/agents/agents.h"
#include "preflight/coordinator/coordinator.h"

namespace chokepoint::preflight::coordinator {

inline constexpr std::int64_t kNsPerMs = 1'000'000;

// A running preflight: the agents, which of them are present, what was measured so far, how much
// time is left. Every phase works on it; run_preflight() owns it.
class RunningPreflight {
 public:
  RunningPreflight(Agents& to, const Wanted& want, const sys::Clock& time, OnProgress progress);

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
  PathResult* path(HostIndex from, HostIndex to);

  // Time: a step counts with what it should take.
  std::int64_t deadline_ns() const { return deadline_ns_; }
  bool has_time_for(std::chrono::milliseconds step) const;
  void expect(std::chrono::milliseconds total) { total_ = total; }
  void expect_more(std::chrono::milliseconds more) { total_ += more; }
  void begin(std::string doing, std::chrono::milliseconds estimate);
  void report_progress(double share_of_step) const;
  void end();
  const std::string& doing() const { return doing_; }

  TaskNumber next_number() { return ++number_; }

 private:
  std::chrono::milliseconds left(std::chrono::milliseconds done) const;
  void forget_troubles_of(HostIndex host);

  OnProgress on_progress_;
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

struct Job {
  HostIndex host = 0;                  // who is asked
  std::optional<HostIndex> peer = {};  // with whom
  Task task = {};
  std::function<Result<>(const control::Json&)> keep = {};  // what was measured, into its place
  std::function<void(const Error&)> failed = {};            // instead of a trouble
};

// In words, for the user: "tcp from a to b".
std::string words_of(const RunningPreflight& progress, const Job& job);

class Step {
 public:
  Step(RunningPreflight& progress, std::vector<Job> jobs);

  // Nothing is on any more when it returns.
  void run();

 private:
  struct Running {
    TaskNumber number = 0;
    std::size_t job = 0;
    std::int64_t until_ns = 0;
  };
  // A host's jobs: places in jobs_, from `next` on not yet begun.
  struct Queue {
    std::vector<std::size_t> jobs = {};
    std::size_t next = 0;
    std::optional<Running> running = {};
  };

  bool is_late() const;  // for the whole preflight
  void begin_next(HostIndex host);
  void handle(const Event& event);
  void on(const AgentJoined& came);
  void on(const AgentLeft& went);
  void on(const Answered& answered);
  void keep(const Job& job, const Answered& answered);
  void end_overdue(std::int64_t now);
  void overdue(HostIndex host);
  void drop(HostIndex host, Presence presence, Error error);
  void give_up_with(HostIndex peer);
  void give_up_all();
  void finished(HostIndex host);
  std::string running_at(HostIndex host) const;

  RunningPreflight& progress_;
  std::vector<Job> jobs_;
  std::vector<Queue> queues_;  // by host
  std::size_t running_ = 0;
  std::size_t ended_ = 0;
  std::int64_t look_at_ns_ = 0;  // no bound is over before
};

}  // namespace chokepoint::preflight::coordinator
