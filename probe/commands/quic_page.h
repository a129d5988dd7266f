// What 'chokepoint probe quic' measured and how it is shown: its document and its page for people.
// One thread.
#pragma once

#include <vector>

#include "base/cli/context.h"
#include "base/documents/peer.h"
#include "base/documents/probe_quic.h"
#include "probe/quic/outcome.h"
#include "probe/quic/test.h"

namespace chokepoint::probe {

struct QuicMeasured {
  quic::Trial trial = {};
  std::vector<quic::Outcome> directions = {};
};

documents::ProbeQuic document_of(const QuicMeasured& measured, documents::Peer peer);
void print_page(const cli::Context& context, const QuicMeasured& measured);

}  // namespace chokepoint::probe
