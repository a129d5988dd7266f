#include "capture/source/privileges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "capture/source/live.h"

namespace chokepoint::capture::source {
namespace {

// In a process of its own, as rights do not come back; leaves it with 0 where `holds`.
template <class Check>
void in_own_process(Check holds) {
  EXPECT_EXIT(std::_Exit(holds() ? 0 : 1), testing::ExitedWithCode(0), "");
}

bool may_listen() { return open_live({.interfaces = {"lo"}}).has_value(); }

class Privileges : public testing::Test {
 protected:
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    if (geteuid() != 0) {
      GTEST_SKIP() << "needs root to have rights to give up";
    }
  }
};

TEST_F(Privileges, GivenUpTheyAreGoneForThreadsToComeToo) {
  in_own_process([] {
    bool later = true;
    const bool given_up = give_up_privileges(Keep::Nothing).has_value();
    std::thread([&] { later = may_listen(); }).join();
    return given_up && !may_listen() && !later;
  });
}

TEST_F(Privileges, WithoutThemTheErrorSaysWhatToDo) {
  in_own_process([] {
    const bool given_up = give_up_privileges(Keep::Nothing).has_value();
    const auto live = open_live({.interfaces = {"lo"}});
    return given_up && !live && live.error().kind == ErrorKind::Permission &&
           live.error().next_step.find("setcap cap_net_raw+ep") != std::string::npos;
  });
}

TEST_F(Privileges, FilesMayStillBeWritten) {
  in_own_process([] { return give_up_privileges(Keep::Files).has_value() && !may_listen(); });
}

TEST_F(Privileges, AThreadThatKeepsThemIsAnError) {
  in_own_process([] {
    std::jthread other([](const std::stop_token& enough) {
      while (!enough.stop_requested()) {
        std::this_thread::yield();
      }
    });
    const auto given_up = give_up_privileges(Keep::Nothing);
    return !given_up && given_up.error().kind == ErrorKind::Busy;
  });
}

}  // namespace
}  // namespace chokepoint::capture::source
