#include "base/host/inventory.h"

#include "base/sys/late.h"

namespace chokepoint::host {
namespace {

// Begun before everything else and waited for after it.
struct Slow {
  explicit Slow(const sys::Root& root)
      : deadline(std::chrono::steady_clock::now() + kPatience),
        own_name([root] { return read_own_name(root); }) {}

  std::chrono::steady_clock::time_point deadline;
  sys::Late<OwnName> own_name;
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
      .links = read_links(root),
      .addresses = read_addresses(root),
      .own_name = {},
  };
  inventory.own_name = slow.own_name.by(slow.deadline).value_or(unanswered_own_name(root));
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
  return facts;
}

}  // namespace chokepoint::host
