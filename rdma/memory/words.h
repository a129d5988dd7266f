// What buffers of every kind say and ask.
#pragma once

#include <cstdint>
#include <string>

#include "base/sys/error.h"

namespace chokepoint::rdma::memory {

std::string size_words(std::uint64_t bytes);  // "64 MiB", "1000 bytes"
Result<> check_inside(std::uint64_t size, std::uint64_t offset, std::uint64_t bytes);

}  // namespace chokepoint::rdma::memory
