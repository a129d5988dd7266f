#include "rdma/perf/test.h"

#include <fmt/format.h>

#include <vector>

#include "rdma/perf/bandwidth.h"
#include "rdma/perf/latency.h"
#include "rdma/perf/rings.h"
#include "rdma/perf/watch.h"

namespace chokepoint::rdma::perf {
namespace {

using verbs::Operation;

constexpr std::string_view kOperation = "RDMA test";

bool answers(const Plan& plan) {
  return plan.metric == Metric::Latency && plan.operation != Operation::Read &&
         !is_atomic(plan.operation);
}

bool sends(const Side& side, const Plan& plan) {
  return side.role == Role::Active || answers(plan);
}

bool receives(const Side& side, const Plan& plan) {
  return takes_receive(plan.operation) &&
         (side.role == Role::Passive || plan.both_ways || plan.metric == Metric::Latency);
}

Result<> check_plan(const Side& side, const Plan& plan, const Layout& layout) {
  if (!verbs::carries(plan.transport, plan.operation)) {
    return fail(ErrorKind::Usage, kOperation, verbs::name_of(plan.transport),
                "this transport cannot do that", "use RC");
  }
  if (plan.iterations.has_value() == plan.time.has_value()) {
    return fail(ErrorKind::Usage, kOperation, "", "iterations or a time, one of them");
  }
  if (plan.metric == Metric::Latency && plan.check) {
    return fail(ErrorKind::Usage, kOperation, "", "latency is measured without check",
                "check with a bandwidth test");
  }
  if (plan.metric == Metric::Latency) {
    if (auto done = check_latency(side, plan); !done) {
      return done;
    }
  }
  if (sends(side, plan) && goes_inline(plan) && side.buffer.host() == nullptr) {
    return fail(ErrorKind::Usage, kOperation, side.buffer.describe(),
                "the processor cannot read it, and copies what goes inline", "leave --inline out");
  }
  const std::uint64_t bytes = side.buffer.view().bytes;
  if (bytes < layout.bytes) {
    return fail(ErrorKind::Exhausted, kOperation, side.buffer.describe(),
                fmt::format("{} bytes are needed, it has {}", layout.bytes, bytes));
  }
  return {};
}

Result<> wipe(memory::Buffer& buffer, std::uint64_t bytes) {
  const std::vector<std::byte> nothing(std::uint64_t{1} << 20);
  for (std::uint64_t offset = 0; offset < bytes; offset += nothing.size()) {
    const auto count = std::min<std::uint64_t>(nothing.size(), bytes - offset);
    if (auto done = buffer.write(offset, std::span(nothing).first(count)); !done) {
      return done;
    }
  }
  return {};
}

// What the other side will read.
Result<> fill_targets(memory::Buffer& buffer, const Layout& layout) {
  Content content(buffer, layout.message_bytes);
  for (int queue = 0; queue < layout.queues; ++queue) {
    for (std::size_t place = 0; place < layout.targets.places; ++place) {
      const MessageNumber number{.queue = queue, .sequence = place};
      if (auto done = content.put(layout.targets.at(queue, place), number); !done) {
        return done;
      }
    }
  }
  return {};
}

// What is written without a word is looked at when all has been written (count_mismatches).
bool verifies(const Side& side, const Plan& plan) {
  const bool brings = plan.operation == Operation::Read || is_atomic(plan.operation);
  return plan.check && (receives(side, plan) || (side.role == Role::Active && brings));
}

Result<Outcome> run_bandwidth(const Side& side, const Plan& plan) {
  const Layout layout = layout_of(plan);
  if (side.role == Role::Passive && !takes_receive(plan.operation)) {
    return watch(side.attention);
  }
  std::optional<Verifier> verifier;
  if (plan.check) {
    verifier.emplace(side.buffer, plan, layout);
  }
  Verifier* held = verifier ? &*verifier : nullptr;
  auto outcome = side.role == Role::Active ? stream(side, plan, layout, held)
                                           : catch_all(side, plan, layout, held);
  if (outcome && verifies(side, plan)) {
    outcome->mismatches = verifier->mismatches();
  }
  return outcome;
}

}  // namespace

Result<> prepare(const Side& side, const Plan& plan) {
  const Layout layout = layout_of(plan);
  if (auto done = check_plan(side, plan, layout); !done) {
    return done;
  }
  if (auto done = wipe(side.buffer, layout.bytes); !done) {
    return done;
  }
  if (plan.check && plan.operation == Operation::Read) {
    if (auto done = fill_targets(side.buffer, layout); !done) {
      return done;
    }
  }
  if (sends(side, plan)) {
    if (auto done = lay_out_sends(side, plan, layout); !done) {
      return done;
    }
  }
  return receives(side, plan) ? lay_out_receives(side, layout) : Result<>{};
}

Result<Outcome> run(const Side& side, const Plan& plan) {
  return plan.metric == Metric::Bandwidth ? run_bandwidth(side, plan) : run_latency(side, plan);
}

Result<std::uint64_t> count_mismatches(const Side& side, const Plan& plan, std::uint64_t messages) {
  const bool written = plan.operation == Operation::Write || is_atomic(plan.operation);
  // None: the test may have ended in its warm-up, of which nobody knows how far it got.
  if (!plan.check || !written || messages == 0) {
    return 0;
  }
  const Layout layout = layout_of(plan);
  Verifier verifier(side.buffer, plan, layout);
  const std::uint64_t each = plan.warm_up + messages / static_cast<std::uint64_t>(layout.queues);
  const auto done = verifier.finish(each);
  return done ? Result<std::uint64_t>(verifier.mismatches()) : fail(done.error());
}

}  // namespace chokepoint::rdma::perf
