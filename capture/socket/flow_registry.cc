#include "capture/socket/flow_registry.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "capture/packet/address_text.h"

namespace chokepoint::capture::socket {
namespace {

record::Figure earlier(record::Figure one, record::Figure other) {
  if (!one.known() || !other.known()) {
    return one.known() ? one : other;
  }
  return std::min(one.value(), other.value());
}

// By how much one side may see a connection later than the other: a judgement. Sockets are listed
// four times a second at least.
constexpr std::int64_t kMaxSightingDelayNs = 1'000'000'000;

// Whether a connection that began at `start_ns` can be one that was left at `left_ns`.
bool is_in_time(record::Figure left_ns, record::Figure start_ns) {
  return !left_ns.known() || !start_ns.known() ||
         start_ns.value() <= left_ns.value() + kMaxSightingDelayNs;
}

record::Flow row_between(const packet::Ends& ends) {
  return {.protocol = "tcp",
          .a_address = packet::text_of(ends.source, ends.is_ipv6),
          .a_port = ends.source_port,
          .b_address = packet::text_of(ends.destination, ends.is_ipv6),
          .b_port = ends.destination_port};
}

auto findings(const record::Flow& row) {
  return std::tie(row.process, row.interface, row.local_end, row.start_ns, row.end_ns,
                  row.handshake_seen, row.content, row.job);
}

}  // namespace

Pair pair_of(const packet::Ends& ends, std::uint64_t network) {
  const bool is_source_low =
      std::tie(ends.source, ends.source_port) <= std::tie(ends.destination, ends.destination_port);
  Pair pair{.low = ends.source,
            .high = ends.destination,
            .low_port = ends.source_port,
            .high_port = ends.destination_port,
            .protocol = ends.protocol,
            .network = network};
  if (!is_source_low) {
    std::swap(pair.low, pair.high);
    std::swap(pair.low_port, pair.high_port);
  }
  return pair;
}

Entry::Entry(const Pair& pair, const packet::Ends& ends, record::Flow row)
    : pair_(pair), a_(ends.source), a_port_(ends.source_port), written_(std::move(row)) {}

bool Entry::is_turned(const packet::Ends& ends) const {
  return ends.source != a_ || ends.source_port != a_port_;
}

bool Entry::is_held() const {
  return packets_.is_held() || std::ranges::any_of(sockets_, &Hold::is_held);
}

bool Entry::has_sockets() const {
  return std::ranges::any_of(sockets_, [](const Hold& hold) { return hold.key != 0; });
}

Entry::Hold* Entry::hold_of_socket(std::uint64_t key) {
  const auto hold = std::ranges::find(sockets_, key, &Hold::key);
  return hold == sockets_.end() ? nullptr : &*hold;
}

record::Figure Entry::left_ns() const {
  return is_held() ? record::Figure() : has_sockets() ? socket_end_ns_ : by_packets_.end_ns;
}

void Entry::learn_of_packets(record::Flow row) {
  row.start_ns = earlier(by_packets_.start_ns, row.start_ns);
  row.end_ns = row.end_ns.known() ? row.end_ns : by_packets_.end_ns;
  row.content = row.content.empty() ? by_packets_.content : row.content;
  by_packets_ = std::move(row);
}

void Entry::learn_of_sockets(Hold& hold, const Owner& owner) {
  hold.owner.process = owner.process ? owner.process : hold.owner.process;
  hold.owner.interface = owner.interface.empty() ? hold.owner.interface : owner.interface;
  if (owner.is_job) {
    is_job_.store(true, std::memory_order_relaxed);
  }
}

record::Figure Entry::local_end() const {
  if (!has_sockets()) {
    return by_packets_.local_end;
  }
  const bool are_both = sockets_[0].key != 0 && sockets_[1].key != 0;
  return are_both ? record::Figure() : record::Figure(sockets_[0].key != 0 ? 0 : 1);
}

record::Figure Entry::process() const {
  const auto known = std::ranges::find_if(
      sockets_, [](const Hold& hold) { return hold.owner.process.has_value(); });
  return known == sockets_.end() ? record::Figure() : record::Figure(*known->owner.process);
}

std::string Entry::interface() const {
  const auto known = std::ranges::find_if(
      sockets_, [](const Hold& hold) { return !hold.owner.interface.empty(); });
  return known == sockets_.end() ? by_packets_.interface : known->owner.interface;
}

record::Flow Entry::row() const {
  record::Flow row = written_;
  row.id = flow();
  row.process = process();
  row.interface = interface();
  row.local_end = local_end();
  row.start_ns = earlier(by_packets_.start_ns, socket_start_ns_);
  row.end_ns = by_packets_.end_ns.known() ? by_packets_.end_ns : socket_end_ns_;
  row.handshake_seen = by_packets_.handshake_seen;
  row.content = by_packets_.content;
  row.job = is_job() ? record::Figure(1) : record::Figure();
  return row;
}

Sighting FlowRegistry::seen_by_packets(const packet::Ends& ends, std::uint64_t network,
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

void FlowRegistry::update_by_packets(Entry& entry, const record::Flow& row) {
  const std::lock_guard guard(mutex_);
  entry.learn_of_packets(row);
  write(entry);
}

void FlowRegistry::left_by_packets(const EntryPointer& entry) {
  const std::lock_guard guard(mutex_);
  if (!entry->packets_.has_left) {
    entry->packets_.has_left = true;
    forget(entry);
  }
}

Sighting FlowRegistry::seen_by_sockets(const packet::Ends& ends, std::uint64_t network,
                                       std::uint64_t key, const Owner& owner,
                                       std::int64_t start_ns) {
  const Pair pair = pair_of(ends, network);
  const std::lock_guard guard(mutex_);
  EntryPointer entry = find(pair, [&](Entry& known) {
    const Entry::Hold& hold = known.hold_of_socket(known.is_turned(ends));
    return hold.key == key || (hold.key == 0 && is_in_time(known.left_ns(), start_ns));
  });
  if (!entry) {
    entry = add(pair, ends, row_between(ends));
  }
  const bool is_turned = entry->is_turned(ends);
  Entry::Hold& hold = entry->hold_of_socket(is_turned);
  if (hold.key == 0) {
    hold.key = key;
    entry->socket_start_ns_ = std::min(start_ns, entry->socket_start_ns_.value_or(start_ns));
  }
  learn(*entry, hold, owner);
  write(*entry);
  return {.entry = entry, .is_turned = is_turned};
}

void FlowRegistry::own(Entry& entry, std::uint64_t key, const Owner& owner) {
  const std::lock_guard guard(mutex_);
  if (Entry::Hold* hold = entry.hold_of_socket(key); hold != nullptr) {
    learn(entry, *hold, owner);
    write(entry);
  }
}

void FlowRegistry::left_by_sockets(const EntryPointer& entry, std::uint64_t key,
                                   std::int64_t end_ns) {
  const std::lock_guard guard(mutex_);
  Entry::Hold* hold = entry->hold_of_socket(key);
  if (hold == nullptr || hold->has_left) {
    return;
  }
  hold->has_left = true;
  entry->socket_end_ns_ = end_ns;
  write(*entry);
  forget(entry);
}

void FlowRegistry::learn(Entry& entry, Entry::Hold& hold, const Owner& owner) {
  const bool was_job = entry.is_job();
  entry.learn_of_sockets(hold, owner);
  if (entry.is_job() != was_job) {
    version_.fetch_add(1, std::memory_order_relaxed);
  }
}

std::optional<JobEnd> FlowRegistry::job_end(const packet::Ends& ends, std::uint64_t network) const {
  const std::lock_guard guard(mutex_);
  const EntryPointer entry =
      find(pair_of(ends, network), [](const Entry& known) { return known.is_job(); });
  return entry ? std::optional(
                     JobEnd{.is_source = entry->is_local(ends), .interface = entry->interface()})
               : std::nullopt;
}

std::optional<std::int64_t> FlowRegistry::process_of(std::int64_t flow, std::int64_t end) const {
  const std::lock_guard guard(mutex_);
  const auto known = by_flow_.find(flow);
  const EntryPointer entry = known == by_flow_.end() ? nullptr : known->second.lock();
  return entry ? entry->sockets_.at(end == 1 ? 1 : 0).owner.process : std::nullopt;
}

std::size_t FlowRegistry::size() const {
  const std::lock_guard guard(mutex_);
  return entries_.size();
}

EntryPointer FlowRegistry::add(const Pair& pair, const packet::Ends& ends, record::Flow row) {
  auto entry = std::make_shared<Entry>(pair, ends, std::move(row));
  if (entries_.size() < kMaxEntries) {
    entries_.emplace(pair, entry);
  }
  return entry;
}

template <class Fits>
EntryPointer FlowRegistry::find(const Pair& pair, const Fits& fits) const {
  const auto [first, last] = entries_.equal_range(pair);
  const auto found =
      std::find_if(first, last, [&](const auto& known) { return fits(*known.second); });
  return found == last ? nullptr : found->second;
}

void FlowRegistry::write(Entry& entry) {
  record::Flow row = entry.row();
  if (row.id != 0 && findings(row) == findings(entry.written_)) {
    return;
  }
  const std::int64_t id = writer_.add(row);
  if (id != 0) {
    row.id = id;
    entry.flow_.store(id, std::memory_order_relaxed);
    entry.written_ = std::move(row);
    if (by_flow_.size() < kMaxEntries) {
      by_flow_[id] = entry.weak_from_this();
    }
  }
}

void FlowRegistry::forget(const EntryPointer& entry) {
  if (entry->is_held()) {
    return;
  }
  left_.push_back(entry);
  if (left_.size() > kMaxLeftEntries) {
    const EntryPointer oldest = std::move(left_.front());
    left_.pop_front();
    if (!oldest->is_held()) {
      erase(oldest);
    }
  }
}

void FlowRegistry::erase(const EntryPointer& entry) {
  const auto [first, last] = entries_.equal_range(entry->pair_);
  const auto found =
      std::find_if(first, last, [&](const auto& known) { return known.second == entry; });
  if (found != last) {
    entries_.erase(found);
  }
  by_flow_.erase(entry->flow());
}

}  // namespace chokepoint::capture::socket
