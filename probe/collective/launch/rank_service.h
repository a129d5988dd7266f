// Ranks of a collective as `chokepoint serve` starts them for a client: child processes that run
// this program's `probe collective`, and nothing else, for as long as the client is there.
//
//   client                                              server
//     Request {kind collective, ranks, first, count, …} ─►
//     ◄──────────────────────────────────────── Ready {}      they are started
//     ◄───────────────── Report {rank, code, signal, words} …  one has ended, and not well
//     Stop {} ────────────────────────────────────────────►    or the client goes: all are ended
//     ◄─────────────────────────────────────── Result {}
//
// The ranks meet where the client is: at the address of its connection, at the port in its request.
// A heavy test. The service runs on a session's thread. What a client sends becomes a command line
// and is checked here.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/control/message.h"
#include "base/control/service.h"
#include "base/sys/error.h"
#include "probe/collective/launch/children.h"
#include "probe/collective/launch/placement.h"

namespace chokepoint::probe::collective {

// The flags of a rank that chokepoint starts; orders give it the rest.
struct RankOptions {
  std::string backend = "gloo";
  std::string interface = {};
  std::string algorithm = {};
  std::optional<int> gpu = {};
  std::chrono::seconds timeout{60};

  bool operator==(const RankOptions&) const = default;
};

std::vector<std::string> command_of(const std::string& program, const RankOptions& options);

// Interface, algorithm and backend have the characters of names only: they become a command line.
Result<> check(const RankOptions& options);

inline constexpr std::string_view kCollectiveKind = "collective";
inline constexpr int kMaxRanksPerHost = 64;

struct RanksWanted {
  RankOptions options = {};
  std::string job = {};
  control::Secret secret = {};
  std::uint16_t port = 0;  // of the client, where the ranks meet
  int ranks = 1;           // of the whole job
  int first = 0;           // of those on this host
  int count = 1;
};

control::Json body_of(const RanksWanted& wanted);
// In a Report of a server.
Result<ChildEnd> child_end_in(const control::Json& body);

inline constexpr const char* kOwnProgram = "/proc/self/exe";

// `program`: the one that is started; tests have another one.
std::unique_ptr<control::Service> rank_service(std::string program = kOwnProgram);

}  // namespace chokepoint::probe::collective
