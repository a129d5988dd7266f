#include "capture/nccl/rows.h"

#include <algorithm>

namespace chokepoint::capture::nccl {
namespace {

using record::CollectiveKind;
using record::Figure;

// Data sent so soon after data came is forwarded; what is taken so soon was waited for. A
// judgement.
constexpr std::int64_t kMaxForwardDelayNs = 1'000'000;
constexpr std::int64_t kMaxNumberedRanks = std::int64_t{1} << 15U;
constexpr unsigned kCountBits = 32;
constexpr std::uint64_t kCount = (std::uint64_t{1} << kCountBits) - 1;

CollectiveKind kind_of(Function function) {
  switch (function) {
    case Function::AllReduce:
      return CollectiveKind::AllReduce;
    case Function::AllGather:
      return CollectiveKind::AllGather;
    case Function::ReduceScatter:
      return CollectiveKind::ReduceScatter;
    case Function::Broadcast:
      return CollectiveKind::Broadcast;
    case Function::Reduce:
      return CollectiveKind::Reduce;
    case Function::Send:
      return CollectiveKind::Send;
    case Function::Receive:
      return CollectiveKind::Receive;
    case Function::AllToAll:
      return CollectiveKind::AllToAll;
    case Function::Gather:
      return CollectiveKind::Gather;
    case Function::Scatter:
      return CollectiveKind::Scatter;
    case Function::Unknown:
      break;
  }
  return CollectiveKind::Unknown;
}

Figure figure(const std::optional<std::int64_t>& value) {
  return value ? Figure(*value) : Figure();
}

struct Extent {
  std::optional<std::int64_t> ready_ns = {};
  std::optional<std::int64_t> begin_ns = {};
  std::optional<std::int64_t> end_ns = {};
};

// In a ring each rank sends its own data first; so does the sender of a message. Where a rank may
// be forwarding what it received, only data that it sent long after that shows its own delay.
std::optional<std::int64_t> ready_by_data(const Operation& operation) {
  if (!operation.sent_data_ns) {
    return {};
  }
  const bool begins_with_own =
      (operation.algorithm == Algorithm::Ring || operation.algorithm == Algorithm::Unknown) &&
      operation.function != Function::Broadcast && operation.function != Function::Reduce;
  const bool is_first = !operation.received_data_ns ||
                        *operation.sent_data_ns < *operation.received_data_ns ||
                        *operation.sent_data_ns > *operation.received_data_ns + kMaxForwardDelayNs;
  return begins_with_own || is_first ? operation.sent_data_ns : std::nullopt;
}

// A GPU takes what it receives once its rank has arrived: that time is known only if the rank
// arrived after the data.
std::optional<std::int64_t> ready_by_taking(const Operation& operation) {
  const bool has_delayed_taking =
      operation.taken_data_ns && operation.received_data_ns &&
      *operation.taken_data_ns > *operation.received_data_ns + kMaxForwardDelayNs;
  return has_delayed_taking ? operation.taken_data_ns : std::nullopt;
}

// A GPU's time that lies before this host's start, or after the record was read, is wrong.
std::optional<std::int64_t> by_host(const std::optional<std::int64_t>& gpu_ns,
                                    const GpuClock& clock, std::int64_t known_ns) {
  const auto host_ns = gpu_ns ? clock.host_ns(*gpu_ns) : std::nullopt;
  return host_ns && *host_ns > 0 && *host_ns <= known_ns ? host_ns : std::nullopt;
}

Extent extent_of(const Operation& operation, const GpuClock& clock) {
  Extent extent{.ready_ns = by_host(operation.kernel_begin_ns, clock, operation.touched_ns),
                .end_ns = by_host(operation.kernel_end_ns, clock, operation.touched_ns)};
  if (!extent.ready_ns) {
    extent.ready_ns = ready_by_data(operation);
  }
  if (!extent.ready_ns) {
    extent.ready_ns = ready_by_taking(operation);
  }
  extent.begin_ns = extent.ready_ns ? extent.ready_ns : operation.proxy_begin_ns;
  if (!extent.end_ns) {
    extent.end_ns = operation.proxy_end_ns;
  }
  return extent;
}

void add_waits(record::Collective& row, const Operation& operation) {
  if (operation.steps == 0) {
    return;
  }
  row.gpu_wait_ns = operation.gpu_ns;
  row.network_wait_ns = operation.network_ns;
  row.peer_wait_ns = operation.peer_ns;
  row.flush_wait_ns = operation.flush_ns;
}

void add_arrival(record::Collective& row, const Operation& operation, const Extent& extent) {
  row.own_ready_ns = figure(extent.ready_ns);
  row.peer_ready_ns = figure(operation.received_data_ns);
  if (operation.proxies > 0) {
    row.last_data_ns = figure(operation.proxy_end_ns);
    const auto& sent = operation.sent_data_ns;
    const auto& received = operation.received_data_ns;
    row.first_data_ns = figure(sent && received ? std::min(*sent, *received)
                               : sent           ? sent
                                                : received);
  }
  if (extent.ready_ns && operation.received_data_ns) {
    row.waited_ns = std::max<std::int64_t>(*operation.received_data_ns - *extent.ready_ns, 0);
    row.kept_waiting_ns = std::max<std::int64_t>(*extent.ready_ns - *operation.received_data_ns, 0);
  }
}

// Of a message sender, receiver and its number between them, so that both ends have the same; a
// number with all bits set is not known.
std::int64_t number_of(const Operation& operation, const Membership* member) {
  const auto number = static_cast<std::int64_t>(operation.sequence & kCount);
  if (member == nullptr || !is_message(operation) || !operation.peer) {
    return number;
  }
  const bool is_sent = operation.function == Function::Send;
  const std::int64_t from = is_sent ? member->rank : *operation.peer;
  const std::int64_t to = is_sent ? *operation.peer : member->rank;
  return ((from % kMaxNumberedRanks) * kMaxNumberedRanks + to % kMaxNumberedRanks) << kCountBits |
         number;
}

}  // namespace

std::int64_t communicator_number(std::uint64_t hash) {
  constexpr unsigned kBits = 22;
  constexpr std::uint64_t kMask = (std::uint64_t{1} << kBits) - 1;
  const std::uint64_t mixed = hash ^ (hash >> kBits) ^ (hash >> (2 * kBits));
  return static_cast<std::int64_t>((mixed & kMask) | (std::uint64_t{1} << kBits));
}

record::Collective beat_of(record::Collective row) {
  const std::int64_t moment_ns =
      row.last_data_ns.known() ? row.end_ns : row.enqueued_ns.value_or(row.end_ns);
  row.start_ns = row.end_ns = moment_ns;
  return row;
}

record::Collective enqueued_row(const Operation& operation, const Membership& member) {
  record::Collective row{
      .number = static_cast<std::int64_t>(operation.sequence & kCount),
      .kind = kind_of(operation.function),
      .source = record::CollectiveSource::Nccl,
  };
  row.communicator = communicator_number(member.hash);
  row.bytes = operation.bytes;
  row.enqueued_ns = figure(operation.enqueued_ns);
  return row;
}

record::Collective Rows::row_of(const Operation& operation, const Membership* member,
                                const GpuClock& clock, std::optional<std::int64_t> rank) {
  record::Collective row{.kind = kind_of(operation.function),
                         .source = record::CollectiveSource::Nccl};
  if (rank || member != nullptr) {
    row.rank = rank ? *rank : member->rank;
  }
  row.bytes = operation.bytes;
  row.algorithm = static_cast<record::CollectiveAlgorithm>(operation.algorithm);
  row.protocol = static_cast<record::CollectiveProtocol>(operation.protocol);
  row.channels = operation.channels > 0 ? Figure(operation.channels) : Figure();
  row.peer = figure(operation.peer);
  row.enqueued_ns = figure(operation.enqueued_ns);
  const Extent extent = extent_of(operation, clock);
  add_arrival(row, operation, extent);
  add_waits(row, operation);
  row.end_ns = extent.end_ns.value_or(
      extent.begin_ns.value_or(operation.enqueued_ns.value_or(operation.touched_ns)));
  row.start_ns =
      std::min(extent.begin_ns.value_or(operation.enqueued_ns.value_or(row.end_ns)), row.end_ns);
  if (!is_message(operation)) {
    std::int64_t& ended_ns = ended_ns_[operation.communicator];
    if (!extent.ready_ns && ended_ns <= row.end_ns) {
      row.start_ns = std::max(row.start_ns, ended_ns);
    }
    ended_ns = std::max(ended_ns, row.end_ns);
  }
  row.number = number_of(operation, member);
  if (member != nullptr) {
    row.communicator = communicator_number(member->hash);
  }
  return row;
}

}  // namespace chokepoint::capture::nccl
