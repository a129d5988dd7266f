#include "probe/collective/order.h"

#include <gtest/gtest.h>

#include <cmath>

namespace chokepoint::probe::collective {
namespace {

TEST(Order, IsReadAsItWasWritten) {
  const Order prepare{.task = Task::Prepare,
                      .operation = {.collective = Collective::Broadcast,
                                    .type = ElementType::BFloat16,
                                    .bytes = 1'416'000'000,
                                    .ranks = 8,
                                    .root = 3}};
  const auto read = parse_order(to_text(prepare));
  ASSERT_TRUE(read) << describe(read.error());
  EXPECT_EQ(read->task, Task::Prepare);
  EXPECT_EQ(read->operation, prepare.operation);
  const auto run = parse_order(to_text({.task = Task::Run, .lead = 2, .times = 7}));
  EXPECT_EQ(run->lead, 2);
  EXPECT_EQ(run->times, 7);
  EXPECT_EQ(parse_order(to_text({.task = Task::End}))->task, Task::End);
}

TEST(Order, HasTheFieldsOfItsTask) {
  EXPECT_EQ(to_text({.task = Task::Prepare,
                     .operation = {.collective = Collective::Broadcast,
                                   .type = ElementType::BFloat16,
                                   .bytes = 64,
                                   .ranks = 8,
                                   .root = 3}}),
            R"({"task":"prepare","collective":"broadcast","type":"bf16","bytes":64,"ranks":8,)"
            R"("root":3})");
  EXPECT_EQ(to_text({.task = Task::Run, .lead = 2, .times = 7}),
            R"({"task":"run","lead":2,"times":7})");
  EXPECT_EQ(to_text({.task = Task::Describe}), R"({"task":"tell"})");
}

TEST(Order, NoFigureIsBelievedUnchecked) {
  for (
      const std::string text :
      {"", "{}", "[]", R"({"task":"dance"})", R"({"task":"run"})",
       R"({"task":"run","lead":0,"times":0})", R"({"task":"run","lead":0,"times":1001})",
       R"({"task":"run","lead":-1,"times":1})",
       R"({"task":"prepare","collective":"all-reduce","type":"float32","bytes":0,"ranks":2,"root":0})",
       R"({"task":"prepare","collective":"all-reduce","type":"float32","bytes":3,"ranks":2,"root":0})",
       R"({"task":"prepare","collective":"all-reduce","type":"quad","bytes":4,"ranks":2,"root":0})",
       R"({"task":"prepare","collective":"gossip","type":"float32","bytes":4,"ranks":2,"root":0})",
       R"({"task":"prepare","collective":"broadcast","type":"float32","bytes":4,"ranks":2,"root":2})",
       R"({"task":"prepare","collective":"broadcast","type":"float32","bytes":99999999999999,"ranks":2,"root":0})"}) {
    EXPECT_FALSE(parse_order(text)) << text;
  }
}

TEST(Answer, IsReadAsItWasWritten) {
  const Answer answer{.times = {std::chrono::nanoseconds(1500), std::chrono::milliseconds(2)},
                      .wrong = Wrong{.rank = 4, .offset_bytes = 12, .wanted = 1, .found = 2},
                      .data_path = {.library = "NCCL 2.28.9",
                                    .transport = "socket",
                                    .interface = "eth0",
                                    .channels = 2,
                                    .link_mbps = 10'000,
                                    .better = "use eth1"}};
  const auto read = parse_answer(to_text(answer), 4);
  ASSERT_TRUE(read) << describe(read.error());
  EXPECT_EQ(read->times, answer.times);
  EXPECT_EQ(read->wrong, answer.wrong);
  EXPECT_EQ(read->data_path.library, "NCCL 2.28.9");
  EXPECT_EQ(read->data_path.channels, 2);
  EXPECT_EQ(read->data_path.sockets_per_peer, std::nullopt);
  EXPECT_EQ(read->data_path.better, "use eth1");
}

TEST(Answer, WhatIsNoNumberStaysNone) {
  const Answer answer{.wrong = Wrong{.rank = 3, .wanted = 1}};
  const auto read = parse_answer(to_text(answer), 3);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->wrong, answer.wrong);
}

TEST(Answer, WhatALibraryCallsItselfIsNoFailure) {
  const Answer answer{.data_path = {.library = std::string(10'000, 'x'),
                                    .interface = std::string(400, '\xff'),
                                    .channels = -3,
                                    .sockets_per_peer = 2'000'000'000}};
  const auto read = parse_answer(to_text(answer), 0);
  ASSERT_TRUE(read) << describe(read.error());
  EXPECT_EQ(read->data_path.library.size(), 500U);
  EXPECT_EQ(read->data_path.channels, std::nullopt);
  EXPECT_EQ(read->data_path.sockets_per_peer, std::nullopt);
}

TEST(Answer, NonsenseIsRefused) {
  for (const std::string text :
       {"", "{}", R"({"times_ns":{},"way":{}})", R"({"times_ns":[-1],"way":{}})",
        R"({"times_ns":["1"],"way":{}})", R"({"times_ns":[],"wrong":1,"way":{}})",
        R"({"times_ns":[],"wrong":{"offset_bytes":-1},"way":{}})", R"({"times_ns":[1],"way":3})",
        R"({"times_ns":[],"way":{"channels":-1}})", R"({"times_ns":[],"way":{"library":5}})"}) {
    EXPECT_FALSE(parse_answer(text, 0)) << text;
  }
}

TEST(Answer, TellsHowItsHostIsSetUpWhereThatIsOfUsualSize) {
  const host::Settings settings{{"nic eth0", {{"mtu", "9000"}}}};
  const auto passed = [](const host::Settings& sent) {
    return parse_answer(to_text(Answer{.settings = sent}), 3).value().settings;
  };
  EXPECT_EQ(passed(settings), settings);
  host::Settings large;
  for (int subject = 0; subject < 400; ++subject) {
    large["nic " + std::to_string(subject)] = {{"driver", std::string(1000, 'x')}};
  }
  EXPECT_EQ(passed(large), host::Settings());
  EXPECT_EQ(parse_answer(R"({"times_ns":[],"way":{},"settings":[7]})", 3).value().settings,
            host::Settings());
}

}  // namespace
}  // namespace chokepoint::probe::collective
