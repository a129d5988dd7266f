// A launch and the thread that attends to it: it starts what is to be started, hears what was said,
// and ends everything when the launch is dropped. The work is done under one lock, so that it may
// be asked from the caller's thread; what it wants told is told there alone.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/sys/clock.h"
#include "base/sys/descriptor.h"
#include "preflight/launch/children.h"
#include "preflight/launch/launch.h"

namespace chokepoint::preflight {

// A way to start agents. Never called by two threads at once.
class Work {
 public:
  virtual ~Work() = default;
  // Starts what may be started by now; called again and again.
  virtual void begin(Children& children) = 0;
  virtual void said(Children::Who who, std::string_view line) = 0;
  virtual void ended(Children::Who who, const sys::ExitStatus& status) = 0;
  virtual std::optional<Error> trouble(std::size_t host) = 0;
  // Progress in words that was not told yet.
  virtual std::vector<std::string> news() { return {}; }
};

class Attended final : public Launch {
 public:
  static Result<std::unique_ptr<Launch>> start(std::unique_ptr<Work> work,
                                               const LaunchWanted& wanted, const sys::Clock& clock);
  Attended(std::unique_ptr<Work> work, const LaunchWanted& wanted, const sys::Clock& clock,
           sys::Descriptor stop);
  Attended(const Attended&) = delete;
  Attended& operator=(const Attended&) = delete;
  ~Attended() override;

  std::optional<Error> trouble(std::size_t host) override;

 private:
  void attend();

  std::unique_ptr<Work> work_;
  std::function<void(const std::string&)> tell_;
  int interrupt_;
  const sys::Clock& clock_;
  sys::Descriptor stop_;
  std::mutex mutex_;
  std::thread thread_;
};

}  // namespace chokepoint::preflight
