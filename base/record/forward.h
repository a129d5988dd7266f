// Rows of a record on their way from a process that may not touch files to the one that writes
// them.
//
//   sandboxed process                                  process with the record
//   Recorder … ─▶ Forwarder ─ thread "rows" ─ rows ─▶ Receiver ─▶ RowTarget: a Writer, or what
//                    ids of its own                      gives them ids     else places flows
//
// A message holds whole rows: samples as they lie in a queue, other rows field by field. A flow
// comes before its samples. Rows that do not fit are counted, and reported by RowTarget::lost().
//
// Receiver gets bytes of a process that an attacker may control through the data that it parses:
// it reads any bytes or returns Malformed.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/record/sink.h"
#include "base/record/writer.h"
#include "base/sys/error.h"

namespace chokepoint::record {

class Forwarder final : public Sink {
 public:
  // Sends one message; false if the other end is closed. May wait: on the Forwarder's thread.
  using Send = std::function<bool(std::string_view rows)>;

  // `every`: how long rows wait at the most.
  static Result<std::unique_ptr<Forwarder>> start(Send send, std::chrono::milliseconds every);
  ~Forwarder() override;  // close()
  Forwarder(const Forwarder&) = delete;
  Forwarder& operator=(const Forwarder&) = delete;

  Producer producer(std::string name) override;
  std::int64_t add(Flow row) override;
  std::int64_t add(Series row) override;
  std::int64_t add(Event row) override;
  bool add(FlowTotal row) override;
  void leave(std::int64_t flow) override;

  // Sends what is left. What is pushed meanwhile may be lost, so producers stop before.
  void close();

 private:
  class Core;
  explicit Forwarder(std::unique_ptr<Core> core);
  std::unique_ptr<Core> core_;
};

// Which row a flow has, and whether its a is the row's b.
struct FlowPlace {
  std::int64_t id = 0;  // 0: none
  bool is_turned = false;
};

// What becomes of the rows that come. The Receiver's thread.
class RowTarget {
 public:
  virtual ~RowTarget() = default;
  // When the flow is first named, by an id of the other process, and whenever more is known of it;
  // `known`: what place() returned before.
  virtual FlowPlace place(std::int64_t id, const FlowPlace& known, Flow row) = 0;
  virtual void leave(std::int64_t /*id*/) {}
  virtual std::int64_t add(Series row) = 0;
  virtual void add(Event row) = 0;
  virtual void add(FlowTotal row) = 0;
  virtual void push(const FlowSample& row) = 0;
  virtual void push(const FlowMark& row) = 0;
  virtual void push(const CounterSample& row) = 0;
  virtual void push(const Step& row) = 0;
  // `place`: of its flow.
  virtual void push(const Collective& row, const FlowPlace& place) = 0;
  virtual void lost(std::uint64_t rows) = 0;
};

class Receiver {
 public:
  // Flows and series of which the target is to keep rows; more are Malformed.
  static constexpr std::size_t kMaxKnown = std::size_t{1} << 20;

  // The target outlives it.
  explicit Receiver(RowTarget& target) : target_(target) {}

  // One message. Malformed: what came before is with the target, and no more of this sender may be
  // taken.
  Result<> take(std::string_view rows);

 private:
  friend class RowParser;

  template <class Row>
  Result<> take_row(Row row);
  void leave(std::int64_t flow);
  const FlowPlace* find(Figure flow) const;

  RowTarget& target_;
  std::map<std::int64_t, FlowPlace> flows_;
  std::map<std::int64_t, std::int64_t> series_;
};

// The rows as they come, into a record. `waits`: for room, rather than to lose rows.
class WriterTarget final : public RowTarget {
 public:
  // The writer outlives it.
  WriterTarget(Writer& writer, const std::string& producer, bool waits)
      : writer_(writer), producer_(writer.producer(producer)), waits_(waits) {}

  FlowPlace place(std::int64_t id, const FlowPlace& known, Flow row) override;
  std::int64_t add(Series row) override { return writer_.add(std::move(row)); }
  void add(Event row) override { writer_.add(std::move(row)); }
  void add(FlowTotal row) override { writer_.add(std::move(row)); }
  void push(const FlowSample& row) override { keep(row); }
  void push(const FlowMark& row) override { keep(row); }
  void push(const CounterSample& row) override { keep(row); }
  void push(const Step& row) override { keep(row); }
  void push(const Collective& row, const FlowPlace& /*place*/) override { keep(row); }
  void lost(std::uint64_t rows) override { producer_.note_lost(rows); }

 private:
  void keep(const auto& row);

  Writer& writer_;
  Producer producer_;
  const bool waits_;
};

}  // namespace chokepoint::record
