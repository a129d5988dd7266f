// The functions of librdmacm that are used, found at run time as those of libibverbs are (api.h).
// Owns the opened library. Any thread.
#pragma once

#include <rdma/rdma_cma.h>

#include <memory>
#include <string>

#include "base/sys/error.h"
#include "base/sys/library.h"

namespace chokepoint::rdma::verbs {

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

}  // namespace chokepoint::rdma::verbs
