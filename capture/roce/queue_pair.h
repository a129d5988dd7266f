// What one host sends to one queue pair of another, packet by packet. Its own requests and its
// answers to the other side's requests are numbered apart: answers carry the numbers of what they
// answer.
//
//   A ── write 7, read 8 (3 packets), send 11 ──▶ B      requests: 7, 8 … 10, 11
//   A ◀── ack 7, read response 8, 9, 10, ack 11 ── B     answers, in A's numbers
//
// One thread; fixed memory.
#pragma once

#include <cstdint>

#include "capture/roce/opcode.h"
#include "capture/roce/sequence.h"
#include "capture/roce/tracker.h"

namespace chokepoint::capture::roce {

class QueuePair {
 public:
  void begin(const packet::Packet& packet);
  Signs take(const packet::Packet& packet);
  QueuePairFacts facts() const;

 private:
  bool is_copy(const packet::Packet& packet);
  Signs take_request(const packet::Packet& packet, const Operation& operation);
  Signs take_response(const packet::Packet& packet, const Operation& operation);
  Signs take_acknowledgement(const packet::Packet& packet);
  Signs count(const packet::Packet& packet, const Operation& operation, Sequence::Step step);
  void count_message(const packet::Packet& packet, const Operation& operation);
  std::uint32_t psns_of(const packet::Packet& packet, const Operation& operation);
  void deduce_mtu(std::uint32_t psn);

  QueuePairFacts facts_;
  Sequence requests_;
  Sequence responses_;
  std::uint32_t mtu_ = 0;       // of the path, 0 while nothing has told it
  std::uint32_t read_psn_ = 0;  // of the read request whose number of PSNs is not known
  std::uint32_t read_bytes_ = 0;
  std::uint32_t last_psn_ = 0;
  std::uint16_t last_id_ = 0;
  std::uint8_t last_opcode_ = 0;
};

}  // namespace chokepoint::capture::roce
