// Writes what an analyser finds to a run record: flows, their samples in bins of 10 ms, their
// totals, and dropped packets. One recorder per analyser, with a producer of its own, so that
// nothing waits for the disk. on_…() and after_batch() come on the analyser's thread, finish()
// after it has ended.
//
// Captures use the wall clock, a record the monotonic clock: `wall_to_monotonic_ns` is added to
// each time. For a capture that was made earlier, or on another host, the record has the times that
// this host's monotonic clock would have shown.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/record/entities.h"
#include "base/record/samples.h"
#include "base/record/sink.h"
#include "capture/flow/engine.h"
#include "capture/flow/facts.h"
#include "capture/flow/slot_table.h"
#include "capture/observer/analyser.h"
#include "capture/observer/gloo.h"
#include "capture/observer/membership.h"

namespace chokepoint::capture::observer {

struct RecorderOptions {
  std::int64_t wall_to_monotonic_ns = 0;
  std::vector<packet::Address> own_addresses = {};  // show which end of a flow is here
  bool is_live = true;  // false: the reader waits for room instead of losing rows
  // Outlive the recorder.
  Membership* job =
      nullptr;  // null: each flow gets a row; else the job's, and what may slow it down
  ConnectionFlows* connections = nullptr;  // null: not needed
};

class Recorder final : public FlowListener {
 public:
  // The sink outlives the recorder.
  Recorder(record::Sink& sink, const RecorderOptions& options);

  void on_drop(Analyser& analyser, const source::Drop& drop) override;
  void on_fold(Analyser& analyser, std::uint32_t slot, const flow::FlowFacts& facts) override;
  void on_gloo(Analyser& analyser, std::uint32_t slot,
               const GlooLedger::Connection& connection) override;
  void on_content(Analyser& analyser, std::uint32_t slot, traffic::Content content) override;
  void after_batch(Analyser& analyser) override;

  void finish(Analyser& analyser);

 private:
  struct Entry {
    std::int64_t flow = 0;  // record::Flow::id; 0: it has no row, or none yet
    traffic::Content content = traffic::Content::Unknown;
    GlooLedger::Connection connection = {};
    std::array<std::int64_t, 2> kept_ns{};  // bins that end until then are in the record
    // Of the job's membership: when it was asked whether the flow gets a row.
    std::uint64_t asked_version = UINT64_MAX;
    std::uint32_t bins_since = 0;
  };

  std::int64_t monotonic(std::int64_t wall_ns) const;
  record::Flow row_of(const Analyser& analyser, const Entry& entry,
                      const flow::FlowFacts& facts) const;
  record::Figure local_end(const packet::Ends& ends) const;
  bool may_get_row(Entry& entry) const;
  void give_row(Entry& entry, const flow::FlowFacts& facts, record::Flow row);
  bool has_row(Analyser& analyser, std::uint32_t slot, Entry& entry);
  void catch_up(Analyser& analyser, std::uint32_t slot);
  void report_flow(const Entry& entry);
  void keep(Entry& entry, std::uint8_t direction, const flow::Bin& bin);
  void keep_marks(Analyser& analyser);
  void push(const auto& row);
  void keep_totals(Analyser& analyser, std::uint32_t slot, const flow::FlowFacts& facts);
  void drain(Analyser& analyser, bool all);

  record::Sink& sink_;
  record::Producer producer_;
  RecorderOptions options_;
  flow::SlotTable<Entry> entries_;
  std::int64_t drained_ns_ = 0;
};

// A flow's figures as rows of the run record.
record::FlowTotal total_of(std::int64_t flow, std::size_t direction, const flow::FlowFacts& facts);

// Without the flow, the direction and the time, which the bin does not contain.
record::FlowSample sample_of(const flow::Bin& bin);

}  // namespace chokepoint::capture::observer
