// The functions of libibverbs and librdmacm that this program uses, found at run time: providers of
// a host fit only its own libibverbs, and one binary shall run everywhere. Posting and polling are
// not among them: they go through the device's own table (ibv_context::ops). Only this folder
// and tests include this header.
//
// An Api owns the opened library; what was made by it holds it. Tests fill one with functions of
// their own. Any thread.
#pragma once

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <memory>
#include <optional>
#include <string>

#include "base/sys/error.h"
#include "base/sys/library.h"
#include "rdma/verbs/endpoint.h"

namespace chokepoint::rdma::verbs {

struct Api {
  std::optional<sys::Library> library = {};  // empty: a test's functions

  // Plain symbols, never the macros and inline functions of the same names: those would have to be
  // linked.
// NOLINTNEXTLINE(bugprone-macro-parentheses): it declares the name.
#define CHOKEPOINT_FUNCTION(name, symbol) decltype(&::symbol) name = nullptr;
#include "rdma/verbs/verbs_functions.def"
#undef CHOKEPOINT_FUNCTION

  // Null where the library is too old for them.
  decltype(&::ibv_reg_mr_iova2) reg_mr_iova2 = nullptr;
  decltype(&::ibv_reg_dmabuf_mr) reg_dmabuf_mr = nullptr;
};

Result<std::shared_ptr<const Api>> open_api(const std::string& library);
// This host's own, opened once and never closed: closing would leak all that it and its providers
// keep of devices.
const Result<std::shared_ptr<const Api>>& host_api();

struct CmApi {
  std::optional<sys::Library> library = {};

// NOLINTNEXTLINE(bugprone-macro-parentheses): it declares the name.
#define CHOKEPOINT_FUNCTION(name, symbol) decltype(&::symbol) name = nullptr;
#include "rdma/verbs/cm_functions.def"
#undef CHOKEPOINT_FUNCTION
};

Result<std::shared_ptr<const CmApi>> open_cm_api(const std::string& library);
// This host's own, opened once and never closed.
const Result<std::shared_ptr<const CmApi>>& host_cm_api();

// Path MTUs as libibverbs encodes them: 1 is 256 bytes, 5 is 4096. 0: the code is not valid.
inline int bytes_of(ibv_mtu mtu) {
  return mtu < IBV_MTU_256 || mtu > IBV_MTU_4096 ? 0 : 128 << static_cast<int>(mtu);
}

// The largest MTU that is not above `bytes`, or else the smallest there is.
inline ibv_mtu mtu_of(int bytes) {
  int code = IBV_MTU_256;
  while (code < IBV_MTU_4096 && (256 << code) <= bytes) {
    ++code;
  }
  return static_cast<ibv_mtu>(code);
}

}  // namespace chokepoint::rdma::verbs
