// What RDMA drivers call what they count, by one name for all of them. A requester is who sent the
// request that a packet belongs to, a responder who answers it. Pure.
//
//   requester                                      responder
//     retransmissions, adaptive_retransmissions      out_of_sequence: packets missed, or overtaken
//     packet_seq_err: NAKs for what was missed       duplicate_request: had come before
//     implied_nak_seq_err: answers were missed
//     ack_timeouts: no answer at all
//     rnr_retries: NAKs of a peer not ready          rnr_sent, out_of_buffer: had no receive posted
//     cnp_handled: slowed itself down                ecn_marked, cnp_sent: asked for that
//     retries_exceeded, rnr_retries_exceeded: gave up
#pragma once

#include <cstdint>
#include <string_view>

namespace chokepoint::host {

struct RdmaCounterName {
  std::string_view common;
  std::uint64_t unit = 1;  // InfiniBand counts data in words of four bytes
  bool is_part = false;    // of a sum of several files: IPv4 and IPv6 counted apart
};

// Of a file in counters/ or hw_counters/; one without a translation keeps its name.
RdmaCounterName rdma_counter_name(std::string_view file);

}  // namespace chokepoint::host
