// What passes between the watch of a job and the process that captures on one interface for it.
// That process opens the interface, gives up all privileges and only then reads packets; so what it
// sends is trusted no more than the packets are.
//
//   watch (capture/tap/process.h)                 chokepoint-capture tap (capture/tap/reader.cc)
//     Setup: interface, filter … ────────────────────▶ opens it, enters the sandbox
//     ◀──────────────────────────────── Opened, Failed
//     Begin ─────────────────────────────────────────▶ reads and analyses
//     ◀─────────────────────────── Rows (base/record/forward.h)
//     ◀──────────── MembershipRequests: are these flows the job's?
//     MembershipReplies; again when something changed ▶
//     ◀─────────── Bins: the job's bytes per millisecond
//     ◀─────────── Figures: volume, dropped packets
//     Narrow: a filter ──────────────────────────────▶
//     ◀──────────────────────────────── Narrowed: the filter was set, or the old one stays
//     Stop ──────────────────────────────────────────▶ reads what came before
//     ◀──────────────────────────────── Ended: why, if not by Stop
//
// A sys::Worker. If either side goes, the other notices and ends what it does here.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/json/fields.h"
#include "base/sys/message_socket.h"
#include "capture/packet/packet.h"

namespace chokepoint::capture::tap {

enum class Message : std::int32_t {
  Setup,
  Begin,
  MembershipReplies,
  Narrow,
  Stop,  // of the watch
  Rows,
  MembershipRequests,
  Bins,
  Figures,
  Narrowed,
  Ended,  // of the tap
};

struct Setup {
  std::string interface = {};
  std::string netns = {};  // a path, if it is another network namespace
  std::string filter = {};
  std::uint64_t ring_bytes = 0;
  std::vector<std::string> own_addresses = {};
  std::string root = {};  // where facts of interfaces are read
};

// Flows whose membership a tap may request at a time: it follows some thousands.
inline constexpr std::size_t kMaxRequestedFlows = 65'536;

struct TapFigures {
  std::uint64_t sent_bytes = 0;
  std::uint64_t received_bytes = 0;
  std::uint64_t sent_packets = 0;
  std::uint64_t retransmitted_packets = 0;
  std::uint64_t dropped_packets = 0;
};

// packet::Ends without padding and truth values, whose bytes need not be what they should.
struct PackedEnds {
  std::array<std::uint64_t, 2> source{};
  std::array<std::uint64_t, 2> destination{};
  std::uint16_t source_port = 0;
  std::uint16_t destination_port = 0;
  std::uint32_t tunnel = 0;
  std::uint32_t protocol = 0;
  std::uint32_t is_ipv6 = 0;

  auto operator<=>(const PackedEnds&) const = default;
};

inline PackedEnds packed(const packet::Ends& ends) {
  return {.source = ends.source.words,
          .destination = ends.destination.words,
          .source_port = ends.source_port,
          .destination_port = ends.destination_port,
          .tunnel = ends.tunnel,
          .protocol = ends.protocol,
          .is_ipv6 = ends.is_ipv6 ? 1U : 0U};
}

inline packet::Ends unpacked(const PackedEnds& ends) {
  return {.source = {ends.source},
          .destination = {ends.destination},
          .source_port = ends.source_port,
          .destination_port = ends.destination_port,
          .protocol = static_cast<std::uint8_t>(ends.protocol),
          .is_ipv6 = ends.is_ipv6 != 0,
          .tunnel = ends.tunnel};
}

enum class Sender : std::uint64_t { NotTheJobs, Source, Destination };

struct MembershipReply {
  PackedEnds ends = {};
  Sender sender = Sender::NotTheJobs;
};

template <class T>
std::string_view bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}
template <class T>
std::string_view bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

// Whole values; what is left over at the end is passed over.
template <class T>
std::vector<T> values_in(std::string_view bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!values.empty()) {
    bytes.copy(reinterpret_cast<char*>(values.data()), values.size() * sizeof(T));
  }
  return values;
}

// In as many messages as they need; false if the other side does not take them in that time.
template <class T>
bool send_values(const sys::MessageSocket& socket, Message kind, const std::vector<T>& values,
                 std::chrono::milliseconds time) {
  constexpr std::size_t kAtOnce = sys::kMaxMessageBytes / sizeof(T) * sizeof(T);
  std::string_view bytes = bytes_of(values);
  bool is_sent = true;
  for (; is_sent && !bytes.empty(); bytes.remove_prefix(std::min(kAtOnce, bytes.size()))) {
    is_sent = socket.send(kind, bytes.substr(0, kAtOnce), time);
  }
  return is_sent;
}

}  // namespace chokepoint::capture::tap

namespace chokepoint {

template <>
struct Fields<capture::tap::Setup> {
  using Setup = capture::tap::Setup;
  static constexpr FieldList kList{
      field("interface", &Setup::interface, "the interface's name"),
      field("netns", &Setup::netns, "path of another network namespace, or empty"),
      field("filter", &Setup::filter, "a pcap-filter"),
      field("ring_bytes", &Setup::ring_bytes, "size of the packet buffer"),
      field("own_addresses", &Setup::own_addresses, "this host's addresses"),
      field("root", &Setup::root, "folder that stands for /"),
  };
};

}  // namespace chokepoint
