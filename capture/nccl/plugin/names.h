// NCCL's words for what it does, as the layout's numbers. What is not known stays unknown.
#pragma once

#include <cstdint>

#include "capture/nccl/ring/layout.h"

namespace chokepoint::capture::nccl::plugin {

// `text` may be null.
Function function_of(const char* text);
Algorithm algorithm_of(const char* text);
Protocol protocol_of(const char* text);

struct Datatype {
  std::uint64_t number = kNone;  // NCCL's
  std::uint64_t bytes = 0;       // of an element
};
Datatype datatype_of(const char* text);

// Whether its root means anything.
bool has_root(Function function);

}  // namespace chokepoint::capture::nccl::plugin
