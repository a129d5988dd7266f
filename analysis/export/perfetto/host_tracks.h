// What a node's host counted, and what happened there, in rows of the node: a group for each kind
// of counter (nic, cpu, thread, pressure, gpu …). One thread.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <variant>

#include "analysis/export/perfetto/lanes.h"
#include "analysis/export/perfetto/levels.h"
#include "analysis/export/perfetto/places.h"

namespace chokepoint::analysis {

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

}  // namespace chokepoint::analysis
