// Tasks that are on at the same time, until all of them have ended: the barrier between what may
// disturb each other. Each host works off its own tasks in order. A task that fails is a trouble
// and the next one follows; one whose host or peer goes is dropped; one that outlives its bound is
// given up; a host that answers nothing twice in a row is gone. One thread.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "preflight/lead/course.h"

namespace chokepoint::preflight::lead {

struct Job {
  HostIndex host = 0;                  // who is asked
  std::optional<HostIndex> peer = {};  // with whom
  Task task = {};
  std::function<Result<>(const control::Json&)> keep = {};  // what was measured, into its place
  std::function<void(const Error&)> failed = {};            // instead of a trouble
};

// In words, for whoever watches: "tcp from a to b".
std::string words_of(const LeadProgress& course, const Job& job);

class Step {
 public:
  Step(LeadProgress& course, std::vector<Job> jobs);

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
  void on(const Came& came);
  void on(const Went& went);
  void on(const Answered& answered);
  void keep(const Job& job, const Answered& answered);
  void end_overdue(std::int64_t now);
  void overdue(HostIndex host);
  void drop(HostIndex host, Presence presence, Error error);
  void give_up_with(HostIndex peer);
  void give_up_all();
  void finished(HostIndex host);
  std::string under_way_at(HostIndex host) const;

  LeadProgress& course_;
  std::vector<Job> jobs_;
  std::vector<Queue> queues_;  // by host
  std::size_t running_ = 0;
  std::size_t ended_ = 0;
  std::int64_t look_at_ns_ = 0;  // no bound is over before
};

}  // namespace chokepoint::preflight::lead
