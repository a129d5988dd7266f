// Real Gloo traffic from a capture to a record.
#include <gmock/gmock.h>

#include <algorithm>

#include "capture/observer/collective_recorder.h"
#include "capture/observer/observer.h"
#include "capture/observer/recorder.h"
#include "capture/packet/text.h"
#include "capture/source/open.h"
#include "tests/base/record/record_folder.h"
#include "tests/fakes/nanoseconds.h"

namespace chokepoint::capture::observer {
namespace {

using fakes::kMs;

class GlooRecordTest : public record::RecordFolder {
 protected:
  // As the host with rank 0 would have it.
  record::Reader recorded(const std::string& capture) {
    const std::unique_ptr<record::Writer> writer = open_writer();
    ConnectionFlows flows;
    Recorder recorder(*writer, {.is_live = false, .connections = &flows});
    CollectiveRecorder collectives(*writer, flows, 0);
    Settings settings;
    settings.own_addresses = {packet::parse_address("10.79.0.1")->address};
    settings.on_collective = [&](const gloo::Collective& each) { collectives.keep(each); };
    auto source = source::open_file(std::string(CHOKEPOINT_FIXTURES "/captures/") + capture);
    const auto observer =
        Observer::make(std::move(*source), settings, [&](std::size_t) { return &recorder; });
    (*observer)->start();
    EXPECT_TRUE((*observer)->join());
    recorder.finish(*(*observer)->analysers().front());
    EXPECT_EQ(writer->close().dropped, 0U);
    return open_reader();
  }
};

TEST_F(GlooRecordTest, EachCollectiveNamesTheConnectionOfTheNeighbourThatCameLast) {
  record::Reader reader = recorded("gloo-three-ranks.pcap.zst");
  const auto flows = *reader.all<record::Flow>();
  std::vector<std::int64_t> known;
  for (const record::Flow& flow : flows) {
    known.push_back(flow.id);
  }
  const auto collectives = rows<record::Collective>(reader);
  ASSERT_FALSE(collectives.empty());
  for (const record::Collective& each : collectives) {
    EXPECT_THAT(known, testing::Contains(each.flow.value()));
    EXPECT_GE(each.own_ready_ns.value(), each.start_ns);
    EXPECT_LE(each.last_data_ns.value_or(0), each.end_ns);
  }
  EXPECT_GE(std::ranges::count_if(
                collectives,
                [](const record::Collective& each) { return each.waited_ns.value() >= 20 * kMs; }),
            2);
}

TEST_F(GlooRecordTest, PacketsAfterAPauseAreKeptAsMarks) {
  record::Reader reader = recorded("gloo-three-ranks.pcap.zst");
  std::vector<std::int64_t> known;
  const auto flows = *reader.all<record::Flow>();
  for (const record::Flow& flow : flows) {
    known.push_back(flow.id);
  }
  const auto marks = rows<record::FlowMark>(reader);
  ASSERT_FALSE(marks.empty());
  for (const record::FlowMark& mark : marks) {
    EXPECT_THAT(known, testing::Contains(mark.flow));
  }
  EXPECT_GT(std::ranges::count(marks, record::Direction::AToB, &record::FlowMark::direction), 0);
  EXPECT_GT(std::ranges::count(marks, record::Direction::BToA, &record::FlowMark::direction), 0);
}

}  // namespace
}  // namespace chokepoint::capture::observer
