// What buffers of every kind say and ask.
#pragma once

#include <cstdint>

#include "base/sys/error.h"
#include "base/sys/pages.h"

namespace chokepoint::rdma::memory {

using sys::size_words;

Result<> check_inside(std::uint64_t size, std::uint64_t offset, std::uint64_t bytes);

}  // namespace chokepoint::rdma::memory
