#include "analysis/mcp/server.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace chokepoint::analysis::mcp {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kInitialize =
    R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18"}})";

// A server of two tools whose command is played.
class McpServer : public testing::Test {
 protected:
  static Tool tool(const std::string& name, bool has_document) {
    return {.name = name,
            .command = {name},
            .parameters = {{.name = "dir", .is_flag = false, .schema = {{"type", "string"}}}},
            .has_document = has_document,
            .document = has_document ? "chokepoint.x/1" : "",
            .description = {{"name", name}}};
  }

  std::optional<Json> sent(const std::string& text) {
    const std::optional<std::string> answer = server_.answer(Line{text});
    return answer ? std::optional(Json::parse(*answer)) : std::nullopt;
  }
  Json answer(const std::string& text) { return sent(text).value_or(Json()); }
  Json call(const std::string& parameters) {
    answer(kInitialize);
    return answer(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":)" + parameters + "}");
  }

  CallOutcome outcome_{.out = R"({"schema":"chokepoint.x/1","value":7})"};
  std::vector<std::string> words_;
  Server server_{"1.2.3",
                 {tool("made", true), tool("text", false)},
                 [this](const std::vector<std::string>& words) {
                   words_ = words;
                   return outcome_;
                 }};
};

TEST(AgreedRevision, IsTheOneAskedForOrTheNewest) {
  EXPECT_EQ(agreed_revision("2025-11-25"), "2025-11-25");
  EXPECT_EQ(agreed_revision("2025-06-18"), "2025-06-18");
  EXPECT_EQ(agreed_revision("2024-11-05"), "2024-11-05");
  EXPECT_EQ(agreed_revision("2099-01-01"), "2025-11-25");
  EXPECT_EQ(agreed_revision("1.0.0"), "2025-11-25");
  EXPECT_EQ(agreed_revision(""), "2025-11-25");
}

// A client of that revision knows the one before it, too, and none of the later ones.
TEST(AgreedRevision, OfTheOneWithBatchesIsTheOneBeforeIt) {
  EXPECT_EQ(agreed_revision("2025-03-26"), "2024-11-05");
}

TEST_F(McpServer, InitializeTellsRevisionProgramAndCapabilities) {
  const Json result = answer(kInitialize)["result"];
  EXPECT_EQ(result["protocolVersion"], "2025-06-18");
  EXPECT_EQ(result["serverInfo"]["name"], "chokepoint");
  EXPECT_EQ(result["serverInfo"]["version"], "1.2.3");
  EXPECT_EQ(result["capabilities"], Json::parse(R"({"tools":{}})"));
  EXPECT_THAT(result["instructions"].get<std::string>(), HasSubstr("diagnose"));
}

TEST_F(McpServer, InitializeIsTakenOnceAndNeedsARevision) {
  EXPECT_EQ(answer(R"({"jsonrpc":"2.0","id":0,"method":"initialize"})")["error"]["code"], -32602);
  EXPECT_TRUE(answer(kInitialize).contains("result"));
  EXPECT_EQ(answer(kInitialize)["error"]["code"], -32600);
}

TEST_F(McpServer, BeforeInitializeOnlyAPingIsAnswered) {
  EXPECT_EQ(answer(R"({"jsonrpc":"2.0","id":5,"method":"ping"})"),
            Json::parse(R"({"jsonrpc":"2.0","id":5,"result":{}})"));
  EXPECT_EQ(answer(R"({"jsonrpc":"2.0","id":5,"method":"tools/list"})")["error"]["code"], -32600);
  EXPECT_EQ(
      answer(R"({"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"made"}})")["error"]
                                                                                          ["code"],
      -32600);
  EXPECT_THAT(words_, IsEmpty());
}

TEST_F(McpServer, ListsItsToolsInOrder) {
  answer(kInitialize);
  const Json result = answer(R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})")["result"];
  EXPECT_EQ(result, Json::parse(R"({"tools":[{"name":"made"},{"name":"text"}]})"));
  EXPECT_EQ(
      answer(R"({"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}})")["error"]
                                                                                         ["code"],
      -32602);
}

TEST_F(McpServer, UnknownMethodsAreErrorsAndNotificationsGetNoAnswer) {
  answer(kInitialize);
  for (const char* method : {"resources/list", "prompts/list", "tools/", "Tools/list", ""}) {
    const Json reply = answer(fmt::format(R"({{"jsonrpc":"2.0","id":"x","method":"{}"}})", method));
    EXPECT_EQ(reply["error"]["code"], -32601) << method;
    EXPECT_EQ(reply["id"], "x");
  }
  EXPECT_EQ(sent(R"({"jsonrpc":"2.0","method":"notifications/initialized"})"), std::nullopt);
  EXPECT_EQ(sent(R"({"jsonrpc":"2.0","method":"tools/call","params":{"name":"made"}})"),
            std::nullopt);
  EXPECT_THAT(words_, IsEmpty());
}

TEST_F(McpServer, ACallReturnsTheDocumentTwice) {
  const Json result = call(R"({"name":"made","arguments":{"dir":"a"}})")["result"];
  EXPECT_THAT(words_, ElementsAre("made", "--", "a"));
  EXPECT_EQ(result["structuredContent"], Json::parse(outcome_.out));
  EXPECT_EQ(result["content"], Json::parse(R"([{"type":"text",
    "text":"{\"schema\":\"chokepoint.x/1\",\"value\":7}"}])"));
  EXPECT_EQ(result["isError"], false);
}

TEST_F(McpServer, WhatElseACommandSaidIsASecondText) {
  outcome_.messages = "a record is cut off";
  EXPECT_EQ(call(R"({"name":"made"})")["result"]["content"][1]["text"], "a record is cut off");
}

TEST_F(McpServer, TextHasNoStructure) {
  outcome_.out = "five lines\n";
  const Json result = call(R"({"name":"text"})")["result"];
  EXPECT_EQ(result["content"][0]["text"], "five lines\n");
  EXPECT_FALSE(result.contains("structuredContent"));
}

TEST_F(McpServer, ACommandThatFailsIsAResultWithItsErrorLine) {
  outcome_ = {.has_failed = true, .out = "chokepoint: diagnose: nowhere: no such folder"};
  const Json result = call(R"({"name":"made"})")["result"];
  EXPECT_EQ(result["isError"], true);
  EXPECT_EQ(result["content"][0]["text"], outcome_.out);
  EXPECT_FALSE(result.contains("structuredContent"));
}

TEST_F(McpServer, AnOutputThatIsNotTheDocumentIsAFailure) {
  for (const char* out : {"", "[]", "no JSON", R"({"schema":"chokepoint.y/1"})"}) {
    outcome_.out = out;
    EXPECT_EQ(answer(kInitialize).size(), 3U);
    const Json reply =
        answer(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"made"}})");
    EXPECT_EQ(reply["result"]["isError"], true) << out;
  }
}

TEST_F(McpServer, AWrongArgumentIsAResultThatTheModelSees) {
  const Json result = call(R"({"name":"made","arguments":{"out":"x"}})")["result"];
  EXPECT_EQ(result["isError"], true);
  EXPECT_THAT(result["content"][0]["text"].get<std::string>(), HasSubstr("out: is no argument"));
  EXPECT_THAT(words_, IsEmpty());
}

TEST_F(McpServer, ACallThatNamesNoToolIsAnError) {
  EXPECT_EQ(call(R"({"name":"export"})")["error"]["code"], -32602);
  for (const char* parameters : {"{}", R"({"name":7})", R"({"name":"made","arguments":[]})",
                                 R"({"name":"made","arguments":"x"})"}) {
    EXPECT_EQ(answer(fmt::format(R"({{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}})",
                                 parameters))["error"]["code"],
              -32602)
        << parameters;
  }
  EXPECT_THAT(words_, IsEmpty());
}

// The revision without a handshake.

std::string stateless(const std::string& method, const std::string& more = "",
                      const std::string& revision = "2026-07-28") {
  return fmt::format(R"({{"jsonrpc":"2.0","id":1,"method":"{}","params":{{{}"_meta":{{)"
                     R"("io.modelcontextprotocol/protocolVersion":"{}",)"
                     R"("io.modelcontextprotocol/clientCapabilities":{{}}}}}}}})",
                     method, more, revision);
}

TEST_F(McpServer, DiscoveryNeedsNoHandshake) {
  const Json result = answer(stateless("server/discover"))["result"];
  EXPECT_EQ(result["supportedVersions"], Json::parse(R"(["2026-07-28"])"));
  EXPECT_EQ(result["resultType"], "complete");
  EXPECT_EQ(result["_meta"]["io.modelcontextprotocol/serverInfo"]["version"], "1.2.3");
  EXPECT_GE(result["ttlMs"], 0);
  EXPECT_EQ(result["cacheScope"], "public");
}

TEST_F(McpServer, StatelessRequestsAreServedWithoutAHandshake) {
  EXPECT_EQ(answer(stateless("tools/list"))["result"]["tools"].size(), 2U);
  const Json result = answer(stateless("tools/call", R"("name":"made",)"))["result"];
  EXPECT_EQ(result["structuredContent"]["value"], 7);
  EXPECT_EQ(result["resultType"], "complete");
  EXPECT_FALSE(result.contains("ttlMs"));
  EXPECT_EQ(answer(stateless("ping"))["error"]["code"], -32601);
  // It was no handshake.
  EXPECT_EQ(answer(R"({"jsonrpc":"2.0","id":5,"method":"tools/list"})")["error"]["code"], -32600);
}

TEST_F(McpServer, AnotherRevisionIsRefusedWithThoseThatAreHere) {
  const Json error = answer(stateless("tools/list", "", "1900-01-01"))["error"];
  EXPECT_EQ(error["code"], -32022);
  EXPECT_EQ(error["data"], Json::parse(R"({"supported":["2026-07-28"],"requested":"1900-01-01"})"));
}

TEST_F(McpServer, ADiscoveryThatSaysNoRevisionIsMalformed) {
  EXPECT_EQ(answer(R"({"jsonrpc":"2.0","id":1,"method":"server/discover"})")["error"]["code"],
            -32602);
  EXPECT_EQ(answer(R"({"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":
    {"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}})")["error"]["code"],
            -32602);
}

}  // namespace
}  // namespace chokepoint::analysis::mcp
