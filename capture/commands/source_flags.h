// The flags that say where frames come from, and the source that they lead to.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/cli/flags.h"
#include "base/math/units.h"
#include "base/sys/error.h"
#include "base/sys/root.h"
#include "capture/source/source.h"

namespace chokepoint::capture {

struct SourceFlags {
  std::vector<std::string> interfaces = {};
  std::vector<std::string> files = {};
  std::vector<std::string> filter = {};  // words of one expression
  std::string network_namespace = {};
  std::int64_t snapshot_bytes = 144;  // Ethernet, VLAN, IPv6, TCP with timestamps, Gloo's header
  math::Bytes ring = {};              // 0: chosen for the rate of the link

  bool is_live() const { return files.empty(); }
};

void define(cli::Flags& flags, SourceFlags& source);

struct OpenedSource {
  std::unique_ptr<source::Source> source;
  std::function<void()> stop = {};  // of a live one
};

// Mistakes are of kind Usage. `root`: where facts of interfaces are read.
Result<OpenedSource> open(const SourceFlags& flags, const sys::Root& root);

// "eth0, eth1"; "a.pcap"
std::string name_of(const SourceFlags& flags);

}  // namespace chokepoint::capture
