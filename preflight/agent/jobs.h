// What an agent does for its coordinator: a task is one Job, either a child process (Child) or name
// lookups (Names). The conversation owns it and calls it on its session's thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/control/message.h"
#include "base/net/address.h"
#include "base/net/deadline.h"
#include "base/sys/child_output.h"
#include "base/sys/clock.h"
#include "base/sys/error.h"
#include "base/sys/late.h"
#include "base/sys/process.h"
#include "preflight/task/task.h"

namespace chokepoint::preflight {

class Job {
 public:
  Job() = default;
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  // Ends it, with all that it started.
  virtual ~Job() = default;

  // Readable when there may be news. Without any it is looked at again soon.
  virtual std::vector<int> watched() const = 0;
  // The document, once it is done; an error where it came to nothing.
  virtual Result<std::optional<control::Json>> look() = 0;
};

struct ChildOptions {
  std::string program = {};
  std::string key = {};  // of the other hosts' servers; empty without one
  std::chrono::milliseconds longest{};
};

// A task as a child process that runs this program again: its standard output is the document, or
// the last line of its standard error the reason of the failure. Owns the process; the destructor
// ends it, with all that it started.
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
        sys::ChildOutput child);
  Result<control::Json> answer(const sys::ExitStatus& status) const;
  std::unexpected<Error> failed(ErrorKind kind, const std::string& reason) const;

  Task task_;
  std::chrono::milliseconds longest_;
  net::Deadline::Clock::time_point deadline_;
  const sys::Clock& clock_;
  sys::ChildOutput child_;
  bool ended_ = false;
  std::string document_;
  std::string words_;  // the end of what it wrote to standard error
};

// Looks up other hosts' names by this host's resolver: several at a time, each for a bounded time,
// so that a name server that does not answer costs seconds, not minutes. Threads that hang in the
// resolver are left behind and counted, so that there are never more than kMaxLookups, however
// many tasks are begun and given up.
class Names final : public Job {
 public:
  using Answer = Result<std::vector<net::Address>>;
  using Resolve = std::function<Answer(const std::string& name)>;
  // Of all tasks of an agent, also of those that are over.
  using LookupCount = std::shared_ptr<std::atomic<std::size_t>>;
  static constexpr std::size_t kMaxLookups = 128;

  Names(std::vector<std::string> names, std::chrono::milliseconds longest, Resolve resolve,
        LookupCount lookups);

  std::vector<int> watched() const override { return {}; }
  Result<std::optional<control::Json>> look() override;

 private:
  struct Question {
    std::size_t index = 0;
    net::Deadline::Clock::time_point deadline;
    sys::Late<Answer> late;
  };
  void ask_some();
  sys::Late<Answer> ask(const std::string& name) const;
  // Whether it is over with this one, answered or not.
  bool take(Question& question);

  std::vector<std::string> names_;
  net::Deadline::Clock::time_point deadline_;
  Resolve resolve_;
  LookupCount lookups_;
  std::size_t asked_ = 0;
  std::deque<Question> open_;
  std::vector<NameLookup> answers_;
};

// By the system's resolver, IPv4 and IPv6.
Names::Resolve system_resolver();

}  // namespace chokepoint::preflight
