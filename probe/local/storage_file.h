// The file that storage is measured with: the probe's own, in the folder that was asked for,
// without a name where the file system supports that, so that nothing remains of it, also if the
// probe is killed.
#pragma once

#include <cstdint>
#include <filesystem>

#include "base/sys/descriptor.h"
#include "base/sys/error.h"

namespace chokepoint::probe::storage {

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
