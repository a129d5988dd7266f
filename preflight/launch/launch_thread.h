// A launch with a thread of its own. The work decides which children to start; LaunchThread starts
// them, reads what they print, and ends them.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/sys/clock.h"
#include "base/sys/descriptor.h"
#include "base/sys/error.h"
#include "base/sys/process.h"
#include "preflight/launch/children.h"
#include "preflight/launch/launch.h"

namespace chokepoint::preflight {

// A way to start agents. Never called by two threads at once.
class Work {
 public:
  virtual ~Work() = default;
  // Starts what may be started by now; called again and again.
  virtual void begin(Children& children) = 0;
  virtual void printed(Children::Who who, std::string_view line) = 0;
  virtual void ended(Children::Who who, const sys::ExitStatus& status) = 0;
  virtual std::optional<Error> trouble(std::size_t host) = 0;
  // Progress in words that was not reported yet.
  virtual std::vector<std::string> news() { return {}; }
};

// A launch with a thread that attends to it: it starts the children, reads what they print, and
// ends all of them in the destructor. The work is called under one lock, because trouble() comes
// from the caller's thread; that thread alone passes progress on.
class LaunchThread final : public Launch {
 public:
  static Result<std::unique_ptr<Launch>> start(std::unique_ptr<Work> work,
                                               const LaunchWanted& wanted, const sys::Clock& clock);
  LaunchThread(std::unique_ptr<Work> work, const LaunchWanted& wanted, const sys::Clock& clock,
               sys::Descriptor stop);
  LaunchThread(const LaunchThread&) = delete;
  LaunchThread& operator=(const LaunchThread&) = delete;
  ~LaunchThread() override;

  std::optional<Error> trouble(std::size_t host) override;

 private:
  void run();

  std::unique_ptr<Work> work_;
  std::function<void(const std::string&)> report_;
  int interrupt_;
  const sys::Clock& clock_;
  sys::Descriptor stop_;
  std::mutex mutex_;
  std::thread thread_;
};

}  // namespace chokepoint::preflight
