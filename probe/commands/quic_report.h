// What 'chokepoint probe quic' answers: the rest of its document, and its page for people.
#pragma once

#include <vector>

#include "base/cli/context.h"
#include "base/cli/output.h"
#include "probe/quic/outcome.h"
#include "probe/quic/test.h"

namespace chokepoint::probe {

// Into `document`, which has its head already.
void add_quic_to(cli::Json& document, const quic::Trial& test,
                 const std::vector<quic::Outcome>& directions);
void print_quic_page(const cli::Context& context, const quic::Trial& test,
                     const std::vector<quic::Outcome>& directions);

}  // namespace chokepoint::probe
