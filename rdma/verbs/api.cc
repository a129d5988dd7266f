#include "rdma/verbs/api.h"

#include <fmt/format.h>

#include <string>

#include "base/sys/library.h"

namespace chokepoint::rdma::verbs {
namespace {

// Finds many functions of one library and remembers the first that it lacks.
class Symbols {
 public:
  explicit Symbols(const sys::Library& library) : library_(library) {}

  template <class Function>
  void need(Function*& into, const char* name) {
    want(into, name);
    if (into == nullptr && missing_.empty()) {
      missing_ = name;
    }
  }
  template <class Function>
  void want(Function*& into, const char* name) {
    into = library_.function<Function>(name);
  }

  // Empty: all needed functions are there.
  const std::string& missing() const { return missing_; }

 private:
  const sys::Library& library_;
  std::string missing_;
};

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

void find_events(Symbols& symbols, CmApi& api) {
  symbols.need(api.create_event_channel, "rdma_create_event_channel");
  symbols.need(api.destroy_event_channel, "rdma_destroy_event_channel");
  symbols.need(api.get_cm_event, "rdma_get_cm_event");
  symbols.need(api.ack_cm_event, "rdma_ack_cm_event");
  symbols.need(api.create_id, "rdma_create_id");
  symbols.need(api.destroy_id, "rdma_destroy_id");
}

void find_connections(Symbols& symbols, CmApi& api) {
  symbols.need(api.bind_addr, "rdma_bind_addr");
  symbols.need(api.listen, "rdma_listen");
  symbols.need(api.get_src_port, "rdma_get_src_port");
  symbols.need(api.resolve_addr, "rdma_resolve_addr");
  symbols.need(api.resolve_route, "rdma_resolve_route");
  symbols.need(api.connect, "rdma_connect");
  symbols.need(api.establish, "rdma_establish");
  symbols.need(api.accept, "rdma_accept");
  symbols.need(api.reject, "rdma_reject");
  symbols.need(api.disconnect, "rdma_disconnect");
  symbols.need(api.init_qp_attr, "rdma_init_qp_attr");
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

Result<std::shared_ptr<const CmApi>> open_cm_api(const std::string& library) {
  Result<sys::Library> opened = sys::Library::open(library);
  if (!opened) {
    Error error = std::move(opened.error());
    error.next_step = "apt install librdmacm1, or leave out --cm";
    return fail(std::move(error));
  }
  auto api = std::make_shared<CmApi>(std::move(*opened));
  Symbols symbols(api->library);
  find_events(symbols, *api);
  find_connections(symbols, *api);
  if (!symbols.missing().empty()) {
    return fail(ErrorKind::Unsupported, "open library", library,
                fmt::format("it has no {}: too old", symbols.missing()), "leave out --cm");
  }
  return api;
}

const Result<std::shared_ptr<const CmApi>>& host_cm_api() {
  static const auto* const api =
      new Result<std::shared_ptr<const CmApi>>(open_cm_api("librdmacm.so.1"));
  return *api;
}

}  // namespace chokepoint::rdma::verbs
