// When the job's connections had something under way, if the library's messages are not known: from
// the kernel's stopwatch of each sender, else from packets.
//
// RoCE's senders have no socket whose stopwatch runs while they wait for an acknowledgement: only
// packets show it. Silence that ends with a retransmission was such a wait, and no computing.
//
//   data ████      ▒▒██████          ████████
//            ╰────╯                ╰──────── computing: what follows is new
//             waited: ▒ is retransmitted
//
// Pure; any thread.
#pragma once

#include <optional>
#include <vector>

#include "analysis/phases/phases.h"
#include "analysis/timeline/clocks.h"
#include "analysis/timeline/spans.h"

namespace chokepoint::analysis {

struct Activity {
  PhaseSource source = PhaseSource::None;
  Spans spans = {};
};

// When senders had something under way, less the delay of the last acknowledgement; and when
// nothing of it came through for long.
struct SenderActivity {
  Spans busy = {};
  Spans stalled = {};
};

// Which rank sends at this end of a connection that its node saw: -1 where no ranks are known;
// nullopt where the node has several and it is not known which, or it left no record.
std::optional<std::int64_t> sender_rank(const RunData& run, const Connection& connection,
                                        std::size_t side);

// Of one rank of a node. -1: of all that are on it; so, too, where it is the only one.
SenderActivity senders_of(const RunData& run, const Clocks& clocks, std::size_t node,
                          std::int64_t rank);

// By RoCE packets alone, with the waits for retransmissions.
Spans roce_activity(const RunData& run, const Clocks& clocks);

Activity activity_of(const RunData& run, const Clocks& clocks);

bool is_roce(const FlowData& flow);

// The waits of one direction, in the time of the node that saw it.
Spans waits_of(const std::vector<record::FlowSample>& samples);

// Retransmitted bytes of a bin as a share of all; 0 if nothing moved.
double resent_share(const record::FlowSample& sample);

// The end of a connection whose packets are used: both saw the same, and one clock is enough. The
// end on node `preferred` if it saw any.
std::optional<FlowPlace> observed_end(const RunData& run, const Connection& connection,
                                      std::size_t preferred);

}  // namespace chokepoint::analysis
