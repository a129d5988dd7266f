#include "base/json/codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <variant>

#include <nlohmann/json.hpp>

namespace chokepoint {
namespace {

using json::Json;

enum class Shape : std::uint8_t { Round, Square };

struct Part {
  double start_s = 0;
  std::optional<std::uint64_t> retransmits = {};
};

struct Whole {
  bool is_fast = false;
  int streams = 1;
  std::uint64_t bytes = 0;
  std::chrono::nanoseconds time{0};
  std::string name = {};
  std::string error = {};
  Shape shape = Shape::Round;
  std::vector<Part> parts = {};
  std::map<std::string, std::int64_t> labels = {};
  std::int8_t small = 7;
};

struct Initial {
  char letter = 'a';
};

struct Distance {
  double least = 0;
  double most = 0;
  int count = 0;
};

struct Stops {
  std::vector<int> at = {7};
};

enum class Reason : std::uint8_t { Other, Busy };

struct Verdict {
  Reason reason = Reason::Busy;
  std::map<std::string, int> counts = {{"default", 1}};
};

struct Route {
  std::chrono::nanoseconds time = std::chrono::milliseconds(1500);
  Initial from = {};
  std::optional<Initial> to = {};
  Distance way = {};
};

}  // namespace

template <>
struct Fields<Stops> {
  static constexpr FieldList kList{field("at", &Stops::at)};
};

template <>
struct EnumNames<Reason> {
  static constexpr std::string_view kWhat = "a reason";
  static constexpr Reason kOtherwise = Reason::Other;
  static constexpr std::array kNames{std::pair<Reason, std::string_view>{Reason::Other, "other"},
                                     std::pair<Reason, std::string_view>{Reason::Busy, "busy"}};
};

template <>
struct Fields<Verdict> {
  static constexpr FieldList kList{field("reason", &Verdict::reason),
                                   field("counts", &Verdict::counts).or_default()};
};

template <>
struct EnumNames<Shape> {
  static constexpr std::string_view kWhat = "a shape";
  static constexpr std::array kNames{std::pair<Shape, std::string_view>{Shape::Round, "round"},
                                     std::pair<Shape, std::string_view>{Shape::Square, "square"}};
};

template <>
struct Fields<Part> {
  static constexpr FieldList kList{
      field("start_s", &Part::start_s, "seconds since the test began").at_least(0),
      field("retransmits", &Part::retransmits, "segments retransmitted"),
  };
};

template <>
struct Fields<Whole> {
  static constexpr FieldList kList{
      field("is_fast", &Whole::is_fast),
      field("streams", &Whole::streams).between(1, 128),
      field("bytes", &Whole::bytes),
      field("time_ns", &Whole::time).at_least(1),
      field("name", &Whole::name).up_to_bytes(8),
      field("error", &Whole::error).null_if_empty(),
      field("shape", &Whole::shape),
      field("parts", &Whole::parts).up_to_items(3),
      field("labels", &Whole::labels).or_default(),
      field("small", &Whole::small).or_default(),
      computed<Whole>("megabytes",
                      [](const Whole& whole) { return static_cast<double>(whole.bytes) / 1e6; }),
  };
};

template <>
struct Fields<Distance> {
  static constexpr FieldList kList{field("least", &Distance::least), field("most", &Distance::most),
                                   field("count", &Distance::count)};
  static bool is_unknown(const Distance& distance) { return distance.count == 0; }
  static const char* wrong(const Distance& distance) {
    return distance.least > distance.most ? "least not above most" : nullptr;
  }
};

template <>
struct TextForm<Initial> {
  static constexpr std::string_view kWhat = "one letter";
  static std::string text(const Initial& initial) { return {initial.letter}; }
  static std::optional<Initial> parsed(std::string_view text) {
    return text.size() == 1 ? std::optional(Initial{text[0]}) : std::nullopt;
  }
};

template <>
struct Fields<Route> {
  static constexpr FieldList kList{
      field("time_s", &Route::time).between(0, 600).in_seconds().or_default(),
      field("from", &Route::from),
      field("to", &Route::to),
      within(&Route::way, field("hops", &Distance::count).at_least(0)),
      field("way", &Route::way).between(0, 10),
  };
};

namespace {

using json::from_json;
using json::to_json;

Whole some_whole() {
  return {.is_fast = true,
          .streams = 4,
          .bytes = std::numeric_limits<std::uint64_t>::max(),
          .time = std::chrono::nanoseconds(5),
          .name = "eight ch",
          .shape = Shape::Square,
          .parts = {{.start_s = 0.5, .retransmits = 3}, {.start_s = 1.5}},
          .labels = {{"a", -1}}};
}

std::string reason(const Json& json) {
  const Result<Whole> read = from_json<Whole>(json, "request");
  return read ? "read" : describe(read.error());
}

Json changed(const char* pointer, Json value) {
  Json json = to_json(some_whole());
  json[Json::json_pointer(pointer)] = std::move(value);
  return json;
}

TEST(Codec, WritesFieldsInTheirOrder) {
  EXPECT_EQ(to_json(some_whole()).dump(),
            R"({"is_fast":true,"streams":4,"bytes":18446744073709551615,"time_ns":5,)"
            R"("name":"eight ch","error":null,"shape":"square",)"
            R"("parts":[{"start_s":0.5,"retransmits":3},{"start_s":1.5,"retransmits":null}],)"
            R"("labels":{"a":-1},"small":7,"megabytes":18446744073709.55})");
}

TEST(Codec, ReadsWhatItWrote) {
  const Json json = to_json(some_whole());
  const Result<Whole> read = from_json<Whole>(json, "request");
  ASSERT_TRUE(read) << describe(read.error());
  EXPECT_EQ(to_json(*read), json);
}

TEST(Codec, PassesOverWhatItDoesNotKnow) {
  EXPECT_EQ(reason(changed("/newer", {1, 2, 3})), "read");
}

TEST(Codec, NamesThePlaceOfWhatIsWrong) {
  EXPECT_EQ(reason(changed("/parts/1/start_s", -1)),
            "read message: request 'parts[1].start_s': wanted a number of at least 0");
  EXPECT_EQ(reason(changed("/streams", 129)),
            "read message: request 'streams': wanted a whole number from 1 to 128");
  EXPECT_EQ(reason(changed("/labels/b", "text")),
            "read message: request 'labels.b': wanted a whole number");
}

TEST(Codec, AListReplacesTheOneThatTheStructBeginsWith) {
  const Result<Stops> stops = json::from_json<Stops>(Json{{"at", {1, 2}}}, "stops");
  ASSERT_TRUE(stops);
  EXPECT_EQ(stops->at, (std::vector<int>{1, 2}));
}

TEST(Codec, AMapReplacesTheOneThatTheStructBeginsWith) {
  const Result<Verdict> answer =
      json::from_json<Verdict>(Json{{"reason", "busy"}, {"counts", {{"a", 2}}}}, "answer");
  ASSERT_TRUE(answer) << describe(answer.error());
  EXPECT_EQ(answer->counts, (std::map<std::string, int>{{"a", 2}}));
}

TEST(Codec, AnUnknownNameIsReadAsTheOtherwiseOfItsEnum) {
  const Result<Verdict> newer = json::from_json<Verdict>(Json{{"reason", "tomorrow's"}}, "answer");
  ASSERT_TRUE(newer) << describe(newer.error());
  EXPECT_EQ(newer->reason, Reason::Other);
  EXPECT_FALSE(json::from_json<Verdict>(Json{{"reason", 3}}, "answer"));
}

TEST(Codec, RefusesOtherTypes) {
  for (const char* field : {"/is_fast", "/streams", "/bytes", "/time_ns", "/name", "/shape",
                            "/parts", "/labels", "/small", "/parts/0/retransmits"}) {
    for (const Json& other : {Json(), Json("boom"), Json(1.5), Json::array({Json()}), Json(-1)}) {
      const std::string_view name(field);
      const bool may_be = (name == "/name" && other == "boom") ||
                          (name == "/small" && other == -1) ||
                          (name == "/parts/0/retransmits" && other.is_null());
      EXPECT_EQ(reason(changed(field, other)) == "read", may_be) << field << " " << other;
    }
  }
  EXPECT_NE(reason(Json::array()), "read");
}

TEST(Codec, RefusesWhatDoesNotFitTheMember) {
  EXPECT_NE(reason(changed("/small", 128)), "read");
  EXPECT_NE(reason(changed("/streams", std::uint64_t{1} << 63U)), "read");
  EXPECT_NE(reason(changed("/name", "nine char")), "read");
  EXPECT_NE(reason(changed("/parts", Json::array({{}, {}, {}, {}}))), "read");
}

TEST(Codec, AbsentFieldsAreMissedUnlessTheyHaveADefault) {
  Json json = to_json(some_whole());
  json.erase("small");
  json.erase("error");
  json["parts"][0].erase("retransmits");
  const Result<Whole> read = from_json<Whole>(json, "request");
  ASSERT_TRUE(read) << describe(read.error());
  EXPECT_EQ(read->small, 7);
  EXPECT_EQ(read->parts[0].retransmits, std::nullopt);
  json.erase("streams");
  EXPECT_EQ(reason(json), "read message: request 'streams': wanted it to be there");
}

TEST(Codec, WhatIsUnknownIsNull) {
  EXPECT_TRUE(to_json(Distance{}).is_null());
  EXPECT_EQ(from_json<Distance>(Json(), "distance")->count, 0);
}

TEST(Codec, AValueMustMakeSenseAsAWhole) {
  const auto read = from_json<Distance>({{"least", 2}, {"most", 1}, {"count", 1}}, "distance");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().reason, "wanted least not above most");
}

TEST(Codec, ATypeMayBeATextAndAFieldAMembersMember) {
  const Json json = to_json(Route{.from = {'x'}, .way = {.least = 1, .most = 2, .count = 30}});
  EXPECT_EQ(
      json.dump(),
      R"({"time_s":1.5,"from":"x","to":null,"hops":30,"way":{"least":1.0,"most":2.0,"count":30}})");
  EXPECT_EQ(to_json(*from_json<Route>(json, "route")), json);
  EXPECT_FALSE(from_json<Route>({{"from", "xy"}, {"hops", 1}, {"way", nullptr}}, "route"));
}

TEST(Codec, ARangeOfAStructHoldsForItsRealNumbers) {
  Json json = to_json(Route{.way = {.least = 1, .most = 11, .count = 30}});
  const auto read = from_json<Route>(json, "route");
  ASSERT_FALSE(read);
  EXPECT_EQ(describe(read.error()), "read message: route 'way.most': wanted a number from 0 to 10");
}

TEST(Codec, OneFieldCanBeReadAlone) {
  EXPECT_EQ(json::field_in<int>({{"messages", 3}}, "messages", "stop"), 3);
  const auto read = json::field_in<int>({{"message", 3}}, "messages", "stop");
  ASSERT_FALSE(read);
  EXPECT_EQ(describe(read.error()), "read message: stop 'messages': wanted it to be there");
  EXPECT_FALSE(json::field_in<int>({{"messages", 3}}, "messages", "stop", {.most = 2}));
}

TEST(Codec, CJsonWritesWholeNumbersAsRealOnes) {
  Json json = changed("/streams", 4.0);
  json["is_fast"] = 1;
  json["bytes"] = 12.0;
  EXPECT_NE(reason(json), "read");
  const auto read = from_json<Whole>(json, "results", json::Dialect::CJson);
  ASSERT_TRUE(read) << describe(read.error());
  EXPECT_TRUE(read->is_fast);
  EXPECT_EQ(read->streams, 4);
}

TEST(ParseObject, RefusesWhatIsLongDeepOrNoObject) {
  EXPECT_TRUE(json::parse_object(R"({"a": 1})", 100, "text"));
  EXPECT_FALSE(json::parse_object(R"({"a": 1})", 4, "text"));
  EXPECT_FALSE(json::parse_object("[1]", 100, "text"));
  EXPECT_FALSE(json::parse_object("{", 100, "text"));
  const auto object_of = [](int keys) {
    std::string text = "{";
    for (int key = 0; key < keys; ++key) {
      text += (key > 0 ? ", \"" : "\"") + std::to_string(key) + "\": 1";
    }
    return text + "}";
  };
  const std::string large = object_of(4096);
  EXPECT_TRUE(json::parse_object("{\"a\": " + large + ", \"b\": " + large + "}", 1 << 20, "text"));
  EXPECT_FALSE(json::parse_object("{\"a\": [" + object_of(4097) + "]}", 1 << 20, "text"));
  EXPECT_FALSE(json::parse_object(std::string(100, '[') + std::string(100, ']'), 1000, "text"));
}

TEST(ObjectOrNull, IsNullOfWhatIsLongDeepOrNoObject) {
  EXPECT_EQ(json::object_or_null(R"({"a": 1})").at("a"), 1);
  for (const std::string& text :
       {std::string("[1]"), std::string("{"), std::string(), std::string(300'000, '['),
        "{\"a\":\"" + std::string(json::kMaxTextBytes, 'x') + "\"}"}) {
    EXPECT_TRUE(json::object_or_null(text).is_null());
  }
}

// See Fields<Framed>.
struct Moved {
  int by = 0;
  std::optional<int> to = {};
};

struct Sides {
  double left = 0;
  std::optional<int> right = {};
};

struct Framed {
  int width = 0;
  Sides outer = {};
  std::optional<Moved> moved = {};
  std::optional<std::string> note = {};
};

// See Fields<Mixed>.
using NumberOrText = std::variant<double, std::string>;

struct Mixed {
  NumberOrText value = 0.0;
  std::optional<Moved> moved = {};
  std::string sentence = {};
};

}  // namespace
}  // namespace chokepoint

template <>
struct chokepoint::JsonForm<chokepoint::NumberOrText> {
  static constexpr std::string_view kWhat = "a number or a text";
  static void write(json::Json& at, const NumberOrText& value) {
    std::visit([&](const auto& each) { at = each; }, value);
  }
  static std::optional<NumberOrText> parsed(const json::Json& json) {
    return json.is_number()   ? std::optional<NumberOrText>(json.get<double>())
           : json.is_string() ? std::optional<NumberOrText>(json.get<std::string>())
                              : std::nullopt;
  }
  static void describe(json::Json& schema, bool is_nullable);
};

template <>
struct chokepoint::Fields<chokepoint::Moved> {
  static constexpr FieldList kList{field("by", &Moved::by), field("to", &Moved::to)};
};

template <>
struct chokepoint::Fields<chokepoint::Sides> {
  static constexpr FieldList kList{field("left", &Sides::left), field("right", &Sides::right)};
};

template <>
struct chokepoint::Fields<chokepoint::Framed> {
  static constexpr FieldList kList{field("width", &Framed::width), spread(&Framed::outer),
                                   spread(&Framed::moved),
                                   field("note", &Framed::note).omitted_if_unknown()};
};

template <>
struct chokepoint::Fields<chokepoint::Mixed> {
  static constexpr FieldList kList{field("value", &Mixed::value),
                                   spread(&Mixed::moved).null_if_unknown(),
                                   computed<Mixed>("sentence", [](const Mixed& mixed) {
                                     return mixed.sentence;
                                   }).null_if_empty()};
};

namespace chokepoint {
namespace {

TEST(Codec, FieldsOfAMemberThatIsNotKnownMayBeNull) {
  Mixed mixed{.value = "red"};
  const Json unknown = json::to_json(mixed);
  EXPECT_EQ(unknown.dump(), R"({"value":"red","by":null,"to":null,"sentence":null})");
  mixed.moved = {.by = 3};
  mixed.sentence = "moved by 3";
  const Json written = json::to_json(mixed);
  EXPECT_EQ(written.dump(), R"({"value":"red","by":3,"to":null,"sentence":"moved by 3"})");
  const auto read = from_json<Mixed>(written, "mixed");
  ASSERT_TRUE(read) << describe(read.error());
  EXPECT_EQ(read->moved->by, 3);
  const auto read_unknown = from_json<Mixed>(unknown, "mixed");
  ASSERT_TRUE(read_unknown) << describe(read_unknown.error());
  EXPECT_FALSE(read_unknown->moved);
}

TEST(Codec, ATypeMayHaveAFormOfItsOwn) {
  const auto read = from_json<Mixed>({{"value", 2}, {"by", nullptr}}, "mixed");
  ASSERT_TRUE(read) << describe(read.error());
  EXPECT_EQ(read->value, NumberOrText(2.0));
  const auto wrong = from_json<Mixed>({{"value", true}, {"by", nullptr}}, "mixed");
  ASSERT_FALSE(wrong);
  EXPECT_NE(describe(wrong.error()).find("a number or a text"), std::string::npos);
}

TEST(Codec, FieldsOfAMemberStandAmongTheStructsOwn) {
  Framed framed{.width = 1, .outer = {.left = 2}};
  EXPECT_EQ(json::to_json(framed).dump(), R"({"width":1,"left":2.0,"right":null})");
  auto read = from_json<Framed>(json::to_json(framed), "framed");
  ASSERT_TRUE(read) << describe(read.error());
  EXPECT_EQ(read->outer.left, 2);
  EXPECT_FALSE(read->moved);
  framed.moved = {.by = 3};
  framed.note = "n";
  const Json written = json::to_json(framed);
  EXPECT_EQ(written.dump(), R"({"width":1,"left":2.0,"right":null,"by":3,"to":null,"note":"n"})");
  read = from_json<Framed>(written, "framed");
  ASSERT_TRUE(read) << describe(read.error());
  EXPECT_EQ(json::to_json(*read), written);
}

TEST(Codec, WhatIsWrongInAMembersFieldsIsNamed) {
  const auto read = from_json<Framed>({{"width", 1}, {"left", "x"}}, "framed");
  ASSERT_FALSE(read);
  EXPECT_NE(describe(read.error()).find("left"), std::string::npos);
  EXPECT_FALSE(from_json<Framed>({{"width", 1}}, "framed"));
}

}  // namespace
}  // namespace chokepoint
