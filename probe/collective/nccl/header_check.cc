// Where NCCL's own header is found, the build compares library.h with it.
#if __has_include(<nccl.h>) && __has_include(<cuda_runtime.h>)
#include <nccl.h>

// An older one lacks some of it.
#if NCCL_VERSION_CODE >= 21300
#include "base/sys/library.h"
#include "probe/collective/nccl/library.h"

template <>
struct chokepoint::sys::Plain<ncclUniqueId> {
  using Type = chokepoint::probe::collective::nccl::UniqueId;
};

namespace chokepoint::probe::collective::nccl {
namespace {

using sys::kSameType;

static_assert(kSuccess == ncclSuccess && kSystemError == ncclSystemError);
static_assert(kInvalidUsage == ncclInvalidUsage && kRemoteError == ncclRemoteError);
static_assert(kInProgress == ncclInProgress);
static_assert(kUint8 == ncclUint8 && kInt32 == ncclInt32 && kInt64 == ncclInt64);
static_assert(kFloat16 == ncclFloat16 && kFloat32 == ncclFloat32 && kFloat64 == ncclFloat64);
static_assert(kBFloat16 == ncclBfloat16 && kSum == ncclSum);
static_assert(sizeof(UniqueId) == sizeof(ncclUniqueId));

static_assert(kSameType<decltype(Functions::version), decltype(&ncclGetVersion)>);
static_assert(kSameType<decltype(Functions::unique_id), decltype(&ncclGetUniqueId)>);
static_assert(kSameType<decltype(Functions::init_rank), decltype(&ncclCommInitRank)>);
static_assert(kSameType<decltype(Functions::destroy), decltype(&ncclCommDestroy)>);
static_assert(kSameType<decltype(Functions::abort), decltype(&ncclCommAbort)>);
static_assert(kSameType<decltype(Functions::async_error), decltype(&ncclCommGetAsyncError)>);
static_assert(kSameType<decltype(Functions::error_string), decltype(&ncclGetErrorString)>);
static_assert(kSameType<decltype(Functions::all_reduce), decltype(&ncclAllReduce)>);
static_assert(kSameType<decltype(Functions::all_gather), decltype(&ncclAllGather)>);
static_assert(kSameType<decltype(Functions::reduce_scatter), decltype(&ncclReduceScatter)>);
static_assert(kSameType<decltype(Functions::broadcast), decltype(&ncclBroadcast)>);
static_assert(kSameType<decltype(Functions::send), decltype(&ncclSend)>);
static_assert(kSameType<decltype(Functions::receive), decltype(&ncclRecv)>);
static_assert(kSameType<decltype(Functions::group_start), decltype(&ncclGroupStart)>);
static_assert(kSameType<decltype(Functions::group_end), decltype(&ncclGroupEnd)>);

}  // namespace
}  // namespace chokepoint::probe::collective::nccl
#endif
#endif
