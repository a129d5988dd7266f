// Reads a Perfetto trace as its viewer would, and is stricter: a field that is not known, a track
// or a name that was not described before, a slice that does not close, a counter without a unit,
// text that is not UTF-8 is a fault, and named. Values; one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace chokepoint::analysis {

struct TraceTrack {
  std::string name = {};  // of a process, the process'
  std::uint64_t parent = 0;
  bool is_process = false;
  bool is_counter = false;
  std::string unit = {};
  std::int64_t pid = 0;
  std::string command = {};
};

struct TraceEvent {
  std::uint64_t time_ns = 0;
  std::int64_t type = 0;  // 1 begin, 2 end, 3 instant, 4 counter
  std::uint64_t track = 0;
  std::string name = {};
  double value = 0;
  std::vector<std::uint64_t> links = {};
  std::map<std::string, std::string> notes = {};
};

struct TraceContent {
  std::map<std::uint64_t, TraceTrack> tracks = {};
  std::vector<TraceEvent> events = {};
  std::vector<std::string> faults = {};  // at most a hundred

  // "rank 0 on a/steps from marks"
  std::string path_of(std::uint64_t track) const;
  // Of all tracks with this path, in the order in which they were written.
  std::vector<TraceEvent> on(const std::string& path) const;
};

TraceContent read_trace(std::string_view bytes);

}  // namespace chokepoint::analysis
