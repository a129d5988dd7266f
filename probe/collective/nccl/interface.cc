#include "probe/collective/nccl/interface.h"

namespace chokepoint::probe::collective::nccl {
namespace {

template <class Function>
void find(const sys::Library& library, const char* name, Function*& function,
          const char*& missing) {
  function = library.function<Function>(name);
  if (function == nullptr && missing == nullptr) {
    missing = name;
  }
}

}  // namespace

const char* Functions::load(const sys::Library& library) {
  const char* missing = nullptr;
  const char* optional = nullptr;
  find(library, "ncclGetVersion", version, missing);
  find(library, "ncclGetUniqueId", unique_id, missing);
  find(library, "ncclCommInitRank", init_rank, missing);
  find(library, "ncclCommDestroy", destroy, missing);
  find(library, "ncclCommAbort", abort, missing);
  find(library, "ncclCommGetAsyncError", async_error, missing);
  find(library, "ncclGetErrorString", error_string, missing);
  find(library, "ncclGetLastError", last_error, optional);
  find(library, "ncclAllReduce", all_reduce, missing);
  find(library, "ncclAllGather", all_gather, missing);
  find(library, "ncclReduceScatter", reduce_scatter, missing);
  find(library, "ncclBroadcast", broadcast, missing);
  find(library, "ncclSend", send, missing);
  find(library, "ncclRecv", receive, missing);
  find(library, "ncclGroupStart", group_start, missing);
  find(library, "ncclGroupEnd", group_end, missing);
  return missing;
}

Type type_of(ElementType type) {
  switch (type) {
    case ElementType::Float32:
      return kFloat32;
    case ElementType::Float64:
      return kFloat64;
    case ElementType::Float16:
      return kFloat16;
    case ElementType::BFloat16:
      return kBFloat16;
    case ElementType::Int32:
      return kInt32;
    case ElementType::Int64:
      return kInt64;
    case ElementType::Uint8:
      break;
  }
  return kUint8;
}

}  // namespace chokepoint::probe::collective::nccl
