#include "analysis/evidence/pickle.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/analysis/evidence/made_pickle.h"
#include "tests/fakes/golden.h"

namespace chokepoint::analysis {
namespace {

using json::Json;
using testing::HasSubstr;

std::string flaw_of(std::string_view bytes) {
  const auto read = unpickled(bytes);
  return read ? "" : read.error().reason;
}

std::string doubling_tuple() {
  std::string bytes = "\x80\x02]";
  for (int level = 0; level < 60; ++level) {
    bytes += std::string("q") + static_cast<char>(level) + "h" + static_cast<char>(level) + "\x86";
  }
  return bytes + ".";
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
}

TEST(APickle, PictureOfWhatIsWrong) {
  using namespace std::string_view_literals;
  fakes::Sentences sentences;
  for (const auto& [input, bytes] :
       {std::pair("nothing", ""sv),
        std::pair("an import",
                  "\x80\x02"
                  "cos\nsystem\n."sv),
        std::pair("an end without a value", "\x80\x02."sv),
        std::pair("an end behind a mark", "\x80\x02(."sv), std::pair("protocol 9", "\x80\x09N."sv),
        std::pair("a text that claims 2 GiB",
                  "\x80\x02X\xff\xff\xff\x7f"
                  "a"sv),
        std::pair("a value of an empty memo", "\x80\x02h\x01."sv),
        std::pair("append to a number",
                  "\x80\x02K\x01K\x02"
                  "a."sv),
        std::pair("a key alone", "\x80\x02}(Nu."sv),
        std::pair("a tuple without its mark", "\x80\x02NNt."sv),
        std::pair("a number of 9 bytes", "\x80\x02\x8a\x09\0\0\0\0\0\0\0\0\0."sv)}) {
    sentences.add(input, flaw_of(bytes));
  }
  sentences.add("a list that holds itself", flaw_of("\x80\x02]q\0h\0a."sv));
  sentences.add("lists in lists, 10000 deep",
                flaw_of("\x80\x02" + std::string(10'000, ']') + std::string(9'999, 'a') + "."));
  sentences.add("a tuple that doubles with each byte", flaw_of(doubling_tuple()));
  EXPECT_GOLDEN("sentences_pickles", sentences.text());
}

}  // namespace
}  // namespace chokepoint::analysis
