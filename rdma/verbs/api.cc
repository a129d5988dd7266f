#include "rdma/verbs/api.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "base/sys/library.h"

namespace chokepoint::rdma::verbs {
namespace {

// `find` looks the functions up in the library; it returns the name of the first that is missing,
// or null.
template <class T, class Find>
Result<std::shared_ptr<const T>> open_with(const std::string& name, Find find,
                                           const char* if_missing, const char* if_old) {
  auto library = sys::Library::open(name);
  if (!library) {
    library.error().next_step = if_missing;
    return fail(std::move(library.error()));
  }
  auto api = std::make_shared<T>();
  if (const char* missing = find(*library, *api)) {
    return fail(ErrorKind::Unsupported, "open library", name,
                fmt::format("it has no {}: too old", missing), if_old);
  }
  api->library = std::move(*library);
  return api;
}

// `missing`: the first symbol that the library lacks; null: none so far.
#define CHOKEPOINT_FUNCTION(name, symbol) library.find(#symbol, api.name, missing);

const char* find_functions(const sys::Library& library, Api& api) {
  const char* missing = nullptr;
#include "rdma/verbs/verbs_functions.def"
  api.reg_mr_iova2 = library.function<decltype(::ibv_reg_mr_iova2)>("ibv_reg_mr_iova2");
  api.reg_dmabuf_mr = library.function<decltype(::ibv_reg_dmabuf_mr)>("ibv_reg_dmabuf_mr");
  return missing;
}

const char* find_cm_functions(const sys::Library& library, CmApi& api) {
  const char* missing = nullptr;
#include "rdma/verbs/cm_functions.def"
  return missing;
}

#undef CHOKEPOINT_FUNCTION

}  // namespace

Result<std::shared_ptr<const Api>> open_api(const std::string& library) {
  return open_with<Api>(library, find_functions, "apt install libibverbs1 ibverbs-providers",
                        "rdma-core 32 or newer is needed");
}

const Result<std::shared_ptr<const Api>>& host_api() {
  static const auto* const api =
      new Result<std::shared_ptr<const Api>>(open_api("libibverbs.so.1"));
  return *api;
}

Result<std::shared_ptr<const CmApi>> open_cm_api(const std::string& library) {
  return open_with<CmApi>(library, find_cm_functions, "apt install librdmacm1, or leave out --cm",
                          "leave out --cm");
}

const Result<std::shared_ptr<const CmApi>>& host_cm_api() {
  static const auto* const api =
      new Result<std::shared_ptr<const CmApi>>(open_cm_api("librdmacm.so.1"));
  return *api;
}

}  // namespace chokepoint::rdma::verbs
