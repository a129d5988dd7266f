// Records of a run that never was, for tests of what reasons about runs: written by the record's
// own writer into a folder that is gone with the maker.
//
//   RunMaker run;
//   NodeMaker& a = run.node({.name = "a", .address = "10.0.0.1", .rank = 0});
//   NodeMaker& b = run.node({.name = "b", .address = "10.0.0.2", .rank = 1});
//   a.flow("10.0.0.1:4000", "10.0.0.2:5000");
//   const std::int64_t flow = b.flow("10.0.0.2:5000", "10.0.0.1:4000");
//   b.traffic(flow, record::Direction::AToB, {.from_ms = 0, .to_ms = 500, .bytes_per_s = 1e8});
//   b.steps({.count = 10, .length_ms = 100});
//   b.counter("nic.sent_bytes", "eth0", {{.ms = 0, .value = 0}, {.ms = 1000, .value = 1e8}});
//   const RunData data = run.load();
//
// Times are milliseconds since the node's start. Rows that have no words here are given as they
// are: their times are the node's clock, at_ms(). One thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "analysis/load/run_data.h"
#include "base/record/opening.h"
#include "base/record/writer.h"
#include "tests/fakes/host_tree.h"
#include "tests/fakes/manual_clock.h"

namespace chokepoint::analysis {

constexpr std::int64_t kMsNs = 1'000'000;

struct NodePlan {
  std::string name = "a";
  std::string address = "10.0.0.1";  // of its interface
  std::string interface = "eth0";
  double speed_mbps = 10'000;
  std::optional<std::int64_t> rank = 0;  // none: no process of the job
  std::int64_t world_size = 2;
  std::int64_t start_ns = 1'000'000'000'000;  // of the node's own clock
  std::int64_t wall_ns = 1'795'000'000'000'000'000;
  double length_ms = 10'000;
  std::vector<std::string> command = {"train"};
  int exit_status = 0;
  bool is_ended = true;  // false: as after a kill
};

struct Traffic {
  double from_ms = 0;
  double to_ms = 0;
  double bytes_per_s = 0;  // payload
  double bin_ms = 10;
  record::FlowSample like = {};  // what else each bin says
};

struct Sockets {
  double from_ms = 0;
  double to_ms = 0;
  double every_ms = 20;
  record::SocketSample first = {};
  record::SocketSample last = {};  // counters grow from the one to the other, the rest is as in it
};

struct StepPlan {
  std::int64_t count = 0;
  double length_ms = 0;
  double from_ms = 0;
  record::Figure rank = {};  // unknown: the node's
  record::StepSource source = record::StepSource::Marks;
};

struct Value {
  double ms = 0;
  double value = 0;
  double bin_ms = 0;
  double peak = record::kUnknownReal;
};

class NodeMaker {
 public:
  NodeMaker(const std::filesystem::path& folder, NodePlan plan);
  ~NodeMaker() { finish(); }
  NodeMaker(const NodeMaker&) = delete;
  NodeMaker& operator=(const NodeMaker&) = delete;

  const NodePlan& plan() const { return plan_; }
  std::int64_t at_ms(double ms) const {
    return plan_.start_ns + static_cast<std::int64_t>(ms * static_cast<double>(kMsNs));
  }

  // Another process than the plan's; its id.
  std::int64_t process(std::int64_t rank);
  // "10.0.0.1:4000", "[fd00::1]:4000". The local end is the one with the node's address; the
  // process is the plan's, where `process` names no other.
  std::int64_t flow(const std::string& a, const std::string& b, record::Figure process = {});

  // The totals come by themselves.
  void traffic(std::int64_t flow, record::Direction direction, const Traffic& traffic);
  void sockets(std::int64_t flow, record::Direction direction, const Sockets& sockets);
  void steps(const StepPlan& steps);
  void counter(const std::string& name, const std::string& subject,
               const std::vector<Value>& values);
  void gauge(const std::string& name, const std::string& subject, const std::vector<Value>& values);
  void fact(const std::string& category, const std::string& subject, const std::string& key,
            const std::string& value);
  void event(double ms, std::string_view kind, const std::string& subject,
             const std::string& detail = "{}");

  template <class Row>
  void push(const Row& row) {
    while (!producer_->push(row)) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  template <class Row>
  auto add(Row row) {
    return writer_->add(std::move(row));
  }

  // Ends the record; nothing can be added afterwards.
  void finish();

 private:
  void describe_interface(const std::string& name, const std::string& kind,
                          const std::string& address, double speed_mbps);
  std::int64_t series(const std::string& name, const std::string& subject, record::SeriesKind kind);

  NodePlan plan_;
  fakes::HostTree host_;
  fakes::ManualClock clock_;
  std::unique_ptr<record::Writer> writer_;
  std::optional<record::Producer> producer_;
  record::Figure process_;
  std::map<std::pair<std::int64_t, record::Direction>, record::FlowTotal> totals_;
};

class RunMaker {
 public:
  NodeMaker& node(const NodePlan& plan);
  const std::filesystem::path& folder() const { return folder_.path(); }
  void finish();
  // Ends all records first.
  RunData load(const LoadLimits& limits = {});

 private:
  record::PrivateFolder folder_ = std::move(*record::PrivateFolder::make());
  std::vector<std::unique_ptr<NodeMaker>> nodes_;
};

}  // namespace chokepoint::analysis
