// Whole tests against servers in this process: the kernel's sockets, both ends' code.
#include "probe/rpc/test.h"

#include <gmock/gmock.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <numeric>

#include "base/net/socket.h"
#include "probe/rpc/outcome.h"
#include "tests/fakes/probe_server.h"

namespace chokepoint::probe::rpc {
namespace {

using namespace std::chrono_literals;
using control::Client;
using control::Message;
using control::Type;
using net::Deadline;
using testing::HasSubstr;

constexpr const char* kProgram = "chokepoint test";

control::Services services(bool may_call_others = true) {
  control::Services all;
  all.push_back(rpc_service(kProgram, may_call_others));
  return all;
}

Result<Trial> run_test(
    Client& client, const Parameters& parameters, const Watcher& watcher = [](const Interval&) {},
    int interrupt = -1) {
  return rpc::run(
      client, parameters,
      {.root = sys::Root("/"), .interval = 20ms, .program = kProgram, .interrupt = interrupt},
      watcher, [](const std::string&) {});
}

NextWorker next_at(const fakes::ProbeServer& server) {
  return {.host = "127.0.0.1", .port = server.endpoint().port};
}

TEST(RpcTest, EveryCallIsAnsweredOnceWhateverItsSizes) {
  const fakes::ProbeServer server(services());
  Result<Client> client = server.client();
  const std::vector<Parameters> all{
      {.request_bytes = 1, .response_bytes = 1, .time = 100ms},
      {.request_bytes = 100, .response_bytes = 3000, .callers = 3, .outstanding = 7, .time = 100ms},
      {.request_bytes = 5'000'001, .response_bytes = 10, .outstanding = 3, .time = 100ms},
      {.request_bytes = 10, .response_bytes = 5'000'001, .callers = 2, .time = 100ms},
      {.request_bytes = 64, .response_bytes = 64, .time = 100ms, .no_delay = false}};
  for (const Parameters& parameters : all) {
    const Result<Trial> trial = run_test(*client, parameters);
    ASSERT_TRUE(trial) << describe(trial.error());
    ASSERT_EQ(trial->hops.size(), 1U);
    const Hop& hop = trial->hops.front();
    EXPECT_GT(hop.calls, 0U);
    EXPECT_EQ(hop.calls, hop.worker.calls);
    EXPECT_EQ(hop.calls, hop.latency_ms.values.count);
    EXPECT_EQ(hop.calls, hop.worker.held_ms.values.count);
    EXPECT_EQ(trial->unanswered, 0U);
    EXPECT_FALSE(trial->interrupted);
    const std::uint64_t in_intervals =
        std::accumulate(trial->intervals.begin(), trial->intervals.end(), std::uint64_t{0},
                        [](std::uint64_t sum, const Interval& each) { return sum + each.calls; });
    EXPECT_EQ(in_intervals, hop.calls);
  }
}

TEST(RpcTest, APauseIsKeptAfterEachAnswer) {
  const fakes::ProbeServer server(services());
  Result<Client> client = server.client();
  const Result<Trial> trial =
      run_test(*client, {.callers = 2, .outstanding = 2, .time = 200ms, .pause = 50ms});
  ASSERT_TRUE(trial) << describe(trial.error());
  // Each of four calls at the start and after 50, 100 and 150 ms at the earliest.
  EXPECT_GE(trial->hops.front().calls, 4U);
  EXPECT_LE(trial->hops.front().calls, 16U);
}

TEST(RpcTest, AChainHasEachWorkersHalf) {
  const fakes::ProbeServer last(services(), {.own = {kProgram, "last"}});
  const fakes::ProbeServer middle(services(), {.own = {kProgram, "middle"}});
  const fakes::ProbeServer first(services(), {.own = {kProgram, "first"}});
  Result<Client> client = first.client();
  const Result<Trial> trial = run_test(
      *client,
      {.callers = 2, .outstanding = 3, .time = 200ms, .next = {next_at(middle), next_at(last)}});
  ASSERT_TRUE(trial) << describe(trial.error());
  ASSERT_EQ(trial->hops.size(), 3U);
  EXPECT_EQ(trial->hops[0].host, "first");
  EXPECT_EQ(trial->hops[1].host, "middle");
  EXPECT_EQ(trial->hops[2].host, "last");
  for (const Hop& hop : trial->hops) {
    EXPECT_EQ(hop.calls, trial->hops[0].calls);
    EXPECT_EQ(hop.worker.calls, trial->hops[0].calls);
  }
  // What one holds a call contains what the next one takes.
  EXPECT_GE(trial->hops[0].worker.held_ms.values.mean, trial->hops[1].latency_ms.values.mean);
  EXPECT_GE(trial->hops[1].worker.held_ms.values.mean, trial->hops[2].latency_ms.values.mean);
}

TEST(RpcTest, AChainWhoseNextWorkerIsNotThereSaysWhich) {
  const fakes::ProbeServer first(services());
  Result<Client> client = first.client();
  const Result<Trial> trial = run_test(*client, {.next = {{.host = "127.0.0.1", .port = 1}}});
  ASSERT_FALSE(trial);
  EXPECT_THAT(describe(trial.error()), HasSubstr("127.0.0.1 port 1"));
  EXPECT_TRUE(run_test(*client, {.time = 50ms})) << "and the next test may come";
}

TEST(RpcTest, AServerThatMayNotCallOthersRefusesAChain) {
  const fakes::ProbeServer first(services(false));
  Result<Client> client = first.client();
  const Result<Trial> trial = run_test(*client, {.next = {{.host = "127.0.0.1"}}});
  ASSERT_FALSE(trial);
  EXPECT_EQ(trial.error().kind, ErrorKind::Refused);
  EXPECT_THAT(describe(trial.error()), HasSubstr("--key-file"));
  EXPECT_TRUE(run_test(*client, {.time = 50ms}));
}

TEST(RpcTest, AnInterruptedTestIsWhatWasMeasuredUntilThen) {
  const fakes::ProbeServer server(services());
  Result<Client> client = server.client();
  const sys::Descriptor interrupt(eventfd(0, EFD_CLOEXEC));
  const Result<Trial> trial = run_test(
      *client, {.time = 60s},
      [&](const Interval& interval) {
        const std::uint64_t one = interval.calls > 0 ? 1 : 0;
        std::ignore = write(interrupt.get(), &one, sizeof(one));
      },
      interrupt.get());
  ASSERT_TRUE(trial) << describe(trial.error());
  EXPECT_TRUE(trial->interrupted);
  EXPECT_GT(trial->hops.front().calls, 0U);
  EXPECT_TRUE(run_test(*client, {.time = 50ms})) << "and the next test may come";
}

TEST(RpcTest, AServerThatStopsSaysSo) {
  fakes::ProbeServer server(services());
  Result<Client> client = server.client();
  const Result<Trial> trial =
      run_test(*client, {.time = 60s}, [&](const Interval&) { server.stop(); });
  ASSERT_FALSE(trial);
  EXPECT_THAT(describe(trial.error()), HasSubstr("the server stops"));
}

TEST(RpcTest, WhyAWorkerOfAChainEndsItIsTold) {
  const fakes::ProbeServer first(services());
  fakes::ProbeServer second(services());
  Result<Client> client = first.client();
  const Result<Trial> trial = run_test(*client, {.time = 60s, .next = {next_at(second)}},
                                       [&](const Interval&) { second.stop(); });
  ASSERT_FALSE(trial);
  EXPECT_THAT(describe(trial.error()), HasSubstr("the server stops"));
}

TEST(RpcTest, MoreThanIsGrantedIsRefused) {
  const fakes::ProbeServer server(services(), {}, {.longest_test = 10s, .streams = 4});
  Result<Client> client = server.client();
  EXPECT_FALSE(run_test(*client, {.callers = 5}));
  EXPECT_FALSE(run_test(*client, {.time = 11s}));
}

TEST(RpcTest, AServerWithoutItIsToBeUpgradedIfItIsAnotherVersion) {
  const fakes::ProbeServer same({}, {.own = {kProgram, "hubble"}});
  Result<Client> client = same.client();
  Result<Trial> trial = run_test(*client, {});
  ASSERT_FALSE(trial);
  EXPECT_THAT(describe(trial.error()), HasSubstr("--offer"));
  EXPECT_THAT(describe(trial.error()), testing::Not(HasSubstr("upgrade")));
  const fakes::ProbeServer other({}, {.own = {"chokepoint 0.0.9", "hubble"}});
  client = other.client();
  trial = run_test(*client, {});
  ASSERT_FALSE(trial);
  EXPECT_THAT(describe(trial.error()), HasSubstr("it is chokepoint 0.0.9"));
  EXPECT_THAT(describe(trial.error()), HasSubstr("upgrade it there"));
}

// What a client may do that is none of ours.
class RpcServiceTest : public testing::Test {
 protected:
  void begin(const Parameters& parameters) {
    ASSERT_TRUE(
        client_->request("rpc", body_of(parameters), Deadline::of(10s), [](const std::string&) {}));
    connection_ = std::move(client_->attach(0, {}, Deadline::of(10s)).value());
    ASSERT_TRUE(client_->channel().expect(Type::Begin, Deadline::of(10s)));
  }

  // What the server says at last, its reports left out.
  Message last_word() {
    while (true) {
      Result<Message> message = client_->channel().receive(Deadline::of(20s));
      if (!message || message->type != Type::Report) {
        return message.value_or(Message{});
      }
    }
  }

  fakes::ProbeServer server_{services()};
  Result<Client> client_ = server_.client();
  sys::Descriptor connection_;
};

TEST_F(RpcServiceTest, MoreCallsAtOnceThanWereAgreedOnEndTheTest) {
  // The answers fill both sockets' buffers, since nobody reads them: calls pile up.
  begin({.request_bytes = 1, .response_bytes = 100'000'000, .outstanding = 2});
  const std::string calls(100, 'x');
  ASSERT_TRUE(net::send_all(connection_.get(), std::as_bytes(std::span(calls)), Deadline::of(10s),
                            "server"));
  const Message word = last_word();
  EXPECT_EQ(word.type, Type::Failed);
  EXPECT_THAT(word.body.dump(), HasSubstr("more calls came at once"));
}

TEST_F(RpcServiceTest, AClientThatReadsNoAnswerStillGetsItsResult) {
  begin({.request_bytes = 1, .response_bytes = 100'000'000});
  ASSERT_TRUE(net::send_all(connection_.get(), std::as_bytes(std::span("x", 1)), Deadline::of(10s),
                            "server"));
  ASSERT_TRUE(client_->channel().send({Type::Stop}, Deadline::of(10s)));
  const Message word = last_word();
  ASSERT_EQ(word.type, Type::Result);
  EXPECT_TRUE(half_in(word.body));
}

TEST_F(RpcServiceTest, AConnectionThatIsClosedEndsTheTest) {
  begin({});
  connection_.reset();
  const Message word = last_word();
  EXPECT_EQ(word.type, Type::Failed);
  EXPECT_THAT(word.body.dump(), HasSubstr("closed the connection"));
}

TEST_F(RpcServiceTest, AMessageOutOfTurnEndsTheTest) {
  begin({});
  ASSERT_TRUE(client_->channel().send({Type::Begin}, Deadline::of(10s)));
  EXPECT_EQ(last_word().type, Type::Failed);
}

}  // namespace
}  // namespace chokepoint::probe::rpc
