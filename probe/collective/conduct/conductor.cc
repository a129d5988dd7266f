#include "probe/collective/conduct/conductor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace chokepoint::probe::collective {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

// An order is over after about this, so that an end is heard of in time.
constexpr double kOrderUs = 1e6;
// The fewest that say anything of how times spread.
constexpr int kFewest = 3;
constexpr double kFirstOrder = 10;
constexpr int kUsualWarmUp = 5;
constexpr double kWarmUpUs = 5e5;
// Ranks hear of an order one after the other: what is as short as that is begun once in vain.
constexpr double kShortUs = 5e4;
// What nobody waits for in vain: a byte a microsecond is slower than any path in use.
constexpr microseconds kPerByte{1};
constexpr double kSlowdown = 20;

double slowest(const std::vector<Answer>& answers, std::size_t iteration) {
  double longest = 0;
  for (const Answer& answer : answers) {
    longest = std::max(longest, answer.times_us.at(iteration));
  }
  return longest;
}

nanoseconds ns_of(double us) {
  return nanoseconds(static_cast<std::int64_t>(std::min(us, 1e12) * 1000));
}

}  // namespace

Result<Conductor::Answers> Conductor::answers(nanoseconds expected) const {
  const auto deadline = Hub::Clock::now() + options_.timeout + expected;
  Answers all;
  std::vector<int> silent;
  for (int rank = 0; rank < hub_.ranks(); ++rank) {
    const Result<std::string> text = hub_.take(answer_key(rank), deadline, options_.wanted);
    Result<Answer> answer = text ? parse_answer(*text, rank) : std::unexpected(text.error());
    if (!answer && answer.error().kind == ErrorKind::Timeout && !hub_.failure()) {
      silent.push_back(rank);
    } else if (!answer) {
      return std::unexpected(answer.error());
    } else {
      all.push_back(std::move(*answer));
    }
  }
  if (!silent.empty()) {
    const auto waited = std::chrono::ceil<seconds>(options_.timeout + expected).count();
    return fail(ErrorKind::Timeout, "", fmt::format("{} of {}", list_of(silent), hub_.ranks()),
                fmt::format("did not answer for {} s", waited),
                "is one of them stopped? --timeout waits longer");
  }
  return all;
}

Result<Conductor::Answers> Conductor::all_do(const Order& order, nanoseconds expected) const {
  const std::string text = to_text(order);
  for (int rank = 0; rank < hub_.ranks(); ++rank) {
    TRY(hub_.set(order_key(rank), text));
  }
  Result<Answers> all = answers(expected);
  const auto times = static_cast<std::size_t>(order.times);
  for (std::size_t rank = 0; all && order.task == Task::Run && rank < all->size(); ++rank) {
    if ((*all)[rank].times_us.size() != times) {
      return fail(ErrorKind::Malformed, "", fmt::format("rank {}", rank),
                  "it told of another number of iterations than was asked for");
    }
  }
  return all;
}

// How long one takes, at first sight.
Result<double> Conductor::first_us(SizeResult& size) const {
  const nanoseconds patience = static_cast<std::int64_t>(size.operation.bytes) * kPerByte;
  const Order order =
      plan_.check ? Order{.task = Task::Check} : Order{.task = Task::Run, .lead = 0, .times = 1};
  TRY(const Answers all, all_do(order, patience));
  double longest = 0;
  for (const Answer& answer : all) {
    longest = std::max(longest, answer.times_us.empty() ? 0 : answer.times_us.front());
    if (plan_.check && !size.wrong) {
      size.wrong.emplace();
    }
    if (answer.wrong) {
      size.wrong->push_back(*answer.wrong);
    }
  }
  return std::max(longest, 1.0);
}

int Conductor::next_batch(const SizeResult& size, double spent_us, double estimate_us) const {
  const int done = static_cast<int>(size.times_us.size());
  // One iteration's time is a poor guess of the next ones'.
  const double most = done == 0 ? kFirstOrder : kMostIterations;
  const double in_an_order = std::clamp(kOrderUs / estimate_us, 1.0, most);
  double left = plan_.iterations.value_or(0) - done;
  if (!plan_.iterations) {
    const double us = static_cast<double>(plan_.time.count()) / 1000 - spent_us;
    left = std::max({std::ceil(us / estimate_us), double(kFewest - done), 0.0});
  }
  return static_cast<int>(std::min(left, in_an_order));
}

Result<> Conductor::iterate(SizeResult& size, double estimate_us) const {
  int lead = plan_.warm_up.value_or(
      std::clamp(static_cast<int>(kWarmUpUs / estimate_us), 1, kUsualWarmUp));
  double spent_us = 0;
  while (const int times = next_batch(size, spent_us, estimate_us)) {
    const Order order{.task = Task::Run, .lead = std::min(lead, kMostIterations), .times = times};
    TRY(const Answers all,
        all_do(order, ns_of(kSlowdown * estimate_us * (order.lead + order.times))));
    for (std::size_t i = 0; i < static_cast<std::size_t>(times); ++i) {
      size.times_us.push_back(slowest(all, i));
      spent_us += size.times_us.back();
    }
    estimate_us = std::max(spent_us / static_cast<double>(size.times_us.size()), 0.1);
    lead = estimate_us < kShortUs ? 1 : 0;
  }
  return {};
}

Result<> Conductor::measure(std::uint64_t bytes, Outcome& outcome) const {
  Operation operation{.collective = plan_.collective,
                      .type = plan_.type,
                      .bytes = bytes,
                      .ranks = hub_.ranks(),
                      .root = plan_.root};
  operation.bytes = rounded(operation);
  if (!outcome.sizes.empty() && outcome.sizes.back().operation == operation) {
    return {};
  }
  const nanoseconds patience = static_cast<std::int64_t>(operation.bytes) * kPerByte;
  const Result<Answers> prepared =
      all_do({.task = Task::Prepare, .operation = operation}, patience);
  if (!prepared) {
    return std::unexpected(prepared.error());
  }
  SizeResult& size = outcome.sizes.emplace_back();
  size.operation = operation;
  const Result<double> estimate_us = first_us(size);
  return estimate_us ? iterate(size, *estimate_us) : std::unexpected(estimate_us.error());
}

Result<> Conductor::ask_ways(Outcome& outcome) const {
  const Result<Answers> told = all_do({.task = Task::Tell}, {});
  if (!told) {
    return std::unexpected(told.error());
  }
  for (const Answer& answer : *told) {
    outcome.ways.push_back(answer.way);
  }
  return {};
}

Result<> Conductor::run(Outcome& outcome) {
  const Result<> led = lead(outcome);
  // A size of which nothing is known is not told of.
  std::erase_if(outcome.sizes,
                [](const SizeResult& size) { return size.times_us.empty() && !size.is_wrong(); });
  return led;
}

Result<> Conductor::lead(Outcome& outcome) const {
  outcome.members = hub_.members();
  // Each says so once it is connected.
  if (const Result<Answers> connected = answers({}); !connected) {
    return std::unexpected(connected.error());
  }
  for (const std::uint64_t bytes : plan_.bytes) {
    const Result<> measured = measure(bytes, outcome);
    const Result<> told = measured && outcome.ways.empty() ? ask_ways(outcome) : measured;
    if (!told) {
      return told;
    }
    if (options_.on_size) {
      options_.on_size(outcome.sizes.back());
    }
  }
  const std::string end = to_text({.task = Task::End});
  for (int rank = 0; rank < hub_.ranks(); ++rank) {
    std::ignore = hub_.set(order_key(rank), end);
  }
  return hub_.await_gone(Hub::Clock::now() + options_.timeout, options_.wanted);
}

}  // namespace chokepoint::probe::collective
