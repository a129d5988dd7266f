#include "rdma/verbs/cm_api.h"

#include <fmt/format.h>

#include "rdma/verbs/symbols.h"

namespace chokepoint::rdma::verbs {
namespace {

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
