#include "capture/book/flow_book.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "capture/packet/text.h"

namespace chokepoint::capture::book {
namespace {

// By how much what one side saw of a connection may lie behind what the other did.
constexpr std::int64_t kSlackNs = 1'000'000'000;

// Whether something that began then can be what was left at that time.
bool is_in_time(record::Figure left_ns, record::Figure start_ns) {
  return !left_ns.known() || !start_ns.known() || start_ns.value() <= left_ns.value() + kSlackNs;
}

record::Flow row_of(const packet::Ends& ends) {
  return {.protocol = "tcp",
          .a_address = packet::text_of(ends.source, ends.is_ipv6),
          .a_port = ends.source_port,
          .b_address = packet::text_of(ends.destination, ends.is_ipv6),
          .b_port = ends.destination_port};
}

auto findings(const record::Flow& row) {
  return std::tie(row.process, row.interface, row.local_end, row.start_ns, row.end_ns,
                  row.handshake_seen);
}

}  // namespace

Sighting FlowBook::seen_by_packets(const packet::Ends& ends, std::uint64_t network,
                                   std::uint64_t key, record::Flow row) {
  const Pair pair = pair_of(ends, network);
  const bool is_new = row.handshake_seen.value_or(0) == 1;
  const std::lock_guard guard(mutex_);
  EntryPointer entry = find(pair, [&](const Entry& known) {
    return known.packets_.key == 0 && is_in_time(known.left_ns(), row.start_ns);
  });
  if (!entry && !is_new) {
    entry =
        find(pair, [](const Entry& known) { return known.packets_.has_left && known.is_held(); });
  }
  if (!entry) {
    entry = add(pair, ends, row);
  }
  entry->packets_ = {.key = key};
  entry->learn_of_packets(std::move(row));
  write(*entry);
  return {.entry = entry, .is_turned = entry->is_turned(ends)};
}

void FlowBook::update_by_packets(Entry& entry, const record::Flow& row) {
  const std::lock_guard guard(mutex_);
  entry.learn_of_packets(row);
  write(entry);
}

void FlowBook::left_by_packets(const EntryPointer& entry) {
  const std::lock_guard guard(mutex_);
  if (!entry->packets_.has_left) {
    entry->packets_.has_left = true;
    forget(entry);
  }
}

Sighting FlowBook::seen_by_sockets(const packet::Ends& ends, std::uint64_t network,
                                   std::uint64_t key, const Owner& owner, std::int64_t start_ns) {
  const Pair pair = pair_of(ends, network);
  const std::lock_guard guard(mutex_);
  EntryPointer entry = find(pair, [&](Entry& known) {
    const Entry::Place& place = known.place_of_socket(known.is_turned(ends));
    return place.key == key || (place.key == 0 && is_in_time(known.left_ns(), start_ns));
  });
  if (!entry) {
    entry = add(pair, ends, row_of(ends));
  }
  const bool is_turned = entry->is_turned(ends);
  Entry::Place& place = entry->place_of_socket(is_turned);
  if (place.key == 0) {
    place.key = key;
    entry->socket_start_ns_ = std::min(start_ns, entry->socket_start_ns_.value_or(start_ns));
  }
  learn(*entry, place, owner);
  write(*entry);
  return {.entry = entry, .is_turned = is_turned};
}

void FlowBook::own(Entry& entry, std::uint64_t key, const Owner& owner) {
  const std::lock_guard guard(mutex_);
  if (Entry::Place* place = entry.place_of_socket(key); place != nullptr) {
    learn(entry, *place, owner);
    write(entry);
  }
}

void FlowBook::left_by_sockets(const EntryPointer& entry, std::uint64_t key, std::int64_t end_ns) {
  const std::lock_guard guard(mutex_);
  Entry::Place* place = entry->place_of_socket(key);
  if (place == nullptr || place->has_left) {
    return;
  }
  place->has_left = true;
  entry->socket_end_ns_ = end_ns;
  write(*entry);
  forget(entry);
}

void FlowBook::learn(Entry& entry, Entry::Place& place, const Owner& owner) {
  const bool was_job = entry.is_job();
  entry.learn_of_sockets(place, owner);
  if (entry.is_job() != was_job) {
    version_.fetch_add(1, std::memory_order_relaxed);
  }
}

std::optional<JobEnd> FlowBook::job_end(const packet::Ends& ends, std::uint64_t network) const {
  const std::lock_guard guard(mutex_);
  const EntryPointer entry =
      find(pair_of(ends, network), [](const Entry& known) { return known.is_job(); });
  return entry ? std::optional(
                     JobEnd{.is_source = entry->is_local(ends), .interface = entry->interface()})
               : std::nullopt;
}

std::size_t FlowBook::size() const {
  const std::lock_guard guard(mutex_);
  return entries_.size();
}

EntryPointer FlowBook::add(const Pair& pair, const packet::Ends& ends, record::Flow row) {
  auto entry = std::make_shared<Entry>(pair, ends, std::move(row));
  if (entries_.size() < kMostEntries) {
    entries_.emplace(pair, entry);
  }
  return entry;
}

template <class Fits>
EntryPointer FlowBook::find(const Pair& pair, const Fits& fits) const {
  const auto [first, last] = entries_.equal_range(pair);
  const auto found =
      std::find_if(first, last, [&](const auto& known) { return fits(*known.second); });
  return found == last ? nullptr : found->second;
}

void FlowBook::write(Entry& entry) {
  record::Flow row = entry.row();
  if (row.id != 0 && findings(row) == findings(entry.written_)) {
    return;
  }
  const std::int64_t id = writer_.add(row);
  if (id != 0) {
    row.id = id;
    entry.flow_.store(id, std::memory_order_relaxed);
    entry.written_ = std::move(row);
  }
}

void FlowBook::forget(const EntryPointer& entry) {
  if (entry->is_held()) {
    return;
  }
  left_.push_back(entry);
  if (left_.size() > kMostLeft) {
    const EntryPointer oldest = std::move(left_.front());
    left_.pop_front();
    if (!oldest->is_held()) {
      erase(oldest);
    }
  }
}

void FlowBook::erase(const EntryPointer& entry) {
  const auto [first, last] = entries_.equal_range(entry->pair_);
  const auto found =
      std::find_if(first, last, [&](const auto& known) { return known.second == entry; });
  if (found != last) {
    entries_.erase(found);
  }
}

}  // namespace chokepoint::capture::book
