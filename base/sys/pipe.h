// A pipe whose ends no child inherits but by being handed one. Owned by who opens it; any thread.
#pragma once

#include <string_view>

#include "base/sys/descriptor.h"
#include "base/sys/error.h"

namespace chokepoint::sys {

struct Pipe {
  Descriptor read;
  Descriptor write;
};

// The words are of the error: what the pipe is opened for.
Result<Pipe> open_pipe(std::string_view operation, std::string_view subject);

}  // namespace chokepoint::sys
