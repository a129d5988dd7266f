// What this host's resolver says of other hosts' names: some at once, each for a bounded time, so
// that a name server that is gone costs seconds, not minutes. One thread; the resolver's own are
// left behind where they hang, and counted, so that however many tasks are asked for and given up
// there are never more than a few of them.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/net/address.h"
#include "base/net/patience.h"
#include "base/sys/late.h"
#include "preflight/agent/job.h"

namespace chokepoint::preflight {

inline constexpr std::string_view kNamesSchema = "chokepoint.names/1";

class Names final : public Job {
 public:
  using Answer = Result<std::vector<net::Address>>;
  using Resolve = std::function<Answer(const std::string& name)>;
  // Of all tasks of an agent, also of those that are over.
  using UnderWay = std::shared_ptr<std::atomic<std::size_t>>;
  static constexpr std::size_t kMostUnderWay = 128;

  Names(std::vector<std::string> names, std::chrono::milliseconds longest, Resolve resolve,
        UnderWay under_way);

  std::vector<int> watched() const override { return {}; }
  Result<std::optional<control::Json>> look() override;

 private:
  struct Question {
    std::size_t index = 0;
    net::Patience::Clock::time_point deadline;
    sys::Late<Answer> late;
  };
  void ask_some();
  sys::Late<Answer> ask(const std::string& name) const;
  // Whether it is over with this one, answered or not.
  bool take(Question& question);

  std::vector<std::string> names_;
  net::Patience::Clock::time_point deadline_;
  Resolve resolve_;
  UnderWay under_way_;
  std::size_t asked_ = 0;
  std::deque<Question> open_;
  std::vector<control::Json> answers_;
};

// By the system's resolver, IPv4 and IPv6.
Names::Resolve system_resolver();

}  // namespace chokepoint::preflight
