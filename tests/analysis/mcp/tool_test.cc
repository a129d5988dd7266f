#include "analysis/mcp/tool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace chokepoint::analysis::mcp {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A command with every kind of flag, one of which writes.
class Sampled final : public cli::Command {
 public:
  cli::Summary summary() const override {
    return {.name = "record made", .purpose = "of a test", .description = "", .examples = {}};
  }
  void define(cli::Flags& flags) override {
    flags.group("Some")
        .toggle("strict", &is_strict_, "be strict")
        .option("limit", &limit_, "N", "at most so many", 1, 100)
        .option("share", &share_, "SHARE", "a part")
        .option("with", &with_, "FILE", "beside it")
        .option("out,o", &out_, "FILE", "written")
        .choice("format", &format_, {"text", "html"}, "of the output");
    flags.positional("DIR", &folder_, "the run's folder", false);
    flags.positional("OTHER", &others_, "other folders", false);
  }
  Result<cli::ExitCode> run(cli::Context& /*context*/) override { return cli::ExitCode::Done; }

 private:
  bool is_strict_ = false;
  std::int64_t limit_ = 20;
  double share_ = 0;
  std::vector<std::string> with_;
  std::string out_;
  std::string format_;
  std::string folder_;
  std::vector<std::string> others_;
};

Result<Tool> tool_with(std::vector<std::string> allowed) {
  return tool_of(
      {.name = "made",
       .command = cli::command<Sampled>(),
       .use = "Call it.",
       .allowed = std::move(allowed),
       .always = {"--json"},
       .schema = {{"$schema", "dialect"}, {"title", "chokepoint.x/1"}, {"type", "object"}}});
}

Tool made_tool() {
  return *tool_with({"strict", "limit", "share", "with", "format", "DIR", "OTHER"});
}

TEST(Tool, ArgumentsAreTheAllowedFlagsOfTheCommand) {
  const Json input = made_tool().description["inputSchema"];
  const Json wanted = Json::parse(R"json({
    "type": "object",
    "properties": {
      "strict": {"type": "boolean", "description": "be strict"},
      "limit": {"type": "integer", "minimum": 1, "maximum": 100,
                "description": "N: at most so many (default: 20)"},
      "share": {"type": "number", "description": "SHARE: a part"},
      "with": {"type": "array", "description": "FILE: beside it", "items": {"type": "string"}},
      "format": {"type": "string", "enum": ["text", "html"], "description": "of the output"},
      "dir": {"type": "string", "description": "the run's folder"},
      "other": {"type": "array", "description": "other folders", "items": {"type": "string"}}},
    "additionalProperties": false})json");
  EXPECT_EQ(nlohmann::json(input), nlohmann::json(wanted)) << input.dump(2);
}

TEST(Tool, TheDescriptionSaysThatItOnlyReads) {
  const Json description = made_tool().description;
  EXPECT_EQ(description["name"], "made");
  EXPECT_EQ(description["title"], "chokepoint record made");
  EXPECT_EQ(description["description"], "of a test. Call it.");
  EXPECT_EQ(description["annotations"]["readOnlyHint"], true);
  EXPECT_EQ(description["outputSchema"],
            Json::parse(R"({"title":"chokepoint.x/1","type":"object"})"));
}

TEST(Tool, AFlagThatTheCommandLacksIsAnError) {
  const Result<Tool> tool = tool_with({"limit", "gone"});
  ASSERT_FALSE(tool);
  EXPECT_EQ(tool.error().subject, "gone");
}

Result<std::vector<std::string>> words_for(const char* arguments) {
  return words_of(made_tool(), Untrusted::parse(arguments));
}

TEST(Words, AreTheCommandLineAsTyped) {
  EXPECT_THAT(*words_for("{}"), ElementsAre("record", "made", "--json", "--"));
  EXPECT_THAT(*words_for(R"({"dir":"a","other":["b","c"],"strict":true,"limit":7,"share":0.5,
                     "with":["x","y"],"format":"text"})"),
              ElementsAre("record", "made", "--json", "--strict", "--limit=7", "--share=0.5",
                          "--with=x", "--with=y", "--format=text", "--", "a", "b", "c"));
}

TEST(Words, NoValueBecomesAFlag) {
  EXPECT_THAT(*words_for(R"({"dir":"--out=x","with":["--out"],"strict":false})"),
              ElementsAre("record", "made", "--json", "--with=--out", "--", "--out=x"));
}

TEST(Words, NullIsNotGivenAndOneValueIsAListOfOne) {
  EXPECT_THAT(*words_for(R"({"dir":null,"with":"x"})"),
              ElementsAre("record", "made", "--json", "--with=x", "--"));
}

TEST(Words, WhatCannotBeAnArgumentIsNamed) {
  const auto error_of = [](const char* arguments) {
    const auto words = words_for(arguments);
    return words ? std::string("none") : describe(words.error());
  };
  EXPECT_THAT(error_of(R"({"out":"x"})"), HasSubstr("out: is no argument of made"));
  EXPECT_THAT(error_of(R"({"limt":1})"), HasSubstr("did you mean 'limit'?"));
  EXPECT_THAT(error_of(R"({"limit":[1]})"), HasSubstr("limit: takes one value"));
  EXPECT_THAT(error_of(R"({"limit":{}})"), HasSubstr("limit: wanted a value of type integer"));
  EXPECT_THAT(error_of(R"({"strict":"yes"})"), HasSubstr("strict: wanted true or false"));
  EXPECT_THAT(error_of(R"({"with":[["x"]]})"), HasSubstr("with: wanted a value of type string"));
  EXPECT_THAT(error_of(R"({"dir":"a\u0000b"})"), HasSubstr("dir: has a zero byte"));
}

TEST(Words, TheirLengthAndNumberAreBounded) {
  const Tool tool = made_tool();
  EXPECT_TRUE(words_of(tool, {{"dir", std::string(kMaxWordBytes, 'x')}}));
  EXPECT_FALSE(words_of(tool, {{"dir", std::string(kMaxWordBytes + 1, 'x')}}));
  EXPECT_FALSE(words_of(tool, {{"with", std::vector<std::string>(kMaxWords + 1, "x")}}));
  EXPECT_FALSE(words_of(tool, {{"with", std::vector<std::string>(kMaxWords - 1, "x")},
                               {"other", std::vector<std::string>(kMaxWords - 1, "x")}}));
}

}  // namespace
}  // namespace chokepoint::analysis::mcp
