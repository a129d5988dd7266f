#include "preflight/plan/schedule.h"

#include <fmt/format.h>

#include <algorithm>

namespace chokepoint::preflight::plan {
namespace {

// Traces there and back, and the search for the largest packet, where nobody is silent.
constexpr Milliseconds kPathTime{500};
constexpr Milliseconds kGreeting{1000};

std::size_t wanted_rounds(const Effort& effort, std::size_t all) {
  return effort.most_rounds == 0 ? all : std::min(all, effort.most_rounds);
}

}  // namespace

std::size_t Schedule::pairs() const {
  // A sample's rounds all have the same number of pairs, as the tournament's have.
  return hosts < 2 ? 0 : rounds * (hosts / 2);
}

std::size_t Schedule::path_rounds() const {
  return effort.path_rounds == 0 ? rounds : std::min(rounds, effort.path_rounds);
}

Round Schedule::round(std::size_t number) const {
  return is_sampled() ? Sample(hosts, rounds, seed).round(number) : Tournament(hosts).round(number);
}

Milliseconds quiet_round_time(const Effort& effort, bool with_path) {
  return effort.latency + effort.loss + 2 * kTaskCost +
         (with_path ? kPathTime + kTaskCost : Milliseconds(0));
}

Milliseconds bulk_round_time(const Effort& effort) { return 2 * (effort.tcp + kTaskCost); }

Milliseconds greeting_time(const Effort& /*effort*/) { return kGreeting; }

Milliseconds ending_time(const Effort& effort) {
  // Ranks of a collective have to find each other, which takes longer than a connection.
  return effort.cut + effort.collective + 10 * kTaskCost;
}

Milliseconds estimate(const Schedule& schedule) {
  if (schedule.rounds == 0) {
    return greeting_time(schedule.effort);
  }
  const auto paths = static_cast<std::int64_t>(schedule.path_rounds());
  const auto rounds = static_cast<std::int64_t>(schedule.rounds);
  return greeting_time(schedule.effort) + paths * quiet_round_time(schedule.effort, true) +
         (rounds - paths) * quiet_round_time(schedule.effort, false) +
         rounds * bulk_round_time(schedule.effort) + ending_time(schedule.effort);
}

Schedule schedule(const Effort& effort, std::size_t hosts, std::uint64_t seed, Milliseconds limit) {
  const std::size_t all = Tournament(hosts).rounds();
  Schedule made{.effort = effort,
                .hosts = hosts,
                .rounds = wanted_rounds(effort, all),
                .all_rounds = all,
                .seed = seed};
  while (limit.count() > 0 && made.rounds > 1 && estimate(made) > limit) {
    --made.rounds;
  }
  return made;
}

std::string rough(Milliseconds time) {
  using std::chrono::seconds;
  constexpr seconds kMinutes{120};
  const auto whole = std::chrono::ceil<seconds>(time);
  return whole < kMinutes
             ? fmt::format("{} s", whole.count())
             : fmt::format("{} min", std::chrono::ceil<std::chrono::minutes>(whole).count());
}

std::string describe(const Schedule& schedule) {
  const std::size_t all = Tournament(schedule.hosts).pairs();
  const std::string pairs = schedule.is_sampled()
                                ? fmt::format("{} of {} pairs", schedule.pairs(), all)
                                : fmt::format("{} {}", all, all == 1 ? "pair" : "pairs");
  return fmt::format("{} hosts, {}, about {}", schedule.hosts, pairs, rough(estimate(schedule)));
}

}  // namespace chokepoint::preflight::plan
