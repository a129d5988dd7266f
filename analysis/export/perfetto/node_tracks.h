// What a trace shows of one node: its host's counters and events, its job's steps and collectives,
// its connections. Each takes the rows of the record one by one, in the order of the table, and
// writes them; they borrow the run, its places and the writer. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "analysis/export/exported_run.h"
#include "analysis/export/perfetto/tracks.h"

namespace chokepoint::analysis {

// Rows of the node itself: a group for each kind of counter (nic, cpu, thread, pressure, gpu …),
// its events, probes and the time in which it was watched.
class HostTracks {
 public:
  HostTracks(ExportedRun& run, Places& places, TraceWriter& trace);

  void add(const record::CounterSample& sample);
  void add(const record::GaugeSample& sample);
  void add(const record::Event& event);
  void add(const record::Probe& probe);
  void add(const record::Session& session);
  void finish();

 private:
  Growth& growth_of(std::int64_t series);
  Level& level_of(std::int64_t series);
  Track group_of(const std::string& name);
  const record::Series& series(std::int64_t id) const;

  Places& places_;
  TraceWriter& trace_;
  Lanes watching_;
  std::unordered_map<std::int64_t, record::Series> series_;
  std::unordered_map<std::int64_t, Growth> growths_;
  std::unordered_map<std::int64_t, Level> levels_;
  std::map<std::string, Track> groups_;
};

// Numbers that join the rows of the ranks that took part in the same collective, for the viewer's
// arrows. Of a run that is too large to be loaded whole, only collectives in the loaded part. A
// value.

class Links {
 public:
  explicit Links(const ExportedRun& run);

  std::optional<std::uint64_t> of(const ExportedRun& run, std::size_t node,
                                  const record::Collective& row) const;

 private:
  struct Key {
    record::CollectiveKind kind = record::CollectiveKind::Unknown;
    std::int64_t number = 0;
    std::int64_t communicator = 0;
    std::int64_t ready_ns = 0;  // of the common clock
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const {
      constexpr std::uint64_t kSpread = 0x9E3779B97F4A7C15;
      return static_cast<std::size_t>((static_cast<std::uint64_t>(key.ready_ns) ^
                                       static_cast<std::uint64_t>(key.number) * kSpread) *
                                      kSpread);
    }
  };
  std::vector<std::unordered_map<Key, std::uint64_t, Hash>> links_;  // by node
};

// Steps, collectives and messages, and the waiting for the rank that arrives last, in rows of the
// rank.

class JobTracks {
 public:
  JobTracks(ExportedRun& run, const Links& links, Places& places, TraceWriter& trace)
      : run_(run), links_(links), places_(places), trace_(trace) {}

  void add(const record::Step& step);
  void add(const record::Collective& collective);
  // Spans that were dropped because too many overlap; see Lanes.
  std::uint64_t left_out() const { return left_out_; }

 private:
  Lanes& lanes(Track process, const std::string& name);
  Track process_of(const record::Collective& collective);
  void add_waiting(Track process, const record::Collective& collective, const std::string& peer);

  ExportedRun& run_;
  const Links& links_;
  Places& places_;
  TraceWriter& trace_;
  std::map<std::pair<Track, std::string>, Lanes> lanes_;
  std::uint64_t left_out_ = 0;
};

// A row for each connection under its rank: counters from packets and from the kernel, and the
// times in which it moved data.
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
    std::uint64_t bytes = 0;  // may wrap around in a broken record
  };
  // Of one direction, from its packets.
  struct Packets {
    Track bursts = 0;
    Burst burst = {};
    std::vector<SpanRate> rates = {};
    std::vector<Level> levels = {};
  };
  // Of one direction, from the kernel of its sender.
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
