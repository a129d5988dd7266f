// How the watched job is doing at this moment: what the live line, the metrics and the summary at
// the end show. A value.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "capture/counter/watcher.h"
#include "capture/live/collectives.h"
#include "capture/socket/watcher.h"
#include "capture/stall/monitor.h"
#include "capture/step/step.h"

namespace chokepoint::capture::live {

// Of the job's Ethernet frames on one interface, since the job began.
struct Volume {
  std::string interface = {};
  std::uint64_t sent_bytes = 0;
  std::uint64_t received_bytes = 0;
};

struct Figures {
  double elapsed_s = 0;
  std::string node = {};
  std::string program_version = {};
  std::map<std::string, std::string> labels = {};
  step::Figures steps = {};
  stall::Figures stall = {};
  socket::Figures sockets = {};
  counter::Figures counters = {};
  CollectiveFigures collectives = {};
  std::size_t processes = 0;
  std::vector<Volume> volumes = {};
  std::string volume_source = {};  // "packets"; "sockets" where there were none
  double sent_mbps = 0;            // of the job, over the last second or so
  double received_mbps = 0;
  std::uint64_t retransmitted_packets = 0;  // by packets if these are captured, else by sockets
  std::uint64_t sent_packets = 0;
  std::uint64_t packets_dropped = 0;      // by the kernel or an interface, before they were seen
  std::uint64_t rows_dropped = 0;         // of the record
  std::vector<std::string> nccl = {};     // "2.28.9: …", what NCCL is asked for
  std::vector<std::string> remarks = {};  // what could not be seen, and why
};

}  // namespace chokepoint::capture::live
