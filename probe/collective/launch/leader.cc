#include "probe/collective/launch/leader.h"

#include <poll.h>

#include <thread>

namespace chokepoint::probe::collective {
namespace {

using std::chrono::milliseconds;

// What is heard first may be an effect of what is heard a little later.
constexpr milliseconds kSettle{400};
constexpr milliseconds kLookWhileSettling{50};

bool is_readable(int fd) {
  pollfd watched{fd, POLLIN, 0};
  return fd >= 0 && ::poll(&watched, 1, 0) > 0;
}

}  // namespace

Leader::Leader(LeaderOptions options)
    : options_(std::move(options)), hub_(options_.job, options_.ranks) {}

Result<std::unique_ptr<Leader>> Leader::open(LeaderOptions options, const sys::Clock& clock) {
  std::unique_ptr<Leader> leader(new Leader(std::move(options)));
  TRY(std::unique_ptr<Meeting> meeting,
      Meeting::open(leader->options_.meeting, leader->hub_, clock));
  leader->meeting_ = std::move(meeting);
  return leader;
}

Result<> Leader::still_wanted() {
  if (is_readable(options_.interrupt)) {
    return fail(ErrorKind::Interrupted, "", "", "interrupted");
  }
  return started_ ? started_->look(hub_) : Result<>{};
}

Error Leader::cause_of(const Error& error) {
  for (milliseconds waited{0}; hub_.failure() && waited < kSettle; waited += kLookWhileSettling) {
    std::this_thread::sleep_for(kLookWhileSettling);
    if (started_) {
      std::ignore = started_->look(hub_);
    }
  }
  return hub_.failure().value_or(error);
}

Led Leader::lead(const Plan& plan) {
  const Hub::StillWanted wanted = [this] { return still_wanted(); };
  Led led;
  Result<> done = hub_.await_all(Hub::Clock::now() + options_.timeout, wanted);
  if (done) {
    Conductor conductor(
        hub_, plan, {.timeout = options_.timeout, .wanted = wanted, .on_size = options_.on_size});
    done = conductor.run(led.outcome);
  }
  led.interrupted = !done && done.error().kind == ErrorKind::Interrupted;
  if (!done && !led.interrupted) {
    led.failure = cause_of(done.error());
  }
  if (!done) {
    // Those that wait hear of what only this side knows.
    hub_.fail({.rank = {}, .error = led.failure.value_or(done.error())});
  }
  meeting_.reset();
  started_.reset();
  return led;
}

}  // namespace chokepoint::probe::collective
