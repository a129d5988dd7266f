#include "probe/path/trace.h"

#include <algorithm>

namespace chokepoint::probe::path {
namespace {

Result<> send_due(Prober& prober, TracePlan& plan, const sys::Clock& clock) {
  while (const std::optional<Shot> shot = plan.next(clock.monotonic_ns())) {
    if (const Result<> sent = prober.send(*shot); !sent) {
      return sent;
    }
  }
  return {};
}

Result<> hear(Prober& prober, TracePlan& plan, const sys::Clock& clock, std::int64_t until_ns) {
  const std::int64_t now_ns = clock.monotonic_ns();
  const std::int64_t wait_ns = std::min(plan.wake_at(now_ns), until_ns) - now_ns;
  TRY(const std::vector<Reply> replies,
      prober.collect(std::chrono::nanoseconds(std::max<std::int64_t>(wait_ns, 0))));
  for (const Reply& reply : replies) {
    plan.answered(reply, clock.monotonic_ns());
  }
  for (const std::uint32_t sequence : plan.expired(clock.monotonic_ns())) {
    prober.abandon(sequence);
  }
  return {};
}

}  // namespace

Result<Trace> trace(Prober& prober, const PlanOptions& options, const sys::Clock& clock,
                    std::int64_t until_ns) {
  TracePlan plan(options);
  while (!plan.done() && clock.monotonic_ns() < until_ns) {
    TRY(send_due(prober, plan, clock));
    const Result<> heard = hear(prober, plan, clock, until_ns);
    if (!heard && heard.error().kind == ErrorKind::Interrupted) {
      break;
    }
    if (!heard) {
      return std::unexpected(heard.error());
    }
  }
  return Trace{.hops = plan.hops(),
               .reached = plan.reached(),
               .probed_to = plan.probed_to(),
               .complete = plan.done()};
}

}  // namespace chokepoint::probe::path
