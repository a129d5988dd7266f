// A task as a child process that runs this program again. Its standard output is the document, the
// last line of its standard error the reason where there is none. Owns the process: what still runs
// when it goes is ended, with all that it started. One thread.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/net/patience.h"
#include "base/sys/clock.h"
#include "base/sys/process.h"
#include "preflight/agent/job.h"
#include "preflight/task/task.h"

namespace chokepoint::preflight {

struct ChildOptions {
  std::string program = {};
  std::string key = {};  // of the other hosts' servers; empty without one
  std::chrono::milliseconds longest{};
};

class Child final : public Job {
 public:
  // The clock outlives it.
  static Result<std::unique_ptr<Job>> start(const Task& task, const ChildOptions& options,
                                            const sys::Clock& clock);
  ~Child() override;

  std::vector<int> watched() const override;
  Result<std::optional<control::Json>> look() override;

 private:
  Child(const Task& task, const ChildOptions& options, const sys::Clock& clock,
        sys::Process process, sys::Descriptor out, sys::Descriptor err);
  void read_streams();
  Result<control::Json> answer(const sys::ExitStatus& status) const;
  std::unexpected<Error> failed(ErrorKind kind, const std::string& reason) const;

  Task task_;
  std::chrono::milliseconds longest_;
  net::Patience::Clock::time_point deadline_;
  const sys::Clock& clock_;
  sys::Process process_;
  sys::Descriptor out_;
  sys::Descriptor err_;
  bool ended_ = false;
  std::string document_;
  std::string words_;  // the end of what it wrote to standard error
};

}  // namespace chokepoint::preflight
