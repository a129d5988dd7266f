#include "analysis/report/time_axis.h"

#include <gmock/gmock.h>

namespace chokepoint::analysis {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::int64_t> lengths_of(const TimeAxis& axis) {
  std::vector<std::int64_t> lengths;
  for (std::size_t bin = 0; bin < axis.bins(); ++bin) {
    lengths.push_back(axis.edges_ns[bin + 1] - axis.edges_ns[bin]);
  }
  return lengths;
}

TEST(TimeAxis, IsEvenWhereAllWasRead) {
  EXPECT_THAT(time_axis({0, 100}, {}, 4, 1).edges_ns, ElementsAre(0, 25, 50, 75, 100));
  EXPECT_THAT(time_axis({-7, 3}, {}, 3, 1).edges_ns, ElementsAre(-7, -3, 1, 3));
}

TEST(TimeAxis, HasNoBinShorterThanWhatIsMeasured) {
  EXPECT_THAT(time_axis({0, 100}, {}, 1000, 40).edges_ns, ElementsAre(0, 40, 80, 100));
}

TEST(TimeAxis, IsFineInsideOfWindows) {
  const std::vector<Span> windows = {{400, 440}, {800, 840}};
  const TimeAxis axis = time_axis({0, 1000}, windows, 20, 1);
  EXPECT_THAT(lengths_of(axis), ElementsAre(100, 100, 100, 100, 8, 8, 8, 8, 8, 60, 100, 100, 100, 8,
                                            8, 8, 8, 8, 60, 100));
}

TEST(TimeAxis, KnowsWindowsThatReachBeyondTheRun) {
  const std::vector<Span> windows = {{-50, 10}, {90, 200}};
  const TimeAxis axis = time_axis({0, 100}, windows, 8, 1);
  EXPECT_EQ(axis.edges_ns.front(), 0);
  EXPECT_EQ(axis.edges_ns.back(), 100);
  EXPECT_TRUE(std::ranges::is_sorted(axis.edges_ns, std::ranges::less_equal()));
}

TEST(TimeAxis, OfNoTimeHasNoBins) {
  EXPECT_THAT(time_axis({5, 5}, {}, 10, 1).edges_ns, IsEmpty());
  EXPECT_EQ(TimeAxis{}.bins(), 0U);
}

}  // namespace
}  // namespace chokepoint::analysis
