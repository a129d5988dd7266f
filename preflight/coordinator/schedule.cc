#include "preflight/coordinator/schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <random>

namespace chokepoint::preflight::coordinator {
namespace {

Pair in_order(HostIndex one, HostIndex other) {
  const auto [less, more] = std::minmax(one, other);
  return {less, more};
}

constexpr std::int64_t kMiB = 1 << 20;

Effort quick() {
  return {.name = "quick",
          .most_rounds = 15,
          .path_rounds = 3,
          .most_suspects = 6,
          .most_bundles = 1,
          .latency = Milliseconds(250),
          .loss = Milliseconds(600),
          .tcp = Milliseconds(500),
          .again = Milliseconds(700),
          .flows = Milliseconds(3000),
          .rates = Milliseconds(6000),
          .cut = Milliseconds(1000),
          .rdma = Milliseconds(300),
          .collective = Milliseconds(1000),
          .collective_bytes = 4 * kMiB};
}

Effort usual() {
  return {.name = "default",
          .most_rounds = 63,
          .path_rounds = 15,
          .most_suspects = 72,
          .most_bundles = 4,
          .latency = Milliseconds(1000),
          .loss = Milliseconds(2000),
          .tcp = Milliseconds(2000),
          .again = Milliseconds(1000),
          .flows = Milliseconds(5500),
          .rates = Milliseconds(12'000),
          .cut = Milliseconds(3000),
          .rdma = Milliseconds(1000),
          .collective = Milliseconds(2000),
          .collective_bytes = 16 * kMiB};
}

Effort thorough() {
  return {.name = "thorough",
          .most_rounds = 0,
          .path_rounds = 0,
          .most_suspects = 300,
          .most_bundles = 16,
          .latency = Milliseconds(3000),
          .loss = Milliseconds(10'000),
          .tcp = Milliseconds(10'000),
          .again = Milliseconds(3000),
          .flows = Milliseconds(11'000),
          .rates = Milliseconds(24'000),
          .cut = Milliseconds(10'000),
          .rdma = Milliseconds(3000),
          .collective = Milliseconds(5000),
          .collective_bytes = 64 * kMiB};
}

// std::shuffle and the standard's distributions differ between libraries; a seed shall not.
template <class T>
void shuffle(std::vector<T>& list, std::mt19937_64& random) {
  for (std::size_t left = list.size(); left > 1; --left) {
    std::swap(list[left - 1], list[random() % left]);
  }
}

template <class T>
std::vector<T> shuffled(std::size_t count, std::mt19937_64& random) {
  std::vector<T> list(count);
  std::iota(list.begin(), list.end(), T{0});
  shuffle(list, random);
  return list;
}

// Traces there and back, and the search for the largest packet, where every router answers.
constexpr Milliseconds kPathTime{500};
constexpr Milliseconds kGreeting{1000};

std::size_t wanted_rounds(const Effort& effort, std::size_t all) {
  return effort.most_rounds == 0 ? all : std::min(all, effort.most_rounds);
}

}  // namespace

std::size_t Tournament::rounds() const {
  if (hosts_ < 2) {
    return 0;
  }
  return hosts_ % 2 == 0 ? hosts_ - 1 : hosts_;
}

Round Tournament::round(std::size_t number) const {
  const std::size_t circle = rounds();
  Round round;
  if (circle == 0) {
    return round;
  }
  round.reserve(hosts_ / 2);
  const auto add = [&](std::size_t one, std::size_t other) {
    const auto [less, more] = std::minmax(one, other);
    round.emplace_back(static_cast<HostIndex>(less), static_cast<HostIndex>(more));
  };
  const std::size_t turned = number % circle;
  // Without a last one that stands still, the one who would meet it is left out.
  if (hosts_ % 2 == 0) {
    add(turned, hosts_ - 1);
  }
  for (std::size_t step = 1; step <= (circle - 1) / 2; ++step) {
    add((turned + step) % circle, (turned + circle - step) % circle);
  }
  return round;
}

Cut halves(const std::vector<HostIndex>& hosts) {
  const auto middle = hosts.begin() + static_cast<std::ptrdiff_t>(hosts.size() / 2);
  return {.left = {hosts.begin(), middle}, .right = {middle, hosts.end()}};
}

Round across(const Cut& cut, const std::function<bool(const Pair&)>& known) {
  Round round;
  std::vector<bool> taken(cut.right.size(), false);
  std::vector<HostIndex> waiting;
  const auto take = [&](HostIndex host, std::size_t place) {
    taken[place] = true;
    round.push_back(in_order(host, cut.right[place]));
  };
  for (std::size_t i = 0; i < cut.left.size(); ++i) {
    std::optional<std::size_t> found;
    // From its own place on, so that where all are known like stands opposite to like.
    for (std::size_t step = 0; step < cut.right.size() && !found; ++step) {
      const std::size_t place = (i + step) % cut.right.size();
      if (!taken[place] && known(in_order(cut.left[i], cut.right[place]))) {
        found = place;
      }
    }
    if (found) {
      take(cut.left[i], *found);
    } else {
      waiting.push_back(cut.left[i]);
    }
  }
  for (const HostIndex host : waiting) {
    const auto free = std::ranges::find(taken, false);
    if (free == taken.end()) {
      break;
    }
    take(host, static_cast<std::size_t>(free - taken.begin()));
  }
  return round;
}

std::optional<Effort> effort_named(std::string_view name) {
  for (Effort& effort : std::array{quick(), usual(), thorough()}) {
    if (effort.name == name) {
      return std::move(effort);
    }
  }
  return std::nullopt;
}

Sample::Sample(std::size_t hosts, std::size_t rounds, std::uint64_t seed) : tournament_(hosts) {
  std::mt19937_64 random(seed);
  order_ = shuffled<HostIndex>(hosts, random);
  chosen_ = shuffled<std::size_t>(tournament_.rounds(), random);
  chosen_.resize(std::min(rounds, chosen_.size()));
}

Round Sample::round(std::size_t number) const {
  Round round = tournament_.round(chosen_.at(number));
  for (auto& [one, other] : round) {
    one = order_[one];
    other = order_[other];
    if (other < one) {
      std::swap(one, other);
    }
  }
  return round;
}

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
  const auto path_rounds = static_cast<std::int64_t>(schedule.path_rounds());
  const auto rounds = static_cast<std::int64_t>(schedule.rounds);
  return greeting_time(schedule.effort) + path_rounds * quiet_round_time(schedule.effort, true) +
         (rounds - path_rounds) * quiet_round_time(schedule.effort, false) +
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

}  // namespace chokepoint::preflight::coordinator
