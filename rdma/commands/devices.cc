#include "rdma/commands/devices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <vector>

#include "rdma/devices/listing.h"

namespace chokepoint::rdma {
namespace {

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

cli::Summary DevicesCommand::summary() const {
  return {.name = "rdma devices",
          .purpose = "this host's RDMA devices, and what is wrong with them",
          .description =
              "Lists the RDMA devices of this host with their ports, rates, MTU, GIDs, PCIe links "
              "and flow control, and judges what a job or a test would meet: a port that is down, "
              "no GID that routers pass on, a small MTU, a narrow PCIe link, no flow control, too "
              "little memory that may be locked. 'chokepoint doctor' judges the same beside all "
              "else. Changes nothing.",
          .examples = {{"chokepoint rdma devices", "all devices, and what to mend"},
                       {"chokepoint rdma devices mlx5_0 --all", "one device, with what is well"},
                       {"chokepoint rdma devices --json", "for a script: which GID index to use"}}};
}

void DevicesCommand::define(cli::Flags& flags) {
  flags.group("What to show")
      .toggle("all,a", &all_, "every check in full, and those that passed")
      .toggle("exit-code", &exit_code_, "exit code 3 when a check is CRITICAL")
      .group("Where to look")
      .option("root", &root_, "DIR",
              "read /proc, /sys and /etc below this folder: a copy taken from another host");
  flags.positional("DEVICE", &device_, "this one alone, such as mlx5_0", false);
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
  const devices::Listing listing = devices::read_listing(context.root, device_, library.get());
  if (!device_.empty() && listing.devices.empty()) {
    return no_such_device(context.root, device_);
  }
  if (context.json) {
    cli::print(context, devices::document_of(context, listing));
  } else {
    devices::print_page(context, listing, all_);
  }
  const bool is_broken = worst(listing.checks) >= checks::Status::Critical;
  return exit_code_ && is_broken ? cli::ExitCode::Found : cli::ExitCode::Done;
}

}  // namespace chokepoint::rdma
