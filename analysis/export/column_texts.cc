#include "analysis/export/column_texts.h"

#include <algorithm>
#include <array>
#include <utility>

namespace chokepoint::analysis {
namespace {

using Text = std::pair<std::string_view, std::string_view>;

// Of a column that means something else in one file than in all others.
struct OwnText {
  std::string_view file;
  std::string_view column;
  std::string_view text;
};

constexpr std::array kOwnTexts{
    OwnText{"collectives.csv", "protocol", "of NCCL"},
    OwnText{"collectives.csv", "peer",
            "the root, of a message the other rank; as the communicator counts"},
};

constexpr std::array kTexts{
    Text{"node", "the node whose record has the row"},
    Text{"t_s", "t_ns on the run's common clock; 0 is the start of the job"},
    Text{"start_s", "start_ns on the run's common clock"},
    Text{"end_s", "end_ns on the run's common clock"},
    Text{"seen_s", "seen_ns on the run's common clock"},
    Text{"own_ready_s", "own_ready_ns on the run's common clock"},
    Text{"peer_ready_s", "peer_ready_ns on the run's common clock"},
    Text{"first_data_s", "first_data_ns on the run's common clock"},
    Text{"last_data_s", "last_data_ns on the run's common clock"},
    Text{"enqueued_s", "enqueued_ns on the run's common clock"},
    Text{"t_ns", "by the node's own clock: the end of the span, or the moment"},
    Text{"bin_ns", "length of the span that ends at t_ns; 0 is one moment"},
    Text{"merged", "how many rows it takes the place of; 1 is full detail"},
    Text{"start_ns", "by the node's own clock"},
    Text{"end_ns", "by the node's own clock; empty while it goes on or after a kill"},
    Text{"id", "what other tables name it by"},
    Text{"session", "the row of sessions whose process wrote it"},
    Text{"role", "the chokepoint command"},
    Text{"command", "the command line"},
    Text{"host", "the host's name"},
    Text{"boot_id", "which boot of the host it was"},
    Text{"kernel", "version of the kernel"},
    Text{"program", "version of chokepoint"},
    Text{"start_wall_ns", "start_ns since 1970, UTC"},
    Text{"seen_ns", "of the last commit, by the node's own clock"},
    Text{"exit_status", "of the watched command"},
    Text{"shift_ns", "added to this boot's clock, so that times rise over a reboot"},
    Text{"key", "name of the label or fact"},
    Text{"value", "value of the label or fact; a counter's count or a gauge's mean"},
    Text{"wall_ns", "the same moment since 1970, UTC"},
    Text{"zero_wall_ns", "where the common clock is 0, since 1970, UTC"},
    Text{"is_complete", "1: the watching ended cleanly"},
    Text{"clock_source", "what tells how its clock stands to the common one"},
    Text{"clock_offset_ns", "its clock less the common one where the run began"},
    Text{"clock_drift_ppm", "how much faster its clock runs"},
    Text{"clock_error_ns", "at most so far off"},
    Text{"peer", "the other host"},
    Text{"offset_ns", "the peer's clock less this host's"},
    Text{"error_ns", "at most so far off"},
    Text{"round_trip_ns", "of the exchange that told it"},
    Text{"category", "kind of fact"},
    Text{"subject", "what it is about: an interface, a core, a process"},
    Text{"source", "what said so: a file, a call, marks, the library"},
    Text{"kind", "which kind it is"},
    Text{"direction", "a_to_b or b_to_a; of a socket, the way in which it sends"},
    Text{"schema", "of the document"},
    Text{"document", "the probe's result, JSON"},
    Text{"pid", "of the process"},
    Text{"parent_pid", "of the process that started it"},
    Text{"rank", "of the job"},
    Text{"local_rank", "on its host"},
    Text{"world_size", "ranks of the job"},
    Text{"protocol", "tcp, udp, roce"},
    Text{"a_address", "one end"},
    Text{"a_port", "one end"},
    Text{"b_address", "the other end"},
    Text{"b_port", "the other end"},
    Text{"local_end", "0: a is on this node, 1: b is"},
    Text{"process", "id in processes"},
    Text{"interface", "that it went through"},
    Text{"handshake_seen", "1: seen, so the window scale is known"},
    Text{"flow", "id in flows"},
    Text{"packets", "in the span"},
    Text{"bytes", "on the wire, Ethernet header without FCS; of a collective, its data"},
    Text{"payload_bytes", "without headers"},
    Text{"retransmitted_packets", "sent again"},
    Text{"retransmitted_bytes", "sent again"},
    Text{"fast_retransmissions", "after duplicate acknowledgements"},
    Text{"timeout_retransmissions", "after a timeout"},
    Text{"spurious_retransmissions", "that nobody needed"},
    Text{"out_of_order", "packets"},
    Text{"duplicate_acks", "packets"},
    Text{"zero_windows", "times that the receiver closed its window"},
    Text{"window_full", "times that what was in flight filled the window"},
    Text{"congestion_marks", "packets with ECN CE"},
    Text{"rtt_us", "round trip, mean"},
    Text{"rtt_ms", "round trips, JSON: min, median, p99, max, mean, count"},
    Text{"min_rtt_us", "least round trip"},
    Text{"max_in_flight_bytes", "most that was sent and not yet acknowledged"},
    Text{"window_bytes", "announced by the receiver, mean"},
    Text{"min_window_bytes", "announced by the receiver, least"},
    Text{"max_window_bytes", "announced by the receiver, most"},
    Text{"mss_bytes", "maximum segment size"},
    Text{"window_scale", "factor of the window, as a power of two"},
    Text{"state", "of TCP, by the kernel's number"},
    Text{"congestion_state", "0 open, 1 disorder, 2 CWR, 3 recovery, 4 loss"},
    Text{"cwnd_packets", "congestion window"},
    Text{"ssthresh_packets", "where slow start ends"},
    Text{"rtt_variance_us", "of the round trip, as the kernel smooths it"},
    Text{"receive_rtt_us", "round trip as the receiver reckons it"},
    Text{"timeout_us", "for retransmission"},
    Text{"bytes_sent", "since the connection began"},
    Text{"bytes_acked", "since the connection began"},
    Text{"bytes_received", "since the connection began"},
    Text{"bytes_retransmitted", "since the connection began"},
    Text{"retransmits", "since the connection began"},
    Text{"lost_packets", "that the kernel takes for lost now"},
    Text{"unacked_packets", "in flight"},
    Text{"reordering", "the kernel's measure of reordering, packets"},
    Text{"reorder_seen", "times that reordering was seen"},
    Text{"dsack_duplicates", "told by the receiver to have come twice"},
    Text{"delivered", "packets since the connection began"},
    Text{"delivered_ce", "of these with ECN CE"},
    Text{"delivery_bytes_per_s", "the kernel's delivery rate"},
    Text{"pacing_bytes_per_s", "the kernel's pacing rate"},
    Text{"app_limited", "readings in which the application was the limit"},
    Text{"busy_us", "time with something to send, since the connection began"},
    Text{"receive_window_limited_us", "of it, held by the receive window"},
    Text{"send_buffer_limited_us", "of it, held by the send buffer"},
    Text{"unsent_bytes", "in the send queue, not yet sent"},
    Text{"send_queue_bytes", "not yet acknowledged"},
    Text{"receive_queue_bytes", "not yet read by the application"},
    Text{"send_window_bytes", "the peer's window"},
    Text{"receive_space_bytes", "the kernel's receive space"},
    Text{"name", "of the series"},
    Text{"unit", "of the series' values"},
    Text{"detail", "JSON"},
    Text{"number", "of the step or collective, as its source counts"},
    Text{"samples", "of training data"},
    Text{"busy_ns", "sum of its own time where several are merged; empty: end less start"},
    Text{"longest_ns", "the longest of those merged"},
    Text{"communicator", "group of ranks"},
    Text{"own_ready_ns", "when this rank had come to it"},
    Text{"peer_ready_ns", "when the last of its neighbours had, as seen here"},
    Text{"first_data_ns", "first data, either way"},
    Text{"last_data_ns", "last data, either way"},
    Text{"waited_ns", "how long this rank waited for the neighbour that came last"},
    Text{"kept_waiting_ns", "how long its neighbours waited for this rank"},
    Text{"algorithm", "of NCCL"},
    Text{"channels", "of NCCL"},
    Text{"enqueued_ns", "when the program had asked for it"},
    Text{"gpu_wait_ns", "NCCL's network steps waited for the own GPU, all together"},
    Text{"network_wait_ns", "likewise, for the network"},
    Text{"peer_wait_ns", "likewise, for the receiver's credit"},
    Text{"flush_wait_ns", "likewise, for the flush over PCIe"},
    Text{"series", "id in series"},
    Text{"peak_per_s", "fastest growth seen in the span"},
    Text{"peak", "most seen in the span"},
    Text{"sequence", "of TCP, of the packet that passed at t_ns"},
};

constexpr std::array kUnits{Text{"_bytes_per_s", "bytes/s"},
                            Text{"_bytes", "bytes"},
                            Text{"_packets", "packets"},
                            Text{"_ns", "ns"},
                            Text{"_us", "us"},
                            Text{"_ms", "ms"},
                            Text{"_ppm", "ppm"},
                            Text{"_per_s", "1/s"},
                            Text{"_s", "s"}};

}  // namespace

std::string_view text_of(std::string_view file, std::string_view column) {
  for (const OwnText& own : kOwnTexts) {
    if (own.file == file && own.column == column) {
      return own.text;
    }
  }
  const auto* const found = std::ranges::find(kTexts, column, &Text::first);
  return found == kTexts.end() ? std::string_view() : found->second;
}

std::string_view unit_of(std::string_view column) {
  if (column.starts_with("bytes")) {
    return "bytes";
  }
  const auto* const found =
      std::ranges::find_if(kUnits, [&](const Text& unit) { return column.ends_with(unit.first); });
  return found == kUnits.end() ? std::string_view() : found->second;
}

}  // namespace chokepoint::analysis
