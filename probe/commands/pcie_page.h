// What 'chokepoint probe pcie' measured and how it is shown: the document chokepoint.pcie/1, and
// the tables for people. One thread.
#pragma once

#include <optional>

#include "base/checks/check.h"
#include "base/cli/context.h"
#include "base/documents/pcie.h"
#include "probe/pcie/slots.h"
#include "probe/pcie/survey.h"

namespace chokepoint::probe {

struct PcieShown {
  pcie::Slots slots = {};
  std::optional<pcie::Measured> measured = {};  // nullopt if no copies were asked for
  checks::Checks checks = {};
};

documents::Pcie document_of(const PcieShown& shown);

// `all`: every check in full, also those that passed.
void print_page(const cli::Context& context, const PcieShown& shown, bool all);

}  // namespace chokepoint::probe
