// A crew and a crowd that tests can count on, and what happens next.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <variant>

#include "preflight/agents/crew.h"
#include "tests/preflight/crowd/crowd.h"

namespace chokepoint::preflight {

inline std::unique_ptr<crowd::Crowd> start(crowd::CrowdOptions options) {
  Result<std::unique_ptr<crowd::Crowd>> crowd = crowd::Crowd::start(std::move(options));
  EXPECT_TRUE(crowd);
  return std::move(*crowd);
}

inline std::unique_ptr<Crew> crew_of(CrewOptions options) {
  Result<std::unique_ptr<Crew>> crew = Crew::make(std::move(options));
  EXPECT_TRUE(crew);
  return std::move(*crew);
}

// The first event of its kind; fails the test where another comes.
template <class Kind>
std::optional<Kind> next(Crew& crew, std::chrono::seconds most = std::chrono::seconds(20)) {
  Result<std::optional<Event>> event = crew.next(net::Patience::of(most));
  const bool is_it = event && *event && std::holds_alternative<Kind>(**event);
  EXPECT_TRUE(is_it);
  return is_it ? std::optional(std::get<Kind>(std::move(**event))) : std::nullopt;
}

}  // namespace chokepoint::preflight
