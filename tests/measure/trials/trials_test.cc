#include "measure/trials/trials.h"

#include <gmock/gmock.h>

#include <random>

#include "tests/fakes/cli_run.h"

namespace chokepoint::trials {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Optional;

Values values_of(const std::vector<double>& numbers) { return {numbers.begin(), numbers.end()}; }

Trials two_variants(const std::vector<double>& first, const std::vector<double>& second) {
  return {.command = "probe tcp HOST",
          .varied = "--congestion",
          .figures = {{"/throughput_mbps", "throughput", "Mb/s"}},
          .variants = {{"cubic", {}}, {"bbr", {}}},
          .values = {{values_of(first)}, {values_of(second)}},
          .failed = {0, 0},
          .host_facts = {{}, {}},
          .rounds = first.size()};
}

TEST(Judge, TellsADifferenceFromChance) {
  const auto found = judge(values_of({100, 101, 99, 100}), values_of({110, 111, 109, 110}), 0.05);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->judged, Judged::Differs);
  EXPECT_NEAR(found->percent, 10, 0.001);
  EXPECT_LT(found->p, 0.001);
  EXPECT_GT(found->interval.low, 7);
  EXPECT_LT(found->interval.high, 13);
}

TEST(Judge, TellsAlikeFromNotKnown) {
  EXPECT_EQ(judge(values_of({100, 100.1, 99.9}), values_of({100, 100.2, 99.9}), 0.05)->judged,
            Judged::Alike);
  EXPECT_EQ(judge(values_of({100, 80, 120}), values_of({100, 70, 125}), 0.05)->judged,
            Judged::Open);
}

TEST(Judge, SaysNothingOfTooLittle) {
  EXPECT_EQ(judge(values_of({100}), values_of({90, 91}), 0.05), std::nullopt);
  EXPECT_EQ(judge({std::nullopt, 100}, values_of({90, 91}), 0.05), std::nullopt);
  EXPECT_EQ(judge(values_of({0, 0}), values_of({90, 91}), 0.05), std::nullopt);
}

// As --until-sure looks: after each round from the third on, up to thirty.
TEST(Judge, LookingOftenRaisesNoMoreFalseAlarmsThanLookingOnce) {
  std::mt19937 random{20261126};
  std::normal_distribution<double> chance(100, 10);
  int alarms = 0;
  constexpr int kPlays = 2000;
  for (int play = 0; play < kPlays; ++play) {
    Values first;
    Values second;
    bool is_alarm = false;
    for (std::size_t round = 1; round <= 30 && !is_alarm; ++round) {
      first.push_back(chance(random));
      second.push_back(chance(random));
      const auto found =
          round < 3 ? std::nullopt : judge(first, second, alpha_of_look(kAlpha, round - 2));
      is_alarm = found && found->judged == Judged::Differs;
    }
    alarms += is_alarm ? 1 : 0;
  }
  EXPECT_LE(alarms, kPlays * kAlpha);
}

TEST(AlphaOfLook, AllLooksTogetherAreNoMoreThanAlpha) {
  double sum = 0;
  for (std::size_t look = 1; look <= 1000; ++look) {
    sum += alpha_of_look(0.05, look);
  }
  EXPECT_LE(sum, 0.05);
  EXPECT_GT(sum, 0.049);
}

TEST(Estimate, TellsWhereTheMeanLies) {
  const auto found = estimate({100, std::nullopt, 102, 98});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->count, 3U);
  EXPECT_EQ(found->mean, 100);
  EXPECT_EQ(found->median, 100);
  ASSERT_TRUE(found->interval);
  EXPECT_NEAR(found->interval->low, 95.03, 0.01);
  EXPECT_EQ(estimate({std::nullopt}), std::nullopt);
  EXPECT_EQ(estimate({7})->interval, std::nullopt);
}

TEST(DecidingFigure, IsTheFirstThatAllVariantsHave) {
  Trials trials = two_variants({1, 1}, {1, 1});
  trials.figures.insert(trials.figures.begin(), {"/send", "to the peer", "Mb/s"});
  trials.values = {{values_of({1}), values_of({2})}, {{std::nullopt}, values_of({2})}};
  EXPECT_THAT(deciding_figure(trials), Optional(1U));
  trials.values[1][1] = {std::nullopt};
  EXPECT_EQ(deciding_figure(trials), std::nullopt);
  EXPECT_THAT(sentences(trials), ElementsAre("no figure was measured in all variants"));
}

TEST(Document, ComparesEachVariantWithTheFirst) {
  const documents::Trials document = document_of(two_variants({100, 101, 99}, {110, 111, 109}));
  EXPECT_EQ(document.deciding, "throughput");
  ASSERT_EQ(document.variants.size(), 2U);
  const documents::TrialsFigure& first = document.variants[0].figures.at(0);
  EXPECT_EQ(first.field, "/throughput_mbps");
  EXPECT_EQ(first.mean, 100);
  EXPECT_FALSE(first.against_first);
  const documents::TrialsFigure& second = document.variants[1].figures.at(0);
  ASSERT_TRUE(second.against_first);
  EXPECT_NEAR(second.against_first->percent, 10, 0.001);
  EXPECT_TRUE(second.against_first->differs);
}

TEST(Sentences, SayWhatIsProvenAndWhatIsNot) {
  EXPECT_THAT(sentences(two_variants({100, 101, 99}, {110, 111, 109})),
              ElementsAre(AllOf(HasSubstr("bbr: throughput 10.0 % higher than cubic ("),
                                HasSubstr("p <0.001"))));
  EXPECT_THAT(sentences(two_variants({100, 100, 100.1}, {100, 100.1, 100})),
              ElementsAre(HasSubstr("bbr: the same throughput as cubic within 2 % (")));
  EXPECT_THAT(sentences(two_variants({100, 60, 140}, {110, 70, 150})),
              ElementsAre(HasSubstr("no difference from cubic is proven")));
}

TEST(Sentences, ProveLessAfterManyLooks) {
  Trials trials = two_variants({100, 101, 99, 100, 101}, {101, 102, 101, 101.5, 101});
  const auto p = judge(trials.values[0][0], trials.values[1][0], kAlpha)->p;
  ASSERT_GT(p, alpha_of_look(kAlpha, 3));
  ASSERT_LT(p, kAlpha);
  EXPECT_THAT(sentences(trials), ElementsAre(HasSubstr("higher than cubic")));
  trials.is_looked_at_often = true;
  EXPECT_THAT(sentences(trials), ElementsAre(Not(HasSubstr("higher than cubic"))));
}

// A command that says how often it was asked for its document.
class Counted final : public cli::Command {
 public:
  cli::Summary summary() const override {
    return {.name = "count", .purpose = "p", .description = "d", .examples = {}};
  }
  void define(cli::Flags& flags) override {
    flags.option("streams", &streams_, "N", "a number", 1, 64)
        .option("congestion", &congestion_, "NAME", "a name")
        .option("note", &note_, "TEXT", "a text");
  }
  Result<cli::ExitCode> run(cli::Context& context) override {
    context.out << streams_ << ' ' << congestion_ << ' ' << note_ << '\n';
    return cli::ExitCode::Done;
  }

 private:
  std::int64_t streams_ = 1;
  std::string congestion_;
  std::string note_;
};

fakes::CliRun run(const std::vector<std::string>& words) {
  return fakes::run_cli({.name = "chokepoint",
                         .version = "0",
                         .purpose = "p",
                         .sections = cli::one_section(
                             {repeatable(cli::command<Counted>(), {{"/value", "value", ""}})})},
                        words);
}

TEST(Repeatable, RunsTheCommandAsItIsWhereNothingIsRepeated) {
  EXPECT_EQ(run({"count", "--streams", "3", "--note", "a,b"}).out, "3  a,b\n")
      << "a text may have a comma";
}

TEST(Repeatable, RefusesWhatIsNoListAndTwoLists) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"count", "--streams", "1,x"},
           {"count", "--streams", "1,"},
           {"count", "--streams", ",1"},
           {"count", "--streams", "1,65"},
           {"count", "--streams", "1,2", "--congestion", "cubic,bbr"},
           {"count", "--repeat", "0"},
           {"count", "--streams", "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17"}}) {
    const fakes::CliRun done = run(words);
    EXPECT_EQ(done.code, cli::ExitCode::Usage) << words.back();
    EXPECT_EQ(std::ranges::count(done.err, '\n'), 1) << done.err;
  }
}

}  // namespace
}  // namespace chokepoint::trials
