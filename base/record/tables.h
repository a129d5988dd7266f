// Which column of the run record holds which member, its meaning, and what folding does to it: the
// one place for all of it. Inserting, reading, folding and the columns of an export follow from
// these lists; a test holds them against the schema. Constants.
#pragma once

#include <tuple>

#include "base/json/fields.h"
#include "base/record/entities.h"
#include "base/record/samples.h"

namespace chokepoint {
namespace record {

// Columns that several tables have.
template <class Row>
constexpr auto kId = field("id", &Row::id, "id by which other tables refer to this row");
template <class Row>
constexpr auto kSession =
    field("session", &Row::session, "id in sessions: the process that wrote the row");
template <class Row>
constexpr auto kStart =
    field("start_ns", &Row::start_ns, Fold::Start, "start, by the node's own clock");
template <class Row>
constexpr auto kEnd = field("end_ns", &Row::end_ns, Fold::End,
                            "end, by the node's own clock; empty while it goes on or after a kill");
template <class Row>
constexpr auto kMoment =
    field("t_ns", &Row::t_ns, Fold::End, "end of the span, or the moment, by the node's own clock");
template <class Row>
constexpr auto kBin = field("bin_ns", &Row::bin_ns, Fold::Span,
                            "length of the span that ends at t_ns; 0 is one moment");
template <class Row>
constexpr auto kMerged =
    field("merged", &Row::merged, Fold::Merged,
          "how many rows, readings or steps this row stands for; 1 is full detail");

}  // namespace record

template <>
struct Fields<record::FlowSample> {
  using Row = record::FlowSample;
  static constexpr const char* kTable = "flow_sample";
  static constexpr FieldList kList{
      record::kMoment<Row>,
      record::kBin<Row>,
      record::kMerged<Row>,
      field("flow", &Row::flow, Fold::Key, "id in flows"),
      field("direction", &Row::direction, Fold::Key, "a_to_b or b_to_a"),
      field("packets", &Row::packets, Fold::Sum, "packets in the span"),
      field("bytes", &Row::bytes, Fold::Sum,
            "bytes on the wire: with the Ethernet header, without its checksum (FCS)"),
      field("payload_bytes", &Row::payload_bytes, Fold::Sum, "bytes without headers"),
      field("retransmitted_packets", &Row::retransmitted_packets, Fold::Sum,
            "packets retransmitted"),
      field("retransmitted_bytes", &Row::retransmitted_bytes, Fold::Sum, "bytes retransmitted"),
      field("out_of_order", &Row::out_of_order, Fold::Sum, "packets that arrived out of order"),
      field("duplicate_acks", &Row::duplicate_acks, Fold::Sum, "duplicate acknowledgements"),
      field("zero_windows", &Row::zero_windows, Fold::Sum,
            "times that the receiver closed its window"),
      field("window_full", &Row::window_full, Fold::Sum,
            "times that the data in flight filled the window"),
      field("congestion_marks", &Row::congestion_marks, Fold::Sum, "packets marked with ECN CE"),
      field("rtt_us", &Row::rtt_us, Fold::Mean, "mean round trip"),
      field("min_rtt_us", &Row::min_rtt_us, Fold::Min, "shortest round trip"),
      field("max_in_flight_bytes", &Row::max_in_flight_bytes, Fold::Max,
            "most bytes in flight: sent and not yet acknowledged"),
      field("window_bytes", &Row::window_bytes, Fold::Mean,
            "mean window that the receiver announced"),
      field("min_window_bytes", &Row::min_window_bytes, Fold::Min,
            "smallest window that the receiver announced")};
};

template <>
struct Fields<record::SocketSample> {
  using Row = record::SocketSample;
  static constexpr const char* kTable = "socket_sample";
  static constexpr FieldList kList{
      record::kMoment<Row>,
      record::kBin<Row>,
      record::kMerged<Row>,
      field("flow", &Row::flow, Fold::Key, "id in flows"),
      field("direction", &Row::direction, Fold::Key, "a_to_b or b_to_a, in which the socket sends"),
      field("state", &Row::state, Fold::Last, "state of TCP, by the kernel's number"),
      field("congestion_state", &Row::congestion_state, Fold::Max,
            "0 open, 1 disorder, 2 CWR, 3 recovery, 4 loss"),
      field("mss_bytes", &Row::mss_bytes, Fold::Last, "maximum segment size"),
      field("cwnd_packets", &Row::cwnd_packets, Fold::Mean, "congestion window"),
      field("ssthresh_packets", &Row::ssthresh_packets, Fold::Last, "where slow start ends"),
      field("rtt_us", &Row::rtt_us, Fold::Mean, "mean round trip"),
      field("rtt_variance_us", &Row::rtt_variance_us, Fold::Mean,
            "variation of the round trip, as the kernel smooths it"),
      field("min_rtt_us", &Row::min_rtt_us, Fold::Min, "shortest round trip"),
      field("receive_rtt_us", &Row::receive_rtt_us, Fold::Mean,
            "round trip as the receiver estimates it"),
      field("timeout_us", &Row::timeout_us, Fold::Max, "retransmission timeout"),
      field("bytes_sent", &Row::bytes_sent, Fold::Last, "bytes sent since the connection began"),
      field("bytes_acked", &Row::bytes_acked, Fold::Last,
            "bytes acknowledged since the connection began"),
      field("bytes_received", &Row::bytes_received, Fold::Last,
            "bytes received since the connection began"),
      field("bytes_retransmitted", &Row::bytes_retransmitted, Fold::Last,
            "bytes retransmitted since the connection began"),
      field("retransmits", &Row::retransmits, Fold::Last,
            "segments retransmitted since the connection began"),
      field("lost_packets", &Row::lost_packets, Fold::Max,
            "packets that the kernel considers lost at the moment"),
      field("unacked_packets", &Row::unacked_packets, Fold::Mean, "packets in flight"),
      field("reordering", &Row::reordering, Fold::Max,
            "the kernel's measure of reordering, packets"),
      field("reorder_seen", &Row::reorder_seen, Fold::Last, "times that reordering was seen"),
      field("dsack_duplicates", &Row::dsack_duplicates, Fold::Last,
            "packets that the receiver reported to have arrived twice"),
      field("delivered", &Row::delivered, Fold::Last,
            "packets delivered since the connection began"),
      field("delivered_ce", &Row::delivered_ce, Fold::Last,
            "delivered packets that were marked with ECN CE"),
      field("delivery_bytes_per_s", &Row::delivery_bytes_per_s, Fold::Max,
            "the kernel's delivery rate"),
      field("pacing_bytes_per_s", &Row::pacing_bytes_per_s, Fold::Mean, "the kernel's pacing rate"),
      field("app_limited", &Row::app_limited, Fold::Sum,
            "readings in which the application was the limit"),
      field("busy_us", &Row::busy_us, Fold::Last,
            "time with something to send, since the connection began"),
      field("receive_window_limited_us", &Row::receive_window_limited_us, Fold::Last,
            "part of busy_us in which the receive window was the limit"),
      field("send_buffer_limited_us", &Row::send_buffer_limited_us, Fold::Last,
            "part of busy_us in which the send buffer was the limit"),
      field("unsent_bytes", &Row::unsent_bytes, Fold::Mean,
            "bytes in the send queue that were not sent yet"),
      field("send_queue_bytes", &Row::send_queue_bytes, Fold::Mean,
            "bytes in the send queue that were not acknowledged yet"),
      field("receive_queue_bytes", &Row::receive_queue_bytes, Fold::Mean,
            "bytes that the application has not read yet"),
      field("send_window_bytes", &Row::send_window_bytes, Fold::Mean, "the peer's window"),
      field("receive_space_bytes", &Row::receive_space_bytes, Fold::Mean,
            "the kernel's receive space")};
};

template <>
struct Fields<record::CounterSample> {
  using Row = record::CounterSample;
  static constexpr const char* kTable = "counter_sample";
  static constexpr FieldList kList{
      record::kMoment<Row>,
      record::kBin<Row>,
      record::kMerged<Row>,
      field("series", &Row::series, Fold::Key, "id in series"),
      field("value", &Row::value, Fold::Last, "the counter's count"),
      field("peak_per_s", &Row::peak_per_s, Fold::Max, "fastest growth seen in the span")};
};

template <>
struct Fields<record::GaugeSample> {
  using Row = record::GaugeSample;
  static constexpr const char* kTable = "gauge_sample";
  static constexpr FieldList kList{
      record::kMoment<Row>,
      record::kBin<Row>,
      record::kMerged<Row>,
      field("series", &Row::series, Fold::Key, "id in series"),
      field("value", &Row::value, Fold::Mean, "mean over the span, or the level from t_ns on"),
      field("peak", &Row::peak, Fold::Max, "largest value seen in the span")};
};

template <>
struct Fields<record::Step> {
  using Row = record::Step;
  static constexpr const char* kTable = "step";
  static constexpr FieldList kList{
      record::kStart<Row>,
      record::kEnd<Row>,
      record::kMerged<Row>,
      field("number", &Row::number, Fold::Last,
            "number of the step or collective, as its source counts"),
      field("rank", &Row::rank, Fold::Key, "the rank whose step it is"),
      field("source", &Row::source, Fold::Key,
            "what reported the steps: marks, the job's output, collectives, traffic"),
      field("samples", &Row::samples, Fold::Sum, "samples of training data"),
      field("busy_ns", &Row::busy_ns, Fold::Busy,
            "sum of the durations where several are folded into one row; empty: end_ns minus "
            "start_ns"),
      field("longest_ns", &Row::longest_ns, Fold::Max,
            "duration of the longest one that the row stands for")};
};

template <>
struct Fields<record::Collective> {
  using Row = record::Collective;
  static constexpr const char* kTable = "collective";
  static constexpr FieldList kList{
      record::kStart<Row>,
      record::kEnd<Row>,
      record::kMerged<Row>,
      field("number", &Row::number, Fold::Last,
            "number of the step or collective, as its source counts"),
      field("kind", &Row::kind, Fold::Key, "which collective"),
      field("source", &Row::source, Fold::Key, "what reported it: the library, or packets"),
      field("rank", &Row::rank, Fold::Key, "rank that took part"),
      field("communicator", &Row::communicator, Fold::Key, "number of the group of ranks"),
      field("bytes", &Row::bytes, Fold::Sum, "data of the collective"),
      field("busy_ns", &Row::busy_ns, Fold::Busy,
            "sum of the durations where several are folded into one row; empty: end_ns minus "
            "start_ns"),
      field("longest_ns", &Row::longest_ns, Fold::Max,
            "duration of the longest one that the row stands for"),
      field("own_ready_ns", &Row::own_ready_ns, Fold::Start, "when this rank had reached it"),
      field("peer_ready_ns", &Row::peer_ready_ns, Fold::End,
            "when the last of its neighbours had reached it, as seen here"),
      field("first_data_ns", &Row::first_data_ns, Fold::Start, "first data, in either direction"),
      field("last_data_ns", &Row::last_data_ns, Fold::End, "last data, in either direction"),
      field("waited_ns", &Row::waited_ns, Fold::Sum,
            "how long this rank waited for the neighbour that arrived last"),
      field("kept_waiting_ns", &Row::kept_waiting_ns, Fold::Sum,
            "how long its neighbours waited for this rank"),
      field("flow", &Row::flow, Fold::Last, "id in flows"),
      field("algorithm", &Row::algorithm, Fold::Last, "algorithm that NCCL used"),
      field("protocol", &Row::protocol, Fold::Last, "protocol that NCCL used"),
      field("channels", &Row::channels, Fold::Last, "channels that NCCL used"),
      field("peer", &Row::peer, Fold::Last,
            "rank of the root, or for a message the other rank, as the communicator counts"),
      field("enqueued_ns", &Row::enqueued_ns, Fold::Start, "when the program asked for it"),
      field("gpu_wait_ns", &Row::gpu_wait_ns, Fold::Sum,
            "sum of the times that NCCL's network steps waited for the rank's own GPU"),
      field("network_wait_ns", &Row::network_wait_ns, Fold::Sum,
            "sum of the times that NCCL's network steps waited for the network"),
      field("peer_wait_ns", &Row::peer_wait_ns, Fold::Sum,
            "sum of the times that NCCL's network steps waited for the receiver's credit"),
      field("flush_wait_ns", &Row::flush_wait_ns, Fold::Sum,
            "sum of the times that NCCL's network steps waited for the flush over PCIe")};
};

template <>
struct Fields<record::FlowMark> {
  using Row = record::FlowMark;
  static constexpr const char* kTable = "flow_mark";
  static constexpr FieldList kList{
      record::kMoment<Row>,
      record::kBin<Row>,
      record::kMerged<Row>,
      field("flow", &Row::flow, Fold::Key, "id in flows"),
      field("direction", &Row::direction, Fold::Key, "a_to_b or b_to_a"),
      field("sequence", &Row::sequence, Fold::Last,
            "TCP sequence number of the packet that passed at t_ns")};
};

// Tables that are rarely written and never folded: Start and End only mark the members that are
// times.

template <>
struct Fields<record::Session> {
  using Row = record::Session;
  static constexpr const char* kTable = "session";
  static constexpr FieldList kList{
      record::kId<Row>,
      field("role", &Row::role, "command of chokepoint, such as run"),
      field("command", &Row::command, "the command line"),
      field("node", &Row::node, "the node whose record has the row"),
      field("host", &Row::host, "the host's name"),
      field("boot_id", &Row::boot_id, "which boot of the host it was"),
      field("kernel", &Row::kernel, "version of the kernel"),
      field("program", &Row::program, "version of chokepoint"),
      record::kStart<Row>,
      field("start_wall_ns", &Row::start_wall_ns, "the same moment as start_ns, since 1970, UTC"),
      field("seen_ns", &Row::seen_ns, Fold::End,
            "time of the last commit, by the node's own clock"),
      record::kEnd<Row>,
      field("exit_status", &Row::exit_status, "exit status of the watched command"),
      field("shift_ns", &Row::shift_ns,
            "added to this boot's clock, so that times rise over a reboot")};
};

template <>
struct Fields<record::Label> {
  using Row = record::Label;
  static constexpr const char* kTable = "label";
  static constexpr FieldList kList{record::kSession<Row>,
                                   field("key", &Row::key, "name of the label"),
                                   field("value", &Row::value, "value of the label")};
};

template <>
struct Fields<record::ClockAnchor> {
  using Row = record::ClockAnchor;
  static constexpr const char* kTable = "clock_anchor";
  static constexpr FieldList kList{
      record::kSession<Row>, record::kMoment<Row>,
      field("wall_ns", &Row::wall_ns, "the same moment since 1970, UTC")};
};

template <>
struct Fields<record::Fact> {
  using Row = record::Fact;
  static constexpr const char* kTable = "fact";
  static constexpr FieldList kList{
      record::kSession<Row>,
      field("category", &Row::category, "kind of fact"),
      field("subject", &Row::subject, "what it is about: an interface, a core, a card"),
      field("key", &Row::key, "name of the fact"),
      field("value", &Row::value, "value of the fact"),
      field("source", &Row::source, "what reported the fact: a file, a call")};
};

template <>
struct Fields<record::Probe> {
  using Row = record::Probe;
  static constexpr const char* kTable = "probe";
  static constexpr FieldList kList{
      record::kId<Row>,
      record::kSession<Row>,
      record::kMoment<Row>,
      field("kind", &Row::kind, "which probe"),
      field("peer", &Row::peer, "the other host"),
      field("direction", &Row::direction, "which direction it measured"),
      field("schema", &Row::schema, "schema of the document"),
      field("document", &Row::document, "the probe's result, JSON")};
};

template <>
struct Fields<record::Process> {
  using Row = record::Process;
  static constexpr const char* kTable = "process";
  static constexpr FieldList kList{
      record::kId<Row>,
      record::kSession<Row>,
      field("pid", &Row::pid, "id of the process"),
      field("parent_pid", &Row::parent_pid, "id of the process that started it"),
      field("command", &Row::command, "the process's command line"),
      field("rank", &Row::rank, "rank in the job; empty where it has none"),
      field("local_rank", &Row::local_rank, "rank on its host"),
      field("world_size", &Row::world_size, "number of ranks in the job"),
      record::kStart<Row>,
      record::kEnd<Row>,
      field("exit_status", &Row::exit_status, "exit status of the process")};
};

template <>
struct Fields<record::Flow> {
  using Row = record::Flow;
  static constexpr const char* kTable = "flow";
  static constexpr FieldList kList{
      record::kId<Row>,
      record::kSession<Row>,
      field("protocol", &Row::protocol, "tcp, udp, roce"),
      field("a_address", &Row::a_address, "address of one end"),
      field("a_port", &Row::a_port, "port of that end"),
      field("b_address", &Row::b_address, "address of the other end"),
      field("b_port", &Row::b_port, "port of the other end"),
      field("local_end", &Row::local_end, "0: a is on this node, 1: b is"),
      field("process", &Row::process, "id in processes"),
      field("interface", &Row::interface, "interface that it went through"),
      record::kStart<Row>,
      record::kEnd<Row>,
      field("handshake_seen", &Row::handshake_seen,
            "1: its handshake was seen, so the window scale is known"),
      field("content", &Row::content,
            "protocol that its first bytes show: gloo, nccl, http …; empty: unknown"),
      field("job", &Row::job, "1: a connection of the job, as its sockets show")};
};

template <>
struct Fields<record::FlowTotal> {
  using Row = record::FlowTotal;
  static constexpr const char* kTable = "flow_total";
  static constexpr FieldList kList{
      field("flow", &Row::flow, "id in flows"),
      field("direction", &Row::direction, "a_to_b or b_to_a"),
      field("packets", &Row::packets, "packets of the whole connection"),
      field("bytes", &Row::bytes,
            "bytes on the wire: with the Ethernet header, without its checksum (FCS)"),
      field("payload_bytes", &Row::payload_bytes, "bytes without headers"),
      field("retransmitted_packets", &Row::retransmitted_packets, "packets retransmitted"),
      field("retransmitted_bytes", &Row::retransmitted_bytes, "bytes retransmitted"),
      field("fast_retransmissions", &Row::fast_retransmissions,
            "retransmissions after duplicate acknowledgements"),
      field("timeout_retransmissions", &Row::timeout_retransmissions,
            "retransmissions after a timeout"),
      field("spurious_retransmissions", &Row::spurious_retransmissions,
            "retransmissions that were not needed"),
      field("out_of_order", &Row::out_of_order, "packets that arrived out of order"),
      field("duplicate_acks", &Row::duplicate_acks, "duplicate acknowledgements"),
      field("zero_windows", &Row::zero_windows, "times that the receiver closed its window"),
      field("window_full", &Row::window_full, "times that the data in flight filled the window"),
      field("congestion_marks", &Row::congestion_marks, "packets marked with ECN CE"),
      field("max_in_flight_bytes", &Row::max_in_flight_bytes,
            "most bytes in flight: sent and not yet acknowledged"),
      field("max_window_bytes", &Row::max_window_bytes,
            "largest window that the receiver announced"),
      field("mss_bytes", &Row::mss_bytes, "maximum segment size"),
      field("window_scale", &Row::window_scale, "factor of the window, as a power of two"),
      field("rtt_ms", &Row::rtt_ms, "round trips, JSON: min, median, p99, max, mean, count")};
};

template <>
struct Fields<record::Series> {
  using Row = record::Series;
  static constexpr const char* kTable = "series";
  static constexpr FieldList kList{
      record::kId<Row>,
      record::kSession<Row>,
      field("name", &Row::name, "name of the series"),
      field("subject", &Row::subject, "what it is about: an interface, a core, a process"),
      field("unit", &Row::unit, "unit of its values"),
      field("kind", &Row::kind, "counter or gauge"),
      field("source", &Row::source, "where it is read: a file, a tool, a library")};
};

template <>
struct Fields<record::Event> {
  using Row = record::Event;
  static constexpr const char* kTable = "event";
  static constexpr FieldList kList{record::kId<Row>,
                                   record::kSession<Row>,
                                   record::kMoment<Row>,
                                   field("kind", &Row::kind, "what happened"),
                                   field("subject", &Row::subject, "what it happened to"),
                                   field("detail", &Row::detail, "further details, JSON")};
};

template <>
struct Fields<record::ClockOffset> {
  using Row = record::ClockOffset;
  static constexpr const char* kTable = "clock_offset";
  static constexpr FieldList kList{
      record::kSession<Row>,
      record::kMoment<Row>,
      field("peer", &Row::peer, "the other host"),
      field("offset_ns", &Row::offset_ns, "the peer's clock minus this host's clock"),
      field("error_ns", &Row::error_ns, "largest error that offset_ns may have"),
      field("round_trip_ns", &Row::round_trip_ns,
            "round trip of the exchange that offset_ns was taken from")};
};

}  // namespace chokepoint
