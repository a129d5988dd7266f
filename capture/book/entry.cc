#include "capture/book/entry.h"

#include <algorithm>
#include <utility>

namespace chokepoint::capture::book {
namespace {

record::Figure earlier(record::Figure one, record::Figure other) {
  if (!one.known() || !other.known()) {
    return one.known() ? one : other;
  }
  return std::min(one.value(), other.value());
}

}  // namespace

Entry::Entry(const Pair& pair, const packet::Ends& ends, record::Flow row)
    : pair_(pair), a_(ends.source), a_port_(ends.source_port), written_(std::move(row)) {}

bool Entry::is_turned(const packet::Ends& ends) const {
  return ends.source != a_ || ends.source_port != a_port_;
}

bool Entry::is_held() const {
  return packets_.is_held() || std::ranges::any_of(sockets_, &Place::is_held);
}

bool Entry::has_sockets() const {
  return std::ranges::any_of(sockets_, [](const Place& place) { return place.key != 0; });
}

Entry::Place* Entry::place_of_socket(std::uint64_t key) {
  const auto place = std::ranges::find(sockets_, key, &Place::key);
  return place == sockets_.end() ? nullptr : &*place;
}

record::Figure Entry::left_ns() const {
  return is_held() ? record::Figure() : has_sockets() ? socket_end_ns_ : by_packets_.end_ns;
}

void Entry::learn_of_packets(record::Flow row) {
  row.start_ns = earlier(by_packets_.start_ns, row.start_ns);
  row.end_ns = row.end_ns.known() ? row.end_ns : by_packets_.end_ns;
  by_packets_ = std::move(row);
}

void Entry::learn_of_sockets(Place& place, const Owner& owner) {
  place.owner.process = owner.process ? owner.process : place.owner.process;
  place.owner.interface = owner.interface.empty() ? place.owner.interface : owner.interface;
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
      sockets_, [](const Place& place) { return place.owner.process.has_value(); });
  return known == sockets_.end() ? record::Figure() : record::Figure(*known->owner.process);
}

std::string Entry::interface() const {
  const auto known = std::ranges::find_if(
      sockets_, [](const Place& place) { return !place.owner.interface.empty(); });
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
  return row;
}

}  // namespace chokepoint::capture::book
