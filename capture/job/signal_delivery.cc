#include "capture/job/signal_delivery.h"

#include <signal.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <optional>
#include <utility>

#include "base/sys/root.h"

namespace chokepoint::capture::job {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;

// A key, or the terminal's size. The kernel signals one process group, and the job has another one
// than chokepoint.
bool is_terminals(const sys::Signal& signal) {
  return signal.code == SI_KERNEL &&
         (signal.number == SIGINT || signal.number == SIGQUIT || signal.number == SIGWINCH);
}

// The kernel counts processor time for each process.
bool is_about_this_process(const sys::Signal& signal) {
  return signal.code == SI_KERNEL && signal.number == SIGXCPU;
}

// None where there is no room for it: the job has started, and goes on.
std::unique_ptr<Witness> start_witness(pid_t group, const std::vector<std::string>& command,
                                       const sys::Clock& clock) {
  try {
    Result<std::unique_ptr<Witness>> witness = Witness::start(group, command, clock);
    return witness ? *std::move(witness) : nullptr;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

std::optional<std::string> cgroups_of(pid_t pid) {
  return sys::Root().text("/proc/" + std::to_string(pid) + "/cgroup");
}

}  // namespace

SignalDelivery::SignalDelivery(pid_t job, const std::vector<std::string>& command,
                               const sys::Clock& clock)
    : job_(job),
      clock_(&clock),
      held_(getpid()),
      groups_{Group{.which = WitnessedGroup::Jobs, .witness = start_witness(job, command, clock)},
              Group{.which = WitnessedGroup::Own, .witness = start_witness(0, command, clock)}},
      timer_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {}

std::array<int, 3> SignalDelivery::descriptors() const {
  const auto of = [](const Group& group) {
    return group.witness ? group.witness->descriptor() : -1;
  };
  return {timer_.get(), of(groups_[0]), of(groups_[1])};
}

std::vector<pid_t> SignalDelivery::witnesses() const {
  std::vector<pid_t> pids;
  for (const Group& group : groups_) {
    if (group.witness) {
      pids.push_back(group.witness->pid());
    }
  }
  return pids;
}

void SignalDelivery::pass_on(const sys::Signal& signal) {
  if (is_over_ || is_about_this_process(signal)) {
    return;
  }
  // Without a timer nothing could be held.
  if (is_terminals(signal) || !timer_) {
    kill(-job_, signal.number);
    return;
  }
  held_.hold(signal, clock_->monotonic_ns());
  set_timer();
}

void SignalDelivery::advance() {
  if (is_over_) {
    return;
  }
  for (Group& group : groups_) {
    receive(group);
  }
  const std::int64_t now_ns = clock_->monotonic_ns();
  if (const std::optional<std::uint32_t> query = held_.query(now_ns)) {
    for (const Group& group : groups_) {
      if (group.witness) {
        group.witness->send_query(*query);
      }
    }
  }
  const bool is_own_witnessed = groups_[1].witness != nullptr;
  for (const Delivery& one : held_.settle(now_ns, replied_by_all(), is_own_witnessed)) {
    kill(one.to_whole_group ? -job_ : job_, one.number);
  }
  set_timer();
}

void SignalDelivery::receive(Group& group) {
  while (group.witness && group.witness->descriptor() >= 0) {
    const std::optional<Witness::Report> report = group.witness->receive();
    if (!report) {
      break;
    }
    if (report->replied != 0) {
      group.replied = report->replied;
    } else if (proves(group)) {
      held_.note(group.which, report->signal, report->t_ns);
    }
  }
  if (group.witness && group.witness->descriptor() < 0) {
    group.witness.reset();
  }
}

// Whoever signals a cgroup signals the witness, but not a job that has moved to another one.
bool SignalDelivery::proves(const Group& group) const {
  return group.which != WitnessedGroup::Jobs ||
         cgroups_of(group.witness->pid()) == cgroups_of(job_);
}

std::uint32_t SignalDelivery::replied_by_all() const {
  std::uint32_t replied = HeldSignals::kAllReplied;
  for (const Group& group : groups_) {
    if (group.witness) {
      replied = std::min(replied, group.replied);
    }
  }
  return replied;
}

void SignalDelivery::set_timer() const {
  itimerspec times{};  // all zero: never
  if (const std::optional<std::int64_t> next_ns = held_.next_ns()) {
    const std::int64_t wait_ns = std::max<std::int64_t>(*next_ns - clock_->monotonic_ns(), 1);
    times.it_value = {.tv_sec = wait_ns / kNsPerSecond, .tv_nsec = wait_ns % kNsPerSecond};
  }
  timerfd_settime(timer_.get(), 0, &times, nullptr);
}

void SignalDelivery::note_reaped(pid_t child) {
  for (Group& group : groups_) {
    if (group.witness && group.witness->pid() == child) {
      group.witness->set_reaped();
      group.witness.reset();
    }
  }
}

void SignalDelivery::end() {
  is_over_ = true;
  timer_.reset();
  for (const Group& group : groups_) {
    if (group.witness) {
      group.witness->stop();
    }
  }
  for (Group& group : groups_) {
    group.witness.reset();
  }
}

}  // namespace chokepoint::capture::job
