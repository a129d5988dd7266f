#include "base/host/inventory.h"

#include "base/sys/late.h"

namespace chokepoint::host {
namespace {

std::optional<Libraries> opened_libraries(const sys::Root& root) {
  return root.is_live() ? std::optional(read_libraries(root)) : std::nullopt;
}

Result<GpuStates> unanswered_gpus() {
  return fail(ErrorKind::Timeout, "NVML", "the GPU's driver", "did not answer in time",
              "nvidia-smi -pm 1 keeps the GPUs awake");
}

// Begun before everything else and waited for after it.
struct Slow {
  explicit Slow(const sys::Root& root)
      : deadline(std::chrono::steady_clock::now() + kPatience),
        own_name([root] { return read_own_name(root); }),
        gpu_states([root] { return read_gpu_states(root); }),
        libraries([root] { return opened_libraries(root); }) {}

  std::chrono::steady_clock::time_point deadline;
  sys::Late<OwnName> own_name;
  sys::Late<Result<GpuStates>> gpu_states;
  sys::Late<std::optional<Libraries>> libraries;
};

}  // namespace

Inventory read_inventory(const sys::Root& root) {
  Slow slow(root);
  Inventory inventory{
      .kernel = read_kernel(root),
      .network = read_network(root),
      .process = read_process(root),
      .cpu = read_cpu(root),
      .memory = read_memory(root),
      .sysctls = read_sysctls(root),
      .addresses = read_addresses(root),
      .own_name = {},
      .time = read_timekeeping(root),
      .rdma = read_rdma(root),
      .gpus = {},
      .peer_memory = has_peer_memory(root),
      .libraries = {},
  };
  inventory.own_name = slow.own_name.by(slow.deadline).value_or(unanswered_own_name(root));
  inventory.gpus = read_gpus(root, slow.gpu_states.by(slow.deadline).value_or(unanswered_gpus()));
  inventory.libraries = slow.libraries.by(slow.deadline).value_or(std::nullopt);
  return inventory;
}

Facts facts_of(const Inventory& inventory) {
  Facts facts;
  append_facts(inventory.kernel, facts);
  append_facts(inventory.network, facts);
  append_facts(inventory.process, facts);
  append_facts(inventory.cpu, facts);
  append_facts(inventory.memory, facts);
  append_facts(inventory.sysctls, facts);
  append_facts(inventory.addresses, facts);
  append_facts(inventory.own_name, facts);
  append_facts(inventory.time, facts);
  append_facts(inventory.rdma, facts);
  append_facts(inventory.gpus, facts);
  if (inventory.libraries) {
    append_facts(*inventory.libraries, facts);
  }
  return facts;
}

}  // namespace chokepoint::host
