#include "base/control/handshake.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <thread>

#include "base/json/codec.h"
#include "base/sys/descriptor.h"
#include "tests/fakes/temporary_file.h"

namespace chokepoint::control {
namespace {

using testing::HasSubstr;

Result<Secret> key_in(const std::string& content, mode_t mode = 0600) {
  const fakes::TemporaryFile file(content);
  chmod(file.path().c_str(), mode);
  return read_key(file.path());
}

TEST(Key, WhiteSpaceAroundItIsNoPartOfIt) {
  EXPECT_EQ(key_in("0123456789abcdef").value(), key_in("  0123456789abcdef\n").value());
  EXPECT_NE(key_in("0123456789abcdef").value(), key_in("0123456789abcdeg").value());
}

TEST(Key, WhatEverybodyCanReadIsNoSecret) {
  const auto key = key_in("0123456789abcdef", 0644);
  ASSERT_FALSE(key);
  EXPECT_THAT(key.error().next_step, HasSubstr("chmod 600"));
}

TEST(Key, AShortOneIsRefusedWithTheCommandThatMakesAGoodOne) {
  const auto key = key_in("secret");
  ASSERT_FALSE(key);
  EXPECT_THAT(key.error().next_step, HasSubstr("/dev/urandom"));
}

TEST(Key, ItsTextIsWhatAChildIsHanded) {
  const fakes::TemporaryFile file(" 0123456789 abcdef\n");
  EXPECT_EQ(read_key_text(file.path()).value(), "0123456789 abcdef");
  EXPECT_EQ(secret_of("0123456789 abcdef"), read_key(file.path()).value());
}

// Standard input, for as long as it lives.
class Input {
 public:
  explicit Input(int fd) : before_(dup(STDIN_FILENO)) { dup2(fd, STDIN_FILENO); }
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;
  ~Input() {
    dup2(before_, STDIN_FILENO);
    close(before_);
  }

 private:
  int before_;
};

TEST(Key, ComesThroughStandardInputPieceByPiece) {
  std::array<int, 2> fds{};
  ASSERT_EQ(pipe(fds.data()), 0);
  const Input input(fds[0]);
  std::thread writer([&] {
    for (const std::string_view piece : {"01234567", "89abcdef\n"}) {
      EXPECT_EQ(write(fds[1], piece.data(), piece.size()), std::ssize(piece));
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    close(fds[1]);
  });
  EXPECT_EQ(read_key(std::string(kStandardInput)).value(), secret_of("0123456789abcdef"));
  // Who connects again has it still.
  EXPECT_EQ(read_key(std::string(kStandardInput)).value(), secret_of("0123456789abcdef"));
  writer.join();
  close(fds[0]);
}

TEST(Key, OneTooLongIsRefusedBeforeItsEnd) {
  std::array<int, 2> fds{};
  ASSERT_EQ(pipe(fds.data()), 0);
  const Input input(fds[0]);
  const std::string much(5000, 'k');
  ASSERT_EQ(write(fds[1], much.data(), much.size()), std::ssize(much));
  EXPECT_EQ(read_key(std::string(kStandardInput)).error().kind, ErrorKind::Usage);
  close(fds[0]);
  close(fds[1]);
}

TEST(Key, AFileBehindStandardInputIsLookedAtAsAnyOther) {
  const fakes::TemporaryFile file("0123456789abcdef");
  const sys::Descriptor fd(open(file.path().c_str(), O_RDONLY | O_CLOEXEC));
  const Input input(fd.get());
  ASSERT_EQ(chmod(file.path().c_str(), 0644), 0);
  EXPECT_THAT(read_key(std::string(kStandardInput)).error().reason, HasSubstr("all users"));
  ASSERT_EQ(chmod(file.path().c_str(), 0600), 0);
  EXPECT_TRUE(read_key(std::string(kStandardInput)));
  EXPECT_TRUE(read_key(std::string(kStandardInput)));
}

TEST(Key, AMissingFileIsNamed) {
  EXPECT_THAT(describe(read_key("/no/such/key").error()), HasSubstr("/no/such/key"));
}

TEST(Key, PartsDoNotRunIntoEachOther) {
  const Secret secret = random_secret();
  EXPECT_NE(mac_of(secret, {"ab", "c"}), mac_of(secret, {"a", "bc"}));
  EXPECT_EQ(mac_of(secret, {"ab", "c"}), mac_of(secret, {"ab", "c"}));
}

TEST(Key, HexadecimalOfTheRightLengthOnly) {
  const Secret secret = random_secret();
  EXPECT_EQ(from_hex(to_hex(secret)), secret);
  for (const std::string& text : {std::string(), std::string(63, 'a'), std::string(64, 'g')}) {
    EXPECT_EQ(from_hex(text), std::nullopt) << text;
  }
}

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

// What is said passes through `tamper` on its way, as it would pass through a host in between.
template <class Tamper>
Met meet(ClientHandshake& client, ServerHandshake& server, Tamper tamper) {
  const Result<Message> welcome = server.welcome(tamper(client.hello()));
  if (!welcome) {
    return {std::unexpected(welcome.error()), std::unexpected(welcome.error())};
  }
  const Result<Message> proof = client.proof(tamper(*welcome));
  if (!proof) {
    return {std::unexpected(proof.error()), std::unexpected(proof.error())};
  }
  const Result<> let_in = server.check(tamper(*proof));
  return {let_in, client.admitted(tamper(server.admit(random_id(), "10.0.0.2", Limits{})))};
}

Met meet(ClientHandshake& client, ServerHandshake& server) {
  return meet(client, server, [](Message message) { return message; });
}

TEST(Handshake, WithoutAKeyBothKnowEachOtherByName) {
  ClientHandshake client(voyager, std::nullopt);
  ServerHandshake server(hubble, std::nullopt);
  const Met met = meet(client, server);
  ASSERT_TRUE(met.let_in && met.admittance);
  EXPECT_EQ(met.admittance->server.host, "hubble");
  EXPECT_EQ(server.client().host, "voyager");
  EXPECT_EQ(met.admittance->seen_as, "10.0.0.2");
  EXPECT_EQ(met.admittance->secret, server.secret());
}

TEST(Handshake, WithTheSameKeyBothDeriveTheSameSecretAndNeverSayIt) {
  ClientHandshake client(voyager, key(7));
  ServerHandshake server(hubble, key(7));
  std::string heard;
  const Met met = meet(client, server, [&](Message message) {
    heard += message.body.dump();
    return message;
  });
  ASSERT_TRUE(met.let_in && met.admittance);
  EXPECT_EQ(met.admittance->secret, server.secret());
  EXPECT_THAT(heard, Not(HasSubstr(to_hex(server.secret()))));
}

TEST(Handshake, AWrongKeyIsRefused) {
  ClientHandshake client(voyager, key(7));
  ServerHandshake server(hubble, key(8));
  const Met met = meet(client, server);
  ASSERT_FALSE(met.let_in);
  EXPECT_EQ(met.let_in.error().kind, ErrorKind::Permission);
  ASSERT_FALSE(met.admittance) << "a server without the key cannot pretend";
}

TEST(Handshake, AKeyThatOnlyOneSideHasIsSaidSo) {
  ClientHandshake without(voyager, std::nullopt);
  ServerHandshake keyed(hubble, key(8));
  EXPECT_THAT(meet(without, keyed).admittance.error().next_step, HasSubstr("--key-file"));
  ClientHandshake with(voyager, key(8));
  ServerHandshake open(hubble, std::nullopt);
  EXPECT_THAT(meet(with, open).admittance.error().reason, HasSubstr("has no key"));
}

TEST(Handshake, AReplayedProofIsWorthNothing) {
  ClientHandshake client(voyager, key(7));
  ServerHandshake first(hubble, key(7));
  const Message hello = client.hello();
  const Message proof = client.proof(*first.welcome(hello)).value();
  ASSERT_TRUE(first.check(proof));
  ServerHandshake second(hubble, key(7));
  ASSERT_TRUE(second.welcome(hello)) << "the same words again";
  EXPECT_FALSE(second.check(proof));
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
  ServerHandshake server(hubble, std::nullopt);
  Message hello = ClientHandshake(voyager, std::nullopt).hello();
  hello.body["oldest"] = 2;
  hello.body["newest"] = 3;
  const Result<Message> welcome = server.welcome(hello);
  ASSERT_FALSE(welcome);
  EXPECT_EQ(welcome.error().kind, ErrorKind::Newer);
  EXPECT_THAT(welcome.error().reason, HasSubstr("versions 2 to 3"));
}

TEST(Handshake, AServerFromTheFutureIsSaidToBeOne) {
  ClientHandshake client(voyager, std::nullopt);
  ServerHandshake server(hubble, std::nullopt);
  const Met met = meet(client, server, [](Message message) {
    if (message.type == Type::Welcome) {
      message.body["version"] = 2;
    }
    return message;
  });
  ASSERT_FALSE(met.admittance);
  EXPECT_EQ(met.admittance.error().kind, ErrorKind::Newer);
  EXPECT_THAT(met.admittance.error().reason, HasSubstr("the server speaks version 2"));
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
        Lie{Type::Welcome, "nonce", Json::value_t::discarded}, Lie{Type::Proof, "mac", "00"},
        Lie{Type::Admitted, "session", std::string(33, '0')}, Lie{Type::Admitted, "secret", "00"},
        Lie{Type::Admitted, "secret", nullptr}, Lie{Type::Admitted, "seen_as", long_name},
        Lie{Type::Admitted, "limits", Json::array()},
        Lie{Type::Admitted, "limits", Json::value_t::discarded}}) {
    ClientHandshake client(voyager, std::nullopt);
    ServerHandshake server(hubble, std::nullopt);
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
  hello.body["oldest"] = 3;
  hello.body["newest"] = 2;
  const Result<Message> welcome = ServerHandshake(hubble, std::nullopt).welcome(hello);
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
    Message message = attach("s", key(1), 3);
    message.body[name] = value;
    EXPECT_FALSE(read_attach(message)) << name << value;
  }
}

TEST(Handshake, AnAttachmentProvesItsSessionAndItsNumber) {
  const Result<Attachment> read = read_attach(attach("s", key(1), 3));
  ASSERT_TRUE(read);
  EXPECT_TRUE(proves(*read, key(1)));
  EXPECT_FALSE(proves(*read, key(2)));
  Attachment other = *read;
  other.index = 4;
  EXPECT_FALSE(proves(other, key(1)));
}

}  // namespace
}  // namespace chokepoint::control
