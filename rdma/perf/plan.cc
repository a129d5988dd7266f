#include "rdma/perf/plan.h"

#include <algorithm>

#include "rdma/perf/test.h"

namespace chokepoint::rdma::perf {
namespace {

using verbs::Operation;
using verbs::Transport;

constexpr std::uint64_t kCacheLine = 64;
constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kCheckedBytes = std::uint64_t{64} << 20;  // of each area
constexpr std::size_t kSwapValues = 64;  // of the counter that compare-and-swap cycles through
constexpr std::size_t kLatencyReceives = 64;

std::uint64_t round_up(std::uint64_t value, std::uint64_t to) { return (value + to - 1) / to * to; }

std::uint64_t stride_of(std::uint64_t bytes) {
  return round_up(std::max<std::uint64_t>(bytes, 1), bytes < kPage ? kCacheLine : kPage);
}

std::size_t at_least_one(int value) { return static_cast<std::size_t>(std::max(value, 1)); }

// Small messages cycle through a page, as in perftest; others stay in place.
std::size_t cycled_places(std::uint64_t stride) {
  return stride <= kPage / 2 ? static_cast<std::size_t>(kPage / stride) : 1;
}

void limit_depths(const Plan& plan, Layout& layout) {
  layout.depth = at_least_one(plan.depth);
  layout.receive_ring = takes_receive(plan.operation) ? at_least_one(plan.receive_depth) : 0;
  if (plan.check) {
    const auto each = stride_of(layout.message_bytes) * static_cast<std::uint64_t>(layout.queues);
    const std::size_t most = std::max<std::size_t>(kCheckedBytes / each / 2, 1);
    layout.depth = std::min(layout.depth, most);
    layout.receive_ring = std::min(layout.receive_ring, most);
  }
  if (plan.metric == Metric::Latency) {
    layout.receive_ring = std::min(layout.receive_ring, kLatencyReceives);
  }
}

// At a limited rate a group takes at most a millisecond to send: a group that was begun is finished
// even when the time is over.
std::size_t paced_group(const Plan& plan, const Layout& layout) {
  constexpr double kGroupsPerSecond = 1000;
  const double bits = 8.0 * std::max(layout.message_bytes, 1U) * layout.queues;
  const double each =
      std::min(*plan.rate_bits_per_s / bits / kGroupsPerSecond, static_cast<double>(layout.group));
  return std::max(static_cast<std::size_t>(each) / layout.batch, std::size_t{1}) * layout.batch;
}

void set_posts(const Plan& plan, Layout& layout) {
  const bool single = plan.check || plan.metric == Metric::Latency;
  layout.batch = single ? 1 : std::min(at_least_one(plan.post_list), layout.depth);
  const std::size_t whole = layout.depth / layout.batch * layout.batch;
  layout.group =
      std::min<std::size_t>(round_up(at_least_one(plan.moderation), layout.batch), whole);
  if (plan.rate_bits_per_s) {
    layout.group = paced_group(plan, layout);
  }
}

// What is written with an immediate value may be compared with the pattern late: as late as the
// receives allow.
std::size_t checked_ring(const Plan& plan, const Layout& layout) {
  const bool immediate = plan.operation == Operation::WriteImmediate;
  return layout.depth + (immediate ? layout.receive_ring : 0);
}

std::size_t ring_of(const Plan& plan, const Layout& layout) {
  if (plan.metric == Metric::Latency) {
    return 2;  // so that an answer differs from the one before it
  }
  std::size_t ring = cycled_places(layout.sources.stride);
  if (plan.check) {
    ring = checked_ring(plan, layout);
  }
  if (plan.operation == Operation::CompareAndSwap) {
    ring = std::max(ring, kSwapValues);
  }
  return static_cast<std::size_t>(round_up(std::max(ring, layout.batch), layout.batch));
}

void set_places(const Plan& plan, Layout& layout) {
  const bool single = plan.metric == Metric::Latency;
  const std::size_t cycled = single ? 1 : cycled_places(layout.sources.stride);
  layout.sources.places = plan.check ? layout.ring : cycled;
  layout.targets.places = verbs::is_atomic(plan.operation) ? 1 : layout.sources.places;
  layout.receives.places = 0;
  if (plan.operation == Operation::Send) {
    layout.receives.places = plan.check ? layout.receive_ring : cycled;
  }
}

void set_offsets(Layout& layout) {
  for (Area* area : {&layout.sources, &layout.targets, &layout.receives}) {
    area->offset = layout.bytes;
    const std::uint64_t messages = static_cast<std::uint64_t>(layout.queues) * area->places;
    layout.bytes += round_up(messages * area->stride, kPage);
  }
}

}  // namespace

bool takes_receive(Operation operation) {
  return operation == Operation::Send || operation == Operation::WriteImmediate;
}

Layout layout_of(const Plan& plan) {
  Layout layout{.message_bytes = verbs::is_atomic(plan.operation) ? 8 : plan.message_bytes,
                .queues = plan.metric == Metric::Latency ? 1 : std::max(plan.queue_pairs, 1),
                .header_bytes = plan.transport == Transport::Ud ? verbs::kDatagramHeader : 0};
  limit_depths(plan, layout);
  layout.sources.stride = layout.targets.stride = stride_of(layout.message_bytes);
  layout.receives.stride = stride_of(std::uint64_t{layout.message_bytes} + layout.header_bytes);
  set_posts(plan, layout);
  layout.ring = ring_of(plan, layout);
  set_places(plan, layout);
  set_offsets(layout);
  return layout;
}

std::uint64_t bytes_needed(const Plan& plan) { return layout_of(plan).bytes; }

int send_depth(const Plan& plan) { return static_cast<int>(layout_of(plan).depth); }

int receive_depth(const Plan& plan) {
  return static_cast<int>(std::max<std::size_t>(layout_of(plan).receive_ring, 1));
}

}  // namespace chokepoint::rdma::perf
