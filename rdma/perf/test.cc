#include "rdma/perf/test.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "base/sys/error.h"
#include "rdma/perf/loops.h"
#include "rdma/perf/plan.h"
#include "rdma/perf/verifier.h"

namespace chokepoint::rdma::perf {
namespace {

using verbs::LocalMemory;
using verbs::Operation;
using verbs::SendRequest;

constexpr std::string_view kOperation = "RDMA test";

// Inline data is copied by the processor when the request is posted.
bool goes_inline(const Plan& plan) {
  const bool sends = plan.operation != Operation::Read && !verbs::is_atomic(plan.operation);
  return sends && std::cmp_greater_equal(plan.inline_bytes, plan.message_bytes);
}

SendRequest request_at(const Side& side, const Plan& plan, const Layout& layout, int queue,
                       std::size_t place) {
  return {.operation = plan.operation,
          .local = {.address = side.buffer.view().address + layout.sources.at(queue, place),
                    .bytes = layout.message_bytes,
                    .key = side.region.local_key()},
          .remote_address = side.remote.address + layout.targets.at(queue, place),
          .remote_key = side.remote.key,
          .immediate = static_cast<std::uint32_t>(place),
          .inlined = goes_inline(plan),
          .compare_or_add = plan.operation == Operation::CompareAndSwap ? place : 1,
          .swap = (place + 1) % layout.ring};
}

LocalMemory receive_at(const Side& side, const Layout& layout, int queue, std::size_t place) {
  if (layout.receives.places == 0) {
    return {};
  }
  return {.address = side.buffer.view().address + layout.receives.at(queue, place),
          .bytes = layout.message_bytes + layout.header_bytes,
          .key = side.region.local_key()};
}

Result<> lay_out_sends(const Side& side, const Plan& plan, const Layout& layout) {
  std::vector<SendRequest> ring(layout.ring);
  for (int queue = 0; queue < layout.queues; ++queue) {
    for (std::size_t place = 0; place < ring.size(); ++place) {
      ring[place] = request_at(side, plan, layout, queue, place);
    }
    TRY(side.endpoint.lay_out_sends(queue, ring));
  }
  return {};
}

Result<> lay_out_receives(const Side& side, const Layout& layout) {
  std::vector<LocalMemory> ring(layout.receive_ring);
  for (int queue = 0; queue < layout.queues; ++queue) {
    for (std::size_t place = 0; place < ring.size(); ++place) {
      ring[place] = receive_at(side, layout, queue, place);
    }
    TRY(side.endpoint.lay_out_receives(queue, ring));
    if (const int code = side.endpoint.post_receives(queue, 0, ring.size()); code != 0) {
      return fail(from_errno(code, "post receives", side.peer));
    }
  }
  return {};
}

bool answers(const Plan& plan) {
  return plan.metric == Metric::Latency && plan.operation != Operation::Read &&
         !verbs::is_atomic(plan.operation);
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
    return fail(ErrorKind::Usage, kOperation, name_of(plan.transport),
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
    TRY(check_latency(side, plan));
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

Result<> wipe(verbs::Buffer& buffer, std::uint64_t bytes) {
  const std::vector<std::byte> nothing(std::uint64_t{1} << 20);
  for (std::uint64_t offset = 0; offset < bytes; offset += nothing.size()) {
    const auto count = std::min<std::uint64_t>(nothing.size(), bytes - offset);
    TRY(buffer.write(offset, std::span(nothing).first(count)));
  }
  return {};
}

// The pattern, for the other side to read.
Result<> fill_targets(verbs::Buffer& buffer, const Layout& layout) {
  Content content(buffer, layout.message_bytes);
  for (int queue = 0; queue < layout.queues; ++queue) {
    for (std::size_t place = 0; place < layout.targets.places; ++place) {
      const MessageNumber number{.queue = queue, .sequence = place};
      TRY(content.put(layout.targets.at(queue, place), number));
    }
  }
  return {};
}

// Plain writes are compared when all have been written (count_mismatches).
bool verifies(const Side& side, const Plan& plan) {
  const bool fetches = plan.operation == Operation::Read || verbs::is_atomic(plan.operation);
  return plan.check && (receives(side, plan) || (side.role == Role::Active && fetches));
}

Result<Outcome> run_bandwidth(const Side& side, const Plan& plan) {
  const Layout layout = layout_of(plan);
  if (side.role == Role::Passive && !takes_receive(plan.operation)) {
    return wait_for_end(side.monitor);
  }
  std::optional<Verifier> verifier;
  if (plan.check) {
    verifier.emplace(side.buffer, plan, layout);
  }
  Verifier* checker = verifier ? &*verifier : nullptr;
  auto outcome = side.role == Role::Active ? stream(side, plan, layout, checker)
                                           : receive_all(side, plan, layout, checker);
  if (outcome && verifies(side, plan)) {
    outcome->mismatches = verifier->mismatches();
  }
  return outcome;
}

}  // namespace

Result<> prepare(const Side& side, const Plan& plan) {
  const Layout layout = layout_of(plan);
  TRY(check_plan(side, plan, layout));
  TRY(wipe(side.buffer, layout.bytes));
  if (plan.check && plan.operation == Operation::Read) {
    TRY(fill_targets(side.buffer, layout));
  }
  if (sends(side, plan)) {
    TRY(lay_out_sends(side, plan, layout));
  }
  return receives(side, plan) ? lay_out_receives(side, layout) : Result<>{};
}

Result<Outcome> wait_for_end(TestMonitor& monitor) {
  for (;;) {
    TRY(const auto go_on, monitor.go_on());
    if (!go_on) {
      return Outcome{};
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(4));
  }
}

Result<Outcome> run(const Side& side, const Plan& plan) {
  return plan.metric == Metric::Bandwidth ? run_bandwidth(side, plan) : run_latency(side, plan);
}

Result<std::uint64_t> count_mismatches(const Side& side, const Plan& plan, std::uint64_t messages) {
  const bool written = plan.operation == Operation::Write || verbs::is_atomic(plan.operation);
  // messages == 0: the test may have ended in its warm-up, whose messages are not counted.
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
