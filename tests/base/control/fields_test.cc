#include "base/control/fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace chokepoint::control {
namespace {

using testing::HasSubstr;

std::optional<Error> integer_error(const Json& value) {
  const Json body{{"streams", value}};
  Fields in(body, "request");
  const std::int64_t read = in.integer("streams", 1, 128);
  const auto result = in.finish(read);
  return result ? std::nullopt : std::optional(result.error());
}

TEST(Fields, AnIntegerKeepsItsBounds) {
  EXPECT_FALSE(integer_error(1));
  EXPECT_FALSE(integer_error(128));
  for (const Json& wrong : {Json(0), Json(129), Json(1.5), Json("4"), Json(true), Json(nullptr),
                            Json(std::uint64_t{1} << 63), Json(-1), Json::array({1})}) {
    const auto error = integer_error(wrong);
    ASSERT_TRUE(error) << wrong;
    EXPECT_THAT(error->subject, HasSubstr("'streams'"));
    EXPECT_THAT(error->reason, HasSubstr("1 to 128"));
  }
}

TEST(Fields, TheFirstMistakeIsTold) {
  const Json body = Json::object();
  Fields in(body, "request");
  in.text("kind", 10);
  in.integer("streams", 1, 2);
  EXPECT_THAT(in.finish(0).error().subject, HasSubstr("'kind'"));
}

TEST(Fields, WhatIsOptionalMayBeAbsentOrNullButNotWrong) {
  const Json body{{"none", nullptr}, {"bad", "x"}, {"rate", 1e9}};
  Fields in(body, "request");
  EXPECT_EQ(in.maybe_number("missing", 0, 1), std::nullopt);
  EXPECT_EQ(in.maybe_number("none", 0, 1), std::nullopt);
  EXPECT_EQ(in.maybe_number("rate", 0, 1e10), 1e9);
  EXPECT_TRUE(in.finish(0));
  Fields again(body, "request");
  again.maybe_number("bad", 0, 1);
  EXPECT_FALSE(again.finish(0));
}

TEST(Fields, ATextIsBoundedToo) {
  const Json body{{"host", std::string(300, 'x')}};
  Fields in(body, "hello");
  in.text("host", 255);
  EXPECT_FALSE(in.finish(0));
}

}  // namespace
}  // namespace chokepoint::control
