#include "probe/serve/privileges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace chokepoint::probe::serve {
namespace {

using testing::HasSubstr;

TEST(Privileges, NoNameChangesNothing) { EXPECT_TRUE(become("")); }

TEST(Privileges, AUserThatIsNotThereIsNamed) {
  const Result<> became = become("no-such-user");
  ASSERT_FALSE(became);
  EXPECT_THAT(describe(became.error()), HasSubstr("--user no-such-user"));
}

TEST(Privileges, AreGoneForGood) {
  if (geteuid() != 0) {
    GTEST_SKIP() << "needs root";
  }
  const pid_t child = fork();
  if (child == 0) {
    const bool dropped = become("nobody") && getuid() != 0 && geteuid() != 0;
    _exit(dropped && setuid(0) < 0 && getgroups(0, nullptr) <= 1 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace chokepoint::probe::serve
