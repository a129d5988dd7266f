#include "capture/observer/gloo_watch.h"

#include <algorithm>
#include <span>
#include <utility>

#include "capture/gloo/header.h"

namespace chokepoint::capture::observer {
namespace {

std::span<const std::uint8_t> new_bytes(const packet::Packet& packet, const flow::Seen& seen) {
  const std::uint32_t skipped = std::min(seen.new_from, packet.captured_payload_bytes);
  return {packet.payload + skipped, packet.captured_payload_bytes - skipped};
}

// Of what is new. Negative: it was sent before the capture came in, and is of no use.
std::int64_t offset_of(const flow::Seen& seen) { return seen.offset + seen.new_from; }

// As a sends.
packet::Ends ends_of(const packet::Packet& packet, const flow::Seen& seen) {
  packet::Ends ends = packet.ends;
  if (seen.direction == 1) {
    std::swap(ends.source, ends.destination);
    std::swap(ends.source_port, ends.destination_port);
  }
  return ends;
}

}  // namespace

void GlooWatch::take(const packet::Packet& packet, const flow::Seen& seen) {
  Entry& entry = entry_of(seen);
  if (entry.followed) {
    follow(*entry.followed, packet, seen);
  } else {
    begin(entry, packet, seen);
  }
}

void GlooWatch::finish() {
  for (Entry& entry : entries_) {
    end(entry);
  }
}

GlooWatch::Entry& GlooWatch::entry_of(const flow::Seen& seen) {
  if (seen.slot >= entries_.size()) {
    entries_.resize(std::max<std::size_t>(seen.slot + 1, entries_.size() * 2));
  }
  Entry& entry = entries_[seen.slot];
  if (entry.generation != seen.generation) {
    end(entry);
    entry = {.generation = seen.generation};
  }
  return entry;
}

void GlooWatch::begin(Entry& entry, const packet::Packet& packet, const flow::Seen& seen) {
  if (offset_of(seen) >= 0 &&
      gloo::looks_like_gloo(static_cast<std::uint64_t>(offset_of(seen)), new_bytes(packet, seen))) {
    entry.followed = std::make_unique<Followed>();
    entry.followed->connection = ledger_.connect(ends_of(packet, seen));
    if (on_connection_) {
      on_connection_(seen.slot, entry.followed->connection.number);
    }
    follow(*entry.followed, packet, seen);
  }
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

}  // namespace chokepoint::capture::observer
