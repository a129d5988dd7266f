// Files that a user names, to be read from a pipe as well, or to be written. The path may name
// anything: a pipe without another end, a device that acts when it is opened, a link to nothing.
// So nothing here waits in open(), becomes the process's terminal or reads without a bound, and
// every Error names the path. Files that must be regular are opened by regular_file.h. Any thread.
//
//                                       a file   a pipe   a link                         a device
//   open_input(): keys, lists, captures  yes      yes      followed                       no
//   open_output(): what -o and -w name   yes      yes      followed where it leads to     yes, of
//                                                          something characters
//
// A file is never made behind a link: whoever made the link would choose its place.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/sys/descriptor.h"
#include "base/sys/error.h"

namespace chokepoint::sys {

// To be read from its beginning. A pipe is non-blocking: before its first writer it reads as one
// that has ended.
Result<Descriptor> open_input(const std::filesystem::path& path, std::string_view operation);

// All of it: Malformed beyond `most_bytes`. A pipe is read until its writers have closed it; one
// that no process opens for writing within a second is an Error of kind Timeout.
Result<std::string> read_input(const std::filesystem::path& path, std::size_t most_bytes,
                               std::string_view operation);
// The same of one that is open. `path` is for errors.
Result<std::string> read_opened(const Descriptor& opened, const std::filesystem::path& path,
                                std::size_t most_bytes, std::string_view operation);

// Emptied where it is a file, made where nothing is there. A pipe that no process opens for reading
// within a second is an Error of kind Timeout.
Result<Descriptor> open_output(const std::filesystem::path& path, mode_t mode,
                               std::string_view operation);

// All of it, however often a write takes a part. False: errno says why.
bool write_whole(const Descriptor& file, std::string_view bytes);

}  // namespace chokepoint::sys
