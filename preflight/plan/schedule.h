// What a preflight between so many hosts will do, and how long that will take: known before it
// starts. Values; pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "preflight/plan/effort.h"
#include "preflight/plan/sample.h"

namespace chokepoint::preflight::plan {

struct Schedule {
  Effort effort = {};
  std::size_t hosts = 0;
  std::size_t rounds = 0;
  std::size_t all_rounds = 0;  // of a whole tournament
  std::uint64_t seed = 0;

  bool is_sampled() const { return rounds < all_rounds; }
  std::size_t pairs() const;
  std::size_t path_rounds() const;
  Round round(std::size_t number) const;
};

// With a `limit` other than zero: with as many rounds as fit into it, but one.
Schedule schedule(const Effort& effort, std::size_t hosts, std::uint64_t seed, Milliseconds limit);

// What a task takes beside its own time: a process at the agent, a connection, an answer.
inline constexpr Milliseconds kTaskCost{100};

Milliseconds quiet_round_time(const Effort& effort, bool with_path);
Milliseconds bulk_round_time(const Effort& effort);
// Of what comes before the rounds and after them; suspects are not foreseen.
Milliseconds greeting_time(const Effort& effort);
Milliseconds ending_time(const Effort& effort);
Milliseconds estimate(const Schedule& schedule);

// "40 s", "7 min": nobody can tell it to the second.
std::string rough(Milliseconds time);

// "16 hosts, 120 pairs, about 40 s"; of a sample "4096 hosts, 30,720 of 8,386,560 pairs, …".
std::string describe(const Schedule& schedule);

}  // namespace chokepoint::preflight::plan
