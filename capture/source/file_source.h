// Capture files as a Source: one, or several merged by time, through a filter or not. See live.h
// for interfaces. Open on any thread; each source is read by one thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/sys/error.h"
#include "capture/source/source.h"

namespace chokepoint::capture::source {

class ByteStream;

// pcap or pcapng, plain, gzip or zstd: the first bytes show which. "-": standard input. A file that
// is cut off or damaged gives everything before that point, and a remark. Waits for the first bytes
// of a pipe until `interrupt` becomes readable (-1: nothing does): an Error of kind Interrupted.
Result<std::unique_ptr<Source>> open_file(const std::string& path, int interrupt = -1);

// Several, merged by time. Frames of one file stay in its order, even if its clock steps back.
Result<std::unique_ptr<Source>> open_files(const std::vector<std::string>& paths,
                                           int interrupt = -1);

// What open_file() and open_files() consist of. `path` is the file's name for users. Fails if the
// stream does not begin as a capture does.
Result<std::unique_ptr<Source>> file_source(std::unique_ptr<ByteStream> stream,
                                            const std::string& path, int interrupt = -1);
std::unique_ptr<Source> merged_files(std::vector<std::unique_ptr<Source>> files);

// A source through a libpcap filter expression: for files, which no kernel filters. Compiles the
// expression once per link type; a mistake in it is an error of kind Usage, returned at once.
Result<std::unique_ptr<Source>> filtered(std::unique_ptr<Source> below,
                                         const std::string& expression);

}  // namespace chokepoint::capture::source
