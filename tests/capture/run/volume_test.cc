#include "capture/run/volume.h"

#include <gmock/gmock.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/record/names.h"
#include "tests/base/record/record_folder.h"

namespace chokepoint::capture::run {
namespace {

using testing::ElementsAre;

constexpr std::int64_t kVolumeSecondNs = 1'000'000'000;

TEST(Pace, IsWhatGrewOverASecond) {
  Pace pace;
  EXPECT_EQ(pace.take(5 * kVolumeSecondNs, 1'000, 0).sent_mbps, 0);
  const Pace::Rates rates = pace.take(6 * kVolumeSecondNs, 1'001'000, 500'000);
  EXPECT_DOUBLE_EQ(rates.sent_mbps, 8);
  EXPECT_DOUBLE_EQ(rates.received_mbps, 4);
}

TEST(Pace, StaysForASecond) {
  Pace pace;
  pace.take(0, 0, 0);
  pace.take(kVolumeSecondNs, 1'000'000, 0);
  EXPECT_DOUBLE_EQ(pace.take(kVolumeSecondNs + kVolumeSecondNs / 2, 9'000'000, 0).sent_mbps, 8);
  EXPECT_DOUBLE_EQ(pace.take(3 * kVolumeSecondNs, 1'000'000, 0).sent_mbps, 0);
}

using SocketVolumeTest = record::RecordFolder;

TEST_F(SocketVolumeTest, IsThePayloadAndTheHeadersOfItsSegmentsAndIsRecorded) {
  const std::unique_ptr<record::Writer> writer = open_writer();
  {
    SocketVolume sockets(*writer);
    const live::Volume volume =
        sockets.push({.sent_bytes = 1'000'000, .received_bytes = 144'800, .sent_segments = 700}, 5);
    EXPECT_EQ(volume.interface, "sockets");
    EXPECT_EQ(volume.sent_bytes, 1'000'000U + 700 * 66);
    EXPECT_EQ(volume.received_bytes, 144'800U + 100 * 66);
    sockets.push({.sent_bytes = 2'000'000, .received_bytes = 144'800, .sent_segments = 700}, 6);
  }
  writer->close();
  record::Reader reader = open_reader();
  const auto all = *reader.all<record::Series>();
  ASSERT_EQ(all.size(), 2U);
  std::map<std::string, std::vector<double>> values;
  for (const record::Series& series : all) {
    EXPECT_EQ(series.subject, "sockets");
    for (const record::CounterSample& sample : rows<record::CounterSample>(reader)) {
      if (sample.series == series.id) {
        values[series.name].push_back(sample.value);
      }
    }
  }
  EXPECT_THAT(values[std::string(record::kJobSentBytes)], ElementsAre(1'046'200, 2'046'200));
  EXPECT_THAT(values[std::string(record::kJobReceivedBytes)], ElementsAre(151'400, 151'400));
}

}  // namespace
}  // namespace chokepoint::capture::run
