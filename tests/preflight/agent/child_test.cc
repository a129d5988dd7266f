// Child, the task that runs this program: a part of jobs.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include "preflight/agent/jobs.h"
#include "tests/preflight/agent/made_program.h"

namespace chokepoint::preflight {
namespace {

using control::Json;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class ChildTest : public testing::Test {
 protected:
  std::unique_ptr<Job> start(const std::string& peer, milliseconds longest = seconds(60),
                             const std::string& key = "") const {
    return std::move(Child::start({.kind = TaskKind::Tcp, .peer = peer},
                                  {.program = program_.path(), .key = key, .longest = longest},
                                  clock_)
                         .value());
  }
  static Result<Json> wait(Job& job) {
    while (true) {
      const Result<std::optional<Json>> looked = job.look();
      if (!looked) {
        return std::unexpected(looked.error());
      }
      if (*looked) {
        return **looked;
      }
      std::this_thread::sleep_for(milliseconds(5));
    }
  }
  Result<Json> run(const std::string& peer) const { return wait(*start(peer)); }

  fakes::MadeProgram program_;
  sys::SystemClock clock_;
};

TEST_F(ChildTest, ItsDocumentIsTheAnswer) {
  EXPECT_THAT(run("fine").value()["line"].get<std::string>(), StartsWith("probe tcp fine --send"));
}

TEST_F(ChildTest, AFindingIsNoError) { EXPECT_EQ(run("found").value()["schema"], "made/1"); }

TEST_F(ChildTest, ADocumentThatTellsOfAFailureIsAnAnswer) {
  EXPECT_EQ(run("told").value()["error"], "wrong data");
}

TEST_F(ChildTest, ItsLastWordsAreTheReason) {
  const Error error = run("fails").error();
  EXPECT_EQ(error.kind, ErrorKind::Io);
  EXPECT_EQ(error.operation, "probe tcp");
  EXPECT_EQ(error.subject, "fails");
  EXPECT_EQ(error.reason, "b: no route to host");
  EXPECT_EQ(run("usage").error().kind, ErrorKind::Usage);
  EXPECT_EQ(run("usage").error().reason, "--what: no such flag");
}

TEST_F(ChildTest, ARefusedConnectionIsAKindOfItsOwn) {
  const Error error = run("refuses").error();
  EXPECT_EQ(error.kind, ErrorKind::Refused);
  EXPECT_EQ(error.reason, "b:7411: connection refused; does serve run?");
}

TEST_F(ChildTest, HoweverMuchItSaysItsLastWordsAreKeptAndTheyMoveNoCursor) {
  EXPECT_EQ(run("noisy").error().reason, "the \u00b7[31mend");
}

TEST_F(ChildTest, WhatIsNoDocumentIsSaidToBeNone) {
  for (const char* peer : {"silent", "garbage", "list", "nameless"}) {
    const Result<Json> answer = run(peer);
    ASSERT_FALSE(answer) << peer;
    EXPECT_EQ(answer.error().kind, ErrorKind::Malformed) << peer;
    EXPECT_THAT(answer.error().reason, HasSubstr("without a document")) << peer;
  }
}

TEST_F(ChildTest, ADocumentHasItsBounds) {
  EXPECT_THAT(run("large").error().reason, HasSubstr("larger than any"));
  EXPECT_TRUE(fakes::awaits_none());
}

TEST_F(ChildTest, ASignalThatEndedItIsTold) {
  EXPECT_THAT(run("killed").error().reason, HasSubstr("signal 9"));
  EXPECT_THAT(run("interrupted").error().reason, HasSubstr("interrupted"));
}

TEST_F(ChildTest, AKeyComesByStandardInputAndIsNotOnItsCommandLine) {
  const Json document = wait(*start("key", seconds(60), "0123456789abcdef")).value();
  EXPECT_EQ(document["key"], "0123456789abcdef");
  EXPECT_THAT(wait(*start("fine", seconds(60), "0123456789abcdef")).value().dump(),
              Not(HasSubstr("0123")));
}

TEST_F(ChildTest, WithoutAKeyThereIsNothingToRead) { EXPECT_EQ(run("key").value()["key"], ""); }

TEST_F(ChildTest, ItIsEndedWhenItsTimeIsUpAndItsLastWordsAreTold) {
  const std::unique_ptr<Job> job = start("waits", milliseconds(300));
  const Error error = wait(*job).error();
  EXPECT_EQ(error.kind, ErrorKind::Timeout);
  EXPECT_THAT(error.reason, HasSubstr("waiting: another test is running"));
}

TEST_F(ChildTest, NothingOfItOutlivesIt) {
  for (const char* peer : {"waits", "stubborn"}) {
    std::unique_ptr<Job> job = start(peer);
    ASSERT_TRUE(fakes::awaits_descendants(3)) << peer;
    job.reset();
    EXPECT_TRUE(fakes::own_descendants().empty()) << peer;
  }
}

TEST_F(ChildTest, ClosedStreamsAreNotWatched) {
  const std::unique_ptr<Job> job = start("closed");
  for (int i = 0; i < 400 && job->watched()[1] >= 0; ++i) {
    ASSERT_TRUE(job->look());
    std::this_thread::sleep_for(milliseconds(10));
  }
  EXPECT_EQ(job->watched()[1], -1);
  EXPECT_EQ(job->watched()[2], -1);
}

TEST_F(ChildTest, AProgramThatIsNotThereIsAnError) {
  const auto started =
      Child::start({}, {.program = "/no/such/program", .longest = seconds(1)}, clock_);
  ASSERT_FALSE(started);
  EXPECT_THAT(describe(started.error()), HasSubstr("/no/such/program"));
}

}  // namespace
}  // namespace chokepoint::preflight
