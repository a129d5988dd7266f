// A node's connections: for each a row of its own under its rank, with what packets and the kernel
// said of it as counters, and the times in which it moved data. One thread.
#pragma once

#include <array>
#include <memory>
#include <unordered_map>
#include <vector>

#include "analysis/export/perfetto/levels.h"
#include "analysis/export/perfetto/places.h"

namespace chokepoint::analysis {

class FlowTracks {
 public:
  FlowTracks(Places& places, TraceWriter& trace) : places_(places), trace_(trace) {}

  void add(const record::FlowSample& sample);
  void add(const record::SocketSample& sample);
  // After the last sample.
  void finish();

 private:
  struct Burst {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;  // 0: none
    std::uint64_t bytes = 0;  // wraps where a broken record makes it
  };
  // What packets said of one way.
  struct Packets {
    Track bursts = 0;
    Burst burst = {};
    std::vector<SpanRate> rates = {};
    std::vector<Level> levels = {};
  };
  // What the kernel said at the end that sends this way.
  struct Socket {
    std::vector<Level> levels = {};
    std::vector<Growth> growths = {};
  };
  struct Way {
    std::unique_ptr<Packets> packets = {};
    std::unique_ptr<Socket> socket = {};
  };
  struct FlowRow {
    Track track = 0;
    std::array<Way, 2> ways = {};
  };

  FlowRow& row_of(std::int64_t flow);
  Track group_of(Track process);
  std::string name_of(std::int64_t flow) const;
  std::string way_of(std::int64_t flow, std::size_t side) const;
  Packets& packets_of(FlowRow& row, std::int64_t flow, std::size_t side);
  Socket& socket_of(FlowRow& row, std::int64_t flow, std::size_t side);
  void add_burst(Packets& packets, std::int64_t start_ns, std::int64_t end_ns, std::uint64_t bytes);
  void close(Packets& packets);

  Places& places_;
  TraceWriter& trace_;
  std::unordered_map<std::int64_t, FlowRow> rows_;
  std::unordered_map<Track, Track> groups_;  // by process
};

}  // namespace chokepoint::analysis
