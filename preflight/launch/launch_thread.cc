#include "preflight/launch/launch_thread.h"

#include <sys/eventfd.h>

#include <cerrno>
#include <cstdint>
#include <utility>

#include "base/sys/signals.h"

namespace chokepoint::preflight {
namespace {

constexpr int kTickMs = 500;
// An agent whose connection ends exits at once; the end of its ssh takes a few round trips.
constexpr int kGraceMs = 3000;

}  // namespace

Result<std::unique_ptr<Launch>> LaunchThread::start(std::unique_ptr<Work> work,
                                                    const LaunchWanted& wanted,
                                                    const sys::Clock& clock) {
  sys::Descriptor stop(eventfd(0, EFD_CLOEXEC));
  if (!stop) {
    return fail(from_errno(errno, "launch", "an event"));
  }
  return std::make_unique<LaunchThread>(std::move(work), wanted, clock, std::move(stop));
}

LaunchThread::LaunchThread(std::unique_ptr<Work> work, const LaunchWanted& wanted,
                           const sys::Clock& clock, sys::Descriptor stop)
    : work_(std::move(work)),
      report_(wanted.report),
      interrupt_(wanted.interrupt),
      clock_(clock),
      stop_(std::move(stop)) {
  const sys::SignalsHeld held;
  thread_ = std::thread([this] { run(); });
}

LaunchThread::~LaunchThread() {
  eventfd_write(stop_.get(), 1);
  thread_.join();
}

std::optional<Error> LaunchThread::trouble(std::size_t host) {
  std::optional<Error> trouble;
  std::vector<std::string> news;
  {
    const std::lock_guard lock(mutex_);
    trouble = work_->trouble(host);
    news = work_->news();
  }
  for (const std::string& words : news) {
    if (report_) {
      report_(words);
    }
  }
  return trouble;
}

void LaunchThread::run() {
  Children children;
  const Children::Listener listener{[this](Children::Who who, std::string_view line) {
                                      const std::lock_guard lock(mutex_);
                                      work_->printed(who, line);
                                    },
                                    [this](Children::Who who, const sys::ExitStatus& status) {
                                      const std::lock_guard lock(mutex_);
                                      work_->ended(who, status);
                                    }};
  while (!sys::is_readable(stop_.get())) {
    // Whoever is interrupted drops the launch next, and until then nothing more is started.
    if (!sys::is_readable(interrupt_)) {
      const std::lock_guard lock(mutex_);
      work_->begin(children);
    }
    children.poll({stop_.get()}, kTickMs, listener);
  }
  children.end_all(kGraceMs, clock_);
}

}  // namespace chokepoint::preflight
