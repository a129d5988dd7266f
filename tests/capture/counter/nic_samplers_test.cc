#include <fmt/format.h>

#include "tests/capture/counter/watching.h"

namespace chokepoint::capture::counter {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class NicSamplerTest : public Watching {
 protected:
  struct Line {
    std::string name;
    std::uint64_t received = 0;
    std::uint64_t sent = 0;
    std::uint64_t dropped = 0;
  };

  void count(const std::vector<Line>& lines) const {
    std::string text =
        "Inter-|   Receive                    |  Transmit\n"
        " face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs drop\n"
        "    lo: 9 9 9 9 0 0 0 0 9 9 9 9 0 0 0 0\n";
    for (const Line& line : lines) {
      text += fmt::format("{:>6}: {} {} 0 {} 0 0 0 0 {} {} 0 0 0 0 0 0\n", line.name, line.received,
                          line.received / 1000, line.dropped, line.sent, line.sent / 1000);
    }
    tree_.write("/proc/net/dev", text);
  }

  std::unique_ptr<Sampler> sampler_ = nic_sampler(tree_.root());
};

TEST_F(NicSamplerTest, EachWaysBytesPacketsAndDrops) {
  count({{"eth0", 1000, 5000, 0}});
  sample(sampler_);
  count({{"eth0", 3000, 9000, 2}});
  sample(sampler_);
  close();
  EXPECT_THAT(counters_.values("nic.received_bytes", "eth0"), ElementsAre(1000, 3000));
  EXPECT_THAT(counters_.values("nic.sent_bytes", "eth0"), ElementsAre(5000, 9000));
  EXPECT_THAT(counters_.values("nic.sent_packets", "eth0"), ElementsAre(5, 9));
  EXPECT_THAT(counters_.values("nic.receive_drops", "eth0"), ElementsAre(0, 2));
  EXPECT_THAT(counters_.values("nic.send_errors", "eth0"), ElementsAre(0, 0));
  EXPECT_THAT(counters_.of("nic.sent_bytes", "lo"), IsEmpty());
  EXPECT_THAT(kinds_of_events(), IsEmpty());
}

TEST_F(NicSamplerTest, AnIdleInterfaceCostsNothingMore) {
  count({{"eth0", 1000, 5000}});
  for (int i = 0; i < 50; ++i) {
    sample(sampler_);
  }
  close();
  EXPECT_THAT(counters_.times_ms("nic.sent_bytes", "eth0"), ElementsAre(0, 49'000));
}

TEST_F(NicSamplerTest, OneThatComesBackGoesOnWhereItWas) {
  count({{"eth0", 1'000'000, 0}});
  sample(sampler_);
  count({});
  sample(sampler_);
  count({{"eth0", 700'000, 0}, {"eth1", 5, 0}});
  sample(sampler_);
  close();
  EXPECT_THAT(counters_.values("nic.received_bytes", "eth0"), ElementsAre(1'000'000, 1'700'000));
  EXPECT_THAT(kinds_of_events(),
              ElementsAre("interface-gone eth0", "interface-came eth0", "interface-came eth1"));
}

TEST_F(NicSamplerTest, OfHundredsOnlyTheBusiestGetRowsAtATime) {
  std::vector<Line> lines;
  for (int i = 0; i < 200; ++i) {
    lines.push_back({fmt::format("veth{}", i)});
  }
  count(lines);
  sample(sampler_, kSecond / 10);
  for (int tick = 1; tick <= 5; ++tick) {
    for (std::size_t i = 0; i < lines.size(); ++i) {
      lines[i].received += 1000 * (i + 1);
    }
    count(lines);
    sample(sampler_, kSecond / 10);
  }
  close();
  EXPECT_EQ(counters_.of("nic.received_bytes", "veth199").size(), 6U);
  EXPECT_THAT(counters_.values("nic.received_bytes", "veth0"), ElementsAre(0, 5000));
}

TEST_F(NicSamplerTest, RatesAreOfTheLastInterval) {
  count({{"eth0", 0, 0}});
  sample(sampler_, kSecond / 10);
  count({{"eth0", 12'500'000, 0}});
  sample(sampler_);
  Figures figures;
  sampler_->report(figures);
  ASSERT_EQ(figures.nics.size(), 1U);
  EXPECT_DOUBLE_EQ(figures.nics[0].received_mbps, 1000);
  EXPECT_EQ(figures.nics[0].received_bytes, 12'500'000U);
  close();
}

TEST_F(NicSamplerTest, ATableThatIsNoneIsPassedOver) {
  tree_.write("/proc/net/dev", "\n\n eth0: 1 2 x\n garbage\n:\n");
  sample(sampler_);
  tree_.remove("/proc/net/dev");
  sample(sampler_);
  EXPECT_EQ(sink().remarks().size(), 1U);
  close();
  EXPECT_THAT(series_, IsEmpty());
}

class LinkSamplerTest : public Watching {
 protected:
  void link(const std::string& name, const std::string& state, int speed = 25'000,
            int changes = 1) const {
    const std::string folder = "/sys/class/net/" + name;
    tree_.write(folder + "/operstate", state + "\n");
    tree_.write(folder + "/speed", fmt::format("{}\n", speed));
    tree_.write(folder + "/carrier_changes", fmt::format("{}\n", changes));
  }

  std::unique_ptr<Sampler> sampler_ = link_sampler(tree_.root(), kSecond);
};

TEST_F(LinkSamplerTest, ALinkThatGoesDownAndComesUpAgain) {
  link("eth0", "up");
  sample(sampler_, kSecond / 10);
  link("eth0", "down", -1, 2);
  sample(sampler_, kSecond / 10);
  link("eth0", "up", 25'000, 3);
  sample(sampler_, kSecond / 10);
  close();
  EXPECT_THAT(kinds_of_events(), ElementsAre("interface-down eth0", "interface-up eth0"));
  EXPECT_EQ(events_[0].detail, R"({"state":"down","before":"up","enabled":true})");
  EXPECT_THAT(counters_.values("nic.carrier_changes", "eth0"), ElementsAre(1, 2, 3));
}

TEST_F(LinkSamplerTest, ALinkThatIsTrainedSlower) {
  link("eth0", "up");
  sample(sampler_);
  link("eth0", "up", 1000);
  sample(sampler_);
  close();
  EXPECT_THAT(kinds_of_events(), ElementsAre("link-speed-changed eth0"));
  EXPECT_EQ(events_[0].detail, R"({"mbps":1000,"before_mbps":25000})");
  EXPECT_THAT(gauges_.values("nic.speed_mbps", "eth0"), ElementsAre(25'000, 1000));
}

TEST_F(LinkSamplerTest, OfManyEachHasItsTurn) {
  for (int i = 0; i < 30; ++i) {
    link(fmt::format("veth{}", i), "up");
  }
  for (int i = 0; i < 4; ++i) {
    sample(sampler_, kSecond / 10);
  }
  for (int i = 0; i < 30; ++i) {
    link(fmt::format("veth{}", i), "down", -1);
  }
  for (int i = 0; i < 4; ++i) {
    sample(sampler_, kSecond / 10);
  }
  close();
  EXPECT_EQ(events_.size(), 30U);
}

}  // namespace
}  // namespace chokepoint::capture::counter
