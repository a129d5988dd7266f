#include "capture/observer/gloo.h"

#include <algorithm>

#include "capture/gloo/arrival.h"

namespace chokepoint::capture::observer {
namespace {

constexpr std::int64_t kSettleIntervalNs = 50'000'000;

// With the flow's a as the source.
packet::Ends ends_of(const packet::Packet& packet, const flow::Seen& seen) {
  packet::Ends ends = packet.ends;
  if (seen.direction == 1) {
    std::swap(ends.source, ends.destination);
    std::swap(ends.source_port, ends.destination_port);
  }
  return ends;
}

}  // namespace

GlooLedger::GlooLedger(std::vector<packet::Address> own_addresses, OnCollective on_collective,
                       Joining joining, OnCollective on_waiting, OnPart on_part)
    : own_addresses_(std::move(own_addresses)),
      on_collective_(std::move(on_collective)),
      on_waiting_(std::move(on_waiting)),
      on_part_(std::move(on_part)),
      joining_(joining),
      collectives_([this](const gloo::Collective& collective) { add(collective); }),
      parts_([this](const gloo::Collective& part) {
        on_part_(part, sending_.at(part.shares.front().connection), settled_ns_);
      }) {}

GlooLedger::Connection GlooLedger::connect(const packet::Ends& ends) {
  const std::lock_guard lock(mutex_);
  if (own_addresses_.empty()) {
    // All connections of a capture are described from the same node, if they have one in common.
    own_addresses_.push_back(ends.source);
  }
  ++connections_;
  const bool is_a_own = is_own(ends.source);
  const bool is_b_own = is_own(ends.destination);
  const bool has_both = joining_ == Joining::ByConnection && is_a_own && is_b_own;
  Connection made;
  if (is_a_own || !is_b_own) {
    made.numbers[0] = connect_end(ends);
  }
  if (has_both || (is_b_own && !is_a_own)) {
    packet::Ends sending = ends;
    std::swap(sending.source, sending.destination);
    std::swap(sending.source_port, sending.destination_port);
    made.numbers[1] = connect_end(sending);
  }
  if (on_part_) {
    connect_parts(ends, made);
  }
  return made;
}

void GlooLedger::connect_parts(const packet::Ends& ends, Connection& made) {
  packet::Ends sending = ends;
  for (std::uint32_t& number : made.parts) {
    number = parts_.connect_alone(sending);
    if (number != gloo::Collectives::kNoConnection) {
      sending_.resize(std::max<std::size_t>(sending_.size(), number + 1));
      sending_[number] = sending;
    }
    std::swap(sending.source, sending.destination);
    std::swap(sending.source_port, sending.destination_port);
  }
}

std::uint32_t GlooLedger::connect_end(const packet::Ends& sending) {
  return joining_ == Joining::ByConnection ? collectives_.connect_alone(sending)
                                           : collectives_.connect(sending);
}

void GlooLedger::disconnect(const Connection& connection) {
  const std::lock_guard lock(mutex_);
  for (const std::uint32_t number : connection.numbers) {
    collectives_.disconnect(number);
  }
  for (const std::uint32_t number : connection.parts) {
    parts_.disconnect(number);
  }
}

void GlooLedger::take(const Connection& connection, std::uint8_t direction,
                      const gloo::Message& message) {
  const std::lock_guard lock(mutex_);
  ++messages_;
  for (std::uint8_t end = 0; end < 2; ++end) {
    collectives_.take(connection.numbers.at(end), direction == end, message);
    parts_.take(connection.parts.at(end), direction == end, message);
  }
  settle(message.last_byte_ns);
}

void GlooLedger::settle(std::int64_t now_ns) {
  if (now_ns - settled_ns_ >= kSettleIntervalNs) {
    settled_ns_ = now_ns;
    collectives_.settle(now_ns);
    parts_.settle(now_ns);
    if (on_waiting_) {
      collectives_.report_waiting(now_ns, on_waiting_);
    }
  }
}

void GlooLedger::note_time(std::int64_t now_ns) {
  const std::lock_guard lock(mutex_);
  settle(now_ns);
}

void GlooLedger::finish() {
  const std::lock_guard lock(mutex_);
  collectives_.settle(0, true);
  parts_.settle(0, true);
}

std::uint64_t GlooLedger::messages() const {
  const std::lock_guard lock(mutex_);
  return messages_;
}

std::uint64_t GlooLedger::connections() const {
  const std::lock_guard lock(mutex_);
  return connections_;
}

std::vector<const CollectiveSum*> GlooLedger::sums() const {
  const std::lock_guard lock(mutex_);
  std::vector<const CollectiveSum*> sums;
  for (const auto& [key, sum] : sums_) {
    sums.push_back(sum.get());
  }
  return sums;
}

void GlooLedger::add(const gloo::Collective& collective) {
  std::unique_ptr<CollectiveSum>& sum = sums_[collective.kind];
  if (!sum) {
    sum = std::make_unique<CollectiveSum>();
    sum->kind = collective.kind;
  }
  ++sum->count;
  sum->sent_bytes += collective.sent_bytes();
  sum->received_bytes += collective.received_bytes();
  const auto duration_ns = std::max<std::int64_t>(collective.end_ns - collective.start_ns, 0);
  sum->duration_ns.add(static_cast<std::uint64_t>(duration_ns));
  if (on_collective_) {
    on_collective_(collective);
  }
}

bool GlooLedger::is_own(const packet::Address& address) const {
  return std::ranges::count(own_addresses_, address) > 0;
}

void GlooWatch::take_gloo(const packet::Packet& packet, const flow::Seen& seen) {
  Entry& entry = entry_of(seen);
  if (!entry.followed) {
    if (!begins_like_gloo(packet, seen)) {
      return;
    }
    entry.followed = std::make_unique<Followed>();
    entry.followed->connection = ledger_.connect(ends_of(packet, seen));
    if (on_connection_) {
      on_connection_(seen.slot, entry.followed->connection);
    }
  }
  follow(*entry.followed, packet, seen);
}

void GlooWatch::finish() {
  for (Entry& entry : entries_.entries()) {
    end(entry);
  }
}

GlooWatch::Entry& GlooWatch::entry_of(const flow::Seen& seen) {
  Entry& entry = entries_[seen.slot];
  if (entry.generation != seen.generation) {
    end(entry);
    entry = {.generation = seen.generation};
  }
  return entry;
}

void GlooWatch::follow(Followed& followed, const packet::Packet& packet, const flow::Seen& seen) {
  if (offset_of(seen) < 0) {
    return;
  }
  followed.followers.at(seen.direction)
      .take({.time_ns = packet.time_ns,
             .offset = static_cast<std::uint64_t>(offset_of(seen)),
             .bytes = packet.payload_bytes - seen.new_from,
             .captured = new_bytes(packet, seen)},
            [&](const gloo::Message& message) {
              ledger_.take(followed.connection, seen.direction, message);
            });
}

void GlooWatch::end(Entry& entry) {
  if (!entry.followed) {
    return;
  }
  for (std::uint8_t direction = 0; direction < 2; ++direction) {
    entry.followed->followers.at(direction).finish([&](const gloo::Message& message) {
      ledger_.take(entry.followed->connection, direction, message);
    });
  }
  ledger_.disconnect(entry.followed->connection);
  entry.followed.reset();
}

CollectiveRecorder::CollectiveRecorder(record::Sink& sink, const ConnectionFlows& flows,
                                       std::int64_t wall_to_monotonic_ns, Joining joining)
    : producer_(sink.producer("collectives")),
      flows_(flows),
      wall_to_monotonic_ns_(wall_to_monotonic_ns),
      joining_(joining) {}

record::Collective CollectiveRecorder::keep(const gloo::Collective& collective) {
  const record::Collective row = row_of(collective);
  producer_.push(row);
  return row;
}

void CollectiveRecorder::keep_waiting(const gloo::Collective& collective) {
  record::Collective row = row_of(collective);
  row.merged = 0;
  producer_.push(row);
}

record::Collective CollectiveRecorder::row_of(const gloo::Collective& collective) const {
  record::Collective row{.start_ns = collective.start_ns + wall_to_monotonic_ns_,
                         .end_ns = collective.end_ns + wall_to_monotonic_ns_,
                         .number = collective.number,
                         .kind = gloo::kind_in_record(collective.kind, collective.is_send)};
  row.communicator = collective.group;
  row.bytes = collective.sent_bytes() + collective.received_bytes();
  const gloo::Arrival arrival = gloo::arrival_at(collective);
  row.own_ready_ns = monotonic(arrival.own_ns);
  row.peer_ready_ns = monotonic(arrival.peer_ns);
  row.first_data_ns = monotonic(arrival.first_data_ns);
  row.last_data_ns = monotonic(arrival.last_data_ns);
  if (arrival.are_both_known()) {
    row.waited_ns = std::max<std::int64_t>(arrival.peer_ns - arrival.own_ns, 0);
    row.kept_waiting_ns = std::max<std::int64_t>(arrival.own_ns - arrival.peer_ns, 0);
  }
  row.flow = flows_.find(arrival.last_peer).flow;
  if (joining_ == Joining::ByConnection) {
    const ConnectionFlows::End end = flows_.find(collective.shares.front().connection);
    row.flow = end.flow;
    row.communicator = end.end;
  }
  return row;
}

record::Figure CollectiveRecorder::monotonic(std::int64_t wall_ns) const {
  return wall_ns == 0 ? record::Figure() : record::Figure(wall_ns + wall_to_monotonic_ns_);
}

}  // namespace chokepoint::capture::observer
