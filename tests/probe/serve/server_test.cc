#include "probe/serve/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/control/message.h"
#include "tests/fakes/probe_server.h"

namespace chokepoint::probe::serve {
namespace {

using control::Client;
using control::Json;
using control::Message;
using control::Type;
using fakes::ProbeServer;
using net::Deadline;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

constexpr seconds kMaxWait{10};

// Says what it was asked, once it is told to.
class Echo final : public control::Service {
 public:
  explicit Echo(control::Weight weight) : weight_(weight) {}

  std::string_view kind() const override { return "echo"; }
  Result<control::Demand> check(const Json& parameters, const control::Limits&) const override {
    if (parameters.contains("bad")) {
      return fail(ErrorKind::Usage, "", "bad", "so it is");
    }
    return weight_;
  }
  Result<Json> serve(control::Session& session, const Json& parameters) override {
    const int streams = parameters.value("streams", 0);
    session.expect_streams(streams);
    const Deadline deadline = session.deadline(kMaxWait);
    if (const Result<> sent = session.channel().send({Type::Ready, parameters}, deadline); !sent) {
      return std::unexpected(sent.error());
    }
    Result<std::vector<sys::Descriptor>> arrived = session.streams(deadline);
    if (!arrived) {
      return std::unexpected(arrived.error());
    }
    const Result<Message> go = session.channel().expect(Type::Begin, deadline);
    if (!go) {
      return std::unexpected(go.error());
    }
    return Json{{"streams", arrived->size()}};
  }

 private:
  control::Weight weight_;
};

control::Services echo(control::Weight weight = control::Weight::Light) {
  control::Services services;
  services.push_back(std::make_unique<Echo>(weight));
  return services;
}

Deadline soon() { return Deadline::of(kMaxWait); }

Result<Json> ask(Client& client, const Json& parameters = Json::object()) {
  return client.request("echo", parameters, soon(), [](const std::string&) {});
}

Result<Message> finish(Client& client) {
  std::ignore = client.channel().send({Type::Begin}, soon());
  return client.channel().expect(Type::Result, soon());
}

sys::Descriptor stranger(const ProbeServer& server, const std::string& from = "127.0.0.1") {
  const net::SocketOptions options{.source = net::Address::parse(from).value()};
  return std::move(net::connect(server.endpoint(), options, soon()).value());
}

void say(const sys::Descriptor& fd, std::string_view text) {
  ASSERT_TRUE(net::send_all(fd.get(), std::as_bytes(std::span(text)), soon(), "server"));
}

// What the server says before it closes, or an error if it does not.
std::optional<Message> last_words(sys::Descriptor fd) {
  control::Channel channel(std::move(fd), "server", control::kMaxFromServer);
  const Result<Message> message = channel.receive(soon());
  return message ? std::optional(*message) : std::nullopt;
}

TEST(Server, AnswersOneRequestAfterTheOther) {
  const ProbeServer server(echo());
  Result<Client> client = server.client();
  ASSERT_TRUE(client) << describe(client.error());
  EXPECT_EQ(client->admittance().server.host, "hubble");
  for (int i = 0; i < 3; ++i) {
    const Result<Json> ready = ask(*client, {{"n", i}});
    ASSERT_TRUE(ready) << describe(ready.error());
    EXPECT_EQ(ready->at("n"), i);
    EXPECT_TRUE(finish(*client));
  }
}

TEST(Server, HandsDataConnectionsToTheirSession) {
  const ProbeServer server(echo());
  Result<Client> client = server.client();
  ASSERT_TRUE(client && ask(*client, {{"streams", 3}}));
  std::vector<sys::Descriptor> streams;
  for (int i = 0; i < 3; ++i) {
    streams.push_back(std::move(client->attach(i, {}, soon()).value()));
  }
  const Result<Message> result = finish(*client);
  ASSERT_TRUE(result) << describe(result.error());
  EXPECT_EQ(result->body.at("streams"), 3);
}

TEST(Server, ADataConnectionOfAnotherSessionIsClosed) {
  const ProbeServer server(echo());
  Result<Client> client = server.client();
  ASSERT_TRUE(client && ask(*client, {{"streams", 1}}));
  const sys::Descriptor fd = stranger(server);
  say(fd, encode(control::attach(client->admittance().session, control::random_secret(), 1, 0)));
  std::byte byte{};
  EXPECT_EQ(net::receive_some(fd.get(), {&byte, 1}, soon(), "server").value_or(1), 0U);
  ASSERT_TRUE(client->attach(0, {}, soon())) << "the place is still free";
  EXPECT_TRUE(finish(*client));
}

// Whoever saw it on the wire may say it again.
TEST(Server, WhatOpenedADataConnectionOpensNoOther) {
  const ProbeServer server(echo());
  Result<Client> client = server.client();
  ASSERT_TRUE(client && ask(*client, {{"streams", 1}}));
  const control::Admittance& known = client->admittance();
  const std::string opening = encode(control::attach(known.session, known.secret, 1, 0));
  const sys::Descriptor own = stranger(server);
  say(own, opening);
  EXPECT_TRUE(finish(*client));
  ASSERT_TRUE(ask(*client, {{"streams", 1}}));
  const sys::Descriptor again = stranger(server);
  say(again, opening);
  std::byte byte{};
  EXPECT_EQ(net::receive_some(again.get(), {&byte, 1}, soon(), "server").value_or(1), 0U);
  ASSERT_TRUE(client->attach(0, {}, soon())) << "the place is still free";
  EXPECT_TRUE(finish(*client));
}

// Takes its data connections as they come.
class Taker final : public control::Service {
 public:
  std::string_view kind() const override { return "take"; }
  Result<control::Demand> check(const Json&, const control::Limits&) const override {
    return control::Weight::Light;
  }
  Result<Json> serve(control::Session& session, const Json&) override {
    session.expect_streams(2);
    const Deadline deadline = session.deadline(kMaxWait);
    TRY(session.channel().send({Type::Ready, Json::object()}, deadline));
    std::vector<int> numbers;
    std::vector<sys::Descriptor> kept;
    while (numbers.size() < 2 && !deadline.over()) {
      TRY(net::wait_for(session.arrival_descriptor(), POLLIN, deadline, "wait", "streams"));
      for (auto& [number, fd] : session.new_streams()) {
        numbers.push_back(number);
        kept.push_back(std::move(fd));
      }
    }
    TRY(session.channel().expect(Type::Begin, deadline));
    return Json{{"numbers", numbers}, {"more", session.new_streams().size()}};
  }
};

TEST(Server, ADataConnectionThatWasTakenIsNotTakenAgain) {
  control::Services services;
  services.push_back(std::make_unique<Taker>());
  const ProbeServer server(std::move(services));
  Result<Client> client = server.client();
  ASSERT_TRUE(client.has_value());
  ASSERT_TRUE(client->request("take", Json::object(), soon(), [](const std::string&) {}));
  std::vector<sys::Descriptor> streams;
  for (const int number : {0, 0, 1}) {
    streams.push_back(std::move(client->attach(number, {}, soon()).value()));
  }
  ASSERT_TRUE(client->channel().send({Type::Begin}, soon()));
  const Result<Message> result = client->channel().expect(Type::Result, soon());
  ASSERT_TRUE(result) << describe(result.error());
  EXPECT_THAT(result->body["numbers"].get<std::vector<int>>(), UnorderedElementsAre(0, 1));
  EXPECT_EQ(result->body["more"], 0);
}

TEST(Server, AKeyIsWantedFromEverybodyWhereThereIsOne) {
  const control::Secret key = control::random_secret();
  const ProbeServer server(echo(), {.own = {"chokepoint test", "hubble"}, .keys = key});
  EXPECT_TRUE(server.client(key));
  EXPECT_THAT(describe(server.client().error()), HasSubstr("--key-file"));
  const Result<Client> wrong = server.client(control::random_secret());
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().kind, ErrorKind::Permission);
  EXPECT_TRUE(server.client(key)) << "and it still serves";
}

TEST(Server, WithAKeyForEachHostNoHostPosesAsAnother) {
  const control::Secret voyagers = control::random_secret();
  const control::Secret pioneers = control::random_secret();
  const ProbeServer server(
      echo(), {.own = {"chokepoint test", "hubble"},
               .keys = control::KeyRing({{"voyager", voyagers}, {"pioneer", pioneers}})});
  EXPECT_TRUE(server.client(voyagers, "voyager"));
  EXPECT_TRUE(server.client(pioneers, "pioneer"));
  for (const char* other : {"voyager", "somebody"}) {
    const Result<Client> posing = server.client(pioneers, other);
    ASSERT_FALSE(posing) << other;
    EXPECT_EQ(posing.error().kind, ErrorKind::Permission);
  }
}

TEST(Server, ANewHostsKeyNeedsNoRestart) {
  std::string folder = "/tmp/chokepoint-keys-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const auto put = [&](const std::string& host, const std::string& key) {
    const std::string path = folder + "/" + host;
    std::ofstream(path + ".part") << key;
    EXPECT_EQ(chmod((path + ".part").c_str(), 0600), 0);
    std::filesystem::rename(path + ".part", path);
    return control::secret_of(key);
  };
  const control::Secret voyagers = put("voyager", "0123456789abcdef");
  const ProbeServer server(echo(), {.own = {"chokepoint test", "hubble"},
                                    .keys = control::read_keys_of_hosts(folder).value(),
                                    .key_folder = control::KeyFolder(folder)});
  ASSERT_TRUE(server.client(voyagers, "voyager"));
  const control::Secret pioneers = put("pioneer", "fedcba9876543210");
  std::filesystem::remove(folder + "/voyager");
  const auto deadline = std::chrono::steady_clock::now() + kMaxWait;
  bool is_in = false;
  while (!is_in && std::chrono::steady_clock::now() < deadline) {
    is_in = server.client(pioneers, "pioneer").has_value();
    std::this_thread::sleep_for(milliseconds(100));
  }
  EXPECT_TRUE(is_in);
  EXPECT_FALSE(server.client(voyagers, "voyager")) << "who is taken out of the folder is out";
  std::filesystem::remove_all(folder);
}

TEST(Server, MistakesInARequestAreToldAndTheConversationGoesOn) {
  const ProbeServer server(echo());
  Result<Client> client = server.client();
  ASSERT_TRUE(client);
  EXPECT_THAT(describe(ask(*client, {{"bad", 1}}).error()), HasSubstr("so it is"));
  const Result<Json> unknown =
      client->request("quic", Json::object(), soon(), [](const std::string&) {});
  EXPECT_EQ(unknown.error().kind, ErrorKind::Unsupported);
  EXPECT_TRUE(ask(*client));
  EXPECT_TRUE(finish(*client));
}

TEST(Server, AParameterOf64KibIsRefusedWithTheReason) {
  const ProbeServer server(echo());
  Result<Client> client = server.client();
  ASSERT_TRUE(client);
  const Result<Json> answer = ask(*client, {{"long", std::string(65536, 'x')}});
  ASSERT_FALSE(answer);
  EXPECT_THAT(describe(answer.error()), HasSubstr("at most 65536"));
  EXPECT_TRUE(server.client());
}

TEST(Server, HeavyTestsQueueAndTheClientIsToldWhy) {
  const ProbeServer server(echo(control::Weight::Heavy));
  Result<Client> first = server.client();
  Result<Client> second = server.client();
  ASSERT_TRUE(first && second && ask(*first));
  std::string told;
  std::atomic<bool> waiting = false;
  std::thread waiter([&] {
    EXPECT_TRUE(second->request("echo", Json::object(), soon(), [&](const std::string& why) {
      told = why;
      waiting = true;
    }));
  });
  while (!waiting) {
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_TRUE(finish(*first));
  waiter.join();
  EXPECT_THAT(told, HasSubstr("echo by 127.0.0.1"));
  EXPECT_TRUE(finish(*second));
}

TEST(Server, AnExclusiveOneRefusesInsteadOfQueueing) {
  const ProbeServer server(echo(), {.own = {"chokepoint test", "hubble"}, .exclusive = true});
  Result<Client> first = server.client();
  Result<Client> second = server.client(std::nullopt, "pioneer");
  ASSERT_TRUE(first && second && ask(*first));
  const Result<Json> refused = ask(*second);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::Busy);
}

TEST(Server, AClientTooManyIsToldSo) {
  const ProbeServer server(echo(), {.own = {"chokepoint test", "hubble"}, .most_clients = 1});
  const Result<Client> first = server.client();
  ASSERT_TRUE(first);
  const Result<Client> second = server.client();
  ASSERT_FALSE(second);
  EXPECT_THAT(describe(second.error()), HasSubstr("--max-clients"));
}

TEST(Server, AnIdleClientMakesRoomWhereAllPlacesAreTaken) {
  const ProbeServer server(echo(), {.own = {"chokepoint test", "hubble"},
                                    .most_clients = 1,
                                    .idle = std::chrono::milliseconds(20)});
  Result<Client> idle = server.client();
  ASSERT_TRUE(idle && ask(*idle));
  EXPECT_FALSE(server.client()) << "it tests, so it is not idle";
  ASSERT_TRUE(finish(*idle));
  std::this_thread::sleep_for(std::chrono::milliseconds(40));
  const Result<Client> next = server.client();
  ASSERT_TRUE(next) << describe(next.error());
  EXPECT_FALSE(ask(*idle));
}

TEST(Server, ATestThatThrowsFailsAndNothingElse) {
  const ProbeServer server(echo());
  Result<Client> other = server.client();
  Result<Client> client = server.client();
  ASSERT_TRUE(other && client && ask(*other));
  const Result<Json> thrown = ask(*client, {{"streams", "boom"}});
  ASSERT_FALSE(thrown);
  EXPECT_THAT(describe(thrown.error()), HasSubstr("test"));
  EXPECT_TRUE(ask(*client)) << "the session goes on";
  EXPECT_TRUE(finish(*other));
}

TEST(Server, AWaitingClientThatGoesGivesItsPlaceUp) {
  const ProbeServer server(echo(control::Weight::Heavy));
  Result<Client> first = server.client();
  ASSERT_TRUE(first && ask(*first));
  {
    Result<Client> second = server.client();
    ASSERT_TRUE(second);
    ASSERT_TRUE(second->channel().send(
        {Type::Request, {{"kind", "echo"}, {"parameters", Json::object()}}}, soon()));
    ASSERT_TRUE(second->channel().expect(Type::Queued, soon()));
  }
  EXPECT_TRUE(finish(*first));
  Result<Client> third = server.client();
  ASSERT_TRUE(third && ask(*third));
  EXPECT_TRUE(finish(*third));
}

// Its turn would be held for as long as data connections are waited for.
TEST(Server, AClientThatGoesBeforeItsDataConnectionsComeGivesItsTurnUp) {
  const ProbeServer server(echo(control::Weight::Heavy));
  {
    Result<Client> gone = server.client();
    ASSERT_TRUE(gone && ask(*gone, {{"streams", 2}}));
    ASSERT_TRUE(gone->attach(0, {}, soon()));
  }
  Result<Client> next = server.client();
  ASSERT_TRUE(next);
  ASSERT_TRUE(
      next->request("echo", Json::object(), Deadline::of(kMaxWait / 2), [](const std::string&) {}));
  EXPECT_TRUE(finish(*next));
}

TEST(Server, WhatIsNotTheProtocolIsAnsweredAndClosed) {
  const ProbeServer server(echo());
  sys::Descriptor fd = stranger(server);
  say(fd, "GET / HTTP/1.1\r\n\r\n");
  const std::optional<Message> message = last_words(std::move(fd));
  ASSERT_TRUE(message);
  EXPECT_EQ(message->type, Type::Refused);
}

TEST(Server, AVersionFromTheFutureIsAnswered) {
  const ProbeServer server(echo());
  sys::Descriptor fd = stranger(server);
  Message hello = control::ClientHandshake({"chokepoint 9", "voyager"}, std::nullopt).hello();
  hello.body["oldest"] = 9;
  hello.body["newest"] = 9;
  say(fd, encode(hello));
  const std::optional<Message> message = last_words(std::move(fd));
  ASSERT_TRUE(message);
  EXPECT_EQ(control::error_in(message->body, "server").kind, ErrorKind::Newer);
}

TEST(Server, AThousandSilentStrangersKeepNobodyOut) {
  const ProbeServer server(echo());
  std::vector<sys::Descriptor> silent;
  for (int i = 0; i < 1000; ++i) {
    silent.push_back(stranger(server));
  }
  Result<Client> client = server.client();
  ASSERT_TRUE(client) << describe(client.error());
  EXPECT_TRUE(ask(*client));
  EXPECT_TRUE(finish(*client));
}

// Places of strangers are taken from the source that has the most of them.
TEST(Server, ASourceThatConnectsAllTheTimePushesOutItsOwnAndNobodyElse) {
  const ProbeServer server(echo());
  control::Channel slow(stranger(server, "127.0.0.2"), "server", control::kMaxFromServer);
  control::ClientHandshake handshake({"chokepoint test", "voyager"}, std::nullopt);
  ASSERT_TRUE(slow.send(handshake.hello(), soon()));
  ASSERT_TRUE(slow.expect(Type::Welcome, soon()));
  std::vector<sys::Descriptor> others;
  for (int i = 0; i < 600; ++i) {
    others.push_back(stranger(server, i % 2 == 0 ? "127.0.0.1" : "127.0.0.3"));
  }
  // The server refuses a message that is not sealed: it has kept this connection.
  ASSERT_TRUE(slow.send({Type::Bye}, soon()));
  EXPECT_TRUE(slow.receive(soon()));
}

TEST(Server, StopsWithClientsInTheMiddleOfATest) {
  ProbeServer server(echo());
  Result<Client> client = server.client();
  ASSERT_TRUE(client && ask(*client, {{"streams", 1}}));
  server.stop();
  EXPECT_FALSE(client->channel().expect(Type::Result, soon()));
}

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

TEST(Server, LeavesNoDescriptorBehind) {
  ProbeServer server(echo());
  const std::size_t before = open_descriptors();
  for (int i = 0; i < 20; ++i) {
    Result<Client> client = server.client();
    ASSERT_TRUE(client && ask(*client, {{"streams", 2}}));
    std::ignore = client->attach(0, {}, soon());  // and then it dies
  }
  server.stop();
  // The epoll instance and the listener went with the server.
  EXPECT_LE(open_descriptors(), before);
}

}  // namespace
}  // namespace chokepoint::probe::serve
