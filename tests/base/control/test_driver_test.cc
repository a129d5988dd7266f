#include "base/control/test_driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include "base/control/service.h"
#include "base/json/codec.h"
#include "tests/fakes/probe_server.h"

namespace chokepoint::control {
namespace {

// The smallest kind of test: the server counts its turns, and reports each.
struct Parameters {
  int streams = 0;
  int turns = 0;  // after which the server is done by itself; 0: until Stop
};

}  // namespace
}  // namespace chokepoint::control

template <>
struct chokepoint::Fields<chokepoint::control::Parameters> {
  using P = control::Parameters;
  static constexpr FieldList kList{field("streams", &P::streams).between(0, 4),
                                   field("turns", &P::turns).between(0, 1000)};
};

namespace chokepoint::control {
namespace {

using net::Deadline;
using testing::HasSubstr;
using namespace std::chrono_literals;

constexpr std::string_view kKind = "count";

Result<Parameters> parameters_in(const Json& body) {
  return json::from_json<Parameters>(body, "count request");
}

class ServerSide final : public ServerEnd {
 public:
  ServerSide(Session& session, int turns) : ServerEnd(session, kKind), turns_(turns) {}
  int count() const { return count_; }

 private:
  Result<bool> turn(const Deadline& deadline) override { return wait_for_message(deadline, 1ms); }
  Result<> tick() override { return send_report({{"count", ++count_}}); }
  bool is_done() const override { return turns_ > 0 ? count_ >= turns_ : ServerEnd::is_done(); }

  int turns_;
  int count_ = 0;
};

class CountService final : public TestService<Parameters, parameters_in> {
 public:
  explicit CountService(std::chrono::nanoseconds longest) : longest_(longest) {}
  std::string_view kind() const override { return kKind; }

 private:
  Result<Demand> demand(const Parameters& parameters, const Limits& limits) const override {
    TRY(check_streams(limits, parameters.streams));
    return Weight::Heavy;
  }
  Result<Json> run(Session& session, const Parameters& parameters) override {
    TRY(const std::vector<sys::Descriptor> streams, take_streams(session, parameters.streams));
    TRY(session.send(Type::Begin));
    ServerSide side(session, parameters.turns);
    TRY(drive(side, session.deadline(longest_)));
    return Json{{"count", side.count()}, {"streams", streams.size()}};
  }

  std::chrono::nanoseconds longest_;
};

class ClientSide final : public ClientEnd {
 public:
  ClientSide(Client& client, Ending ending, int wanted)
      : ClientEnd(client, kKind, ending), wanted_(wanted) {}
  int reports() const { return reports_; }
  int stops() const { return stops_; }

 private:
  Result<bool> turn(const Deadline& deadline) override { return wait_for_message(deadline, 1ms); }
  Result<> take_report(const Json& body) override {
    TRY(reports_, json::field_in<int>(body, "count", "count report"));
    return {};
  }
  bool has_ended() const override { return is_stopped() || reports_ >= wanted_; }
  void stop() override { ++stops_; }

  int wanted_;
  int reports_ = 0;
  int stops_ = 0;
};

class TestDriver : public testing::Test {
 protected:
  static Services services(std::chrono::nanoseconds longest) {
    Services all;
    all.push_back(std::make_unique<CountService>(longest));
    return all;
  }

  Result<std::vector<sys::Descriptor>> begin(const Parameters& parameters) {
    TRY(request_test(client_, kKind, {{"streams", parameters.streams}, {"turns", parameters.turns}},
                     -1, [](const std::string&) {}));
    TRY(std::vector<sys::Descriptor> streams,
        attach_streams(client_, parameters.streams, {}, Deadline::of(10s)));
    TRY(client_.channel().expect(Type::Begin, Deadline::of(10s)));
    return streams;
  }

  fakes::ProbeServer server_{services(10s), {.own = {"test", "hubble"}}, {.streams = 3}};
  Client client_ = std::move(server_.client().value());
};

TEST_F(TestDriver, TheClientSaysWhenItIsOverAndTakesTheServersResult) {
  const auto streams = begin({.streams = 2});
  ASSERT_TRUE(streams) << describe(streams.error());
  ClientSide side(client_, ClientEnd::Ending::ByStop, 3);
  const Result<> driven = drive(side, Deadline::of(10s));
  ASSERT_TRUE(driven) << describe(driven.error());
  EXPECT_EQ(side.stops(), 1);
  EXPECT_FALSE(side.is_interrupted());
  EXPECT_GE(side.result().at("count"), 3);
  EXPECT_EQ(side.result().at("streams"), 2);
  EXPECT_TRUE(begin({})) << "the next test may come";
}

TEST_F(TestDriver, WhereBothKnowItIsOverNobodySaysStop) {
  ASSERT_TRUE(begin({.turns = 5}));
  ClientSide side(client_, ClientEnd::Ending::ByBoth, 5);
  ASSERT_TRUE(drive(side, Deadline::of(10s)));
  EXPECT_EQ(side.stops(), 0);
  EXPECT_EQ(side.result().at("count"), 5);
  EXPECT_TRUE(begin({})) << "the next test may come";
}

TEST_F(TestDriver, AnInterruptedTestHasItsResultAllTheSame) {
  const sys::Descriptor interrupt(eventfd(1, EFD_CLOEXEC));
  ASSERT_TRUE(begin({}));
  ClientSide side(client_, ClientEnd::Ending::ByStop, 1'000'000);
  ASSERT_TRUE(drive(side, Deadline::of(10s, interrupt.get())));
  EXPECT_TRUE(side.is_interrupted());
  EXPECT_EQ(side.stops(), 1);
  EXPECT_TRUE(side.result().contains("count"));
}

TEST_F(TestDriver, AServerThatStopsSaysSo) {
  ASSERT_TRUE(begin({}));
  server_.stop();
  ClientSide side(client_, ClientEnd::Ending::ByStop, 1'000'000);
  const Result<> driven = drive(side, Deadline::of(10s));
  ASSERT_FALSE(driven);
  EXPECT_THAT(describe(driven.error()), HasSubstr("the server stops"));
}

TEST_F(TestDriver, AMessageOutOfTurnEndsTheTest) {
  ASSERT_TRUE(begin({}));
  ASSERT_TRUE(client_.channel().send({Type::Begin}, Deadline::of(10s)));
  const Result<Json> ended = stop_test(client_);
  ASSERT_FALSE(ended);
  EXPECT_THAT(describe(ended.error()), HasSubstr("begin came in the middle of a test"));
}

TEST_F(TestDriver, ReportsUnderWayAtTheEndAreDropped) {
  ASSERT_TRUE(begin({}));
  ASSERT_TRUE(server_.client()) << "it reports meanwhile";
  const Result<Json> ended = stop_test(client_);
  ASSERT_TRUE(ended) << describe(ended.error());
  EXPECT_TRUE(ended->contains("count"));
}

TEST_F(TestDriver, ParametersThatAreWrongOrTooManyAreRefusedByName) {
  EXPECT_THAT(describe(begin({.turns = 5000}).error()), HasSubstr("turns"));
  EXPECT_THAT(describe(begin({.streams = 4}).error()), HasSubstr("streams"));
  EXPECT_TRUE(begin({.streams = 3})) << "and what is granted goes on";
}

TEST(TestDriverDeadline, WhoSaysNothingIsNotWaitedForForEver) {
  Services all;
  all.push_back(std::make_unique<CountService>(50ms));
  const fakes::ProbeServer server(std::move(all));
  Client client = std::move(server.client().value());
  ASSERT_TRUE(
      request_test(client, kKind, {{"streams", 0}, {"turns", 0}}, -1, [](const std::string&) {}));
  while (true) {
    const Result<Message> said = client.channel().receive(Deadline::of(10s));
    ASSERT_TRUE(said) << describe(said.error());
    if (said->type == Type::Failed) {
      EXPECT_THAT(said->body.dump(), HasSubstr("it did not say that it was done"));
      return;
    }
  }
}

}  // namespace
}  // namespace chokepoint::control
