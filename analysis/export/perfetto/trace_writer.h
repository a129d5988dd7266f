// Perfetto's protobuf trace, packet by packet, by one sequence: tracks are described before they
// are used, names that come again are interned, and every packet stands for itself otherwise. Text
// may be anything; what is written is UTF-8. Times are nanoseconds since 1970. One thread.
//
//   TraceWriter trace(out);
//   const Track rank = trace.process("rank 0 on a", {.command = "train"});
//   const Track steps = trace.track(rank, "steps");
//   trace.begin(steps, t_ns, "step 1");
//   trace.end(steps, t_ns);
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/cli/output.h"

namespace chokepoint::analysis {

using Track = std::uint64_t;

// What comes again is written once, and its number afterwards.
class Interned {
 public:
  std::uint64_t number(std::string_view text);
  // Appends what is new as entries of such a field of an InternedData.
  void append_new(std::string& data, std::uint32_t field);
  bool has_new() const { return !new_.empty(); }

 private:
  using Numbers = std::map<std::string, std::uint64_t, std::less<>>;
  Numbers numbers_;
  std::vector<Numbers::const_iterator> new_;
};

class TraceWriter;

// The notes of one event: name and value, as the viewer lists them. Not after its writer.
class Notes {
 public:
  explicit Notes(TraceWriter& trace) : trace_(trace) {}
  Notes& add(std::string_view name, std::string_view text);
  Notes& add(std::string_view name, std::int64_t value);
  Notes& add(std::string_view name, double value);
  const std::string& bytes() const { return bytes_; }

 private:
  Notes& put(const std::string& note);
  TraceWriter& trace_;
  std::string bytes_;
};

struct EventParts {
  const Notes* notes = nullptr;
  std::optional<std::uint64_t> link = {};  // events of the same number are joined by arrows
  bool is_common_name = true;              // comes again, so it is interned
};

class TraceWriter {
 public:
  explicit TraceWriter(cli::Output& out) : out_(out) {}

  // So that the viewer can show times of day.
  void clock(std::int64_t wall_ns);

  struct ProcessParts {
    std::string_view command = {};
    std::string_view label = {};
  };
  Track process(std::string_view name, const ProcessParts& parts);
  // Children are shown in the order in which they were made.
  Track track(Track parent, std::string_view name);
  Track counter(Track parent, std::string_view name, std::string_view unit);

  void begin(Track track, std::int64_t wall_ns, std::string_view name,
             const EventParts& parts = {});
  void end(Track track, std::int64_t wall_ns);
  void instant(Track track, std::int64_t wall_ns, std::string_view name,
               const EventParts& parts = {});
  void count(Track track, std::int64_t wall_ns, double value);

  std::uint64_t events() const { return events_; }

 private:
  friend class Notes;
  void put_named(std::int32_t type, Track track, std::int64_t wall_ns, std::string_view name,
                 const EventParts& parts);
  void put_event(std::int64_t wall_ns, std::uint32_t flags);
  Track put_track(std::string& descriptor);
  void put_packet(std::uint32_t flags);

  cli::Output& out_;
  std::string event_;  // reused: one event at a time
  std::string packet_;
  Interned names_;
  Interned note_names_;
  Track last_track_ = 0;
  std::int32_t processes_ = 0;
  std::uint64_t events_ = 0;
  bool is_begun_ = false;
};

}  // namespace chokepoint::analysis
