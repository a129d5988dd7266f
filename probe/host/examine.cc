#include "probe/host/examine.h"

#include "base/checks/pci_checks.h"
#include "base/checks/rdma_checks.h"
#include "probe/host/cpu_checks.h"
#include "probe/host/gpu_checks.h"
#include "probe/host/ip_checks.h"
#include "probe/host/kernel_checks.h"
#include "probe/host/library_checks.h"
#include "probe/host/memory_checks.h"
#include "probe/host/name_checks.h"
#include "probe/host/network_checks.h"
#include "probe/host/privilege_checks.h"
#include "probe/host/tcp_buffer_checks.h"
#include "probe/host/tcp_checks.h"
#include "probe/host/time_checks.h"

namespace chokepoint::probe {
namespace {

JobDefaults job_defaults(const host::Inventory& inventory) {
  return {.told_interface = variable(inventory.process, "GLOO_SOCKET_IFNAME"),
          .own_addresses = inventory.own_name.addresses.value_or(std::vector<net::Address>())};
}

}  // namespace

Checks examine(const host::Inventory& inventory) {
  const bool has_rdma = !inventory.rdma.empty();
  Checks checks;
  check_kernel(inventory.kernel, checks);
  check_network(inventory.network, job_defaults(inventory), checks);
  check_cpu(inventory.cpu, checks);
  check_numa(inventory.memory, inventory.sysctls, checks);
  check_memory(inventory.memory, checks);
  check_locked_memory(inventory.process, has_rdma, checks);
  const host::Links links = host::links_of(inventory.network);
  check_tcp_buffers(inventory.kernel, inventory.sysctls, links.fastest_mbps, checks);
  check_tcp(inventory.sysctls, links, checks);
  check_names(inventory.own_name, inventory.addresses, inventory.process, checks);
  check_interface_choice(inventory.addresses, inventory.process, checks);
  check_ip(inventory.addresses, inventory.sysctls, checks);
  check_time(inventory.time, checks);
  check_rdma(inventory.rdma, inventory.network, inventory.process, checks);
  for (const host::RdmaDevice& device : inventory.rdma) {
    if (!checks::is_judged_as_nic(device, inventory.network)) {
      checks::check_rdma_pci(device, checks);
    }
  }
  check_gpus(inventory.gpus, inventory.cpu, has_rdma, checks);
  check_privileges(inventory.process, inventory.sysctls, checks);
  if (inventory.libraries) {
    const DevicesPresent present{.gpus = !inventory.gpus.gpus.empty(), .rdma = has_rdma};
    check_libraries(*inventory.libraries, inventory.peer_memory, present, checks);
  }
  return checks;
}

}  // namespace chokepoint::probe
