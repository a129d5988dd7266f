#include "rdma/verbs/api.h"

#include <fmt/format.h>

#include "rdma/verbs/symbols.h"

namespace chokepoint::rdma::verbs {
namespace {

constexpr const char* kInstall = "apt install libibverbs1 ibverbs-providers";

void find_devices(Symbols& symbols, Api& api) {
  symbols.need(api.get_device_list, "ibv_get_device_list");
  symbols.need(api.free_device_list, "ibv_free_device_list");
  symbols.need(api.open_device, "ibv_open_device");
  symbols.need(api.close_device, "ibv_close_device");
  symbols.need(api.query_device, "ibv_query_device");
  symbols.need(api.query_port, "ibv_query_port");
  symbols.need(api.query_gid_table, "_ibv_query_gid_table");
}

void find_memory(Symbols& symbols, Api& api) {
  symbols.need(api.alloc_pd, "ibv_alloc_pd");
  symbols.need(api.dealloc_pd, "ibv_dealloc_pd");
  symbols.need(api.reg_mr, "ibv_reg_mr");
  symbols.need(api.dereg_mr, "ibv_dereg_mr");
  symbols.want(api.reg_mr_iova2, "ibv_reg_mr_iova2");
  symbols.want(api.reg_dmabuf_mr, "ibv_reg_dmabuf_mr");
}

void find_queues(Symbols& symbols, Api& api) {
  symbols.need(api.create_comp_channel, "ibv_create_comp_channel");
  symbols.need(api.destroy_comp_channel, "ibv_destroy_comp_channel");
  symbols.need(api.create_cq, "ibv_create_cq");
  symbols.need(api.destroy_cq, "ibv_destroy_cq");
  symbols.need(api.get_cq_event, "ibv_get_cq_event");
  symbols.need(api.ack_cq_events, "ibv_ack_cq_events");
  symbols.need(api.create_qp, "ibv_create_qp");
  symbols.need(api.destroy_qp, "ibv_destroy_qp");
  symbols.need(api.modify_qp, "ibv_modify_qp");
  symbols.need(api.create_ah, "ibv_create_ah");
  symbols.need(api.destroy_ah, "ibv_destroy_ah");
}

}  // namespace

Result<std::shared_ptr<const Api>> open_api(const std::string& library) {
  Result<sys::Library> opened = sys::Library::open(library);
  if (!opened) {
    Error error = std::move(opened.error());
    error.next_step = kInstall;
    return fail(std::move(error));
  }
  auto api = std::make_shared<Api>(std::move(*opened));
  Symbols symbols(api->library);
  find_devices(symbols, *api);
  find_memory(symbols, *api);
  find_queues(symbols, *api);
  if (!symbols.missing().empty()) {
    return fail(ErrorKind::Unsupported, "open library", library,
                fmt::format("it has no {}: too old", symbols.missing()),
                "rdma-core 32 or newer is needed");
  }
  return api;
}

const Result<std::shared_ptr<const Api>>& host_api() {
  static const auto* const api =
      new Result<std::shared_ptr<const Api>>(open_api("libibverbs.so.1"));
  return *api;
}

}  // namespace chokepoint::rdma::verbs
