// All that a record holds comes back as it was written, over writer.cc, schema.cc and reader.cc.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/base/record/record_folder.h"

namespace chokepoint::record {
namespace {

class RoundTrip : public RecordFolder {};

// Every column gets a value of its own, so that two that were swapped are seen.
template <class Row>
Row numbered(std::int64_t first) {
  Row row;
  each_field<Row>([&](const auto& field) {
    using T = std::remove_reference_t<decltype(row.*(field.member))>;
    if constexpr (std::is_same_v<T, std::string>) {
      row.*(field.member) = "text " + std::to_string(first++);
    } else if constexpr (std::is_enum_v<T>) {
      row.*(field.member) = static_cast<T>(1);
    } else {
      row.*(field.member) = T(first++);
    }
  });
  return row;
}

template <class Row>
void expect_equal(const Row& left, const Row& right) {
  each_field<Row>([&](const auto& field) {
    EXPECT_TRUE(left.*(field.member) == right.*(field.member))
        << Fields<Row>::kTable << "." << field.name;
  });
}

TEST_F(RoundTrip, EverySampleComesBackAsItWas) {
  auto writer = open_writer();
  Producer producer = writer->producer("test");
  EXPECT_TRUE(producer.push(numbered<FlowSample>(100)));
  EXPECT_TRUE(producer.push(numbered<SocketSample>(200)));
  EXPECT_TRUE(producer.push(numbered<CounterSample>(300)));
  EXPECT_TRUE(producer.push(numbered<GaugeSample>(400)));
  EXPECT_TRUE(producer.push(numbered<Step>(500)));
  EXPECT_TRUE(producer.push(numbered<Collective>(600)));
  const WriterStatus status = writer->close(0);
  EXPECT_EQ(status.dropped, 0U);
  EXPECT_EQ(status.rows, 7U) << "with the session's end";

  Reader reader = open_reader();
  expect_equal(rows<FlowSample>(reader).at(0), numbered<FlowSample>(100));
  expect_equal(rows<SocketSample>(reader).at(0), numbered<SocketSample>(200));
  expect_equal(rows<CounterSample>(reader).at(0), numbered<CounterSample>(300));
  expect_equal(rows<GaugeSample>(reader).at(0), numbered<GaugeSample>(400));
  expect_equal(rows<Step>(reader).at(0), numbered<Step>(500));
  expect_equal(rows<Collective>(reader).at(0), numbered<Collective>(600));
}

template <class Row>
void expect_kept(Reader& reader, const Row& row, std::int64_t id) {
  auto found = reader.all<Row>();
  ASSERT_TRUE(found) << describe(found.error());
  ASSERT_EQ(found->size(), 1U) << Fields<Row>::kTable;
  // NOLINTNEXTLINE(performance-unnecessary-copy-initialization): most rows lack one of these
  Row wanted = row;
  if constexpr (requires { wanted.id; }) {
    wanted.id = id;
  }
  if constexpr (requires { wanted.session; }) {
    wanted.session = reader.sessions().at(0).id;
  }
  expect_equal(found->at(0), wanted);
}

template <class Row>
Row without_id(Row row) {
  row.id = 0;
  return row;
}

TEST_F(RoundTrip, EveryEntityComesBackAsItWas) {
  auto writer = open_writer();
  const std::int64_t probe = writer->add(without_id(numbered<Probe>(100)));
  const std::int64_t process = writer->add(without_id(numbered<Process>(200)));
  const std::int64_t flow = writer->add(without_id(numbered<Flow>(300)));
  const std::int64_t series = writer->add(without_id(numbered<Series>(400)));
  const std::int64_t event = writer->add(without_id(numbered<Event>(500)));
  EXPECT_TRUE(writer->add(numbered<Label>(600)));
  EXPECT_TRUE(writer->add(numbered<Fact>(700)));
  EXPECT_TRUE(writer->add(numbered<FlowTotal>(800)));
  EXPECT_TRUE(writer->add(numbered<ClockOffset>(900)));
  writer->close();

  Reader reader = open_reader();
  expect_kept(reader, numbered<Probe>(100), probe);
  expect_kept(reader, numbered<Process>(200), process);
  expect_kept(reader, numbered<Flow>(300), flow);
  expect_kept(reader, numbered<Series>(400), series);
  expect_kept(reader, numbered<Event>(500), event);
  expect_kept(reader, numbered<Label>(600), 0);
  expect_kept(reader, numbered<Fact>(700), 0);
  expect_kept(reader, numbered<FlowTotal>(800), 0);
  expect_kept(reader, numbered<ClockOffset>(900), 0);
}

TEST_F(RoundTrip, WhatIsUnknownStaysUnknown) {
  auto writer = open_writer();
  Producer producer = writer->producer("test");
  producer.push(SocketSample{.t_ns = 5, .rtt_us = 0});
  producer.push(GaugeSample{.t_ns = 5});
  writer->close();

  Reader reader = open_reader();
  const SocketSample sample = rows<SocketSample>(reader).at(0);
  EXPECT_EQ(sample.rtt_us, Figure(0));
  EXPECT_FALSE(sample.min_rtt_us.known());
  EXPECT_TRUE(std::isnan(rows<GaugeSample>(reader).at(0).value));
}

TEST_F(RoundTrip, ARowAddedAgainTakesTheOldOnesPlace) {
  auto writer = open_writer();
  Flow flow{.protocol = "tcp", .a_address = "10.0.0.1", .start_ns = 1};
  flow.id = writer->add(flow);
  flow.end_ns = 9;
  EXPECT_EQ(writer->add(flow), flow.id);
  writer->close();

  Reader reader = open_reader();
  const auto flows = reader.all<Flow>();
  ASSERT_EQ(flows->size(), 1U);
  EXPECT_EQ(flows->at(0).end_ns, Figure(9));
}

TEST_F(RoundTrip, SamplesOfSeveralProducersComeInTheOrderOfTime) {
  auto writer = open_writer();
  Producer first = writer->producer("first");
  Producer second = writer->producer("second");
  for (std::int64_t time = 0; time < 1000; ++time) {
    (time % 3 == 0 ? first : second).push(CounterSample{.t_ns = time * 1000, .series = 1});
  }
  writer->close();

  Reader reader = open_reader();
  std::int64_t expected = 0;
  for (const CounterSample& sample : rows<CounterSample>(reader)) {
    EXPECT_EQ(sample.t_ns, expected);
    expected += 1000;
  }
  EXPECT_EQ(expected, 1'000'000);
}

}  // namespace
}  // namespace chokepoint::record
