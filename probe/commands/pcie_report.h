// What probe pcie shows: chokepoint.pcie/1, and the tables for people.
#pragma once

#include <optional>

#include "base/checks/check.h"
#include "base/cli/context.h"
#include "base/cli/output.h"
#include "probe/pcie/device.h"
#include "probe/pcie/survey.h"

namespace chokepoint::probe {

struct PcieShown {
  pcie::Slots slots = {};
  std::optional<pcie::Measured> measured = {};  // nothing where nothing was to be copied
  checks::Checks checks = {};
};

// Into `document`, which has its head already.
void add_to(cli::Json& document, const PcieShown& shown);

// With `all` every check, and what passed.
void print_page(const cli::Context& context, const PcieShown& shown, bool all);

// GPUs that CUDA alone shows are devices, too.
std::vector<pcie::Device> devices_of(const PcieShown& shown);

}  // namespace chokepoint::probe
