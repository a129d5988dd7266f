#include "capture/roce/queue_pair.h"

#include <algorithm>

namespace chokepoint::capture::roce {

namespace {

constexpr std::uint32_t kSmallestMtu = 256;
constexpr std::uint32_t kLargestMtu = 4096;

std::uint32_t packets_of(std::uint32_t bytes, std::uint32_t mtu) {
  return bytes <= mtu ? 1 : static_cast<std::uint32_t>((std::uint64_t{bytes} + mtu - 1) / mtu);
}

std::uint32_t data_bytes(const packet::Packet& packet, const Operation& operation) {
  const std::uint32_t pad = packet.captured_payload_bytes > 1 ? packet.payload[1] >> 4 & 3 : 0;
  const std::uint32_t others =
      std::uint32_t{kBaseHeaderBytes} + operation.extra_bytes + kTrailerBytes + pad;
  return packet.payload_bytes > others ? packet.payload_bytes - others : 0;
}

bool is_again(Sequence::Step step) { return step == Sequence::Step::Again; }

}  // namespace

void QueuePair::begin(const packet::Packet& packet) {
  *this = {};
  facts_.ends = packet.ends;
  facts_.ends.source_port = 0;
  facts_.queue_pair = packet.roce.queue_pair;
  facts_.first_ns = packet.time_ns;
}

QueuePairFacts QueuePair::facts() const {
  QueuePairFacts facts = facts_;
  facts.missing_packets = requests_.missing() + responses_.missing();
  facts.mtu = mtu_;
  return facts;
}

// Where senders number their IP packets, the same number means the same packet.
bool QueuePair::is_copy(const packet::Packet& packet) {
  const bool is_same = facts_.packets > 1 && packet.has_ip_id && packet.ip_id != 0 &&
                       packet.ip_id == last_id_ && packet.roce.sequence == last_psn_ &&
                       packet.roce.opcode == last_opcode_;
  last_id_ = packet.ip_id;
  last_psn_ = packet.roce.sequence;
  last_opcode_ = packet.roce.opcode;
  return is_same;
}

Signs QueuePair::take(const packet::Packet& packet) {
  facts_.last_ns = std::max(facts_.last_ns, packet.time_ns);
  ++facts_.packets;
  facts_.bytes += packet.frame_bytes;
  if (is_copy(packet)) {
    ++facts_.duplicates;
    return {};
  }
  facts_.congestion_marks += packet.congestion_bits == 3 ? 1 : 0;
  const Transport transport = transport_of(packet.roce.opcode);
  const Operation operation = operation_of(packet.roce.opcode);
  if (transport == Transport::CongestionNotification) {
    ++facts_.congestion_notifications;
  } else if (operation.action == Action::None) {
    ++facts_.unknown_packets;
  } else if (is_response(operation.action)) {
    return take_response(packet, operation);
  } else {
    return take_request(packet, operation);
  }
  return {};
}

void QueuePair::count_message(const packet::Packet& packet, const Operation& operation) {
  const bool has_data = operation.action == Action::Send || operation.action == Action::Write ||
                        operation.action == Action::ReadResponse;
  facts_.payload_bytes += has_data ? data_bytes(packet, operation) : 0;
  facts_.messages += ends_message(operation) ? 1 : 0;
  facts_.read_requests += operation.action == Action::ReadRequest ? 1 : 0;
  facts_.atomics += operation.action == Action::Atomic ? 1 : 0;
}

Signs QueuePair::count(const packet::Packet& packet, const Operation& operation,
                       Sequence::Step step) {
  facts_.filled_packets += step == Sequence::Step::Filled ? 1 : 0;
  facts_.restarts += step == Sequence::Step::Restart ? 1 : 0;
  if (is_again(step)) {
    ++facts_.retransmitted_packets;
    facts_.retransmitted_bytes += packet.frame_bytes;
    return {.is_again = true};
  }
  count_message(packet, operation);
  return {.is_filling = step == Sequence::Step::Filled};
}

// A read's answer has the PSNs behind that of its request. Where the MTU is not known, the request
// that follows tells how many they were, unless packets were lost in between.
std::uint32_t QueuePair::psns_of(const packet::Packet& packet, const Operation& operation) {
  if (operation.action != Action::ReadRequest || !packet.roce.has_reth ||
      packet.roce.dma_bytes <= kSmallestMtu) {
    return 1;
  }
  return mtu_ == 0 ? 0 : packets_of(packet.roce.dma_bytes, mtu_);
}

void QueuePair::deduce_mtu(std::uint32_t psn) {
  const auto passed = static_cast<std::uint32_t>(std::max(difference(psn, read_psn_), 0));
  for (std::uint32_t mtu = kSmallestMtu; mtu <= kLargestMtu; mtu *= 2) {
    if (packets_of(read_bytes_, mtu) == passed) {
      mtu_ = mtu;
    }
  }
  read_bytes_ = 0;
}

Signs QueuePair::take_request(const packet::Packet& packet, const Operation& operation) {
  if (transport_of(packet.roce.opcode) == Transport::Datagram) {
    count_message(packet, operation);
    return {};
  }
  if (fills_mtu(operation)) {
    mtu_ = std::max(mtu_, data_bytes(packet, operation));
  }
  const std::uint32_t psn = packet.roce.sequence;
  if (read_bytes_ != 0 && difference(psn, read_psn_) > 0) {
    deduce_mtu(psn);
  }
  const std::uint32_t psns = psns_of(packet, operation);
  const Sequence::Step step = requests_.take(psn, std::max(psns, std::uint32_t{1}));
  if (psns == 0 && !is_again(step)) {
    requests_.forget_next();
    read_psn_ = psn;
    read_bytes_ = packet.roce.dma_bytes;
  }
  return count(packet, operation, step);
}

Signs QueuePair::take_acknowledgement(const packet::Packet& packet) {
  constexpr std::uint8_t kSequenceError = 0x60;
  switch (packet.roce.has_aeth ? packet.roce.syndrome >> 5 : 0) {
    case 1:
      ++facts_.receiver_not_ready;
      break;
    case 3:
      ++(packet.roce.syndrome == kSequenceError ? facts_.sequence_naks : facts_.other_naks);
      return {.reports_missing = packet.roce.syndrome == kSequenceError};
    default:
      ++facts_.acknowledgements;
  }
  return {};
}

// Between two answers to reads stand the numbers of requests that are only acknowledged, so a gap
// is one only inside an answer.
Signs QueuePair::take_response(const packet::Packet& packet, const Operation& operation) {
  if (operation.action != Action::ReadResponse) {
    return take_acknowledgement(packet);
  }
  if (fills_mtu(operation)) {
    mtu_ = std::max(mtu_, data_bytes(packet, operation));
  }
  const bool begins = operation.place == Place::First || operation.place == Place::Only;
  if (begins) {
    responses_.forget_next();
  }
  return count(packet, operation, responses_.take(packet.roce.sequence, 1));
}

}  // namespace chokepoint::capture::roce
