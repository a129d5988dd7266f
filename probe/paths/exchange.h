// A sweep of flows as the two ends agree on it, and the server's end.
//
//   client                                            server
//     Request {flows, packets, time_ns, …} ───────────►
//     ◄──────────────────── Ready {test, udp_port}
//     Ping {test, flow, round} ════════════════════════►   UDP, from one source port a flow
//     ◄══════════════════════════════════════════ Pong     as long as the Ping, one for each
//     Stop {} ─────────────────────────────────────────►
//     ◄───────────── Result {received […], answered […]}   of each flow
//
// The packets are those of probe/udp/packet.h. A Ping's sequence is its flow in the upper 32 bits
// and its round in the lower ones; its run says whether it is measured. The server answers a Ping
// only if it comes from the address of the control connection and holds the number of the test,
// which went over the sealed connection: no host can have packets sent to an address that is not
// theirs. What it counts is bounded by what was requested.
//
// The service runs on a session's thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/control/limits.h"
#include "base/control/message.h"
#include "base/control/service.h"
#include "base/sys/error.h"

namespace chokepoint::probe::paths {

inline constexpr std::string_view kKind = "paths";

inline constexpr int kMinFlows = 4;
inline constexpr int kMaxFlows = 256;
inline constexpr std::int64_t kMinPackets = 10;
inline constexpr std::int64_t kMaxPackets = 20'000;
inline constexpr std::int64_t kMaxTotalPackets = 2'000'000;  // both ends keep something of each
// Ports below belong to the system's services.
inline constexpr int kMinPort = 1024;

// The run of a Ping: whether the path is only tried, measured, or looked at hop by hop.
enum class Run : std::uint16_t { Greeting = 0, Measured = 1, Traced = 2 };

struct Parameters {
  int flows = 64;
  std::int64_t packets = 1000;                               // of each flow
  std::chrono::nanoseconds time = std::chrono::seconds(30);  // after which the server gives up
  // Of all flows together, Ethernet headers included; with `tcp` of the one that sends, 0: as fast
  // as it goes.
  double bits_per_s = 10e6;
  std::uint16_t port = 0;  // of the server's socket; 0: any
  bool tcp = false;        // rates.h
};

control::Json body_of(const Parameters& parameters);
Result<Parameters> parameters_in(const control::Json& body);

struct ServerReady {
  std::uint64_t test = 0;
  std::uint16_t udp_port = 0;
};

Result<ServerReady> ready_in(const control::Json& body);

// Measured Pings as the server saw them, an item a flow.
struct ServerCounts {
  std::vector<std::uint64_t> received = {};  // each counted once
  std::vector<std::uint64_t> answered = {};  // of them
  std::uint64_t dropped = 0;                 // by the server's socket, because its buffer was full
};

// An error unless it has so many flows, and no more than so many packets of each.
Result<ServerCounts> counts_in(const control::Json& body, const Parameters& parameters);

constexpr std::uint64_t sequence_of(std::uint32_t flow, std::uint32_t round) {
  return std::uint64_t{flow} << 32 | round;
}
constexpr std::uint32_t flow_of(std::uint64_t sequence) {
  return static_cast<std::uint32_t>(sequence >> 32);
}
constexpr std::uint32_t round_of(std::uint64_t sequence) {
  return static_cast<std::uint32_t>(sequence);
}

std::unique_ptr<control::Service> paths_service();

}  // namespace chokepoint::probe::paths
