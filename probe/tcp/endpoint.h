// One end of a test: starts its streams, watches them, and reports what they did. The same code
// runs at both ends; only the roles of the streams differ. Owns the streams and their threads;
// everything is called from the thread that runs the test.
//
//   begin ── tick every control::kTick ──► done() ── half()
//               └─ on_interval for each interval that has passed
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/host/cpu.h"
#include "base/sys/root.h"
#include "probe/tcp/measurement.h"
#include "probe/tcp/parameters.h"
#include "probe/tcp/stream.h"

namespace chokepoint::probe::tcp {

class StreamWatch;

struct Connection {
  sys::Descriptor fd;
  Role role = Role::Send;
};

using OnInterval = std::function<void(const IntervalMeasure& interval)>;

class Endpoint {
 public:
  static Result<std::unique_ptr<Endpoint>> make(std::vector<Connection> connections,
                                                const Parameters& parameters,
                                                const sys::Root& root);
  ~Endpoint();

  // Fails where a stream's thread cannot be started; the others end with this object.
  Result<> begin();
  void tick(const OnInterval& on_interval);
  bool done() const;
  void stop();
  void abort();

  Half half() const;

 private:
  Endpoint(const Parameters& parameters, Payload payload, sys::Root root);

  std::optional<IntervalMeasure> interval(Role role, std::int64_t now_ns);
  void end_interval(std::int64_t now_ns, const OnInterval& on_interval);
  HostMeasure host() const;

  Parameters parameters_;
  Payload payload_;
  sys::Root root_;
  std::optional<Pacing> pacing_ = {};
  std::vector<std::unique_ptr<Stream>> streams_;
  std::vector<std::unique_ptr<StreamWatch>> watches_;
  std::vector<IntervalMeasure> intervals_;
  std::optional<host::CoreTimes> cores_before_;
  std::optional<host::CoreTimes> cores_after_;
  std::int64_t begun_ns_ = 0;
  std::int64_t interval_began_ns_ = 0;
  std::int64_t next_interval_ns_ = 0;
};

// Where the streams' threads may run: on a host of several memory nodes the processors of the node
// that the interface is attached to. Empty on a host of one node, or where the node is unknown.
// Threads are not pinned to one processor each: they would stall behind whatever else runs there.
std::vector<int> cpus_near_interface(const std::string& interface, const sys::Root& root);

}  // namespace chokepoint::probe::tcp
