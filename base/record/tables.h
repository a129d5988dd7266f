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

// The columns of the tables that are written seldom; as tables.h. They are never folded: Start and
// End only say which members are times.

template <>
struct Table<Session> {
  static constexpr const char* kName = "session";
  static constexpr std::tuple kFields{Field{"id", &Session::id},
                                      Field{"role", &Session::role},
                                      Field{"command", &Session::command},
                                      Field{"node", &Session::node},
                                      Field{"host", &Session::host},
                                      Field{"boot_id", &Session::boot_id},
                                      Field{"kernel", &Session::kernel},
                                      Field{"program", &Session::program},
                                      Field{"start_ns", &Session::start_ns, Fold::Start},
                                      Field{"start_wall_ns", &Session::start_wall_ns},
                                      Field{"seen_ns", &Session::seen_ns, Fold::End},
                                      Field{"end_ns", &Session::end_ns, Fold::End},
                                      Field{"exit_status", &Session::exit_status},
                                      Field{"shift_ns", &Session::shift_ns}};
};

template <>
struct Table<Label> {
  static constexpr const char* kName = "label";
  static constexpr std::tuple kFields{Field{"session", &Label::session}, Field{"key", &Label::key},
                                      Field{"value", &Label::value}};
};

template <>
struct Table<ClockAnchor> {
  static constexpr const char* kName = "clock_anchor";
  static constexpr std::tuple kFields{Field{"session", &ClockAnchor::session},
                                      Field{"t_ns", &ClockAnchor::t_ns, Fold::End},
                                      Field{"wall_ns", &ClockAnchor::wall_ns}};
};

template <>
struct Table<Fact> {
  static constexpr const char* kName = "fact";
  static constexpr std::tuple kFields{
      Field{"session", &Fact::session}, Field{"category", &Fact::category},
      Field{"subject", &Fact::subject}, Field{"key", &Fact::key},
      Field{"value", &Fact::value},     Field{"source", &Fact::source}};
};

template <>
struct Table<Probe> {
  static constexpr const char* kName = "probe";
  static constexpr std::tuple kFields{Field{"id", &Probe::id},
                                      Field{"session", &Probe::session},
                                      Field{"t_ns", &Probe::t_ns, Fold::End},
                                      Field{"kind", &Probe::kind},
                                      Field{"peer", &Probe::peer},
                                      Field{"direction", &Probe::direction},
                                      Field{"schema", &Probe::schema},
                                      Field{"document", &Probe::document}};
};

template <>
struct Table<Process> {
  static constexpr const char* kName = "process";
  static constexpr std::tuple kFields{Field{"id", &Process::id},
                                      Field{"session", &Process::session},
                                      Field{"pid", &Process::pid},
                                      Field{"parent_pid", &Process::parent_pid},
                                      Field{"command", &Process::command},
                                      Field{"rank", &Process::rank},
                                      Field{"local_rank", &Process::local_rank},
                                      Field{"world_size", &Process::world_size},
                                      Field{"start_ns", &Process::start_ns, Fold::Start},
                                      Field{"end_ns", &Process::end_ns, Fold::End},
                                      Field{"exit_status", &Process::exit_status}};
};

template <>
struct Table<Flow> {
  static constexpr const char* kName = "flow";
  static constexpr std::tuple kFields{Field{"id", &Flow::id},
                                      Field{"session", &Flow::session},
                                      Field{"protocol", &Flow::protocol},
                                      Field{"a_address", &Flow::a_address},
                                      Field{"a_port", &Flow::a_port},
                                      Field{"b_address", &Flow::b_address},
                                      Field{"b_port", &Flow::b_port},
                                      Field{"local_end", &Flow::local_end},
                                      Field{"process", &Flow::process},
                                      Field{"interface", &Flow::interface},
                                      Field{"start_ns", &Flow::start_ns, Fold::Start},
                                      Field{"end_ns", &Flow::end_ns, Fold::End},
                                      Field{"handshake_seen", &Flow::handshake_seen}};
};

template <>
struct Table<FlowTotal> {
  static constexpr const char* kName = "flow_total";
  static constexpr std::tuple kFields{
      Field{"flow", &FlowTotal::flow},
      Field{"direction", &FlowTotal::direction},
      Field{"packets", &FlowTotal::packets},
      Field{"bytes", &FlowTotal::bytes},
      Field{"payload_bytes", &FlowTotal::payload_bytes},
      Field{"retransmitted_packets", &FlowTotal::retransmitted_packets},
      Field{"retransmitted_bytes", &FlowTotal::retransmitted_bytes},
      Field{"fast_retransmissions", &FlowTotal::fast_retransmissions},
      Field{"timeout_retransmissions", &FlowTotal::timeout_retransmissions},
      Field{"spurious_retransmissions", &FlowTotal::spurious_retransmissions},
      Field{"out_of_order", &FlowTotal::out_of_order},
      Field{"duplicate_acks", &FlowTotal::duplicate_acks},
      Field{"zero_windows", &FlowTotal::zero_windows},
      Field{"window_full", &FlowTotal::window_full},
      Field{"congestion_marks", &FlowTotal::congestion_marks},
      Field{"max_in_flight_bytes", &FlowTotal::max_in_flight_bytes},
      Field{"max_window_bytes", &FlowTotal::max_window_bytes},
      Field{"mss_bytes", &FlowTotal::mss_bytes},
      Field{"window_scale", &FlowTotal::window_scale},
      Field{"rtt_ms", &FlowTotal::rtt_ms}};
};

template <>
struct Table<Series> {
  static constexpr const char* kName = "series";
  static constexpr std::tuple kFields{
      Field{"id", &Series::id},        Field{"session", &Series::session},
      Field{"name", &Series::name},    Field{"subject", &Series::subject},
      Field{"unit", &Series::unit},    Field{"kind", &Series::kind},
      Field{"source", &Series::source}};
};

template <>
struct Table<Event> {
  static constexpr const char* kName = "event";
  static constexpr std::tuple kFields{Field{"id", &Event::id},
                                      Field{"session", &Event::session},
                                      Field{"t_ns", &Event::t_ns, Fold::End},
                                      Field{"kind", &Event::kind},
                                      Field{"subject", &Event::subject},
                                      Field{"detail", &Event::detail}};
};

template <>
struct Table<ClockOffset> {
  static constexpr const char* kName = "clock_offset";
  static constexpr std::tuple kFields{Field{"session", &ClockOffset::session},
                                      Field{"t_ns", &ClockOffset::t_ns, Fold::End},
                                      Field{"peer", &ClockOffset::peer},
                                      Field{"offset_ns", &ClockOffset::offset_ns},
                                      Field{"error_ns", &ClockOffset::error_ns},
                                      Field{"round_trip_ns", &ClockOffset::round_trip_ns}};
};

}  // namespace chokepoint::record
