#include <gmock/gmock.h>

#include <algorithm>

#include "analysis/commands/live.h"
#include "base/cli/text.h"
#include "tests/analysis/commands/made_diagnosis.h"
#include "tests/fakes/golden.h"

namespace chokepoint::analysis {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

LiveNode node(const std::string& name, std::int64_t rank) {
  return {.name = name,
          .command = "torchrun train.py",
          .elapsed_s = 192,
          .ranks = {rank},
          .step_source = "marks",
          .step = 152,
          .step_ms = 190.2,
          .median_ms = 189,
          .recent_ms = std::vector<double>(64, 190.0),
          .since_step_s = 0.1,
          .sent_mbps = 96.7,
          .received_mbps = 96.5,
          .retransmitted_percent = 0.004,
          .rtt_ms = 40.2,
          .core_percent = 35,
          .gpu_percent = 90};
}

LiveView two_nodes() {
  return {.run = "chokepoint-runs/812",
          .nodes = {node("a", 0), node("b", 1)},
          .diagnosis = full_link()};
}

std::vector<std::string> drawn(const LiveView& view, std::size_t columns, std::size_t rows,
                               std::size_t first = 0) {
  return draw(view, {.columns = columns, .rows = rows, .first_node = first}, {});
}

TEST(LivePage, FitsAnyTerminal) {
  LiveView view = two_nodes();
  for (int more = 0; more < 60; ++more) {
    view.nodes.push_back(node("a-long-name-of-a-host-" + std::to_string(more), more));
  }
  view.nodes[3].trouble = std::string(500, 'x');
  for (const std::size_t columns : {1U, 10U, 40U, 79U, 80U, 81U, 200U}) {
    for (const std::size_t rows : {1U, 2U, 5U, 15U, 16U, 24U, 60U, 100U}) {
      const auto lines = drawn(view, columns, rows);
      EXPECT_LE(lines.size(), rows) << columns << "x" << rows;
      for (const std::string& line : lines) {
        EXPECT_LE(cli::width_of(line), columns) << columns << "x" << rows << ": " << line;
      }
    }
  }
}

TEST(LivePage, PictureOf24Rows) {
  std::string page;
  for (const std::string& line : drawn(two_nodes(), 80, 24)) {
    page += line + '\n';
  }
  EXPECT_GOLDEN("live", page);
}

TEST(LivePage, LowTerminalsKeepTheVerdictTheStepAndNodes) {
  const auto lines = drawn(two_nodes(), 60, 7);
  for (const char* label : {"so far ", "step ", "a ", "b "}) {
    EXPECT_THAT(lines, Contains(StartsWith(label)));
  }
}

TEST(LivePage, ScrollsToTheLastNodeAndNoFurther) {
  LiveView view{.run = "r"};
  for (int number = 0; number < 50; ++number) {
    view.nodes.push_back(node("host" + std::to_string(number), number));
  }
  const auto lines = drawn(view, 80, 24, 1000);
  EXPECT_THAT(lines, Contains(StartsWith("host49")));
  EXPECT_THAT(lines.back(), HasSubstr("-50 of 50"));
  EXPECT_THAT(drawn(view, 80, 24, 0),
              AllOf(Contains(StartsWith("host0 ")), Not(Contains(StartsWith("host49")))));
}

TEST(LivePage, SaysWhichNodeIsGoneOrStands) {
  LiveView view = two_nodes();
  view.nodes[0].stalled_s = 14;
  view.nodes[1] = {.name = "b", .state = NodeState::Silent, .trouble = "no answer in time"};
  const auto lines = drawn(view, 80, 24);
  EXPECT_THAT(lines, Contains(AllOf(StartsWith("a "), HasSubstr("stalled 14 s"))));
  EXPECT_THAT(lines, Contains(AllOf(StartsWith("b "), HasSubstr("no answer"))));
  EXPECT_THAT(lines, Contains("b: no answer in time"));
}

TEST(LivePage, SaysForHowLongNoStepEnded) {
  LiveView view = two_nodes();
  EXPECT_THAT(drawn(view, 80, 24), Each(Not(AllOf(StartsWith("step "), HasSubstr("for")))));
  view.nodes[0].since_step_s = 9;
  EXPECT_THAT(drawn(view, 80, 24), Contains(AllOf(StartsWith("step "), HasSubstr("for 9.00 s"))));
}

TEST(LivePage, SaysWhoWaitsForWhom) {
  LiveView view = two_nodes();
  view.diagnosis->ranks = {{.rank = 0, .node = "a", .computing_ms = 180, .waiting_ms = 1},
                           {.rank = 1, .node = "b", .computing_ms = 100, .waiting_ms = 81}};
  const auto lines = drawn(view, 100, 24);
  EXPECT_THAT(lines, Contains(AllOf(StartsWith("waits "), HasSubstr("rank 1 on b waits 81.0 ms"),
                                    HasSubstr("on a waits 1.00 ms, computes 180 ms"))));
}

TEST(LivePage, NamesOfOthersMoveNoCursor) {
  LiveView view = two_nodes();
  view.run = "r\033[2J";
  view.nodes[0].name = "a\033]0;x\007";
  view.nodes[0].command = "t\nx";
  view.nodes[1].trouble = "\033[H";
  for (const std::string& line : drawn(view, 80, 24)) {
    EXPECT_TRUE(std::ranges::none_of(line, [](unsigned char c) { return c < ' '; })) << line;
  }
}

TEST(LivePage, LeavesOutWhatNobodyKnows) {
  const LiveView view{.run = "r", .nodes = {{.name = "a"}}, .no_diagnosis = "none from metrics"};
  const auto lines = draw(view, {.columns = 80, .rows = 0}, {});
  EXPECT_THAT(lines, Contains("verdict  none from metrics"));
  EXPECT_THAT(lines, Contains(StartsWith("step     none ")));
  EXPECT_THAT(lines, Contains("node"));
  EXPECT_THAT(lines, Not(Contains(StartsWith("q quit")))) << "as text there are no keys";
}

}  // namespace
}  // namespace chokepoint::analysis
