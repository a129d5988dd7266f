#include "probe/nuttcp/protocol.h"

#include <gtest/gtest.h>

#include <cstring>

namespace chokepoint::probe::nuttcp {
namespace {

std::span<const std::byte> raw(std::string_view text) { return std::as_bytes(std::span(text)); }

TEST(NuttcpProtocol, HellosTellTheVersion) {
  EXPECT_EQ(hello_line(), "HELO nuttcp v6.1.2\n");
  EXPECT_EQ(read_hello("HELO nuttcp v6.1.2\n"), (Version{6, 1, 2}));
  EXPECT_EQ(read_hello("HELO nuttcp v8.2.10b\r\n"), (Version{8, 2, 10}));
  EXPECT_LT((Version{6, 1, 2}), (Version{6, 2, 0}));
}

TEST(NuttcpProtocol, WhoIsNotNuttcpIsTold) {
  for (const char* other :
       {"HTTP/1.1 400 Bad Request\r\n", "SSH-2.0-OpenSSH_9.2", "", "HELO nuttcp v",
        "HELO nuttcp v6.1", "HELO nuttcp v-1.2.3", "HELO nuttcp v99999.1.1",
        "HELO nuttcp v6.1.2 and then a whole story"}) {
    const Result<Version> got = read_hello(other);
    EXPECT_FALSE(got) << other;
  }
  EXPECT_NE(read_hello("HTTP/1.1 400\x1b[31m").error().reason.find("HTTP/1.1 400?[31m"),
            std::string::npos)
      << "control characters never reach the terminal";
}

TEST(NuttcpProtocol, AnswersAreOkOrKo) {
  EXPECT_EQ(read_answer("OK v6.1.2\n"), Answer::Ok);
  EXPECT_EQ(read_answer("KO\n"), Answer::Refused);
  EXPECT_FALSE(read_answer("HTTP/1.1 400\n"));
  EXPECT_EQ(ok_line(), "OK v6.1.2\n");
  EXPECT_EQ(refusal("busy\nnow"), "KO\nbusy?now\nKO\n");
}

TEST(NuttcpProtocol, MarksHaveFourBytes) {
  EXPECT_EQ(mark_of(raw("BOD0")), Mark::Begin);
  EXPECT_EQ(mark_of(raw("EOD4")), Mark::End);
  EXPECT_EQ(mark_of(raw("BOD1 and data")), std::nullopt);
  EXPECT_EQ(mark_of(raw("data")), std::nullopt);
  EXPECT_EQ(mark_of({}), std::nullopt);
}

}  // namespace
}  // namespace chokepoint::probe::nuttcp
