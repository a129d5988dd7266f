#include "analysis/confirm/plan.h"

#include <gmock/gmock.h>

#include "analysis/attribution/causes.h"
#include "analysis/attribution/diagnose.h"
#include "analysis/confirm/tests.h"
#include "base/record/names.h"
#include "tests/analysis/made_run.h"

namespace chokepoint::analysis::confirm {
namespace {

using record::Direction;
using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Le;
using testing::Not;
using testing::SizeIs;

std::vector<std::string> names_of(const std::vector<PlannedTest>& plan) {
  std::vector<std::string> names;
  for (const PlannedTest& test : plan) {
    names.push_back(std::string(name_of(test.kind)) + " " + test.on + " " + test.to);
  }
  return names;
}

// a sends to b, b to c, over full links.
class Plan : public testing::Test {
 protected:
  Plan() {
    for (const char* name : {"a", "b", "c"}) {
      made_.host(name);
    }
    made_.add_traffic(made_.connect("a", "b"), Direction::AToB, full_link());
    made_.add_traffic(made_.connect("c", "b"), Direction::AToB, {.busy_ms = 30, .mbps = 300});
    inquiry_ = inquire(made_.data);
  }
  std::vector<PlannedTest> planned(Verdict verdict, const PlanOptions& options = {}) {
    inquiry_.diagnosis.verdict = std::move(verdict);
    return plan_of(made_.data, inquiry_, options);
  }

  MadeRun made_{{.step_ms = 100, .steps = 20}};
  Inquiry inquiry_;
};

const Verdict kFullLink{.verdict = VerdictClass::LanBandwidth, .where = {.from = "a", .to = "b"}};

TEST_F(Plan, GoesOverThePathInQuestionAndOneBesideIt) {
  const std::vector<PlannedTest> plan = planned(kFullLink);
  EXPECT_THAT(names_of(plan), ElementsAre("throughput a b", "loss a b", "neighbour c b"));
  EXPECT_EQ(plan[0].on_address, "10.0.0.1");
  EXPECT_EQ(plan[0].to_address, "10.0.0.2");
  ASSERT_TRUE(plan[0].job_value);
  EXPECT_NEAR(*plan[0].job_value, 900, 90);
  EXPECT_NEAR(plan[0].pace_mbps, 2.5 * *plan[0].job_value, 1);
  EXPECT_THAT(plan[0].command, HasSubstr("chokepoint ask 10.0.0.1 tcp --peer 10.0.0.2 --rate"));
}

TEST_F(Plan, SendsNoFasterThanItMay) {
  EXPECT_THAT(planned(kFullLink, {.most_mbps = 50}), Each(Field(&PlannedTest::pace_mbps, Le(50))));
  EXPECT_THAT(
      names_of(planned({.verdict = VerdictClass::LanLatency, .where = {.from = "a", .to = "b"}},
                       {.most_mbps = 50})),
      Not(Contains(HasSubstr("loaded-latency"))));
}

TEST_F(Plan, BesideTheJobIsShortAndOfTestsThatSaySomethingThen) {
  const std::vector<PlannedTest> plan = planned(kFullLink, {.beside_job = true});
  ASSERT_THAT(names_of(plan), ElementsAre("throughput a b", "loss a b"));
  EXPECT_GE(plan[0].time_s, 0.1);
  EXPECT_LE(plan[0].time_s, 0.5);
  EXPECT_NEAR(plan[0].most_bytes, plan[0].pace_mbps * plan[0].time_s * 1e6 / 8, 1);
  // Nor does it send more than the job does in half a second: here b and c send 300 Mb/s for some
  // of the time.
  EXPECT_LE(plan[0].most_bytes, 0.5 * bytes_sent(made_.data, inquiry_.clocks) / 1.9);
  EXPECT_TRUE(plan[0].beside_job);
  EXPECT_THAT(
      names_of(planned({.verdict = VerdictClass::Storage, .where = {.node = "a", .mount = "/data"}},
                       {.beside_job = true})),
      IsEmpty());
  // A path that is free excludes another explanation, and no test shows that a host is slow.
  EXPECT_THAT(
      names_of(planned({.verdict = VerdictClass::SenderHost, .where = {.from = "a", .to = "b"}},
                       {.beside_job = true})),
      IsEmpty());
}

TEST_F(Plan, OfARunningJobNeedsTheConsentOfAllItsNodes) {
  const auto allow = [&](std::size_t node, const std::string& detail) {
    made_.data.nodes[node].events = {
        {.kind = std::string(record::kProbesAllowed), .detail = detail}};
  };
  allow(0, R"({"percent":1})");
  allow(1, R"({"percent":0.5})");
  const auto lacking = allowed_percent(made_.data);
  ASSERT_FALSE(lacking);
  EXPECT_THAT(describe(lacking.error()), AllOf(HasSubstr("c"), HasSubstr("--allow-probes")));
  allow(2, R"({"percent":3})");
  EXPECT_EQ(allowed_percent(made_.data).value(), 0.5);
  for (const char* const odd : {"", "{}", R"({"percent":"all"})", R"({"percent":-1})",
                                R"({"percent":21})", R"({"percent":0})"}) {
    allow(2, odd);
    EXPECT_FALSE(allowed_percent(made_.data)) << odd;
  }
}

TEST_F(Plan, ReachesAServerWhereItIsGiven) {
  const std::vector<PlannedTest> plan = planned(kFullLink, {.servers = {{"a", "192.0.2.9:99"}}});
  EXPECT_THAT(plan[0].command, HasSubstr("ask 192.0.2.9:99 tcp --peer 10.0.0.2"));
}

TEST_F(Plan, TriesTheOtherFamilyOfTheSameNetwork) {
  made_.node("a").interfaces[0].addresses.push_back("fd00::1/64");
  made_.node("b").interfaces[0].addresses.push_back("fd00::2/64");
  made_.node("b").interfaces[0].addresses.push_back("fe80::2/64");
  made_.node("b").interfaces[0].addresses.push_back("192.0.2.2/24");
  const std::vector<PlannedTest> plan =
      planned({.verdict = VerdictClass::WrongPath, .where = {.from = "a", .to = "b"}});
  ASSERT_THAT(names_of(plan), ElementsAre("throughput a b", "other-way a b"));
  EXPECT_EQ(plan[1].to_address, "fd00::2");
}

TEST_F(Plan, OfALateRankComparesItsHostWithAnother) {
  made_.collectives(10, {0, 40, 0});
  const std::vector<PlannedTest> plan =
      planned({.verdict = VerdictClass::Straggler, .where = {.node = "b", .rank = 1}});
  EXPECT_THAT(names_of(plan),
              ElementsAre("collective a ", "loss a b", "processor b ", "other-processor a ",
                          "other-processor c ", "processor b ", "other-processor a ",
                          "other-processor c "));
}

// Of many collectives in a step a late rank lets the others wait in one.
TEST_F(Plan, HoldsACollectiveAgainstWhatThoseOfAStepTakeTogether) {
  made_.collectives(10, {0, 40, 0});
  inquiry_ = inquire(made_.data);
  const auto collective_of = [&](double lost_ms) {
    return planned({.verdict = VerdictClass::Straggler,
                    .where = {.node = "b", .rank = 1},
                    .lost_ms_per_step = lost_ms})
        .front();
  };
  EXPECT_EQ(collective_of(5).kind, TestKind::Collective);
  EXPECT_GT(collective_of(5).job_value.value_or(0), 5);
  EXPECT_FALSE(collective_of(5000).job_value) << "the rank waits elsewhere";
}

TEST_F(Plan, OfAnUnknownVerdictLooksAtAllPathsAndHosts) {
  made_.collectives(10, {0, 40, 0});
  const std::vector<std::string> names = names_of(planned({}));
  EXPECT_THAT(names,
              ElementsAre("collective a ", "loss a b", "loss c b", "throughput a b",
                          "throughput c b", "buffers a b", "buffers c b", "latency a b",
                          "latency c b", "processor a ", "other-processor b ", "other-processor c ",
                          "processor a ", "other-processor b ", "other-processor c "));
}

// As where nobody may capture, nor look at sockets: what the interface sent is held against it.
TEST_F(Plan, OfARunWithoutConnectionsGoesBetweenAllHosts) {
  for (NodeData& node : made_.data.nodes) {
    SeriesData sent{.row = {.name = std::string(record::kNicSentBytes), .subject = "eth0"}};
    for (std::int64_t at = 0; at <= 20; ++at) {
      sent.readings.push_back({.t_ns = at * 100'000'000, .value = static_cast<double>(at) * 1e6});
    }
    node.series = {sent};
    node.flows.clear();
  }
  made_.data.connections.clear();
  inquiry_ = inquire(made_.data);
  const std::vector<PlannedTest> plan = planned({});
  EXPECT_THAT(names_of(plan), IsSupersetOf({"loss a b", "throughput a b", "throughput a c",
                                            "throughput b a", "throughput b c", "latency a b"}));
  const auto throughput = std::ranges::find(plan, TestKind::Throughput, &PlannedTest::kind);
  ASSERT_NE(throughput, plan.end());
  EXPECT_NEAR(throughput->job_value.value_or(0), 80, 1e-6);
}

TEST_F(Plan, OfStorageNamesItsFolder) {
  const Verdict slow{.verdict = VerdictClass::Input,
                     .where = {.node = "b", .mount = "/data"},
                     .evidence = {{"read from sda", 20, "MB/s", ""},
                                  {std::string("sda ") + kAtWork, 40, "%", ""}}};
  const std::vector<PlannedTest> plan = planned(slow);
  ASSERT_THAT(plan, SizeIs(1));
  EXPECT_EQ(plan[0].job_value, 50);  // of 20 in two fifths of the time
  EXPECT_THAT(plan[0].command, HasSubstr("storage --folder /data"));
}

TEST_F(Plan, IsEmptyWhereNoTestCanTell) {
  EXPECT_THAT(planned({.verdict = VerdictClass::PcieGpu, .where = {.node = "a"}}), IsEmpty());
  EXPECT_THAT(planned({.verdict = VerdictClass::Storage, .where = {.node = "a"}}), IsEmpty());
}

TEST(Checks, OfACauseTakeThePlaceOfThoseOfItsClass) {
  EXPECT_THAT(checks_of(VerdictClass::Input, Cause::LoaderCount),
              ElementsAre(Field(&Check::rule, TestRule::ReadsFast)));
  EXPECT_THAT(checks_of(VerdictClass::Input, Cause::StorageRead),
              ElementsAre(Field(&Check::rule, TestRule::ReadsSlowly)));
}

// A row about a cause that its class does not have would never be read.
TEST(Checks, AreOfCausesThatTheirClassHas) {
  for (const Check& check : check_table()) {
    EXPECT_TRUE(check.cause == Cause::None || describe(check.verdict, check.cause) != nullptr)
        << name_of(check.verdict) << " " << name_of(check.cause);
    EXPECT_THAT(text_of(check), AllOf(Not(IsEmpty()), Not(HasSubstr("{"))));
  }
}

}  // namespace
}  // namespace chokepoint::analysis::confirm
