#include "base/json/schema.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include <nlohmann/json.hpp>

namespace chokepoint {
namespace {

using json::Json;
using json::schema_of;

enum class Colour : std::uint8_t { Red, Blue };

struct Moment {
  double at_s = 0;
  std::optional<std::uint64_t> retransmits = {};
};

struct Letter {
  char letter = 'a';
};

struct Spread {
  double low = 0;
  std::int64_t count = 0;
};

struct Answer {
  bool is_fast = false;
  std::uint16_t port = 0;
  std::int64_t offset = 0;
  std::uint64_t bytes = 0;
  std::chrono::nanoseconds time{0};
  std::chrono::nanoseconds pause{0};
  std::string name = {};
  std::string error = {};
  Colour colour = Colour::Red;
  std::optional<Colour> other = {};
  Letter letter = {};
  std::vector<Moment> moments = {};
  std::map<std::string, double> labels = {};
  Spread spread = {};
  Moment moment = {};
};

struct Height {
  double m = 0;
};

struct Day {
  std::int64_t number = 0;
};

struct Climb {
  Height height = {};
  std::optional<Day> day = {};
  std::optional<Spread> slopes = {};
};

struct Journey {
  Moment start = {};
  std::optional<Spread> heights = {};
  std::optional<double> note = {};
};

}  // namespace

template <>
struct EnumNames<Colour> {
  static constexpr std::string_view kWhat = "a colour";
  static constexpr auto kNames =
      std::to_array<EnumName<Colour>>({{Colour::Red, "red"}, {Colour::Blue, "blue"}});
};

template <>
struct TextForm<Letter> {
  static constexpr std::string_view kWhat = "one letter";
  static std::string text(const Letter& letter) { return {letter.letter}; }
  static std::optional<Letter> parsed(std::string_view text) { return Letter{text[0]}; }
};

template <>
struct Fields<Moment> {
  static constexpr FieldList kList{
      field("at_s", &Moment::at_s, "seconds since the test began").at_least(0),
      field("retransmits", &Moment::retransmits).at_most(kMaxCount)};
};

template <>
struct Fields<Spread> {
  static constexpr FieldList kList{field("low", &Spread::low), field("count", &Spread::count)};
  static bool is_unknown(const Spread& spread) { return spread.count == 0; }
};

template <>
struct Fields<Answer> {
  static constexpr FieldList kList{
      field("is_fast", &Answer::is_fast, "whether it is"),
      field("port", &Answer::port),
      field("offset", &Answer::offset).between(-5, 5),
      field("bytes", &Answer::bytes),
      field("time_ns", &Answer::time).at_least(1),
      field("pause_s", &Answer::pause).between(0, 0.5).in_seconds().or_default(),
      field("name", &Answer::name).up_to_bytes(8),
      field("error", &Answer::error).null_if_empty(),
      field("colour", &Answer::colour),
      field("other", &Answer::other, "the other colour"),
      field("letter", &Answer::letter),
      field("moments", &Answer::moments).up_to_items(3),
      field("labels", &Answer::labels).at_most(9),
      field("spread", &Answer::spread).between(0, 10),
      within(&Answer::moment, field("moment_s", &Moment::at_s, "of the moment").at_least(2)),
      computed<Answer>(
          "megabytes", [](const Answer&) -> std::optional<double> { return 1.5; }, "10^6 bytes"),
      computed<Answer>("names", [](const Answer&) { return std::vector<std::string_view>{"a"}; }),
  };
};

// To whole metres.
template <>
struct JsonForm<Height> {
  static void write(Json& at, const Height& height) { at = std::lround(height.m); }
  static void describe(Json& schema, bool is_nullable) {
    schema["type"] = is_nullable ? Json{"integer", "null"} : Json("integer");
  }
};

template <>
struct TextForm<Day> {
  static constexpr std::string_view kWhat = "a day";
  static constexpr std::string_view kFormat = "date";
  static constexpr std::string_view kPattern = "^D[0-9]+$";
  static std::string text(const Day& day) { return "D" + std::to_string(day.number); }
};

template <>
struct Fields<Climb> {
  static constexpr FieldList kList{
      field("height_m", &Climb::height, "above the sea"), field("day", &Climb::day),
      spread(&Climb::slopes).null_if_unknown(),
      computed<Climb>(
          "share_percent", [](const Climb&) { return 1.0; }, "of the way")
          .between(0, 100),
      computed<Climb>("sentence", [](const Climb&) { return std::string(); }).null_if_empty()};
};

template <>
struct Fields<Journey> {
  static constexpr FieldList kList{
      spread<Journey>(&Journey::start), spread<Journey>(&Journey::heights),
      field("note", &Journey::note, "where there is one").omitted_if_unknown()};
};

namespace {

Json property(const char* name) { return schema_of<Answer>()["properties"][name]; }

Json parsed(const char* text) { return Json::parse(text); }

TEST(Schema, OfAStruct) {
  EXPECT_EQ(schema_of<Moment>().dump(), parsed(R"({
      "$schema": "https://json-schema.org/draft/2020-12/schema",
      "type": "object",
      "properties": {
        "at_s": {"description": "seconds since the test began", "type": "number", "minimum": 0.0},
        "retransmits": {"type": ["integer", "null"], "minimum": 0, "maximum": 9223372036854774784}},
      "required": ["at_s", "retransmits"]})")
                                            .dump());
}

TEST(Schema, NumbersHaveTheBoundsOfFieldAndType) {
  EXPECT_EQ(property("port"), parsed(R"({"type": "integer", "minimum": 0, "maximum": 65535})"));
  EXPECT_EQ(property("offset"), parsed(R"({"type": "integer", "minimum": -5, "maximum": 5})"));
  EXPECT_EQ(property("bytes"), parsed(R"({"type": "integer", "minimum": 0})"));
  EXPECT_EQ(property("time_ns"), parsed(R"({"type": "integer", "minimum": 1})"));
  EXPECT_EQ(property("pause_s"), parsed(R"({"type": "number", "minimum": 0, "maximum": 0.5})"));
}

TEST(Schema, TextsAndNames) {
  EXPECT_EQ(property("name"), parsed(R"({"type": "string", "maxLength": 8})"));
  EXPECT_EQ(property("error"), parsed(R"({"type": ["string", "null"], "minLength": 1})"));
  EXPECT_EQ(property("colour"), parsed(R"({"type": "string", "enum": ["red", "blue"]})"));
  EXPECT_EQ(property("other"), parsed(R"({"description": "the other colour",
      "type": ["string", "null"], "enum": ["red", "blue", null]})"));
  EXPECT_EQ(property("letter"), parsed(R"({"description": "one letter", "type": "string"})"));
}

TEST(Schema, ListsMapsAndStructs) {
  const Json moments = property("moments");
  EXPECT_EQ(moments["type"], "array");
  EXPECT_EQ(moments["maxItems"], 3);
  EXPECT_EQ(moments["items"]["required"], parsed(R"(["at_s", "retransmits"])"));
  EXPECT_FALSE(moments["items"].contains("$schema"));
  EXPECT_EQ(property("labels"), parsed(R"({"type": "object",
      "additionalProperties": {"type": "number", "maximum": 9}})"));
  EXPECT_EQ(property("moment_s"),
            parsed(R"({"description": "of the moment", "type": "number", "minimum": 2})"));
}

TEST(Schema, AStructThatMayBeUnknownMayBeNullAndItsRangeIsThatOfItsRealNumbers) {
  EXPECT_EQ(property("spread"), parsed(R"({"type": ["object", "null"], "properties": {
      "low": {"type": "number", "minimum": 0, "maximum": 10}, "count": {"type": "integer"}},
      "required": ["low", "count"]})"));
}

TEST(Schema, AComputedFieldIsWhatItsFunctionReturns) {
  EXPECT_EQ(property("megabytes"),
            parsed(R"({"description": "10^6 bytes", "type": ["number", "null"]})"));
  EXPECT_EQ(property("names"), parsed(R"({"type": "array", "items": {"type": "string"}})"));
}

TEST(Schema, OnlyWhatADocumentMayLackIsNotRequired) {
  const Json required = schema_of<Answer>()["required"];
  EXPECT_EQ(required.size(), kFieldCount<Answer> - 1);
  EXPECT_EQ(std::ranges::count(required, Json("pause_s")), 0);
  EXPECT_EQ(std::ranges::count(required, Json("error")), 1);
}

TEST(Schema, OfAnOptionalMembersOwnFieldsADocumentHasAllOrNone) {
  const Json schema = schema_of<Journey>();
  EXPECT_EQ(schema["required"], parsed(R"(["at_s", "retransmits"])"));
  EXPECT_EQ(schema["dependentRequired"], parsed(R"({"low": ["count"]})"));
  EXPECT_EQ(schema["properties"]["low"], parsed(R"({"type": "number"})"));
}

TEST(Schema, FieldsOfAnOptionalMemberMayBeNullTogether) {
  const Json schema = schema_of<Climb>();
  EXPECT_EQ(schema["required"],
            parsed(R"(["height_m", "day", "low", "count", "share_percent", "sentence"])"));
  EXPECT_EQ(schema["properties"]["low"], parsed(R"({"type": ["number", "null"]})"));
  EXPECT_EQ(schema["properties"]["count"], parsed(R"({"type": ["integer", "null"]})"));
}

TEST(Schema, FormsOfTypesAndBoundsOfComputedFields) {
  const Json properties = schema_of<Climb>()["properties"];
  EXPECT_EQ(properties["height_m"],
            parsed(R"({"description": "above the sea", "type": "integer"})"));
  EXPECT_EQ(properties["day"], parsed(R"({"description": "a day", "type": ["string", "null"],
      "format": "date", "pattern": "^D[0-9]+$"})"));
  EXPECT_EQ(properties["share_percent"], parsed(R"({"description": "of the way",
      "type": "number", "minimum": 0, "maximum": 100})"));
  EXPECT_EQ(properties["sentence"], parsed(R"({"type": ["string", "null"], "minLength": 1})"));
}

TEST(Schema, WhatIsLeftOutWhereUnknownIsNeverNull) {
  EXPECT_EQ(schema_of<Journey>()["properties"]["note"],
            parsed(R"({"description": "where there is one", "type": "number"})"));
}

}  // namespace
}  // namespace chokepoint
