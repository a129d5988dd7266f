// The functions of libibverbs that are used, found at run time: providers of a host fit only its
// own libibverbs, and one binary shall run everywhere. Posting and polling are not among them: they
// go through the device's own table (ibv_context::ops). Only this folder includes this header.
//
// Owns the opened library; whoever made something by it keeps it. Any thread.
#pragma once

#include <infiniband/verbs.h>

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
// This host's own, opened once and never closed: a library that goes leaves behind all that it and
// its providers keep of devices.
const Result<std::shared_ptr<const Api>>& host_api();

// What the library made, given back by its own function.
template <class Thing>
using Owned = std::unique_ptr<Thing, int (*)(Thing*)>;

}  // namespace chokepoint::rdma::verbs
