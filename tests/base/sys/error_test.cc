#include "base/sys/error.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace chokepoint {
namespace {

TEST(Error, KeepsTheErrnoAndNamesItsKind) {
  const Error error = from_errno(ECONNREFUSED, "connect", "10.0.0.2 port 5210");
  EXPECT_EQ(error.kind, ErrorKind::Refused);
  EXPECT_EQ(error.code, ECONNREFUSED);
  EXPECT_EQ(describe(error), "connect: 10.0.0.2 port 5210: connection refused");
}

TEST(Error, AnUnlistedErrnoIsIo) { EXPECT_EQ(from_errno(EIO, "read", "x").kind, ErrorKind::Io); }

TEST(Error, DescribesWithoutEmptyPartsAndWithTheNextStep) {
  const Error error{ErrorKind::Usage, "", "--tiem", 0, "unknown option", "did you mean '--time'?"};
  EXPECT_EQ(describe(error), "--tiem: unknown option; did you mean '--time'?");
}

}  // namespace
}  // namespace chokepoint
