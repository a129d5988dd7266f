#include "probe/collective/nccl/library.h"

#include <fmt/format.h>

#include <utility>

#include "base/host/libraries.h"

namespace chokepoint::probe::collective::nccl {
namespace {

// NCCL overlooks an interface that is down, and reports only that there is none.
constexpr std::string_view kNoInterface = "no socket interface found";

std::string_view next_step_of(Code code, std::string_view reason) {
  if (reason.contains(kNoInterface)) {
    return "NCCL_SOCKET_IFNAME or --interface has to name an interface that is up and has an "
           "address: see 'ip -br address'";
  }
  switch (code) {
    case kRemoteError:
    case kSystemError:
      return "a rank that is gone or cannot be reached shows like this; see what the others say";
    case kInvalidUsage:
      return "two ranks may have been given the same GPU";
    default:
      return "NCCL_DEBUG=WARN shows more";
  }
}

Result<sys::Library> open_anywhere(const std::string& name) {
  Result<sys::Library> opened = sys::Library::open_for_good(name);
  if (opened || name.contains('/')) {
    return opened;
  }
  const std::optional<host::FoundLibrary> found = host::find_nccl(sys::Root("/"));
  return found ? sys::Library::open_for_good(found->path) : std::move(opened);
}

}  // namespace

const char* Functions::load(const sys::Library& library) {
  const char* missing = nullptr;
  const char* optional = nullptr;
  library.find("ncclGetVersion", version, missing);
  library.find("ncclGetUniqueId", unique_id, missing);
  library.find("ncclCommInitRank", init_rank, missing);
  library.find("ncclCommDestroy", destroy, missing);
  library.find("ncclCommAbort", abort, missing);
  library.find("ncclCommGetAsyncError", async_error, missing);
  library.find("ncclGetErrorString", error_string, missing);
  library.find("ncclGetLastError", last_error, optional);
  library.find("ncclAllReduce", all_reduce, missing);
  library.find("ncclAllGather", all_gather, missing);
  library.find("ncclReduceScatter", reduce_scatter, missing);
  library.find("ncclBroadcast", broadcast, missing);
  library.find("ncclSend", send, missing);
  library.find("ncclRecv", receive, missing);
  library.find("ncclGroupStart", group_start, missing);
  library.find("ncclGroupEnd", group_end, missing);
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

Result<std::shared_ptr<const Library>> Library::open(const std::string& name) {
  Result<sys::Library> opened = open_anywhere(name);
  if (!opened) {
    return fail(ErrorKind::NotFound, kOperation, name, "NCCL is not where this host's loader looks",
                "install libnccl2, activate PyTorch's environment, or name its folder in "
                "LD_LIBRARY_PATH: PyTorch's is …/site-packages/nvidia/nccl/lib");
  }
  std::shared_ptr<Library> library(new Library(std::move(*opened)));
  int code = 0;
  if (const char* missing = library->functions_.load(library->library_)) {
    return fail(ErrorKind::Unsupported, kOperation, name, fmt::format("it lacks {}", missing),
                "take NCCL 2.10 or newer");
  }
  TRY(library->check(library->functions_.version(&code), "version"));
  library->version_ = "NCCL " + host::nccl_version_text(code);
  return library;
}

Result<> Library::check(Code code, std::string_view subject) const {
  if (code == kSuccess) {
    return {};
  }
  const char* words = functions_.error_string(code);
  std::string reason = words == nullptr ? fmt::format("error {}", code) : words;
  const char* last = functions_.last_error == nullptr ? nullptr : functions_.last_error(nullptr);
  if (last != nullptr && *last != '\0') {
    reason += fmt::format(" ({})", last);
  }
  return fail(ErrorKind::Io, kOperation, subject, reason, next_step_of(code, reason));
}

}  // namespace chokepoint::probe::collective::nccl
