#include "probe/collective/nccl/nccl.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/gpu/cuda.h"
#include "base/sys/late.h"
#include "base/sys/root.h"
#include "probe/collective/hex.h"
#include "probe/collective/nccl/communicator.h"
#include "probe/collective/nccl/environment.h"
#include "probe/collective/nccl/library.h"

namespace chokepoint::probe::collective {
namespace {

// Says which NCCL it would have been: what it lacks is a GPU.
Error without_gpu(const nccl::Library& library, const Error& error) {
  return {error.kind,
          std::string(nccl::kOperation),
          library.version(),
          0,
          "opened, but " + error.subject + ": " + error.reason,
          error.next_step};
}

Result<std::unique_ptr<gpu::Cuda>> open_gpu(const nccl::Library& library, const std::string& name,
                                            const Place& place, const BackendOptions& options) {
  const auto driver = gpu::Driver::open(name);
  if (!driver) {
    return fail(without_gpu(library, driver.error()));
  }
  auto cuda = gpu::Cuda::open(*driver, options.gpu.value_or(place.local_rank % (*driver)->gpus()));
  return cuda ? std::move(cuda) : fail(without_gpu(library, cuda.error()));
}

// Hosts may have one name, and the containers of a host several: what booted is one host.
std::string seat_of(const Place& place, const gpu::Cuda& cuda) {
  return sys::Root().text("/proc/sys/kernel/random/boot_id").value_or(place.host) + " " +
         cuda.pci_address().value_or(std::to_string(cuda.number()));
}

std::string key_of(int rank) { return fmt::format("nccl/gpu/{}", rank); }

// Has any GPU of the group several ranks? All must know, since all must take the same network.
Result<bool> shares_gpu(const Place& place, const gpu::Cuda& cuda, Store& store) {
  TRY(store.set(key_of(place.rank), to_hex(seat_of(place, cuda))));
  std::vector<std::string> seats;
  for (int rank = 0; rank < place.ranks; ++rank) {
    TRY(std::string seat, store.get(key_of(rank)));
    seats.push_back(std::move(seat));
  }
  std::ranges::sort(seats);
  return std::ranges::adjacent_find(seats) != seats.end();
}

Result<nccl::UniqueId> meet(const nccl::Library& library, const Place& place, Store& store) {
  nccl::UniqueId id{};
  if (place.rank == 0) {
    TRY(library.check(library.functions().unique_id(&id), "unique id"));
    const Result<> told = store.set("nccl/id", to_hex({id.bytes.data(), id.bytes.size()}));
    return told ? Result<nccl::UniqueId>(id) : fail(told.error());
  }
  TRY(const std::string text, store.get("nccl/id"));
  const std::optional<std::string> bytes = from_hex(text);
  if (!bytes || bytes->size() != id.bytes.size()) {
    return fail(ErrorKind::Malformed, nccl::kOperation, "unique id", "rank 0 left something else",
                "the ranks may run different versions of chokepoint");
  }
  std::ranges::copy(*bytes, id.bytes.begin());
  return id;
}

using Joined = std::pair<nccl::Code, nccl::Comm>;

// On a thread of its own, which is left behind where NCCL waits for a rank that never comes.
Result<nccl::Comm> join(const std::shared_ptr<const nccl::Library>& library,
                        const std::shared_ptr<const gpu::Cuda>& cuda, const Place& place,
                        const nccl::UniqueId& id, std::chrono::seconds timeout) {
  sys::Late<Joined> joining([library, cuda, id, rank = place.rank, ranks = place.ranks] {
    nccl::Comm comm = nullptr;
    if (!cuda->use()) {
      return Joined{nccl::kSystemError, nullptr};
    }
    return Joined{library->functions().init_rank(&comm, ranks, id, rank), comm};
  });
  const auto joined = joining.by(std::chrono::steady_clock::now() + timeout);
  if (!joined) {
    return fail(ErrorKind::Timeout, nccl::kOperation, library->version(),
                fmt::format("the ranks were not connected within {} s", timeout.count()),
                "NCCL_SOCKET_IFNAME names the interface by which the hosts reach one another");
  }
  const Result<> done = library->check(joined->first, "connecting the ranks");
  return done ? Result<nccl::Comm>(joined->second) : fail(done.error());
}

Result<std::unique_ptr<Communicator>> open(const NcclLibraries& names, const Place& place,
                                           Store& store, const BackendOptions& options) {
  if (!options.algorithm.empty()) {
    return fail(ErrorKind::Usage, nccl::kOperation, options.algorithm, "NCCL chooses by itself",
                "NCCL_ALGO and NCCL_PROTO restrict it");
  }
  TRY(nccl::LogFile log, nccl::LogFile::start());
  nccl::use_interface(options.interface);
  TRY(const auto library, nccl::Library::open(names.nccl));
  TRY(auto opened, open_gpu(*library, names.cuda, place, options));
  const std::shared_ptr<const gpu::Cuda> cuda = std::move(opened);
  TRY(const bool shared, shares_gpu(place, *cuda, store));
  if (shared) {
    nccl::share_gpus(place.host, place.rank);
  }
  ConnectionsSince connections;
  TRY(const nccl::UniqueId id, meet(*library, place, store));
  TRY(const nccl::Comm comm, join(library, cuda, place, id, options.timeout));
  return nccl::Group::make({.library = library,
                            .cuda = cuda,
                            .comm = comm,
                            .place = place,
                            .timeout = options.timeout,
                            .shares_gpu = shared},
                           log, std::move(connections));
}

}  // namespace

Backend nccl_backend(const NcclLibraries& libraries) {
  return {.name = "nccl",
          .open = [libraries](const Place& place, Store& store, const BackendOptions& options) {
            return open(libraries, place, store, options);
          }};
}

}  // namespace chokepoint::probe::collective
