#include "base/record/forward.h"

#include <gmock/gmock.h>

#include <mutex>

#include "base/sys/message_socket.h"
#include "tests/base/record/record_folder.h"

namespace chokepoint::record {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;

// Messages on their way, in their order.
class Wire {
 public:
  Forwarder::Send sender() {
    return [this](std::string_view rows) {
      const std::lock_guard lock(mutex_);
      messages_.emplace_back(rows);
      return !is_cut_;
    };
  }
  void cut() {
    const std::lock_guard lock(mutex_);
    is_cut_ = true;
  }
  std::vector<std::string> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(messages_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> messages_;
  bool is_cut_ = false;
};

Flow flow_between(std::int64_t a_port, std::int64_t b_port) {
  return {.protocol = "tcp",
          .a_address = "10.0.0.1",
          .a_port = a_port,
          .b_address = "10.0.0.2",
          .b_port = b_port,
          .start_ns = 5};
}

class ForwardTest : public RecordFolder {
 protected:
  std::unique_ptr<Forwarder> forwarder() {
    return *Forwarder::start(wire_.sender(), milliseconds(1));
  }

  Result<> receive_into(RowTarget& target) {
    Receiver receiver(target);
    for (const std::string& message : wire_.take()) {
      TRY(receiver.take(message));
    }
    return {};
  }

  Wire wire_;
};

TEST_F(ForwardTest, RowsReachTheRecordUnderItsOwnIds) {
  const std::unique_ptr<Writer> writer = open_writer();
  writer->add(flow_between(1, 2));  // takes an id of the record
  {
    const auto rows = forwarder();
    Producer samples = rows->producer("flows");
    const std::int64_t flow = rows->add(flow_between(7, 9));
    const std::int64_t series = rows->add(
        Series{.name = "nic.sent_bytes", .subject = "eth0", .unit = "bytes", .source = "x"});
    samples.push(FlowSample{.t_ns = 10, .bin_ns = 5, .flow = flow, .packets = 3});
    samples.push(FlowMark{.t_ns = 11, .flow = flow, .sequence = 77});
    samples.push(CounterSample{.t_ns = 12, .series = series, .value = 1.5});
    samples.push(Collective{.start_ns = 1, .end_ns = 2, .flow = flow});
    rows->add(FlowTotal{.flow = flow, .packets = 3, .rtt_ms = "{}"});
    rows->add(Event{.t_ns = 13, .kind = "dropped", .subject = "eth0", .detail = "{}"});
    Flow end = flow_between(7, 9);
    end.id = flow;
    end.end_ns = 20;
    rows->add(end);
    rows->leave(flow);
    rows->close();
  }
  WriterTarget target(*writer, "flows", true);
  const Result<> received = receive_into(target);
  ASSERT_TRUE(received) << describe(received.error());
  EXPECT_EQ(writer->close().dropped, 0U);

  Reader reader = open_reader();
  const auto flows = *reader.all<Flow>();
  ASSERT_EQ(flows.size(), 2U);
  EXPECT_EQ(flows[1].a_port, Figure(7));
  EXPECT_EQ(flows[1].end_ns, Figure(20));
  const auto samples = rows<FlowSample>(reader);
  ASSERT_EQ(samples.size(), 1U);
  EXPECT_EQ(samples[0].flow, flows[1].id);
  EXPECT_EQ(samples[0].packets, Figure(3));
  EXPECT_EQ(rows<FlowMark>(reader).at(0).flow, flows[1].id);
  EXPECT_EQ(rows<Collective>(reader).at(0).flow, Figure(flows[1].id));
  EXPECT_EQ(reader.all<FlowTotal>()->at(0).flow, flows[1].id);
  EXPECT_EQ(rows<CounterSample>(reader).at(0).series, reader.all<Series>()->at(0).id);
  EXPECT_EQ(reader.all<Event>()->at(0).subject, "eth0");
}

// Gives each flow the other direction, and lists what comes.
class TurningTarget final : public RowTarget {
 public:
  FlowPlace place(std::int64_t id, const FlowPlace& known, Flow row) override {
    log.push_back((known.id == 0 ? "flow " : "more ") + std::to_string(row.a_port.value_or(0)));
    return {.id = 100 + id, .is_turned = true};
  }
  void leave(std::int64_t /*id*/) override { log.emplace_back("leave"); }
  std::int64_t add(Series /*row*/) override { return 1; }
  void add(Event /*row*/) override {}
  void add(FlowTotal row) override {
    log.push_back("total " + std::to_string(static_cast<int>(row.direction)));
  }
  void push(const FlowSample& row) override {
    log.push_back("sample " + std::to_string(row.t_ns) + " " +
                  std::to_string(static_cast<int>(row.direction)));
  }
  void push(const FlowMark& /*row*/) override {}
  void push(const CounterSample& /*row*/) override {}
  void push(const Step& /*row*/) override { log.emplace_back("step"); }
  void push(const Collective& /*row*/, const FlowPlace& place) override {
    log.push_back("collective " + std::to_string(place.id));
  }
  void lost(std::uint64_t rows) override { lost_rows += rows; }

  std::vector<std::string> log;
  std::uint64_t lost_rows = 0;
};

TEST_F(ForwardTest, AFlowComesBeforeItsSamplesAndLeavesAfterThem) {
  TurningTarget target;
  {
    const auto rows = forwarder();
    Producer samples = rows->producer("flows");
    const std::int64_t flow = rows->add(flow_between(7, 9));
    samples.push(FlowSample{.t_ns = 1, .flow = flow, .direction = Direction::AToB});
    rows->add(FlowTotal{.flow = flow, .direction = Direction::BToA});
    rows->leave(flow);
  }
  ASSERT_TRUE(receive_into(target));
  EXPECT_THAT(target.log,
              testing::UnorderedElementsAre("flow 7", "sample 1 1", "total 0", "leave"));
  EXPECT_EQ(target.log.front(), "flow 7");
  EXPECT_EQ(target.log.back(), "leave");
}

TEST_F(ForwardTest, ACollectiveHasThePlaceOfItsFlow) {
  TurningTarget target;
  {
    const auto rows = forwarder();
    Producer samples = rows->producer("collectives");
    samples.push(Collective{.number = 1});
    samples.push(Collective{.number = 2, .flow = rows->add(flow_between(7, 9))});
  }
  ASSERT_TRUE(receive_into(target));
  EXPECT_THAT(target.log,
              testing::UnorderedElementsAre("flow 7", "collective 0", "collective 101"));
}

TEST_F(ForwardTest, ManyRowsAreWholeAndInOrder) {
  constexpr std::int64_t kRows = 20'000;
  TurningTarget target;
  {
    const auto rows = forwarder();
    Producer samples = rows->producer("flows");
    const std::int64_t flow = rows->add(flow_between(7, 9));
    for (std::int64_t i = 0; i < kRows; ++i) {
      while (samples.is_full<FlowSample>()) {
        std::this_thread::yield();
      }
      samples.push(FlowSample{.t_ns = i, .flow = flow});
    }
  }
  ASSERT_TRUE(receive_into(target));
  ASSERT_EQ(target.log.size(), kRows + 1U);
  for (std::int64_t i = 0; i < kRows; ++i) {
    ASSERT_EQ(target.log[static_cast<std::size_t>(i) + 1], "sample " + std::to_string(i) + " 1");
  }
}

TEST_F(ForwardTest, WhatFindsNoRoomIsCounted) {
  TurningTarget target;
  {
    const auto rows = forwarder();
    EXPECT_EQ(rows->add(Event{.detail = std::string(1'000'000, 'x')}), 0);
  }
  ASSERT_TRUE(receive_into(target));
  EXPECT_EQ(target.lost_rows, 1U);
}

TEST_F(ForwardTest, WithoutAReceiverNobodyWaitsForRoom) {
  wire_.cut();
  const auto rows = forwarder();
  Producer samples = rows->producer("flows");
  for (int i = 0; i < 100'000; ++i) {
    while (samples.is_full<FlowSample>()) {
      std::this_thread::yield();
    }
    samples.push(FlowSample{.t_ns = i, .flow = 1});
  }
}

TEST_F(ForwardTest, SamplesOfUnknownFlowsAreNobodys) {
  TurningTarget target;
  {
    const auto rows = forwarder();
    Producer samples = rows->producer("flows");
    samples.push(FlowSample{.t_ns = 1, .flow = 4711});
    samples.push(CounterSample{.t_ns = 1, .series = 4711});
    samples.push(SocketSample{.t_ns = 1, .flow = 4711});  // not a tap's to say
  }
  ASSERT_TRUE(receive_into(target));
  EXPECT_THAT(target.log, ElementsAre());
}

TEST_F(ForwardTest, NumbersOutOfRangeAreMalformed) {
  TurningTarget target;
  {
    const auto rows = forwarder();
    Flow flow = flow_between(7, 9);
    flow.start_ns = INT64_MAX;
    rows->add(flow);
  }
  const Result<> received = receive_into(target);
  ASSERT_FALSE(received);
  EXPECT_EQ(received.error().kind, ErrorKind::Malformed);
  EXPECT_THAT(received.error().reason, HasSubstr("out of range"));
}

TEST_F(ForwardTest, EveryMessageThatIsCutOffIsMalformed) {
  {
    const auto rows = forwarder();
    rows->add(flow_between(7, 9));
  }
  const std::string whole = wire_.take().front();
  for (std::size_t size = 1; size < whole.size(); ++size) {
    TurningTarget target;
    EXPECT_FALSE(Receiver(target).take(std::string_view(whole).substr(0, size))) << size;
    EXPECT_THAT(target.log, ElementsAre());
  }
}

}  // namespace
}  // namespace chokepoint::record
