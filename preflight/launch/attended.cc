#include "preflight/launch/attended.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <cstdint>

#include "base/sys/signals.h"

namespace chokepoint::preflight {
namespace {

constexpr int kTickMs = 500;
// An agent that is let go leaves at once; its way back is a few round trips.
constexpr int kGraceMs = 3000;

bool is_readable(int fd) {
  pollfd one{fd, POLLIN, 0};
  return fd >= 0 && poll(&one, 1, 0) > 0;
}

}  // namespace

Result<std::unique_ptr<Launch>> Attended::start(std::unique_ptr<Work> work,
                                                const LaunchWanted& wanted,
                                                const sys::Clock& clock) {
  sys::Descriptor stop(eventfd(0, EFD_CLOEXEC));
  if (!stop) {
    return fail(from_errno(errno, "launch", "an event"));
  }
  return std::make_unique<Attended>(std::move(work), wanted, clock, std::move(stop));
}

Attended::Attended(std::unique_ptr<Work> work, const LaunchWanted& wanted, const sys::Clock& clock,
                   sys::Descriptor stop)
    : work_(std::move(work)),
      tell_(wanted.tell),
      interrupt_(wanted.interrupt),
      clock_(clock),
      stop_(std::move(stop)) {
  const sys::SignalsHeld held;
  thread_ = std::thread([this] { attend(); });
}

Attended::~Attended() {
  eventfd_write(stop_.get(), 1);
  thread_.join();
}

std::optional<Error> Attended::trouble(std::size_t host) {
  std::optional<Error> trouble;
  std::vector<std::string> news;
  {
    const std::lock_guard lock(mutex_);
    trouble = work_->trouble(host);
    news = work_->news();
  }
  for (const std::string& words : news) {
    if (tell_) {
      tell_(words);
    }
  }
  return trouble;
}

void Attended::attend() {
  Children children;
  const Children::Listener listener{[this](Children::Who who, std::string_view line) {
                                      const std::lock_guard lock(mutex_);
                                      work_->said(who, line);
                                    },
                                    [this](Children::Who who, const sys::ExitStatus& status) {
                                      const std::lock_guard lock(mutex_);
                                      work_->ended(who, status);
                                    }};
  while (!is_readable(stop_.get())) {
    // Whoever is interrupted drops the launch next, and until then nothing more is started.
    if (!is_readable(interrupt_)) {
      const std::lock_guard lock(mutex_);
      work_->begin(children);
    }
    children.attend({stop_.get()}, kTickMs, listener);
  }
  children.end_all(kGraceMs, clock_);
}

}  // namespace chokepoint::preflight
