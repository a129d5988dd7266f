// The columns of the tables that are written seldom; as tables.h. They are never folded: Start and
// End only say which members are times.
#pragma once

#include "base/record/tables.h"

namespace chokepoint::record {

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
