// The counters of RDMA ports, which the card's own driver counts and no socket or packet shows:
// /sys/class/infiniband/DEVICE/ports/N/{counters,hw_counters}, by common names
// (rdma_counter_names.h). What is read once around a test and what is read again and again during
// a job are the same counters. Reads under the given root only; values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/sys/root.h"

namespace chokepoint::host {

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

struct RdmaCounterName {
  std::string_view common;
  std::uint64_t unit = 1;  // InfiniBand counts data in words of four bytes
  bool is_part = false;    // of a sum of several files: IPv4 and IPv6 counted apart
};

// Of a file in counters/ or hw_counters/; one without a translation keeps its name.
RdmaCounterName rdma_counter_name(std::string_view file);

struct RdmaCounter {
  std::string name = {};                // "out_of_sequence"
  std::vector<std::string> files = {};  // one, or those that it is the sum of
  std::uint64_t unit = 1;               // what a reading is multiplied with
};

// Each name once: counters/ before hw_counters/, since both hold some on a few cards.
std::vector<RdmaCounter> find_rdma_counters(const sys::Root& root, const std::string& device,
                                            int port);
// Some drivers count for the device, not for its ports.
std::vector<RdmaCounter> find_rdma_counters(const sys::Root& root, const std::string& device);

// Without its unit, as the card counts: only so a wrap can be seen. Nothing where it cannot be
// read.
std::optional<std::uint64_t> read_raw(const sys::Root& root, const RdmaCounter& counter);

// How far a counter went between two readings, of which some cards show no more than the lower 32
// bits. Nothing where it began anew in between.
std::optional<std::uint64_t> growth_of(std::uint64_t before, std::uint64_t after);

}  // namespace chokepoint::host
