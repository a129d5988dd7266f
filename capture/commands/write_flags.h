// --write: what is captured goes into files, too.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/cli/flags.h"
#include "base/math/units.h"
#include "base/sys/error.h"
#include "capture/observer/observer.h"
#include "capture/source/capture_writer.h"

namespace chokepoint::capture {

struct WriteFlags {
  std::string path = {};  // empty: nothing is written; "-": standard output
  math::Bytes file_bytes = {};
  std::chrono::nanoseconds file_time{0};
};

void define(cli::Flags& flags, WriteFlags& write);

// Null where nothing is to be written. Mistakes are of kind Usage.
Result<std::unique_ptr<source::CaptureWriter>> open(const WriteFlags& flags);

}  // namespace chokepoint::capture
