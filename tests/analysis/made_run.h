// What the records of a run would hold, put together in memory: hosts on one clock that compute and
// then exchange, every step alike. For tests of what reasons about a run; those of what reads
// records write some with run_maker.h.
//
//   MadeRun made({.step_ms = 100, .steps = 20});
//   made.host("a");
//   made.host("b");
//   const std::size_t ab = made.connect("a", "b");
//   made.add_traffic(ab, record::Direction::AToB, {.busy_ms = 60, .mbps = 900});
//   const Diagnosis diagnosis = diagnose(made.data);
//
// One thread.
#pragma once

#include <string>

#include "analysis/load/run_data.h"

namespace chokepoint::analysis {

struct MadeSteps {
  double step_ms = 100;
  std::int64_t steps = 20;
};

// How one direction of a connection goes in every step.
struct MadeTraffic {
  double busy_ms = 60;  // of a step, at its end
  double mbps = 900;    // of payload, meanwhile
  std::int64_t min_rtt_us = 100;
  std::int64_t rtt_us = 100;
  double lost = 0;                 // of its packets, sent again
  double receive_window = 0;       // of the time under way, by the kernel's stopwatch
  double send_buffer = 0;          // likewise
  record::SocketSample like = {};  // what else each reading says while something is under way
};

struct MadeHost {
  std::string interface = "eth0";
  std::string address = {};  // with the length of the prefix; empty: 10.0.0.N/24
  double speed_mbps = 10'000;
};

class MadeRun {
 public:
  explicit MadeRun(const MadeSteps& steps = {}) : steps_(steps) {}

  NodeData& host(const std::string& name, const MadeHost& host = {});
  NodeData& node(const std::string& name);
  // Its number in data.connections.
  std::size_t connect(const std::string& a, const std::string& b);
  void add_traffic(std::size_t connection, record::Direction direction, const MadeTraffic& traffic);
  // An all-reduce at the end of every step, of `took_ms`, to which each host came `late_ms` after
  // the first one; by the order of hosts.
  void collectives(double took_ms, const std::vector<double>& late_ms);
  // The counter grew at this pace from the run's beginning to its end.
  void counter(NodeData& node, std::string_view name, const std::string& subject, double per_s);
  void gauge(NodeData& node, std::string_view name, const std::string& subject, double value);
  // What the host itself said is gone: its connections are known from their other ends.
  void lose(const std::string& name);

  Span span() const;
  RunData data = {};

 private:
  double busy_until_ns(std::int64_t t_ns, double busy_ms) const;
  void add_socket_samples(FlowData& flow, record::Direction direction,
                          const MadeTraffic& traffic) const;
  void add_packet_samples(FlowData& flow, record::Direction direction,
                          const MadeTraffic& traffic) const;

  MadeSteps steps_;
};

// The host's own queue holds back what the window would let out, and the round trip shows it.
MadeTraffic full_link(double mbps = 900);

}  // namespace chokepoint::analysis
