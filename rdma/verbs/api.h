// The functions of libibverbs and librdmacm that this program uses, found at run time: providers of
// a host fit only its own libibverbs, and one binary shall run everywhere. Posting and polling are
// not among them: they go through the device's own table (ibv_context::ops). Only this folder
// includes this header.
//
// An Api owns the opened library; what was made by it holds it. Any thread.
#pragma once

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <memory>
#include <string>

#include "base/sys/error.h"
#include "base/sys/library.h"

namespace chokepoint::rdma::verbs {

struct Api {
  explicit Api(sys::Library opened) : library(std::move(opened)) {}

  sys::Library library;

  // Plain symbols, never the macros and inline functions of the same names: those would have to be
  // linked.
  decltype(&::ibv_get_device_list) get_device_list = nullptr;
  decltype(&::ibv_free_device_list) free_device_list = nullptr;
  decltype(&::ibv_open_device) open_device = nullptr;
  decltype(&::ibv_close_device) close_device = nullptr;
  decltype(&::ibv_query_device) query_device = nullptr;
  decltype(&::ibv_query_port) query_port = nullptr;
  decltype(&::_ibv_query_gid_table) query_gid_table = nullptr;
  decltype(&::ibv_alloc_pd) alloc_pd = nullptr;
  decltype(&::ibv_dealloc_pd) dealloc_pd = nullptr;
  decltype(&::ibv_reg_mr) reg_mr = nullptr;
  decltype(&::ibv_dereg_mr) dereg_mr = nullptr;
  decltype(&::ibv_create_comp_channel) create_comp_channel = nullptr;
  decltype(&::ibv_destroy_comp_channel) destroy_comp_channel = nullptr;
  decltype(&::ibv_create_cq) create_cq = nullptr;
  decltype(&::ibv_destroy_cq) destroy_cq = nullptr;
  decltype(&::ibv_get_cq_event) get_cq_event = nullptr;
  decltype(&::ibv_ack_cq_events) ack_cq_events = nullptr;
  decltype(&::ibv_create_qp) create_qp = nullptr;
  decltype(&::ibv_destroy_qp) destroy_qp = nullptr;
  decltype(&::ibv_modify_qp) modify_qp = nullptr;
  decltype(&::ibv_create_ah) create_ah = nullptr;
  decltype(&::ibv_destroy_ah) destroy_ah = nullptr;

  // Null where the library is too old for them.
  decltype(&::ibv_reg_mr_iova2) reg_mr_iova2 = nullptr;
  decltype(&::ibv_reg_dmabuf_mr) reg_dmabuf_mr = nullptr;
};

Result<std::shared_ptr<const Api>> open_api(const std::string& library);
// This host's own, opened once and never closed: closing would leak all that it and its providers
// keep of devices.
const Result<std::shared_ptr<const Api>>& host_api();

// What libibverbs made; freed by libibverbs' own function.
template <class Thing>
using Owned = std::unique_ptr<Thing, int (*)(Thing*)>;

struct CmApi {
  explicit CmApi(sys::Library opened) : library(std::move(opened)) {}

  sys::Library library;

  decltype(&::rdma_create_event_channel) create_event_channel = nullptr;
  decltype(&::rdma_destroy_event_channel) destroy_event_channel = nullptr;
  decltype(&::rdma_get_cm_event) get_cm_event = nullptr;
  decltype(&::rdma_ack_cm_event) ack_cm_event = nullptr;
  decltype(&::rdma_create_id) create_id = nullptr;
  decltype(&::rdma_destroy_id) destroy_id = nullptr;
  decltype(&::rdma_bind_addr) bind_addr = nullptr;
  decltype(&::rdma_listen) listen = nullptr;
  decltype(&::rdma_get_src_port) get_src_port = nullptr;
  decltype(&::rdma_resolve_addr) resolve_addr = nullptr;
  decltype(&::rdma_resolve_route) resolve_route = nullptr;
  decltype(&::rdma_connect) connect = nullptr;
  decltype(&::rdma_establish) establish = nullptr;
  decltype(&::rdma_accept) accept = nullptr;
  decltype(&::rdma_reject) reject = nullptr;
  decltype(&::rdma_disconnect) disconnect = nullptr;
  decltype(&::rdma_init_qp_attr) init_qp_attr = nullptr;
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
