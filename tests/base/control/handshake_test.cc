#include "base/control/handshake.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <span>

#include "base/json/codec.h"

namespace chokepoint::control {
namespace {

using testing::HasSubstr;

const Identity voyager{.program = "chokepoint 1", .host = "voyager"};
const Identity hubble{.program = "chokepoint 1", .host = "hubble"};

Secret key(std::uint8_t value) {
  Secret secret{};
  secret.fill(value);
  return secret;
}

struct Met {
  Result<> let_in;
  Result<Admittance> admittance;
};

Message same(Message message) { return message; }

// One message over a wire, sealed by `from` and opened by a reader with `to`.
Result<Message> carried(const Message& message, const Secret& from, const Secret& to) {
  Seal seal(from);
  const std::string frame = encode(message, seal);
  FrameReader reader(kMaxFromServer);
  reader.seal(Seal(to));
  std::string_view rest = frame;
  while (true) {
    const std::span<std::byte> into = reader.wanted();
    std::memcpy(into.data(), rest.data(), std::min(into.size(), rest.size()));
    const std::size_t count = std::min(into.size(), rest.size());
    rest.remove_prefix(count);
    TRY(std::optional<Message> whole, reader.took(count));
    if (whole) {
      return *std::move(whole);
    }
  }
}

// What is said passes through `tamper` on its way, as it would pass through a host in between; what
// is sealed, before it is.
template <class Tamper>
Met meet(ClientHandshake& client, ServerHandshake& server, Tamper tamper) {
  const auto failed = [](const Error& error) {
    return Met{std::unexpected(error), std::unexpected(error)};
  };
  const Result<Message> welcome = server.welcome(tamper(client.hello()));
  if (!welcome) {
    return failed(welcome.error());
  }
  const Result<Message> proof = client.proof(tamper(*welcome));
  if (!proof) {
    return failed(proof.error());
  }
  if (const Result<> agreed = server.agree(); !agreed) {
    return failed(agreed.error());
  }
  const Result<Message> heard = carried(*proof, client.keys().to_server, server.keys().to_server);
  const Result<Message> admitted =
      carried(tamper(ServerHandshake::admit(random_id(), "10.0.0.2", Limits{})),
              server.keys().to_client, client.keys().to_client);
  return {heard ? ServerHandshake::check(*heard) : std::unexpected(heard.error()),
          admitted ? client.admitted(*admitted) : std::unexpected(admitted.error())};
}

Met meet(ClientHandshake& client, ServerHandshake& server) { return meet(client, server, same); }

TEST(Handshake, WithoutAKeyBothKnowEachOtherByName) {
  ClientHandshake client(voyager, std::nullopt);
  ServerHandshake server(hubble, KeyRing());
  const Met met = meet(client, server);
  ASSERT_TRUE(met.let_in && met.admittance);
  EXPECT_EQ(met.admittance->server.host, "hubble");
  EXPECT_EQ(server.client().host, "voyager");
  EXPECT_EQ(met.admittance->seen_as, "10.0.0.2");
  EXPECT_EQ(met.admittance->secret, server.keys().attach);
}

TEST(Handshake, TheSameKeyMakesOtherKeysOfEveryConnectionAndDirection) {
  std::set<Secret> made;
  for (int i = 0; i < 3; ++i) {
    ClientHandshake client(voyager, key(7));
    ServerHandshake server(hubble, key(7));
    const Met met = meet(client, server);
    ASSERT_TRUE(met.let_in && met.admittance);
    EXPECT_EQ(met.admittance->secret, server.keys().attach);
    made.insert({server.keys().to_client, server.keys().to_server, server.keys().attach});
  }
  EXPECT_EQ(made.size(), 9U);
}

TEST(Handshake, AWrongKeyIsRefused) {
  ClientHandshake client(voyager, key(7));
  ServerHandshake server(hubble, key(8));
  const Met met = meet(client, server);
  ASSERT_FALSE(met.let_in);
  EXPECT_EQ(met.let_in.error().kind, ErrorKind::Permission);
  ASSERT_FALSE(met.admittance) << "a server without the key cannot pretend";
  EXPECT_EQ(met.admittance.error().kind, ErrorKind::Permission);
}

// It answers the client with a public key of its own, and heard all that was said.
TEST(Handshake, WhoSitsBetweenBothReadsNothingWithoutTheKey) {
  for (const std::optional<Secret>& shared : {std::optional(key(7)), std::optional<Secret>()}) {
    const KeyExchange own;
    ClientHandshake client(voyager, shared);
    const Message hello = client.hello();
    Message welcome = ServerHandshake(hubble, shared).welcome(hello).value();
    welcome.body["nonce"] = to_hex(own.public_key());
    const Message proof = client.proof(welcome).value();
    const Secret theirs = from_hex(hello.body["nonce"].get<std::string>()).value();
    const ConnectionKeys guessed =
        own.keys(theirs, std::nullopt, hello.body.dump(), welcome.body.dump()).value();
    EXPECT_EQ(carried(proof, client.keys().to_server, guessed.to_server).has_value(), !shared);
  }
}

TEST(Handshake, APublicKeyThatAnySecretLeadsToIsMalformed) {
  ClientHandshake client(voyager, key(7));
  ServerHandshake server(hubble, key(7));
  const Met met = meet(client, server, [](Message message) {
    if (message.type == Type::Hello) {
      message.body["nonce"] = std::string(64, '0');
    }
    return message;
  });
  ASSERT_FALSE(met.let_in);
  EXPECT_EQ(met.let_in.error().kind, ErrorKind::Malformed);
}

TEST(Handshake, AKeyThatOnlyOneSideHasIsSaidSo) {
  ClientHandshake without(voyager, std::nullopt);
  ServerHandshake keyed(hubble, key(8));
  EXPECT_THAT(meet(without, keyed).admittance.error().next_step, HasSubstr("--key-file"));
  ClientHandshake with(voyager, key(8));
  ServerHandshake open(hubble, KeyRing());
  EXPECT_THAT(meet(with, open).admittance.error().reason, HasSubstr("has no key"));
}

TEST(Handshake, AReplayedProofIsWorthNothing) {
  ClientHandshake client(voyager, key(7));
  ServerHandshake first(hubble, key(7));
  const Message hello = client.hello();
  const Message proof = client.proof(*first.welcome(hello)).value();
  ServerHandshake second(hubble, key(7));
  ASSERT_TRUE(second.welcome(hello)) << "the same words again";
  ASSERT_TRUE(first.agree() && second.agree());
  EXPECT_TRUE(carried(proof, client.keys().to_server, first.keys().to_server));
  EXPECT_FALSE(carried(proof, client.keys().to_server, second.keys().to_server));
}

TEST(Handshake, WhoChangesTheWordsOnTheWayIsNoticed) {
  ClientHandshake client(voyager, key(7));
  ServerHandshake server(hubble, key(7));
  const Met met = meet(client, server, [](Message message) {
    if (message.type == Type::Hello) {
      message.body["host"] = "somebody else";
    }
    return message;
  });
  EXPECT_FALSE(met.let_in);
}

TEST(Handshake, AClientFromTheFutureLearnsWhatTheServerSpeaks) {
  ServerHandshake server(hubble, KeyRing());
  Message hello = ClientHandshake(voyager, std::nullopt).hello();
  hello.body["oldest"] = 3;
  hello.body["newest"] = 4;
  const Result<Message> welcome = server.welcome(hello);
  ASSERT_FALSE(welcome);
  EXPECT_EQ(welcome.error().kind, ErrorKind::Newer);
  EXPECT_THAT(welcome.error().reason, HasSubstr("versions 3 to 4"));
}

// Version 1 had no public keys: what else it says is not looked at.
TEST(Handshake, AClientOfAnOlderVersionLearnsWhatTheServerSpeaks) {
  const Message hello{Type::Hello, {{"oldest", 1}, {"newest", 1}}};
  const Result<Message> welcome = ServerHandshake(hubble, KeyRing()).welcome(hello);
  ASSERT_FALSE(welcome);
  EXPECT_EQ(welcome.error().kind, ErrorKind::Unsupported);
  EXPECT_THAT(welcome.error().reason, HasSubstr("versions 1 to 1"));
}

TEST(Handshake, AServerFromTheFutureIsSaidToBeOne) {
  ClientHandshake client(voyager, std::nullopt);
  ServerHandshake server(hubble, KeyRing());
  const Met met = meet(client, server, [](Message message) {
    if (message.type == Type::Welcome) {
      message.body["version"] = 3;
    }
    return message;
  });
  ASSERT_FALSE(met.admittance);
  EXPECT_EQ(met.admittance.error().kind, ErrorKind::Newer);
  EXPECT_THAT(met.admittance.error().reason, HasSubstr("the server speaks version 3"));
}

struct Lie {
  Type type;
  const char* name;
  Json value;  // discarded: the field is left out
};

TEST(Handshake, WhatMakesNoSenseIsMalformedAndNamed) {
  const std::string long_name(256, 'x');
  for (const Lie& lie :
       {Lie{Type::Hello, "oldest", 0}, Lie{Type::Hello, "oldest", "1"},
        Lie{Type::Hello, "newest", 0}, Lie{Type::Hello, "newest", 1.5},
        Lie{Type::Hello, "nonce", std::string(65, '0')}, Lie{Type::Hello, "host", long_name},
        Lie{Type::Hello, "program", nullptr}, Lie{Type::Welcome, "version", 1'000'001},
        Lie{Type::Welcome, "key", "no"}, Lie{Type::Welcome, "host", 7},
        Lie{Type::Welcome, "nonce", Json::value_t::discarded}, Lie{Type::Welcome, "nonce", "00"},
        Lie{Type::Admitted, "session", std::string(33, '0')},
        Lie{Type::Admitted, "seen_as", long_name}, Lie{Type::Admitted, "limits", Json::array()},
        Lie{Type::Admitted, "limits", Json::value_t::discarded}}) {
    ClientHandshake client(voyager, std::nullopt);
    ServerHandshake server(hubble, KeyRing());
    const Met met = meet(client, server, [&](Message message) {
      if (message.type == lie.type && lie.value.is_discarded()) {
        message.body.erase(lie.name);
      } else if (message.type == lie.type) {
        message.body[lie.name] = lie.value;
      }
      return message;
    });
    const Error* error = !met.let_in       ? &met.let_in.error()
                         : !met.admittance ? &met.admittance.error()
                                           : nullptr;
    ASSERT_NE(error, nullptr) << lie.name;
    EXPECT_EQ(error->kind, ErrorKind::Malformed) << describe(*error);
    EXPECT_THAT(error->subject, HasSubstr(lie.name));
  }
}

TEST(Handshake, AClientThatSpeaksFromANewerVersionToAnOlderOneIsMalformed) {
  Message hello = ClientHandshake(voyager, std::nullopt).hello();
  hello.body["oldest"] = 4;
  hello.body["newest"] = 3;
  const Result<Message> welcome = ServerHandshake(hubble, KeyRing()).welcome(hello);
  ASSERT_FALSE(welcome);
  EXPECT_EQ(welcome.error().kind, ErrorKind::Malformed);
}

TEST(Handshake, LimitsKeepTheirBounds) {
  const Limits limits{.longest_test = std::chrono::milliseconds(1500),
                      .streams = 3,
                      .rate_bits_per_s = 1e9,
                      .buffer_bytes = 4096};
  const Json said = json::to_json(limits);
  EXPECT_EQ(said.dump(), R"({"longest_test_s":1.5,"streams":3,"rate_bits_per_s":1000000000.0,)"
                         R"("buffer_bytes":4096})");
  const auto heard = json::from_json<Limits>(said, "limits");
  ASSERT_TRUE(heard);
  EXPECT_EQ(heard->longest_test, limits.longest_test);
  EXPECT_EQ(heard->rate_bits_per_s, limits.rate_bits_per_s);
  for (const auto& [name, value] : {std::pair<const char*, Json>{"longest_test_s", -1},
                                    {"longest_test_s", 1e10},
                                    {"streams", 0},
                                    {"rate_bits_per_s", "x"},
                                    {"buffer_bytes", -1},
                                    {"buffer_bytes", nullptr}}) {
    Json wrong = said;
    wrong[name] = value;
    EXPECT_FALSE(json::from_json<Limits>(wrong, "limits")) << name << value;
  }
}

TEST(Handshake, AnAttachmentThatMakesNoSenseIsMalformed) {
  for (const auto& [name, value] : {std::pair<const char*, Json>{"session", std::string(33, '0')},
                                    {"index", -1},
                                    {"index", 1'000'001},
                                    {"mac", "00"},
                                    {"mac", nullptr}}) {
    Message message = attach("s", key(1), 5, 3);
    message.body[name] = value;
    EXPECT_FALSE(read_attach(message)) << name << value;
  }
}

TEST(Handshake, AnAttachmentProvesItsSessionAndItsNumber) {
  const Result<Attachment> read = read_attach(attach("s", key(1), 5, 3));
  ASSERT_TRUE(read);
  EXPECT_TRUE(proves(*read, key(1), 5));
  EXPECT_FALSE(proves(*read, key(2), 5));
  EXPECT_FALSE(proves(*read, key(1), 6)) << "of the session's next test";
  Attachment other = *read;
  other.index = 4;
  EXPECT_FALSE(proves(other, key(1), 5));
}

}  // namespace
}  // namespace chokepoint::control
