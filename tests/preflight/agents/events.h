// A pool and a crowd that tests can count on, and what happens next.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <variant>

#include "preflight/agents/agent_pool.h"
#include "tests/preflight/crowd/crowd.h"

namespace chokepoint::preflight {

inline std::unique_ptr<crowd::Crowd> start(crowd::CrowdOptions options) {
  Result<std::unique_ptr<crowd::Crowd>> crowd = crowd::Crowd::start(std::move(options));
  EXPECT_TRUE(crowd);
  return std::move(*crowd);
}

inline std::unique_ptr<AgentPool> crew_of(AgentPoolOptions options) {
  Result<std::unique_ptr<AgentPool>> pool = AgentPool::make(std::move(options));
  EXPECT_TRUE(pool);
  return std::move(*pool);
}

// The first event of its kind; fails the test where another comes.
template <class Kind>
std::optional<Kind> next(AgentPool& pool, std::chrono::seconds most = std::chrono::seconds(20)) {
  Result<std::optional<Event>> event = pool.next(net::Deadline::of(most));
  const bool is_it = event && *event && std::holds_alternative<Kind>(**event);
  EXPECT_TRUE(is_it);
  return is_it ? std::optional(std::get<Kind>(std::move(**event))) : std::nullopt;
}

}  // namespace chokepoint::preflight
