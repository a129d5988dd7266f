// What the opcode of a RoCEv2 packet says: which service it belongs to, which part of which message
// it is, and how long the headers between the base transport header and the message are. The one
// table of opcodes, for the decoder and for the tracker of queue pairs. Any thread.
//
//   opcode  7       5 4      0
//           | service | code |
//
//   BTH 12 │ of the service │ of the code │ message │ pad 0 … 3 │ ICRC 4
//
//   of the service   RD: RDETH 4, in requests DETH 8, too · UD: DETH 8 · XRC requests: XRCETH 4
//   of the code      RETH 16 · AETH 4 · AtomicETH 28 · AtomicAckETH 8 · ImmDt 4 · IETH 4
//
// From the InfiniBand Architecture Specification, volume 1, chapter 9.2 (opcodes) and 9.3
// (headers); its annex A14 for XRC, annex A17 for RoCEv2.
#pragma once

#include <array>
#include <cstdint>

namespace chokepoint::capture::packet {

enum class RoceService : std::uint8_t {
  Connected = 0,  // RC
  UnreliableConnected = 1,
  ReliableDatagram = 2,
  Datagram = 3,  // UD: senders of several queue pairs mix, so its PSNs have no order
  CongestionNotification = 4,
  ExtendedConnected = 5,  // XRC
};

enum class RoceAction : std::uint8_t {
  None,  // a reserved code, or a congestion notification
  Send,
  Write,
  ReadRequest,
  ReadResponse,
  Ack,
  AtomicAck,
  Atomic,
};

enum class RocePlace : std::uint8_t { First, Middle, Last, Only };  // in the message

struct RoceOperation {
  RoceAction action = RoceAction::None;
  RocePlace place = RocePlace::Only;
  std::uint8_t code_bytes = 0;     // of the code's headers
  std::uint8_t service_bytes = 0;  // of the service's, which stand before them

  constexpr bool begins_message() const {
    return place == RocePlace::First || place == RocePlace::Only;
  }
  constexpr bool ends_message() const {
    return place == RocePlace::Last || place == RocePlace::Only;
  }
  constexpr bool is_answer() const {
    return action == RoceAction::ReadResponse || action == RoceAction::Ack ||
           action == RoceAction::AtomicAck;
  }
  constexpr bool has_data() const {
    return action == RoceAction::Send || action == RoceAction::Write ||
           action == RoceAction::ReadResponse;
  }
  // The code's first header.
  constexpr bool has_reth() const {
    return action == RoceAction::ReadRequest || (action == RoceAction::Write && begins_message());
  }
  constexpr bool has_aeth() const { return is_answer() && place != RocePlace::Middle; }
};

constexpr RoceService roce_service(std::uint8_t opcode) {
  return static_cast<RoceService>(opcode >> 5);
}

constexpr RoceOperation roce_operation(std::uint8_t opcode) {
  using enum RoceAction;
  using enum RocePlace;
  constexpr std::array<RoceOperation, 32> kByCode = {{
      {Send, First, 0},           // 0x00
      {Send, Middle, 0},          // 0x01
      {Send, Last, 0},            // 0x02
      {Send, Last, 4},            // 0x03  ImmDt
      {Send, Only, 0},            // 0x04
      {Send, Only, 4},            // 0x05  ImmDt
      {Write, First, 16},         // 0x06  RETH
      {Write, Middle, 0},         // 0x07
      {Write, Last, 0},           // 0x08
      {Write, Last, 4},           // 0x09  ImmDt
      {Write, Only, 16},          // 0x0a  RETH
      {Write, Only, 20},          // 0x0b  RETH, ImmDt
      {ReadRequest, Only, 16},    // 0x0c  RETH
      {ReadResponse, First, 4},   // 0x0d  AETH
      {ReadResponse, Middle, 0},  // 0x0e
      {ReadResponse, Last, 4},    // 0x0f  AETH
      {ReadResponse, Only, 4},    // 0x10  AETH
      {Ack, Only, 4},             // 0x11  AETH
      {AtomicAck, Only, 12},      // 0x12  AETH, AtomicAckETH
      {Atomic, Only, 28},         // 0x13  AtomicETH: compare and swap
      {Atomic, Only, 28},         // 0x14  AtomicETH: fetch and add
      {},                         // 0x15  reserved, as all after 0x17
      {Send, Last, 4},            // 0x16  IETH
      {Send, Only, 4},            // 0x17  IETH
  }};
  RoceOperation operation = kByCode[opcode & 31];
  switch (roce_service(opcode)) {
    case RoceService::ReliableDatagram:
      operation.service_bytes = operation.is_answer() ? 4 : 12;
      break;
    case RoceService::Datagram:
      operation.service_bytes = 8;
      break;
    case RoceService::ExtendedConnected:
      operation.service_bytes = operation.is_answer() ? 0 : 4;
      break;
    case RoceService::CongestionNotification:
      return {};
    default:
      break;
  }
  return operation;
}

}  // namespace chokepoint::capture::packet
