// Which column holds which member, and what folding does to it: the one place for both. Inserting,
// reading and folding are generated from these lists; a test holds them against the schema.
#pragma once

#include <tuple>

#include "base/record/entities.h"
#include "base/record/samples.h"

namespace chokepoint::record {

// What becomes of a column when the rows of one key and one bin are folded into one.
enum class Fold {
  None,    // a table that is not folded
  Key,     // rows that differ here are never folded together
  Start,   // the earliest
  End,     // the latest; orders the rows
  Span,    // from the earliest start to the latest end
  Merged,  // the sum; weighs the means
  Busy,    // the sum of the rows' own spans
  Sum,     // deltas
  Last,    // what only grows, and states
  Max,
  Min,
  Mean,  // gauges
};

template <class Row, class T>
struct Field {
  const char* name;
  T Row::* member;
  Fold fold = Fold::None;
};

template <class Row>
struct Table;

template <class Row, class F>
constexpr void each_field(F&& visit) {
  std::apply([&](const auto&... field) { (visit(field), ...); }, Table<Row>::kFields);
}

template <class Row>
constexpr std::size_t kFieldCount = std::tuple_size_v<decltype(Table<Row>::kFields)>;

template <>
struct Table<FlowSample> {
  static constexpr const char* kName = "flow_sample";
  static constexpr std::tuple kFields{
      Field{"t_ns", &FlowSample::t_ns, Fold::End},
      Field{"bin_ns", &FlowSample::bin_ns, Fold::Span},
      Field{"merged", &FlowSample::merged, Fold::Merged},
      Field{"flow", &FlowSample::flow, Fold::Key},
      Field{"direction", &FlowSample::direction, Fold::Key},
      Field{"packets", &FlowSample::packets, Fold::Sum},
      Field{"bytes", &FlowSample::bytes, Fold::Sum},
      Field{"payload_bytes", &FlowSample::payload_bytes, Fold::Sum},
      Field{"retransmitted_packets", &FlowSample::retransmitted_packets, Fold::Sum},
      Field{"retransmitted_bytes", &FlowSample::retransmitted_bytes, Fold::Sum},
      Field{"out_of_order", &FlowSample::out_of_order, Fold::Sum},
      Field{"duplicate_acks", &FlowSample::duplicate_acks, Fold::Sum},
      Field{"zero_windows", &FlowSample::zero_windows, Fold::Sum},
      Field{"window_full", &FlowSample::window_full, Fold::Sum},
      Field{"congestion_marks", &FlowSample::congestion_marks, Fold::Sum},
      Field{"rtt_us", &FlowSample::rtt_us, Fold::Mean},
      Field{"min_rtt_us", &FlowSample::min_rtt_us, Fold::Min},
      Field{"max_in_flight_bytes", &FlowSample::max_in_flight_bytes, Fold::Max},
      Field{"window_bytes", &FlowSample::window_bytes, Fold::Mean},
      Field{"min_window_bytes", &FlowSample::min_window_bytes, Fold::Min}};
};

template <>
struct Table<SocketSample> {
  static constexpr const char* kName = "socket_sample";
  static constexpr std::tuple kFields{
      Field{"t_ns", &SocketSample::t_ns, Fold::End},
      Field{"bin_ns", &SocketSample::bin_ns, Fold::Span},
      Field{"merged", &SocketSample::merged, Fold::Merged},
      Field{"flow", &SocketSample::flow, Fold::Key},
      Field{"direction", &SocketSample::direction, Fold::Key},
      Field{"state", &SocketSample::state, Fold::Last},
      Field{"congestion_state", &SocketSample::congestion_state, Fold::Max},
      Field{"mss_bytes", &SocketSample::mss_bytes, Fold::Last},
      Field{"cwnd_packets", &SocketSample::cwnd_packets, Fold::Mean},
      Field{"ssthresh_packets", &SocketSample::ssthresh_packets, Fold::Last},
      Field{"rtt_us", &SocketSample::rtt_us, Fold::Mean},
      Field{"rtt_variance_us", &SocketSample::rtt_variance_us, Fold::Mean},
      Field{"min_rtt_us", &SocketSample::min_rtt_us, Fold::Min},
      Field{"receive_rtt_us", &SocketSample::receive_rtt_us, Fold::Mean},
      Field{"timeout_us", &SocketSample::timeout_us, Fold::Max},
      Field{"bytes_sent", &SocketSample::bytes_sent, Fold::Last},
      Field{"bytes_acked", &SocketSample::bytes_acked, Fold::Last},
      Field{"bytes_received", &SocketSample::bytes_received, Fold::Last},
      Field{"bytes_retransmitted", &SocketSample::bytes_retransmitted, Fold::Last},
      Field{"retransmits", &SocketSample::retransmits, Fold::Last},
      Field{"lost_packets", &SocketSample::lost_packets, Fold::Max},
      Field{"unacked_packets", &SocketSample::unacked_packets, Fold::Mean},
      Field{"reordering", &SocketSample::reordering, Fold::Max},
      Field{"reorder_seen", &SocketSample::reorder_seen, Fold::Last},
      Field{"dsack_duplicates", &SocketSample::dsack_duplicates, Fold::Last},
      Field{"delivered", &SocketSample::delivered, Fold::Last},
      Field{"delivered_ce", &SocketSample::delivered_ce, Fold::Last},
      Field{"delivery_bytes_per_s", &SocketSample::delivery_bytes_per_s, Fold::Max},
      Field{"pacing_bytes_per_s", &SocketSample::pacing_bytes_per_s, Fold::Mean},
      Field{"app_limited", &SocketSample::app_limited, Fold::Sum},
      Field{"busy_us", &SocketSample::busy_us, Fold::Last},
      Field{"receive_window_limited_us", &SocketSample::receive_window_limited_us, Fold::Last},
      Field{"send_buffer_limited_us", &SocketSample::send_buffer_limited_us, Fold::Last},
      Field{"unsent_bytes", &SocketSample::unsent_bytes, Fold::Mean},
      Field{"send_queue_bytes", &SocketSample::send_queue_bytes, Fold::Mean},
      Field{"receive_queue_bytes", &SocketSample::receive_queue_bytes, Fold::Mean},
      Field{"send_window_bytes", &SocketSample::send_window_bytes, Fold::Mean},
      Field{"receive_space_bytes", &SocketSample::receive_space_bytes, Fold::Mean}};
};

template <>
struct Table<CounterSample> {
  static constexpr const char* kName = "counter_sample";
  static constexpr std::tuple kFields{Field{"t_ns", &CounterSample::t_ns, Fold::End},
                                      Field{"bin_ns", &CounterSample::bin_ns, Fold::Span},
                                      Field{"merged", &CounterSample::merged, Fold::Merged},
                                      Field{"series", &CounterSample::series, Fold::Key},
                                      Field{"value", &CounterSample::value, Fold::Last},
                                      Field{"peak_per_s", &CounterSample::peak_per_s, Fold::Max}};
};

template <>
struct Table<GaugeSample> {
  static constexpr const char* kName = "gauge_sample";
  static constexpr std::tuple kFields{Field{"t_ns", &GaugeSample::t_ns, Fold::End},
                                      Field{"bin_ns", &GaugeSample::bin_ns, Fold::Span},
                                      Field{"merged", &GaugeSample::merged, Fold::Merged},
                                      Field{"series", &GaugeSample::series, Fold::Key},
                                      Field{"value", &GaugeSample::value, Fold::Mean},
                                      Field{"peak", &GaugeSample::peak, Fold::Max}};
};

template <>
struct Table<Step> {
  static constexpr const char* kName = "step";
  static constexpr std::tuple kFields{Field{"start_ns", &Step::start_ns, Fold::Start},
                                      Field{"end_ns", &Step::end_ns, Fold::End},
                                      Field{"merged", &Step::merged, Fold::Merged},
                                      Field{"number", &Step::number, Fold::Last},
                                      Field{"rank", &Step::rank, Fold::Key},
                                      Field{"source", &Step::source, Fold::Key},
                                      Field{"samples", &Step::samples, Fold::Sum},
                                      Field{"busy_ns", &Step::busy_ns, Fold::Busy},
                                      Field{"longest_ns", &Step::longest_ns, Fold::Max}};
};

template <>
struct Table<Collective> {
  static constexpr const char* kName = "collective";
  static constexpr std::tuple kFields{
      Field{"start_ns", &Collective::start_ns, Fold::Start},
      Field{"end_ns", &Collective::end_ns, Fold::End},
      Field{"merged", &Collective::merged, Fold::Merged},
      Field{"number", &Collective::number, Fold::Last},
      Field{"kind", &Collective::kind, Fold::Key},
      Field{"source", &Collective::source, Fold::Key},
      Field{"rank", &Collective::rank, Fold::Key},
      Field{"communicator", &Collective::communicator, Fold::Key},
      Field{"bytes", &Collective::bytes, Fold::Sum},
      Field{"busy_ns", &Collective::busy_ns, Fold::Busy},
      Field{"longest_ns", &Collective::longest_ns, Fold::Max},
      Field{"own_ready_ns", &Collective::own_ready_ns, Fold::Start},
      Field{"peer_ready_ns", &Collective::peer_ready_ns, Fold::End},
      Field{"first_data_ns", &Collective::first_data_ns, Fold::Start},
      Field{"last_data_ns", &Collective::last_data_ns, Fold::End},
      Field{"waited_ns", &Collective::waited_ns, Fold::Sum},
      Field{"kept_waiting_ns", &Collective::kept_waiting_ns, Fold::Sum},
      Field{"flow", &Collective::flow, Fold::Last},
      Field{"algorithm", &Collective::algorithm, Fold::Last},
      Field{"protocol", &Collective::protocol, Fold::Last},
      Field{"channels", &Collective::channels, Fold::Last},
      Field{"peer", &Collective::peer, Fold::Last},
      Field{"enqueued_ns", &Collective::enqueued_ns, Fold::Start},
      Field{"gpu_wait_ns", &Collective::gpu_wait_ns, Fold::Sum},
      Field{"network_wait_ns", &Collective::network_wait_ns, Fold::Sum},
      Field{"peer_wait_ns", &Collective::peer_wait_ns, Fold::Sum},
      Field{"flush_wait_ns", &Collective::flush_wait_ns, Fold::Sum}};
};

template <>
struct Table<FlowMark> {
  static constexpr const char* kName = "flow_mark";
  static constexpr std::tuple kFields{Field{"t_ns", &FlowMark::t_ns, Fold::End},
                                      Field{"bin_ns", &FlowMark::bin_ns, Fold::Span},
                                      Field{"merged", &FlowMark::merged, Fold::Merged},
                                      Field{"flow", &FlowMark::flow, Fold::Key},
                                      Field{"direction", &FlowMark::direction, Fold::Key},
                                      Field{"sequence", &FlowMark::sequence, Fold::Last}};
};

}  // namespace chokepoint::record
