// Files in folders that others may write to, a run's above all. There anything may lie under any
// name: a FIFO that blocks who opens it, a link that leads to another user's file, a device, a
// file of terabytes that holds nothing but holes. These functions open and look at regular files
// alone, follow no link, do not wait, and count what is stored instead of a file's length.
//
// Nothing else opens what lies in a run's folder: what SQLite opens comes here as well
// (base/record/database.cc).
//
// Functions; any thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/sys/descriptor.h"
#include "base/sys/error.h"

namespace chokepoint::sys {

// As open(2); no link is followed, nothing is waited for, no child inherits it. Where it is no
// regular file the Error names what it is; `operation` is the Error's.
Result<Descriptor> open_regular(std::string_view operation, const std::filesystem::path& path,
                                int flags, mode_t mode = 0);

// The same for C: a descriptor, or -1 and errno. A folder, too, may be opened, to be read.
int open_regular_or_folder(const char* path, int flags, mode_t mode);

// Whether something is there; an Error where that is no regular file. Opens nothing, so that it
// neither drops a lock that this process has on the file nor wakes a device.
Result<bool> check_regular(std::string_view operation, const std::filesystem::path& path);

// Of a file that the user has named: links are followed, and it must be a regular file in the end.
Result<Descriptor> open_named(std::string_view operation, const std::filesystem::path& path);

// What is read at most of a file that is held in memory; `most_bytes` and one more where there is
// more.
Result<std::string> read_up_to(const Descriptor& file, std::size_t most_bytes,
                               std::string_view operation, const std::filesystem::path& path);

// How much of a file is stored, at most its length; 0 where it is missing. File systems that
// compress, or that count no blocks, say less than there is, so that blocks count 32-fold, and
// where that is still less than the length, the file's holes are looked for.
std::int64_t stored_bytes(const std::filesystem::path& path);
// The same by the blocks alone: opens nothing, see check_regular().
std::int64_t bytes_in_blocks(const std::filesystem::path& path);

// Copies a file's bytes and leaves its holes as holes. No more is copied than it has at the
// beginning. `to` is empty and may be written to.
Result<> copy_stored(const Descriptor& from, const Descriptor& to, std::string_view operation,
                     const std::filesystem::path& path);

// Exhausted where a folder's disk has less room than this.
Result<> want_room(const std::filesystem::path& folder, std::int64_t bytes,
                   std::string_view operation, std::string_view next_step);

}  // namespace chokepoint::sys
