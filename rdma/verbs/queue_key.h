// What UD queue pairs show each other. Both sides of a test are this program, and the key guards
// against stray datagrams only; one with its highest bit set would need a privilege.
#pragma once

#include <cstdint>

namespace chokepoint::rdma::verbs {

inline constexpr std::uint32_t kQueueKey = 0x11'22'33'44;

}  // namespace chokepoint::rdma::verbs
