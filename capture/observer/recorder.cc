#include "capture/observer/recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/record/names.h"
#include "capture/observer/ends.h"
#include "capture/packet/address_text.h"

namespace chokepoint::capture::observer {
namespace {

// Bins are 10 ms wide, and full detail is kept for five seconds.
constexpr std::int64_t kDrainLiveNs = 500'000'000;
constexpr std::int64_t kDrainFileNs = 2'000'000'000;

// Of another flow than the job's, on the wire, both directions together: it may slow the job down.
constexpr std::uint64_t kMinOtherFlowBytes = 4'000'000;
// After so many bins another flow's size is checked again.
constexpr std::uint32_t kBinsPerCheck = 256;

std::uint64_t bytes_of(const flow::FlowFacts& facts) {
  return facts.directions[0].bytes + facts.directions[1].bytes;
}

template <class T>
record::Figure figure(const std::optional<T>& value) {
  return value ? record::Figure(*value) : record::Figure();
}

record::Figure sampled(std::uint32_t value) {
  return value == flow::kNoSample ? record::Figure() : record::Figure(value);
}

std::string distribution_text(const std::optional<math::Distribution>& values) {
  if (!values || values->count == 0) {
    return {};
  }
  return fmt::format(R"({{"min":{},"median":{},"p99":{},"max":{},"mean":{},"count":{}}})",
                     values->min, values->median, values->p99, values->max, values->mean,
                     values->count);
}

void add_loss(record::FlowTotal& row, const flow::DirectionFacts& facts) {
  row.retransmitted_packets = facts.retransmitted_packets;
  row.retransmitted_bytes = facts.retransmitted_bytes;
  row.out_of_order = facts.out_of_order;
  row.duplicate_acks = facts.duplicate_acks;
}

void add_tcp(record::FlowTotal& row, const flow::DirectionFacts& facts) {
  row.fast_retransmissions = facts.retransmissions.fast;
  row.timeout_retransmissions = facts.retransmissions.timeout;
  row.spurious_retransmissions = facts.retransmissions.spurious;
  row.zero_windows = facts.zero_windows;
  row.window_full = facts.window_full;
  row.max_in_flight_bytes = facts.max_in_flight_bytes;
  row.max_window_bytes = figure(facts.max_window_bytes);
  row.mss_bytes = figure(facts.mss_bytes);
  row.window_scale = figure(facts.window_scale);
  row.rtt_ms = distribution_text(facts.rtt_ms);
}

}  // namespace

record::FlowTotal total_of(std::int64_t flow, std::size_t direction, const flow::FlowFacts& facts) {
  const flow::DirectionFacts& half = facts.directions.at(direction);
  record::FlowTotal row{.flow = flow, .direction = static_cast<record::Direction>(direction)};
  row.packets = half.packets;
  row.bytes = half.bytes;
  row.payload_bytes = half.payload_bytes;
  row.congestion_marks = half.congestion_marks;
  if (facts.kind != packet::Kind::Udp) {
    add_loss(row, half);
  }
  if (facts.kind == packet::Kind::Tcp) {
    add_tcp(row, half);
  }
  return row;
}

record::FlowSample sample_of(const flow::Bin& bin) {
  record::FlowSample row{.bin_ns = bin.width_ns};
  row.packets = bin.packets;
  row.bytes = bin.bytes;
  row.payload_bytes = bin.payload_bytes;
  row.retransmitted_packets = bin.retransmitted_packets;
  row.retransmitted_bytes = bin.retransmitted_bytes;
  row.out_of_order = bin.out_of_order;
  row.duplicate_acks = bin.duplicate_acks;
  row.zero_windows = bin.zero_windows;
  row.window_full = bin.window_full;
  row.congestion_marks = bin.congestion_marks;
  if (bin.rtt_samples > 0) {
    row.rtt_us = bin.rtt_sum_us / bin.rtt_samples;
  }
  row.min_rtt_us = sampled(bin.min_rtt_us);
  row.max_in_flight_bytes = bin.max_in_flight_bytes;
  row.window_bytes = sampled(bin.window_bytes);
  row.min_window_bytes = sampled(bin.min_window_bytes);
  return row;
}

Recorder::Recorder(record::Sink& sink, const RecorderOptions& options)
    : sink_(sink), producer_(sink.producer("flows")), options_(options) {}

void Recorder::on_drop(Analyser& analyser, const source::Drop& drop) {
  sink_.add(record::Event{.t_ns = monotonic(drop.time_ns),
                          .kind = std::string(record::kPacketsDropped),
                          .subject = analyser.progress().interface_name(drop.interface),
                          .detail = fmt::format(R"({{"kernel":{},"interface":{}}})", drop.by_kernel,
                                                drop.by_interface)});
}

void Recorder::on_fold(Analyser& analyser, std::uint32_t slot, const flow::FlowFacts& facts) {
  keep_totals(analyser, slot, facts);
  keep_marks(analyser);
  Entry& entry = entries_[slot];
  for (std::uint8_t direction = 0; direction < 2; ++direction) {
    for (const flow::Bin& bin : analyser.engine().bins(slot, direction)) {
      keep(entry, direction, bin);
    }
  }
  if (entry.flow != 0) {
    sink_.leave(entry.flow);
  }
  if (options_.job != nullptr) {
    options_.job->forget(facts.ends);
  }
  entry = {};
}

void Recorder::on_gloo(Analyser& analyser, std::uint32_t slot,
                       const GlooLedger::Connection& connection) {
  Entry& entry = entries_[slot];
  entry.connection = connection;
  entry.content = traffic::Content::Gloo;
  has_row(analyser, slot, entry);
  report_flow(entry);
}

void Recorder::on_content(Analyser& /*analyser*/, std::uint32_t slot, traffic::Content content) {
  traffic::Content& known = entries_[slot].content;
  known = known == traffic::Content::Unknown ? content : known;
}

void Recorder::after_batch(Analyser& analyser) {
  const std::int64_t every = options_.is_live ? kDrainLiveNs : kDrainFileNs;
  if (analyser.time_ns() - drained_ns_ >= every) {
    drained_ns_ = analyser.time_ns();
    drain(analyser, false);
  } else if (analyser.marks().are_many()) {
    keep_marks(analyser);
  }
}

void Recorder::finish(Analyser& analyser) {
  drain(analyser, true);
  analyser.engine().visit([&](std::uint32_t slot, const flow::FlowFacts& facts) {
    keep_totals(analyser, slot, facts);
  });
}

std::int64_t Recorder::monotonic(std::int64_t wall_ns) const {
  return wall_ns + options_.wall_to_monotonic_ns;
}

record::Flow Recorder::row_of(const Analyser& analyser, const Entry& entry,
                              const flow::FlowFacts& facts) const {
  const packet::Ends& ends = facts.ends;
  record::Flow row;
  row.protocol = name_of(facts.kind);
  row.a_address = packet::text_of(ends.source, ends.is_ipv6);
  row.a_port = ends.source_port;
  row.b_address = packet::text_of(ends.destination, ends.is_ipv6);
  row.b_port = ends.destination_port;
  row.local_end = local_end(ends);
  row.interface = analyser.progress().interface_name(facts.interface);
  row.content = name_of(entry.content);
  row.start_ns = monotonic(facts.start_ns);
  if (facts.kind == packet::Kind::Tcp) {
    row.handshake_seen = facts.handshake_seen ? 1 : 0;
  }
  return row;
}

record::Figure Recorder::local_end(const packet::Ends& ends) const {
  const bool is_a = std::ranges::count(options_.own_addresses, ends.source) > 0;
  const bool is_b = std::ranges::count(options_.own_addresses, ends.destination) > 0;
  return is_a == is_b ? record::Figure() : record::Figure(is_a ? 0 : 1);
}

void Recorder::keep(Entry& entry, std::uint8_t direction, const flow::Bin& bin) {
  std::int64_t& kept_ns = entry.kept_ns.at(direction);
  if (entry.flow == 0 || bin.end_ns() <= kept_ns) {
    return;
  }
  kept_ns = bin.end_ns();
  record::FlowSample row = sample_of(bin);
  row.t_ns = monotonic(bin.end_ns());
  row.flow = entry.flow;
  row.direction = static_cast<record::Direction>(direction);
  push(row);
}

void Recorder::keep_marks(Analyser& analyser) {
  for (const FlowMark& mark : analyser.marks().chosen()) {
    Entry& entry = entries_[mark.slot];
    if (has_row(analyser, mark.slot, entry)) {
      push(record::FlowMark{.t_ns = monotonic(mark.time_ns),
                            .flow = entry.flow,
                            .direction = static_cast<record::Direction>(mark.direction),
                            .sequence = mark.sequence});
    }
  }
  analyser.marks().clear();
}

void Recorder::push(const auto& row) {
  while (!options_.is_live && producer_.is_full<std::remove_cvref_t<decltype(row)>>()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  producer_.push(row);
}

// Cheap: asked at each bin and mark of a flow that has no row.
bool Recorder::may_get_row(Entry& entry) const {
  return options_.job == nullptr || entry.asked_version != options_.job->version() ||
         ++entry.bins_since >= kBinsPerCheck;
}

void Recorder::give_row(Entry& entry, const flow::FlowFacts& facts, record::Flow row) {
  if (options_.job != nullptr) {
    entry.asked_version = options_.job->version();
    entry.bins_since = 0;
    if (!options_.job->sends(facts.ends) && bytes_of(facts) < kMinOtherFlowBytes) {
      return;
    }
  }
  entry.flow = sink_.add(std::move(row));
}

bool Recorder::has_row(Analyser& analyser, std::uint32_t slot, Entry& entry) {
  if (entry.flow == 0 && may_get_row(entry)) {
    const flow::FlowFacts facts = analyser.engine().facts(slot);
    give_row(entry, facts, row_of(analyser, entry, facts));
    if (entry.flow != 0) {
      report_flow(entry);
      catch_up(analyser, slot);
    }
  }
  return entry.flow != 0;
}

// A flow may get its row late: writes the bins that the engine still has.
void Recorder::catch_up(Analyser& analyser, std::uint32_t slot) {
  for (std::uint8_t direction = 0; direction < 2; ++direction) {
    for (const flow::Bin& bin : analyser.engine().bins(slot, direction)) {
      if (bin.end_ns() <= analyser.time_ns()) {
        keep(entries_[slot], direction, bin);
      }
    }
  }
}

void Recorder::report_flow(const Entry& entry) {
  if (options_.connections != nullptr) {
    options_.connections->set(entry.connection, entry.flow);
  }
}

void Recorder::keep_totals(Analyser& analyser, std::uint32_t slot, const flow::FlowFacts& facts) {
  Entry& entry = entries_[slot];
  record::Flow row = row_of(analyser, entry, facts);
  row.end_ns = monotonic(facts.end_ns);
  if (entry.connection.parts[0] != gloo::Collectives::kNoConnection) {
    row.process = 1;
  }
  if (entry.flow == 0) {
    give_row(entry, facts, std::move(row));
    report_flow(entry);
  } else {
    row.id = entry.flow;
    sink_.add(std::move(row));
  }
  for (std::size_t direction = 0; direction < 2 && entry.flow != 0; ++direction) {
    sink_.add(total_of(entry.flow, direction, facts));
  }
}

void Recorder::drain(Analyser& analyser, bool all) {
  analyser.engine().drain(all,
                          [&](std::uint32_t slot, std::uint8_t direction, const flow::Bin& bin) {
                            Entry& entry = entries_[slot];
                            if (has_row(analyser, slot, entry)) {
                              keep(entry, direction, bin);
                            }
                          });
  analyser.marks().settle(analyser.time_ns(), all);
  keep_marks(analyser);
}

}  // namespace chokepoint::capture::observer
