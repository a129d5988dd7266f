// Rows that are rare and carry text: processes, places, facts, events. Ids are given by the Writer
// when a row is added with id 0; a row added again with its id takes the old one's place. `session`
// is filled in by the Writer. Times are monotonic nanoseconds. Values.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "base/record/samples.h"

namespace chokepoint::record {

// One process that had the record open for writing.
struct Session {
  std::int64_t id = 0;
  std::string role = {};  // the chokepoint command: "run", "probe tcp"
  std::string
      command;  // what was run and watched, as a shell would take it; empty where nothing was
  std::string node = {};
  std::string host = {};
  std::string boot_id = {};
  std::string kernel = {};
  std::string program = {};  // version of chokepoint
  std::int64_t start_ns = 0;
  std::int64_t start_wall_ns = 0;
  std::int64_t seen_ns = 0;  // of the last commit
  Figure end_ns = {};        // unknown: still going on, or killed
  Figure exit_status = {};   // of the watched command
  // Added to this boot's monotonic clock, so that times keep rising over a reboot.
  std::int64_t shift_ns = 0;
};

struct Label {
  std::int64_t session = 0;
  std::string key = {};
  std::string value = {};
};

// The two clocks at one moment; again every minute, because a wall clock may step.
struct ClockAnchor {
  std::int64_t session = 0;
  std::int64_t t_ns = 0;
  std::int64_t wall_ns = 0;
};

// As host::Fact.
struct Fact {
  std::int64_t session = 0;
  std::string category = {};
  std::string subject = {};
  std::string key = {};
  std::string value = {};
  std::string source = {};
};

struct Probe {
  std::int64_t id = 0;
  std::int64_t session = 0;
  std::int64_t t_ns = 0;
  std::string kind = {};  // "tcp", "path"
  std::string peer = {};
  std::string direction = {};
  std::string schema = {};    // "chokepoint.probe.tcp/1"
  std::string document = {};  // JSON
};

struct Process {
  std::int64_t id = 0;
  std::int64_t session = 0;
  std::int64_t pid = 0;
  Figure parent_pid = {};
  std::string command = {};
  Figure rank = {};
  Figure local_rank = {};
  Figure world_size = {};
  Figure start_ns = {};
  Figure end_ns = {};
  Figure exit_status = {};
};

struct Flow {
  std::int64_t id = 0;
  std::int64_t session = 0;
  std::string protocol = {};  // "tcp", "udp", "roce"
  std::string a_address = {};
  Figure a_port = {};
  std::string b_address = {};
  Figure b_port = {};
  Figure local_end = {};  // 0: a is on this node, 1: b is; unknown: neither or both
  Figure process = {};    // Process::id
  std::string interface = {};
  Figure start_ns = {};
  Figure end_ns = {};
  Figure handshake_seen = {};  // 1: seen, so the window scale is known
  std::string content = {};    // as its first bytes show it: "gloo", "http"; empty: unknown
  Figure job = {};             // 1: the job's, as its sockets show
};

// What a flow came to, a direction; the summary that needs every packet.
struct FlowTotal {
  std::int64_t flow = 0;
  Direction direction = Direction::AToB;
  Figure packets = {};
  Figure bytes = {};
  Figure payload_bytes = {};
  Figure retransmitted_packets = {};
  Figure retransmitted_bytes = {};
  Figure fast_retransmissions = {};
  Figure timeout_retransmissions = {};
  Figure spurious_retransmissions = {};
  Figure out_of_order = {};
  Figure duplicate_acks = {};
  Figure zero_windows = {};
  Figure window_full = {};
  Figure congestion_marks = {};
  Figure max_in_flight_bytes = {};
  Figure max_window_bytes = {};
  Figure mss_bytes = {};
  Figure window_scale = {};
  std::string rtt_ms = {};  // JSON: {"min","median","p99","max","mean","count"}
};

enum class SeriesKind : std::int64_t { Counter = 0, Gauge = 1 };

struct Series {
  std::int64_t id = 0;
  std::int64_t session = 0;
  std::string name = {};     // "nic.sent_bytes"; see names.h for those with a meaning to all
  std::string subject = {};  // "eth0", "cpu3"
  std::string unit = {};     // "bytes", "percent"
  SeriesKind kind = SeriesKind::Counter;
  std::string source = {};  // "/proc/net/dev", "ethtool"
};

struct Event {
  std::int64_t id = 0;
  std::int64_t session = 0;
  std::int64_t t_ns = 0;
  std::string kind = {};  // "dropped", "peer-died", "interface-down"
  std::string subject = {};
  std::string detail = {};  // JSON
};

// The peer's monotonic clock less this host's, as a probe measured it.
struct ClockOffset {
  std::int64_t session = 0;
  std::int64_t t_ns = 0;
  std::string peer = {};
  std::int64_t offset_ns = 0;
  Figure error_ns = {};
  Figure round_trip_ns = {};
};

using Entity = std::variant<Session, Label, ClockAnchor, Fact, Probe, Process, Flow, FlowTotal,
                            Series, Event, ClockOffset>;

}  // namespace chokepoint::record
