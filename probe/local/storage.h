// The speed of a folder's storage for a training job: writes (checkpoints), small synced writes
// (logs), sequential and random reads that are not in the page cache (data sets). In this order,
// each for a given time and no longer than the file:
//
//   write        1 MiB after the other, synced every 32 MiB      MB/s, syncs included
//   small write  4 KiB, synced each time                          latency
//   read         1 MiB after the other, forgotten by the cache    MB/s
//   random read  4 KiB anywhere, past the cache where possible    latency, reads/s of one thread
//                                                                 and of several
//
// A failure is noted; earlier results are kept. Data cannot be compressed. One thread, and those
// of the random reads.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "base/documents/probe_storage.h"
#include "base/sys/clock.h"
#include "base/sys/error.h"

namespace chokepoint::probe::storage {

struct Plan {
  std::filesystem::path folder = {};
  std::uint64_t bytes = std::uint64_t{1} << 30;             // of the file, at most
  std::chrono::nanoseconds time = std::chrono::seconds(2);  // of each measurement
  std::size_t threads = 8;                                  // of random reads
  std::function<bool()> stopped = [] { return false; };     // any thread
  std::function<void(const std::string& what)> on_step = [](const std::string&) {};
};

// All of the document but the mount and its disk. Fails where nothing could be measured at all.
Result<documents::ProbeStorage> measure(const Plan& plan, const sys::Clock& clock);

}  // namespace chokepoint::probe::storage
