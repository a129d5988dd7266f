#include "probe/collective/launch/conductor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/math/transfer_fit.h"
#include "base/math/units.h"

namespace chokepoint::probe::collective {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

// The aimed duration of an order, so that an interrupt takes effect soon.
constexpr double kOrderUs = 1e6;
// The fewest iterations that show how times spread.
constexpr int kMinIterations = 3;
constexpr double kMaxFirstOrder = 10;
constexpr int kMaxWarmUp = 5;
constexpr double kWarmUpUs = 5e5;
// Ranks get an order one after the other: for shorter iterations the first of an order includes
// that wait and is not measured.
constexpr double kShortUs = 5e4;
// For timeouts: slower than any path in use.
constexpr microseconds kPerByte{1};
constexpr double kSlowdown = 20;

// Of one iteration, in microseconds.
double slowest_us(const std::vector<Answer>& answers, std::size_t iteration) {
  nanoseconds longest{0};
  for (const Answer& answer : answers) {
    if (iteration < answer.times.size()) {
      longest = std::max(longest, answer.times[iteration]);
    }
  }
  return static_cast<double>(longest.count()) / 1000;
}

nanoseconds ns_of(double us) {
  return nanoseconds(static_cast<std::int64_t>(std::min(us, 1e12) * 1000));
}

class Conductor {
 public:
  Conductor(Hub& hub, const Plan& plan, const ConductorOptions& options)
      : hub_(hub), plan_(plan), options_(options) {}

  Result<> run(Outcome& outcome) const {
    outcome.members = hub_.members();
    // Each rank answers once it is connected.
    TRY(answers({}));
    for (const std::uint64_t bytes : plan_.bytes) {
      TRY(measure(bytes, outcome));
      if (outcome.data_paths.empty()) {
        TRY(ask_data_paths(outcome));
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

 private:
  using Answers = std::vector<Answer>;

  Result<Answers> answers(nanoseconds expected) const {
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

  Result<Answers> all_do(const Order& order, nanoseconds expected) const {
    const std::string text = to_text(order);
    for (int rank = 0; rank < hub_.ranks(); ++rank) {
      TRY(hub_.set(order_key(rank), text));
    }
    Result<Answers> all = answers(expected);
    const auto times = static_cast<std::size_t>(order.times);
    for (std::size_t rank = 0; all && order.task == Task::Run && rank < all->size(); ++rank) {
      if ((*all)[rank].times.size() != times) {
        return fail(ErrorKind::Malformed, "", fmt::format("rank {}", rank),
                    "it reported a different number of iterations than requested");
      }
    }
    return all;
  }

  // How long one iteration takes: a first estimate.
  Result<double> first_us(SizeResult& size) const {
    const nanoseconds extra_time = static_cast<std::int64_t>(size.operation.bytes) * kPerByte;
    const Order order =
        plan_.check ? Order{.task = Task::Check} : Order{.task = Task::Run, .lead = 0, .times = 1};
    TRY(const Answers all, all_do(order, extra_time));
    for (const Answer& answer : all) {
      if (plan_.check && !size.wrong) {
        size.wrong.emplace();
      }
      if (answer.wrong) {
        size.wrong->push_back(*answer.wrong);
      }
    }
    return std::max(slowest_us(all, 0), 1.0);
  }

  int next_batch(const SizeResult& size, double spent_us, double estimate_us) const {
    const int done = static_cast<int>(size.times_us.size());
    // One iteration's time is a poor estimate.
    const double most = done == 0 ? kMaxFirstOrder : kMaxIterations;
    const double in_an_order = std::clamp(kOrderUs / estimate_us, 1.0, most);
    double left = plan_.iterations.value_or(0) - done;
    if (!plan_.iterations) {
      const double us = static_cast<double>(plan_.time.count()) / 1000 - spent_us;
      left = std::max({std::ceil(us / estimate_us), double(kMinIterations - done), 0.0});
    }
    return static_cast<int>(std::min(left, in_an_order));
  }

  Result<> iterate(SizeResult& size, double estimate_us) const {
    int lead = plan_.warm_up.value_or(
        std::clamp(static_cast<int>(kWarmUpUs / estimate_us), 1, kMaxWarmUp));
    double spent_us = 0;
    while (const int times = next_batch(size, spent_us, estimate_us)) {
      const Order order{.task = Task::Run, .lead = std::min(lead, kMaxIterations), .times = times};
      TRY(const Answers all,
          all_do(order, ns_of(kSlowdown * estimate_us * (order.lead + order.times))));
      for (std::size_t i = 0; i < static_cast<std::size_t>(times); ++i) {
        size.times_us.push_back(slowest_us(all, i));
        spent_us += size.times_us.back();
      }
      estimate_us = std::max(spent_us / static_cast<double>(size.times_us.size()), 0.1);
      lead = estimate_us < kShortUs ? 1 : 0;
    }
    return {};
  }

  Result<> measure(std::uint64_t bytes, Outcome& outcome) const {
    Operation operation{.collective = plan_.collective,
                        .type = plan_.type,
                        .bytes = bytes,
                        .ranks = hub_.ranks(),
                        .root = plan_.root};
    operation.bytes = rounded(operation);
    if (!outcome.sizes.empty() && outcome.sizes.back().operation == operation) {
      return {};
    }
    const nanoseconds extra_time = static_cast<std::int64_t>(operation.bytes) * kPerByte;
    TRY(all_do({.task = Task::Prepare, .operation = operation}, extra_time));
    SizeResult& size = outcome.sizes.emplace_back();
    size.operation = operation;
    TRY(const double estimate_us, first_us(size));
    return iterate(size, estimate_us);
  }

  Result<> ask_data_paths(Outcome& outcome) const {
    TRY(Answers all, all_do({.task = Task::Describe}, {}));
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      outcome.data_paths.push_back(std::move(all[rank].data_path));
      if (!all[rank].settings.empty() && rank < outcome.members.size()) {
        outcome.hosts.try_emplace(outcome.members[rank].host, std::move(all[rank].settings));
      }
    }
    return {};
  }

  Hub& hub_;
  const Plan& plan_;
  const ConductorOptions& options_;
};

}  // namespace

documents::CollectiveSize document_of(const SizeResult& size) {
  const Operation& operation = size.operation;
  const math::Distribution times = math::distribution(size.times_us);
  documents::CollectiveSize shown{.bytes = operation.bytes,
                                  .elements = operation.bytes / bytes_of(operation.type),
                                  .time_us = documents::if_measured(times)};
  if (times.mean > 0) {
    shown.algbw_mbps = static_cast<double>(operation.bytes) * math::kBits / times.mean;
    shown.busbw_mbps = *shown.algbw_mbps * bus_factor(operation.collective, operation.ranks);
  }
  if (size.wrong) {
    shown.checked = size.wrong->empty();
  }
  if (size.is_wrong()) {
    shown.wrong = size.wrong;
  }
  return shown;
}

documents::Collective document_of(const Plan& plan, const Outcome& outcome) {
  documents::Collective shown{.collective = std::string(name_of(plan.collective)),
                              .type = plan.type};
  std::vector<math::TimedSize> timed;
  for (const SizeResult& size : outcome.sizes) {
    shown.sizes.push_back(document_of(size));
    if (const auto& times = shown.sizes.back().time_us) {
      timed.push_back(
          {.bytes = static_cast<double>(size.operation.bytes), .time_us = times->median});
    }
  }
  const math::TransferFit fitted = math::fit_transfer(timed);
  shown.alpha_us = fitted.alpha_us;
  shown.beta_mbps = fitted.beta_mbps;
  if (!outcome.data_paths.empty()) {
    shown.data_path = outcome.data_paths.front();
  }
  std::set<std::string> hosts;
  for (std::size_t at = 0; at < outcome.members.size(); ++at) {
    const DataPath data_path = at < outcome.data_paths.size() ? outcome.data_paths[at] : DataPath{};
    const JoiningRank& member = outcome.members[at];
    hosts.insert(member.host);
    shown.members.push_back({.rank = member.rank,
                             .host = member.host,
                             .interface = data_path.interface,
                             .local_address = data_path.local_address});
  }
  shown.hosts = hosts.size();
  return shown;
}

Result<> conduct(Hub& hub, const Plan& plan, const ConductorOptions& options, Outcome& outcome) {
  const Result<> done = Conductor(hub, plan, options).run(outcome);
  // Drops sizes without a result.
  std::erase_if(outcome.sizes,
                [](const SizeResult& size) { return size.times_us.empty() && !size.is_wrong(); });
  return done;
}

}  // namespace chokepoint::probe::collective
