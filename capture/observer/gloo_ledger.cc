#include "capture/observer/gloo_ledger.h"

#include <algorithm>
#include <array>

namespace chokepoint::capture::observer {
namespace {

constexpr std::int64_t kSettleNs = 100'000'000;

}  // namespace

std::string_view kind_text(gloo::Kind kind) {
  constexpr std::array<std::string_view, 10> kNames{
      "unknown", "gather",    "all-gather", "reduce",     "all-reduce",
      "scatter", "broadcast", "barrier",    "all-to-all", "point-to-point"};
  return kNames.at(static_cast<std::size_t>(kind));
}

GlooLedger::GlooLedger(std::vector<packet::Address> own_addresses, OnCollective on_collective)
    : own_addresses_(std::move(own_addresses)),
      on_collective_(std::move(on_collective)),
      collectives_([this](const gloo::Collective& collective) { add(collective); }) {}

GlooLedger::Connection GlooLedger::connect(const packet::Ends& ends) {
  const std::lock_guard lock(mutex_);
  if (own_addresses_.empty()) {
    // All connections of a capture are told from the same node, where they have one in common.
    own_addresses_.push_back(ends.source);
  }
  ++connections_;
  if (is_own(ends.source) || !is_own(ends.destination)) {
    return {.number = collectives_.connect(ends), .sending = 0};
  }
  packet::Ends sending = ends;
  std::swap(sending.source, sending.destination);
  std::swap(sending.source_port, sending.destination_port);
  return {.number = collectives_.connect(sending), .sending = 1};
}

void GlooLedger::disconnect(const Connection& connection) {
  const std::lock_guard lock(mutex_);
  if (connection.number != gloo::Collectives::kNoConnection) {
    collectives_.disconnect(connection.number);
  }
}

void GlooLedger::take(const Connection& connection, std::uint8_t direction,
                      const gloo::Message& message) {
  const std::lock_guard lock(mutex_);
  ++messages_;
  if (connection.number != gloo::Collectives::kNoConnection) {
    collectives_.take(connection.number, direction == connection.sending, message);
    settle(message.last_byte_ns);
  }
}

void GlooLedger::settle(std::int64_t now_ns) {
  if (now_ns - settled_ns_ >= kSettleNs) {
    settled_ns_ = now_ns;
    collectives_.settle(now_ns);
  }
}

void GlooLedger::finish() {
  const std::lock_guard lock(mutex_);
  collectives_.settle(0, true);
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

}  // namespace chokepoint::capture::observer
