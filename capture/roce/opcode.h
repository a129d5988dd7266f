// What a base transport header's opcode says, and how long the headers behind it are:
//
//   7     5 4       0
//   | type | action |      type 0 RC, 1 UC, 2 RD, 3 UD, 4 congestion notification, 5 XRC
//
//   BTH 12 │ RD: RDETH 4, DETH 8 · UD: DETH 8 · XRC requests: 4 │ of the action │ payload │ pad │
//   ICRC 4
//
// Pure functions.
#pragma once

#include <array>
#include <cstdint>

namespace chokepoint::capture::roce {

enum class Transport : std::uint8_t {
  Connected = 0,  // RC
  UnreliableConnected = 1,
  ReliableDatagram = 2,
  Datagram = 3,  // UD: senders of several queue pairs mix, so its PSNs have no order
  CongestionNotification = 4,
  ExtendedConnected = 5,
};

enum class Action : std::uint8_t {
  None,
  Send,
  Write,
  ReadRequest,
  ReadResponse,
  Ack,
  AtomicAck,
  Atomic
};
enum class Place : std::uint8_t { First, Middle, Last, Only };

struct Operation {
  Action action = Action::None;
  Place place = Place::Only;
  std::uint8_t extra_bytes = 0;  // of headers behind BTH
};

inline constexpr std::uint8_t kBaseHeaderBytes = 12;
inline constexpr std::uint8_t kTrailerBytes = 4;

// Indexed by the low five bits. RETH 16, immediate 4, AETH 4, atomic 28 (its answer 8), IETH 4.
inline constexpr std::array<Operation, 32> kOperations = {{
    {Action::Send, Place::First, 0},
    {Action::Send, Place::Middle, 0},
    {Action::Send, Place::Last, 0},
    {Action::Send, Place::Last, 4},
    {Action::Send, Place::Only, 0},
    {Action::Send, Place::Only, 4},
    {Action::Write, Place::First, 16},
    {Action::Write, Place::Middle, 0},
    {Action::Write, Place::Last, 0},
    {Action::Write, Place::Last, 4},
    {Action::Write, Place::Only, 16},
    {Action::Write, Place::Only, 20},
    {Action::ReadRequest, Place::Only, 16},
    {Action::ReadResponse, Place::First, 4},
    {Action::ReadResponse, Place::Middle, 0},
    {Action::ReadResponse, Place::Last, 4},
    {Action::ReadResponse, Place::Only, 4},
    {Action::Ack, Place::Only, 4},
    {Action::AtomicAck, Place::Only, 12},
    {Action::Atomic, Place::Only, 28},
    {Action::Atomic, Place::Only, 28},
    {},
    {Action::Send, Place::Last, 4},
    {Action::Send, Place::Only, 4},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
    {},
}};

inline Transport transport_of(std::uint8_t opcode) { return static_cast<Transport>(opcode >> 5); }

inline bool is_response(Action action) {
  return action == Action::ReadResponse || action == Action::Ack || action == Action::AtomicAck;
}

inline Operation operation_of(std::uint8_t opcode) {
  Operation operation = kOperations[opcode & 0x1f];
  const Transport transport = transport_of(opcode);
  if (transport == Transport::ReliableDatagram) {
    operation.extra_bytes += 12;
  } else if (transport == Transport::Datagram) {
    operation.extra_bytes += 8;
  } else if (transport == Transport::ExtendedConnected && !is_response(operation.action)) {
    operation.extra_bytes += 4;
  } else if (transport == Transport::CongestionNotification) {
    operation = {};
  }
  return operation;
}

inline bool ends_message(const Operation& operation) {
  const bool has_data = operation.action == Action::Send || operation.action == Action::Write ||
                        operation.action == Action::ReadResponse;
  return has_data && (operation.place == Place::Last || operation.place == Place::Only);
}

inline bool fills_mtu(const Operation& operation) {
  return operation.place == Place::First || operation.place == Place::Middle;
}

}  // namespace chokepoint::capture::roce
