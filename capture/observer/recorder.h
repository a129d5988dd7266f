// Keeps what an analyser finds in a run record: flows, their course in bins of 10 ms, what they
// came to, and packets that were lost on the way. One an analyser; it writes through a producer of
// its own, so that nothing waits for the disk. on_…() and after_batch() come on the analyser's
// thread, finish() once that has ended.
//
// Captures have the wall clock's times, a record the monotonic clock's: `wall_to_monotonic_ns` is
// added to each. Of a capture that was made earlier, or on another host, the times in the record
// are then those that this host's monotonic clock would have shown.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/record/writer.h"
#include "capture/observer/analyser.h"
#include "capture/observer/connection_flows.h"
#include "capture/observer/row_keeper.h"

namespace chokepoint::capture::observer {

struct RecorderOptions {
  std::int64_t wall_to_monotonic_ns = 0;
  std::vector<packet::Address> own_addresses = {};  // tell which end of a flow is here
  bool is_live = true;  // false: the reader waits for the record instead of losing rows
  // Outlive the recorder.
  RowKeeper* rows = nullptr;               // null: each flow gets a row of its own
  ConnectionFlows* connections = nullptr;  // null: nobody asks
};

class Recorder final : public FlowListener {
 public:
  // The writer outlives the recorder.
  Recorder(record::Writer& writer, const RecorderOptions& options);

  void on_drop(Analyser& analyser, const source::Drop& drop) override;
  void on_fold(Analyser& analyser, std::uint32_t slot, const flow::FlowFacts& facts) override;
  void on_gloo(Analyser& analyser, std::uint32_t slot, std::uint32_t connection) override;
  void after_batch(Analyser& analyser) override;

  void finish(Analyser& analyser);

 private:
  // A flow that has a row in the record.
  struct Entry {
    RowPlace place = {};
    std::uint32_t connection = gloo::Collectives::kNoConnection;  // of the ledger
    std::array<std::int64_t, 2> kept_ns{};  // bins that end by then are in the record
  };

  Entry& entry_of(std::uint32_t slot);
  std::int64_t monotonic(std::int64_t wall_ns) const;
  record::Flow row_of(const flow::FlowFacts& facts, std::string interface) const;
  record::Figure local_end(const packet::Ends& ends) const;
  static record::Direction direction_of(const Entry& entry, std::size_t direction);
  bool has_row(Analyser& analyser, std::uint32_t slot, Entry& entry);
  void catch_up(Analyser& analyser, std::uint32_t slot);
  void tell_flow(const Entry& entry);
  void keep(Entry& entry, std::uint8_t direction, const flow::Bin& bin);
  void keep_marks(Analyser& analyser);
  void push(const auto& row);
  void keep_totals(Analyser& analyser, std::uint32_t slot, const flow::FlowFacts& facts);
  void drain(Analyser& analyser, bool all);
  void wait_for_room() const;

  record::Writer& writer_;
  record::Producer producer_;
  RecorderOptions options_;
  OwnRows own_rows_;
  RowKeeper& rows_;
  std::vector<Entry> entries_;
  std::int64_t drained_ns_ = 0;
  std::uint64_t pushed_ = 0;
};

}  // namespace chokepoint::capture::observer
