// Which row of the run record a flow has. A capture gives each flow one of its own; a watched job's
// share theirs with the kernel's sockets, and strangers' flows may have none. The analyser's
// thread.
#pragma once

#include <cstdint>

#include "base/record/entities.h"
#include "base/record/writer.h"
#include "capture/flow/engine.h"

namespace chokepoint::capture::observer {

struct RowPlace {
  std::int64_t flow = 0;   // record::Flow::id; 0: none, or none yet
  bool is_turned = false;  // the flow's a is the row's b
};

class RowKeeper {
 public:
  virtual ~RowKeeper() = default;

  // Asked again, as packets come, until it gives one. `row` is what the packets know.
  virtual RowPlace place(std::uint32_t slot, const flow::FlowFacts& facts, record::Flow row) = 0;
  // The row as it is known now; `place` is what was given.
  virtual void update(std::uint32_t slot, const RowPlace& place, record::Flow row) = 0;
  // The slot is another flow's from now on.
  virtual void leave(std::uint32_t slot) = 0;
  // Whether asking place() can lead to anything else than before: costs next to nothing.
  virtual bool is_worth_asking(std::uint32_t slot) = 0;
};

// A row for each.
class OwnRows final : public RowKeeper {
 public:
  // The writer outlives it.
  explicit OwnRows(record::Writer& writer) : writer_(writer) {}

  RowPlace place(std::uint32_t /*slot*/, const flow::FlowFacts& /*facts*/,
                 record::Flow row) override {
    return {.flow = writer_.add(std::move(row))};
  }
  void update(std::uint32_t /*slot*/, const RowPlace& place, record::Flow row) override {
    row.id = place.flow;
    writer_.add(std::move(row));
  }
  void leave(std::uint32_t /*slot*/) override {}
  bool is_worth_asking(std::uint32_t /*slot*/) override { return true; }

 private:
  record::Writer& writer_;
};

}  // namespace chokepoint::capture::observer
