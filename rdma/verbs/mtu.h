// Path MTUs as libibverbs counts them: 1 is 256 bytes, 5 is 4096.
#pragma once

#include <infiniband/verbs.h>

namespace chokepoint::rdma::verbs {

// 0 where it is none.
inline int bytes_of(ibv_mtu mtu) {
  return mtu < IBV_MTU_256 || mtu > IBV_MTU_4096 ? 0 : 128 << static_cast<int>(mtu);
}

// The largest that is not above so many bytes, or else the smallest there is.
inline ibv_mtu mtu_of(int bytes) {
  int code = IBV_MTU_256;
  while (code < IBV_MTU_4096 && (256 << code) <= bytes) {
    ++code;
  }
  return static_cast<ibv_mtu>(code);
}

}  // namespace chokepoint::rdma::verbs
