#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "base/cli/output.h"
#include "base/json/codec.h"
#include "measure/checks/pci_checks.h"
#include "measure/checks/rdma_checks.h"
#include "rdma/commands/commands.h"
#include "rdma/commands/device_listing.h"

namespace chokepoint::rdma {
namespace {

void ask_mtu(verbs::Library& library, host::RdmaDevice& device) {
  const Result<std::unique_ptr<verbs::Device>> opened = library.open(device.name);
  for (host::RdmaPort& port : device.ports) {
    const Result<verbs::Port> asked =
        opened ? (*opened)->port(port.number) : std::unexpected(opened.error());
    if (asked && asked->active_mtu_bytes > 0) {
      port.active_mtu_bytes = asked->active_mtu_bytes;
    }
  }
}

Result<cli::ExitCode> no_such_device(const sys::Root& root, const std::string& name) {
  std::vector<std::string> names;
  for (const host::RdmaDevice& device : host::read_rdma(root)) {
    names.push_back(device.name);
  }
  return fail(ErrorKind::NotFound, "", name, "no such RDMA device",
              names.empty() ? "this host has none: 'chokepoint rdma devices'"
                            : fmt::format("this host has {}", fmt::join(names, ", ")));
}

}  // namespace

DeviceListing read_listing(const sys::Root& root, const std::string& only,
                           verbs::Library* library) {
  DeviceListing listing{.devices = host::read_rdma(root),
                        .network = host::read_network(root),
                        .process = host::read_process(root)};
  if (!only.empty()) {
    std::erase_if(listing.devices,
                  [&](const host::RdmaDevice& device) { return device.name != only; });
  }
  for (host::RdmaDevice& device : listing.devices) {
    if (library != nullptr) {
      ask_mtu(*library, device);
    }
  }
  check_rdma(listing.devices, listing.network, listing.process, listing.checks);
  for (const host::RdmaDevice& device : listing.devices) {
    check_rdma_pci(device, listing.checks);
  }
  if (!listing.devices.empty()) {
    check_locked_memory(listing.process, true, listing.checks);
  }
  return listing;
}

std::optional<net::PriorityFlowControl> flow_control_of(const DeviceListing& listing,
                                                        const host::RdmaPort& port) {
  const auto nic = std::ranges::find_if(
      listing.network.nics, [&](const host::Nic& each) { return each.name == port.netdev; });
  return nic == listing.network.nics.end() ? std::nullopt : nic->settings.pfc;
}

namespace {

class DevicesCommand final : public cli::Command {
 public:
  cli::Summary summary() const override;
  void define(cli::Flags& flags) override;
  Result<cli::ExitCode> run(cli::Context& context) override;

 private:
  std::string device_;
  std::string root_ = "/";
  bool all_ = false;
  bool exit_code_ = false;
};

cli::Summary DevicesCommand::summary() const {
  return {.name = "rdma devices",
          .purpose = "this host's RDMA devices, and what is wrong with them",
          .description =
              "Lists the RDMA devices of this host with their ports, rates, MTU, GIDs, PCIe links "
              "and flow control, and checks what a job or a test depends on: a port that is down, "
              "no routable GID, a small MTU, a narrow PCIe link, no flow control, a low limit of "
              "locked memory. 'chokepoint doctor' includes the same checks. Changes nothing.",
          .examples = {
              {"chokepoint rdma devices", "all devices, and what to fix"},
              {"chokepoint rdma devices mlx5_0 --all", "one device, with the checks that passed"},
              {"chokepoint rdma devices --json", "for a script: which GID index to use"}}};
}

void DevicesCommand::define(cli::Flags& flags) {
  flags.group("What to show")
      .toggle("all,a", &all_, "every check in full, and those that passed")
      .toggle("exit-code", &exit_code_, "exit code 3 when a check is CRITICAL")
      .group("Where to look")
      .option("root", &root_, "DIR",
              "read /proc, /sys and /etc below this folder: a copy taken from another host");
  flags.positional("DEVICE", &device_, "only this device, such as mlx5_0", false);
}

Result<cli::ExitCode> DevicesCommand::run(cli::Context& context) {
  if (root_ != "/") {
    context.root = sys::Root(root_);
    if (!context.root.exists("/")) {
      return fail(ErrorKind::NotFound, "", root_, "no such folder", "give the copy's top folder");
    }
  }
  const std::unique_ptr<verbs::Library> library =
      context.root.is_live() ? verbs::live_library() : nullptr;
  const DeviceListing listing = read_listing(context.root, device_, library.get());
  if (!device_.empty() && listing.devices.empty()) {
    return no_such_device(context.root, device_);
  }
  if (context.json) {
    cli::Json document = cli::document(context, Fields<ShownDevices>::kSchema);
    document.update(json::to_json(document_of(listing)));
    cli::print(context, document);
  } else {
    print_page(context, listing, all_);
  }
  const bool is_broken = worst(listing.checks) >= checks::Status::Critical;
  return exit_code_ && is_broken ? cli::ExitCode::Found : cli::ExitCode::Done;
}

}  // namespace

cli::CommandFactory devices_command() { return cli::command<DevicesCommand>(); }

}  // namespace chokepoint::rdma
