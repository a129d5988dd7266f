// What a history stores of a measurement: a value of a series, its time, and how its host was set
// up. Values.
//
//   Subject   path gpu3 > gpu4
//   Series    its throughput_mbps, sent over four streams
//   Row       94,100 Mb/s on 3 May 14:10, of five tests
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/documents/main_figures.h"
#include "base/history/shared_text.h"
#include "base/host/settings.h"

namespace chokepoint::history {

enum class SubjectKind : std::uint8_t { Host, Gpu, Nic, Disk, Path, Group, Job };

// "host", "path" …
const char* name_of(SubjectKind kind);
std::optional<SubjectKind> subject_kind(std::string_view name);

struct Subject {
  SubjectKind kind = SubjectKind::Host;
  std::string host = {};  // where it is, or from where a path leads; empty: of no single host
  std::string name = {};  // of the device, the folder, the job; empty: the host itself
  std::string to = {};    // of a path

  auto operator<=>(const Subject&) const = default;
};

// "gpu3", "gpu3 eth0", "gpu3 > gpu4".
std::string text_of(const Subject& subject);

struct Series {
  Subject subject = {};
  std::string metric = {};   // "throughput_mbps"
  std::string setting = {};  // "direction=send streams=4": what the test was asked for
  std::string unit = {};     // "Mb/s"; empty: a count
  documents::Better better = documents::Better::Neither;

  // What one is told from another by; unit and better follow from the metric.
  bool is_same(const Series& other) const {
    return subject == other.subject && metric == other.metric && setting == other.setting;
  }
};

struct Measured {
  std::int64_t wall_ns = 0;
  double value = 0;
  std::optional<double> spread = {};  // the standard deviation of what the value is the mean of
  std::int64_t count = 1;             // of these
  SharedText source = {};             // a run's folder, a document
  SharedText program = {};            // that measured, with its version
};

struct Row {
  Series series = {};
  Measured measured = {};
};

// How a host was set up at that time.
struct HostState {
  std::string host = {};
  std::int64_t wall_ns = 0;
  host::Settings settings = {};
};

// Of one command's end. Written whole or not at all; the same again changes nothing.
struct Batch {
  std::vector<Row> rows = {};
  std::vector<HostState> hosts = {};

  bool empty() const { return rows.empty() && hosts.empty(); }
};

}  // namespace chokepoint::history
