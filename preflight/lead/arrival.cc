#include <fmt/format.h>

#include <algorithm>

#include "base/net/address.h"
#include "preflight/lead/addresses.h"
#include "preflight/lead/phases.h"
#include "preflight/lead/readings.h"
#include "preflight/lead/step.h"

namespace chokepoint::preflight::lead {
namespace {

using std::chrono::milliseconds;

Error not_come(const std::string& name) {
  return {
      .kind = ErrorKind::Timeout,
      .operation = "preflight",
      .subject = name,
      .reason = "its agent has not come in time",
      .next_step = "is 'chokepoint serve' running there, and does a firewall let it be reached?"};
}

class Arrival {
 public:
  explicit Arrival(LeadProgress& course)
      : course_(course),
        heard_(course.measured.hosts.size(), false),
        missing_(course.measured.hosts.size()) {}

  void await(std::int64_t until_ns) {
    while (missing_ > 0 && !course_.is_over() && course_.clock.monotonic_ns() < until_ns) {
      if (const std::optional<Event> event = course_.next(until_ns)) {
        std::visit([this](const auto& each) { on(each); }, *event);
      }
    }
  }

  void judge_missing() {
    for (HostIndex host = 0; host < heard_.size(); ++host) {
      if (!heard_[host]) {
        course_.lose(host, Presence::Unreachable, not_come(course_.name_of(host)), "");
      }
    }
  }

 private:
  void on(const Came& came) {
    if (came.host >= heard_.size() || heard_[came.host]) {
      return;
    }
    heard(came.host);
    HostResult& host = course_.measured.hosts[came.host];
    host.presence = Presence::Present;
    host.address = came.address;
    host.program = came.program;
    host.facts = came.facts;
  }

  // Who has come may be gone again before the last one is there.
  void on(const Went& went) {
    if (went.host >= heard_.size()) {
      return;
    }
    const bool was_there = course_.is_present(went.host);
    if (was_there || !heard_[went.host]) {
      heard(went.host);
      const Presence presence = was_there ? Presence::Lost : went.presence;
      course_.lose(went.host, presence, went.error, course_.doing());
    }
  }

  void on(const Answered& /*answered*/) {}

  void heard(HostIndex host) {
    if (!heard_[host]) {
      heard_[host] = true;
      --missing_;
      course_.tell(1 - static_cast<double>(missing_) / static_cast<double>(heard_.size()));
    }
  }

  LeadProgress& course_;
  std::vector<bool> heard_;
  std::size_t missing_;
};

bool is_address(const std::string& name) { return net::Address::parse(name).has_value(); }

// A plain address tells nothing about names.
std::vector<HostIndex> named_hosts(const LeadProgress& course) {
  std::vector<HostIndex> list;
  for (HostIndex host = 0; host < course.wanted.hosts.size(); ++host) {
    if (!is_address(course.name_of(host))) {
      list.push_back(host);
    }
  }
  return list;
}

// All of them, or as many as fit into a task: itself, and those that follow.
std::vector<HostIndex> asked_by(const std::vector<HostIndex>& named, HostIndex host) {
  if (named.size() <= kMostHostsInTask) {
    return named;
  }
  const auto from = std::ranges::lower_bound(named, host) - named.begin();
  std::vector<HostIndex> list;
  for (std::size_t i = 0; i < kMostHostsInTask; ++i) {
    list.push_back(named[(static_cast<std::size_t>(from) + i) % named.size()]);
  }
  return list;
}

Job doctor_job(LeadProgress& course, HostIndex host) {
  return {.host = host,
          .task = {.kind = TaskKind::Doctor},
          .keep = [&course, host](const control::Json& document) {
            return read_doctor(document, course.measured.hosts[host]);
          }};
}

Job names_job(LeadProgress& course, HostIndex host, std::vector<HostIndex> asked) {
  Task task{.kind = TaskKind::Names};
  for (const HostIndex each : asked) {
    task.hosts.push_back(course.name_of(each));
  }
  return {.host = host,
          .task = std::move(task),
          .keep = [&course, host, asked = std::move(asked)](const control::Json& document) {
            return read_names(document, asked, course.measured.hosts[host]);
          }};
}

}  // namespace

void await_all(LeadProgress& course) {
  course.begin("calling the hosts", plan::greeting_time(course.wanted.effort) / 2);
  Arrival arrival(course);
  const std::int64_t until = course.clock.monotonic_ns() + course.wanted.arrival.count() * kNsPerMs;
  arrival.await(std::min(until, course.deadline_ns()));
  if (!course.is_over()) {
    arrival.judge_missing();
  }
  std::vector<std::string> addresses = test_addresses(course.measured.hosts);
  for (HostIndex host = 0; host < addresses.size(); ++host) {
    course.measured.hosts[host].address = std::move(addresses[host]);
  }
  course.end();
}

void greet(LeadProgress& course) {
  const std::vector<HostIndex> named = named_hosts(course);
  std::vector<Job> jobs;
  for (const HostIndex host : course.present()) {
    jobs.push_back(doctor_job(course, host));
    if (!named.empty()) {
      jobs.push_back(names_job(course, host, asked_by(named, host)));
    }
  }
  run_step(course, "doctor and names on all hosts", plan::greeting_time(course.wanted.effort) / 2,
           std::move(jobs));
}

}  // namespace chokepoint::preflight::lead
