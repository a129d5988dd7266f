#include "base/trials/figures.h"

#include <gmock/gmock.h>

#include <map>
#include <string>

#include <nlohmann/json.hpp>

namespace chokepoint::trials {
namespace {

using testing::IsEmpty;
using testing::Optional;

TEST(Figures, AreFoundThroughObjectsAndAtTheEndOfLists) {
  const Json document = Json::parse(R"({"a":{"b":2},"list":[{"c":3},{"c":4}],"text":"5"})");
  EXPECT_THAT(number_at(document, "/a/b"), Optional(2));
  EXPECT_THAT(number_at(document, "/list/-/c"), Optional(4));
  EXPECT_EQ(number_at(document, "/list/c"), std::nullopt);
  EXPECT_EQ(number_at(document, "/a/b/c"), std::nullopt);
  EXPECT_EQ(number_at(document, "/text"), std::nullopt);
  EXPECT_EQ(number_at(Json::parse(R"({"list":[]})"), "/list/-"), std::nullopt);
}

// Rows of several kinds of tests share a column where they share a key.
TEST(Figures, OfOneKeyHaveOneUnitAndOneBetterSide) {
  std::map<std::string, const MainFigure*> known;
  for (const MainFigure& figure : kMainFigures) {
    const auto [place, is_new] = known.try_emplace(figure.key, &figure);
    EXPECT_STREQ(place->second->unit, figure.unit) << figure.key;
    EXPECT_EQ(place->second->better, figure.better) << figure.key;
  }
}

TEST(Figures, ADocumentThatDeclaresNoneHasNone) {
  EXPECT_THAT(figures_of("chokepoint.doctor/1"), IsEmpty());
  EXPECT_EQ(figures_of(schemas::kTcp).front().pointer, "/throughput_mbps");
}

}  // namespace
}  // namespace chokepoint::trials
