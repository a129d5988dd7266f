// What a folder's storage does for a training job: writes (checkpoints), small synced writes
// (logs), sequential and random reads that are not in the page cache (data sets). In this order,
// each for a given time and no longer than the file:
//
//   write        1 MiB after the other, synced every 32 MiB      MB/s, syncs included
//   small write  4 KiB, synced each time                          latency
//   read         1 MiB after the other, forgotten by the cache    MB/s
//   random read  4 KiB anywhere, past the cache where possible    latency, reads/s of one thread
//                                                                 and of several
//
// What fails is noted; what was measured before stays. Data cannot be compressed. One thread, and
// those of the random reads.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "base/documents/probe_storage.h"
#include "base/sys/clock.h"
#include "base/sys/descriptor.h"
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

// The file that storage is measured with: the probe's own, in the folder that was asked for,
// without a name wherever the file system knows files without one, so that nothing is left of it
// however the probe ends.

struct Room {
  std::uint64_t total_bytes = 0;
  std::uint64_t free_bytes = 0;  // for this user
};

Result<Room> room_of(const std::filesystem::path& folder);

// How large the file may become: no more than was asked for, and never so large that less than a
// twentieth of the file system and 256 MiB stay free. Exhausted if that is not worth measuring.
Result<std::uint64_t> file_bytes(const Room& room, std::uint64_t wanted,
                                 const std::filesystem::path& folder);

// For reading and writing, empty.
Result<sys::Descriptor> make_file(const std::filesystem::path& folder);

// The same file again, past the page cache; nothing where the file system knows no such reads.
sys::Descriptor opened_directly(const sys::Descriptor& file);

// Whether none of the file's first bytes are in the page cache; false where the kernel does not
// report it.
bool is_cold(const sys::Descriptor& file, std::uint64_t bytes);
// Asks the kernel to forget what it has of the file, which has to be on the disk.
void make_cold(const sys::Descriptor& file);

}  // namespace chokepoint::probe::storage
