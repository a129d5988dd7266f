// Where a capture begins: files, standard input. See live.h for interfaces. Any thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/sys/error.h"
#include "capture/source/source.h"

namespace chokepoint::capture::source {

// pcap or pcapng, plain, gzip or zstd, all told by their first bytes. "-": standard input.
Result<std::unique_ptr<Source>> open_file(const std::string& path);

// Several, merged by time. Frames of one file stay in its order, even where its clock steps back.
Result<std::unique_ptr<Source>> open_files(const std::vector<std::string>& paths);

}  // namespace chokepoint::capture::source
