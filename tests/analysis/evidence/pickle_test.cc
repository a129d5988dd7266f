#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "analysis/evidence/source.h"
#include "tests/analysis/evidence/made_pickle.h"

namespace chokepoint::analysis {
namespace {

using json::Json;
using testing::HasSubstr;

std::string flaw_of(std::string_view bytes) {
  const auto read = unpickled(bytes);
  return read ? "" : read.error().reason;
}

TEST(APickle, OfPlainDataIsRead) {
  const std::string bytes = MadePickle()
                                .raw("}(")
                                .text("list")
                                .raw("](K\x07M\x01\x02")  // 7, 513
                                .number(-5)
                                .raw("\x88\x89Ne")
                                .text("pair")
                                .raw("K\x01K\x02\x86")
                                .text("real")
                                .raw("G\x3f\xf8")
                                .raw(std::string_view("\0\0\0\0\0\0", 6))
                                .raw("u")
                                .done();
  const auto read = unpickled(bytes);
  ASSERT_TRUE(read) << describe(read.error());
  EXPECT_EQ(*read, Json::parse(R"({"list":[7,513,-5,true,false,null],"pair":[1,2],"real":1.5})"));
}

TEST(APickle, OfPythonsNewestProtocolIsRead) {
  using namespace std::string_view_literals;
  // pickle.dumps({"a": [1, (2,)]}, protocol=5)
  const auto read = unpickled(
      "\x80\x05\x95\x13\0\0\0\0\0\0\0}\x94\x8c\x01"
      "a\x94]\x94(K\x01K\x02\x85\x94"
      "es."sv);
  ASSERT_TRUE(read) << describe(read.error());
  EXPECT_EQ(read->dump(), R"({"a":[1,[2]]})");
}

TEST(APickle, AValueInTheMemoIsThereWhereverItIsTaken) {
  const auto read = unpickled(MadePickle().raw("](").text("x").raw("h").put(0).raw("e").done());
  ASSERT_TRUE(read) << describe(read.error());
  EXPECT_EQ(read->dump(), R"(["x","x"])");
}

TEST(APickle, WhatIsNotWantedIsLeftOut) {
  const auto read = unpickled(
      MadePickle().raw("}(").text("frames").raw("]").text("a").raw("K\x01u").done(), "frames");
  ASSERT_TRUE(read) << describe(read.error());
  EXPECT_EQ(read->dump(), R"({"a":1})");
}

// pickle.dumps of an object whose __reduce__ calls os.system, by protocols 0 and 2, and what else
// makes Python import or call something.
TEST(APickle, ThatWouldRunSomethingIsRefused) {
  for (const char* bytes :
       {"cos\nsystem\n(S'id'\ntR.",
        "\x80\x02"
        "cposix\nsystem\nq\x01X\x02\x01\x01\x01id\x85R.",
        "\x80\x04\x8c\x05posix\x8c\x06system\x93.", "\x80\x02)\x81.", "\x80\x02}b.",
        "\x80\x02P1\n.", "\x80\x02Q.", "\x80\x02\x82\x01.", "\x80\x02(i__main__\nX\n."}) {
    EXPECT_THAT(flaw_of(bytes),
                testing::AnyOf(HasSubstr("not of plain data"), HasSubstr("cut off")))
        << bytes;
  }
  EXPECT_THAT(flaw_of("\x80\x02"
                      "cos\nsystem\n."),
              HasSubstr("opcode 0x63"));
}

TEST(APickle, ThatIsDamagedSaysHow) {
  using namespace std::string_view_literals;
  EXPECT_THAT(flaw_of(""), HasSubstr("cut off"));
  EXPECT_THAT(flaw_of("\x80\x02."), HasSubstr("without a value"));
  EXPECT_THAT(flaw_of("\x80\x02(."), HasSubstr("without a value"));
  EXPECT_THAT(flaw_of("\x80\x09N."), HasSubstr("newer than 5"));
  EXPECT_THAT(flaw_of("\x80\x02X\xff\xff\xff\x7f"
                      "a"),
              HasSubstr("cut off"));
  EXPECT_THAT(flaw_of("\x80\x02h\x01."), HasSubstr("not kept"));
  EXPECT_THAT(flaw_of("\x80\x02K\x01K\x02"
                      "a."),
              HasSubstr("adds to what is no"));
  EXPECT_THAT(flaw_of("\x80\x02}(Nu."), HasSubstr("key without a value"));
  EXPECT_THAT(flaw_of("\x80\x02NNt."), HasSubstr("lacks a mark"));
  EXPECT_THAT(flaw_of("\x80\x02\x8a\x09\0\0\0\0\0\0\0\0\0."sv), HasSubstr("64 bits"));
}

// A list that holds itself, one in another ten thousand deep, and one that doubles with each byte.
TEST(APickle, ThatGrowsWithoutEndEnds) {
  std::string self = "\x80\x02]q";
  self += '\0';
  self += 'h';
  self += '\0';
  EXPECT_THAT(flaw_of(self + "a."), HasSubstr("nested too deeply"));
  std::string deep = "\x80\x02";
  deep += std::string(10'000, ']') + std::string(9'999, 'a') + ".";
  EXPECT_THAT(flaw_of(deep), HasSubstr("nested too deeply"));
  std::string doubling = "\x80\x02]";
  for (int level = 0; level < 60; ++level) {
    doubling +=
        std::string("q") + static_cast<char>(level) + "h" + static_cast<char>(level) + "\x86";
  }
  EXPECT_THAT(flaw_of(doubling + "."), HasSubstr("too many values"));
}

}  // namespace
}  // namespace chokepoint::analysis
