// What a watch saw of a job that makes no progress: the detail of an event of kind kStall, which
// each node writes of its own ranks and connections when the limit has passed, again now and then
// while that lasts, and once more when the job goes on. The cause is left to the analysis, which
// has all nodes. Values.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/fields.h"

namespace chokepoint::record {

// Of a node, by what it sees alone.
enum class StallState : std::uint8_t {
  Over,    // the job goes on
  Moves,   // no step, but some rank works: computes, reads, writes
  Waits,   // its ranks wait for others
  Stands,  // something here holds the job up
};

enum class RankDoes : std::uint8_t {
  Sleeps,   // for what is not known
  Waits,    // in a collective
  Moves,    // works: by its calls, its memory or its files
  Spins,    // fills a core, and nothing else shows that it works
  Absent,   // a neighbour waits for it in a collective
  Differs,  // waits in another collective than its neighbour
  Reads,    // hangs there
  Writes,   // likewise
  Stopped,  // by a signal, a debugger, or its cgroup's freezer
};

// Of Gloo: one that is not over, as one end of a connection sees it. Of NCCL, whose communicators
// have a number: the newest of its kind that the rank has asked for, whether or not it is over.
struct StallCollective {
  std::string kind = {};
  std::int64_t number = 0;
  std::int64_t bytes = 0;  // that have moved
  bool is_entered = false;
  bool is_peer_there = false;
  std::int64_t communicator = 0;  // 0: of Gloo
  std::int64_t size = 0;          // of the buffer in bytes, as the rank gave it to NCCL
};

struct StallRank {
  std::optional<std::int64_t> rank = {};
  std::int64_t pid = 0;
  RankDoes does = RankDoes::Sleeps;
  double for_s = 0;           // since when its first thread does what it does, or longer
  double cpu_percent = 0;     // of a core, with its helpers
  std::string state = {};     // of the first thread, "S"
  std::string waits_in = {};  // the kernel's function
  std::optional<std::int64_t> system_call = {};
  std::string file = {};
  std::string mount = {};
  std::vector<std::string> stack = {};  // of the kernel, the innermost first
  std::vector<StallCollective> collectives = {};
};

// A connection on which data under way are not acknowledged.
struct StallPath {
  std::int64_t flow = 0;  // its row; 0: none
  std::string peer = {};
  double for_s = 0;
  std::int64_t unacked_packets = 0;
  std::int64_t resent_packets = 0;  // meanwhile
};

struct Stall {
  StallState state = StallState::Over;
  std::int64_t since_ns = 0;  // the last progress, by the node's clock
  double usual_ms = 0;        // a step
  double limit_ms = 0;
  std::vector<StallRank> ranks = {};
  std::vector<StallPath> paths = {};
};

// One that the rank has come to, and one in which only its neighbour waits; null: none.
const StallCollective* entered(const StallRank& rank);
const StallCollective* waited_for(const StallRank& rank);
std::string text_of(const StallCollective& collective);  // "all-reduce 641"

// By NCCL's collectives, of ranks that sleep: who is behind others and ahead of nobody is Absent,
// who is ahead of one waits; where all that are behind are ahead elsewhere, they Differ, as with a
// buffer of another size. Who is Absent, Differs or works gets what the others have come to as a
// collective that it has not entered. What a comparison of fewer ranks said is forgotten.
void compare_collectives(std::span<StallRank* const> ranks);

std::string text_of(const Stall& stall);
// nullopt of what is no such detail.
std::optional<Stall> stall_in(std::string_view detail);

}  // namespace chokepoint::record

namespace chokepoint {

template <>
struct EnumNames<record::StallState> {
  using S = record::StallState;
  static constexpr std::string_view kWhat = "state of a stall";
  static constexpr auto kNames = std::to_array<EnumName<S>>(
      {{S::Over, "over"}, {S::Moves, "moves"}, {S::Waits, "waits"}, {S::Stands, "stands"}});
};

template <>
struct EnumNames<record::RankDoes> {
  using D = record::RankDoes;
  static constexpr std::string_view kWhat = "what a rank does";
  static constexpr auto kNames = std::to_array<EnumName<D>>({{D::Sleeps, "sleeps"},
                                                             {D::Waits, "waits"},
                                                             {D::Moves, "moves"},
                                                             {D::Spins, "spins"},
                                                             {D::Absent, "absent"},
                                                             {D::Differs, "differs"},
                                                             {D::Reads, "reads"},
                                                             {D::Writes, "writes"},
                                                             {D::Stopped, "stopped"}});
};

template <>
struct Fields<record::StallCollective> {
  using C = record::StallCollective;
  static constexpr FieldList kList{
      field("kind", &C::kind, "kind of collective: all-reduce …"),
      field("number", &C::number, "number of the collective, as the library counts"),
      field("bytes", &C::bytes, "bytes that have been transferred"),
      field("entered", &C::is_entered, "whether the rank has started it"),
      field("peer", &C::is_peer_there, "whether its neighbour has started it"),
      field("communicator", &C::communicator, "communicator of NCCL"),
      field("size", &C::size, "size of the buffer, with NCCL")};
};

template <>
struct Fields<record::StallRank> {
  using R = record::StallRank;
  static constexpr FieldList kList{
      field("rank", &R::rank, "rank in the job"),
      field("pid", &R::pid, "id of its process"),
      field("does", &R::does, "what it is doing, in a word"),
      field("for_s", &R::for_s, "seconds since it began"),
      field("cpu_percent", &R::cpu_percent, "percent of a core, with its helper processes"),
      field("state", &R::state, "state of the main thread, the kernel's letter"),
      field("waits_in", &R::waits_in, "kernel function in which it waits"),
      field("system_call", &R::system_call, "number of the system call"),
      field("file", &R::file, "file that the system call is about"),
      field("mount", &R::mount, "mount point of the file"),
      field("stack", &R::stack, "kernel stack, where the permission to read it exists"),
      field("collectives", &R::collectives, "collectives that have not ended")};
};

template <>
struct Fields<record::StallPath> {
  using P = record::StallPath;
  static constexpr FieldList kList{
      field("flow", &P::flow, "row of the flow"),
      field("peer", &P::peer, "address of the other end"),
      field("for_s", &P::for_s, "seconds without an acknowledgement"),
      field("unacked_packets", &P::unacked_packets, "packets sent and not acknowledged"),
      field("resent_packets", &P::resent_packets, "packets sent again since then")};
};

template <>
struct Fields<record::Stall> {
  using S = record::Stall;
  static constexpr FieldList kList{
      field("state", &S::state, "state of the node"),
      field("since_ns", &S::since_ns, "time of the last progress"),
      field("usual_ms", &S::usual_ms, "usual time of a step"),
      field("limit_ms", &S::limit_ms, "time without progress after which a stall is reported"),
      field("ranks", &S::ranks, "ranks of the node"),
      field("paths", &S::paths, "paths whose peer no longer answers")};
};

}  // namespace chokepoint
