#include "rdma/perf/rings.h"

#include <utility>
#include <vector>

namespace chokepoint::rdma::perf {
namespace {

using verbs::LocalMemory;
using verbs::Operation;
using verbs::SendRequest;

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

}  // namespace

bool goes_inline(const Plan& plan) {
  const bool sends = plan.operation != Operation::Read && !is_atomic(plan.operation);
  return sends && std::cmp_greater_equal(plan.inline_bytes, plan.message_bytes);
}

Result<> lay_out_sends(const Side& side, const Plan& plan, const Layout& layout) {
  std::vector<SendRequest> ring(layout.ring);
  for (int queue = 0; queue < layout.queues; ++queue) {
    for (std::size_t place = 0; place < ring.size(); ++place) {
      ring[place] = request_at(side, plan, layout, queue, place);
    }
    if (auto done = side.endpoint.lay_out_sends(queue, ring); !done) {
      return done;
    }
  }
  return {};
}

Result<> lay_out_receives(const Side& side, const Layout& layout) {
  std::vector<LocalMemory> ring(layout.receive_ring);
  for (int queue = 0; queue < layout.queues; ++queue) {
    for (std::size_t place = 0; place < ring.size(); ++place) {
      ring[place] = receive_at(side, layout, queue, place);
    }
    if (auto done = side.endpoint.lay_out_receives(queue, ring); !done) {
      return done;
    }
    if (const int code = side.endpoint.post_receives(queue, 0, ring.size()); code != 0) {
      return fail(from_errno(code, "post receives", side.peer));
    }
  }
  return {};
}

}  // namespace chokepoint::rdma::perf
