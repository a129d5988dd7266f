// What a connection of a job is for: by what it says first (content.h), else by the port of its
// server, and by who is at its ends. Pure; any thread.
//
//   content ─▶ a protocol of one purpose ──────────────────────────┐
//          └─▶ HTTP, TLS: of other ranks, or of a server ──────────┼─▶ purpose
//   port of the server, where the beginning was not seen ──────────┘
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/traffic/content.h"

namespace chokepoint::traffic {

enum class Purpose : std::uint8_t { Collectives, Rendezvous, Rpc, Storage, Weights, Unknown };

std::string_view sentence_of(Purpose purpose);  // "data and checkpoints"

struct Evidence {
  bool is_tcp = true;  // else RoCE
  Content content = Content::Unknown;
  std::array<std::uint16_t, 2> ports = {};
  bool is_between_ranks = false;    // both ends are on hosts of the job
  bool is_at_meeting_port = false;  // where the job's ranks meet
};

Purpose purpose_of(const Evidence& evidence);

// Not what ranks exchange to compute.
constexpr bool is_beside_exchange(Purpose purpose) {
  return purpose == Purpose::Storage || purpose == Purpose::Weights;
}

}  // namespace chokepoint::traffic

namespace chokepoint {

template <>
struct EnumNames<traffic::Purpose> {
  using enum traffic::Purpose;
  static constexpr std::string_view kWhat = "what a connection is for";
  static constexpr auto kNames =
      std::to_array<EnumName<traffic::Purpose>>({{Collectives, "collectives"},
                                                 {Rendezvous, "rendezvous"},
                                                 {Rpc, "rpc"},
                                                 {Storage, "storage"},
                                                 {Weights, "weights"},
                                                 {Unknown, "unknown"}});
};

}  // namespace chokepoint
