// What 'chokepoint probe quic' answers: the rest of its document, its page for people, and the
// tests of TCP and UDP beside it.
#pragma once

#include <optional>
#include <vector>

#include "base/cli/context.h"
#include "base/cli/output.h"
#include "base/control/client.h"
#include "base/sys/root.h"
#include "probe/quic/outcome.h"
#include "probe/quic/test.h"

namespace chokepoint::probe {

// What TCP and UDP carried in one direction; nullopt where the user interrupted.
struct Beside {
  control::Direction direction = control::Direction::Send;
  std::optional<double> tcp_mbps = {};
  std::optional<double> udp_mbps = {};  // that arrived, as fast as the sender could
  std::optional<double> udp_loss_percent = {};
};

// After the QUIC test, which has ended.
Result<std::vector<Beside>> run_beside(control::Client& client, const quic::Parameters& parameters,
                                       const sys::Root& root, int interrupt);

struct QuicMeasured {
  quic::Trial trial = {};
  std::vector<quic::Outcome> directions = {};
  std::vector<Beside> beside = {};  // empty, or for each direction
};

// Into `document`, which has its head already.
void add_to(cli::Json& document, const QuicMeasured& measured);
void print_page(const cli::Context& context, const QuicMeasured& measured);

}  // namespace chokepoint::probe
