// Two connections that hand each other packets in memory, by a clock of the test's own.
#include "probe/quic/connection.h"

#include <gmock/gmock.h>

#include <array>
#include <deque>

#include "probe/quic/socket.h"

namespace chokepoint::probe::quic {
namespace {

using testing::HasSubstr;

constexpr Tuning kTuning{
    .congestion = documents::QuicCongestion::Cubic, .window_bytes = 1 << 20, .streams = 2};

constexpr std::int64_t kRoundTripNs = 1'000'000;

Ends ends(std::uint16_t local, std::uint16_t peer) {
  const net::Address address = net::Address::parse("10.0.0.1").value();
  return ends_of({.address = address, .port = local}, {.address = address, .port = peer});
}

class Pair : public testing::Test {
 protected:
  void SetUp() override {
    if (!can_quic()) {
      GTEST_SKIP() << "this build has no QUIC library";
    }
    identity_ = Identity::make().value();
  }

  void connect(const Fingerprint& certificate, const Ticket* ticket = nullptr) {
    server_.reset();
    client_ =
        Connection::connect({.certificate = certificate}, ends(1, 2), kTuning, ticket, now_ns_)
            .value();
  }

  // All packets that one end has to send now.
  static std::deque<std::vector<std::byte>> packets_of(Connection& connection,
                                                       std::int64_t now_ns) {
    std::deque<std::vector<std::byte>> packets;
    std::array<std::byte, 2000> room{};
    while (true) {
      const Result<Written> written = connection.write(room, now_ns);
      if (!written || written->bytes == 0) {
        connection.sent(now_ns);
        return packets;
      }
      packets.emplace_back(room.begin(), room.begin() + static_cast<long>(written->bytes));
    }
  }

  Result<> deliver(const std::vector<std::byte>& packet) {
    if (!server_) {
      TRY(server_, Connection::accept(*identity_, ends(2, 1), kTuning, packet, nullptr, now_ns_));
    }
    return server_->read(packet, 0, now_ns_);
  }

  // Rounds of both ends, until `reached`. The first error of either end.
  template <class Reached>
  Result<> exchange_until(Reached reached) {
    for (int i = 0; i < 2000 && !reached(); ++i) {
      for (const auto& packet : packets_of(*client_, now_ns_)) {
        if (drop_every_ == 0 || ++packets_ % drop_every_ != 0) {
          TRY(deliver(packet));
        }
      }
      now_ns_ += kRoundTripNs;
      if (server_) {
        for (const auto& packet : packets_of(*server_, now_ns_)) {
          TRY(client_->read(packet, 0, now_ns_));
        }
      }
      TRY(expire());
    }
    return {};
  }

  Result<> expire() {
    for (Connection* each : {client_.get(), server_.get()}) {
      if (each != nullptr && each->expiry_ns() <= now_ns_) {
        TRY(each->expire(now_ns_));
      }
    }
    return {};
  }

  bool are_ready() const { return client_->is_ready() && server_ && server_->is_ready(); }

  std::unique_ptr<Identity> identity_;
  std::unique_ptr<Connection> client_;
  std::unique_ptr<Connection> server_;
  std::int64_t now_ns_ = 1'000'000'000;
  int drop_every_ = 0;
  int packets_ = 0;
};

TEST_F(Pair, EachStreamArrivesWholeAlsoWhereTheWindowIsSmallerThanTheData) {
  connect(identity_->fingerprint());
  ASSERT_TRUE(exchange_until([&] { return are_ready(); }));
  ASSERT_TRUE(client_->open_streams(2));
  ASSERT_TRUE(exchange_until([&] { return server_->received_bytes() > 5'000'000; }));
  client_->finish();
  ASSERT_TRUE(exchange_until([&] { return client_->counts().sent_whole == 2; }));
  EXPECT_EQ(server_->counts().received_whole, 2);
  EXPECT_EQ(server_->received_bytes(), client_->counts().sent_bytes);
  EXPECT_EQ(client_->counts().lost_packets, 0U);
  ASSERT_EQ(server_->received_by_stream().size(), 2U);
  EXPECT_GT(server_->received_by_stream()[0], 1'000'000U);
  EXPECT_GT(server_->received_by_stream()[1], 1'000'000U);
  EXPECT_EQ(client_->statistics().min_rtt_ns, kRoundTripNs);
}

TEST_F(Pair, LostPacketsAreCountedAndTheirDataArrives) {
  connect(identity_->fingerprint());
  ASSERT_TRUE(exchange_until([&] { return are_ready(); }));
  drop_every_ = 50;
  ASSERT_TRUE(client_->open_streams(1));
  ASSERT_TRUE(exchange_until([&] { return server_->received_bytes() > 500'000; }));
  client_->finish();
  ASSERT_TRUE(exchange_until([&] { return client_->counts().sent_whole == 1; }));
  EXPECT_EQ(server_->received_bytes(), client_->counts().sent_bytes);
  EXPECT_GT(client_->counts().lost_packets, 3U);
}

TEST_F(Pair, AnotherCertificateThanAnnouncedIsRefused) {
  Fingerprint other = identity_->fingerprint();
  other[0] ^= 1;
  connect(other);
  const Result<> exchanged = exchange_until([&] { return are_ready(); });
  ASSERT_FALSE(exchanged);
  EXPECT_THAT(describe(exchanged.error()), HasSubstr("certificate is not the one"));
  EXPECT_FALSE(client_->is_ready());
}

TEST_F(Pair, AResumedConnectionHasItsAnswerAfterOneRoundTrip) {
  connect(identity_->fingerprint());
  ASSERT_TRUE(
      exchange_until([&] { return client_->is_answered() && client_->ticket().has_value(); }));
  EXPECT_FALSE(client_->has_used_early_data());
  const Ticket ticket = *client_->ticket();
  connect(identity_->fingerprint(), &ticket);
  const std::int64_t start = now_ns_;
  ASSERT_TRUE(exchange_until([&] { return client_->is_answered(); }));
  EXPECT_EQ(now_ns_ - start, kRoundTripNs);
  ASSERT_TRUE(exchange_until([&] { return are_ready(); }));
  EXPECT_TRUE(client_->has_used_early_data());
}

TEST_F(Pair, ATicketOfAnotherServerStillConnects) {
  connect(identity_->fingerprint());
  ASSERT_TRUE(exchange_until([&] { return client_->ticket().has_value(); }));
  const Ticket ticket = *client_->ticket();
  identity_ = Identity::make().value();
  connect(identity_->fingerprint(), &ticket);
  ASSERT_TRUE(exchange_until([&] { return client_->is_answered(); }));
  EXPECT_FALSE(client_->has_used_early_data());
}

TEST_F(Pair, NoMoreLeavesThanThePaceAllows) {
  connect(identity_->fingerprint());
  ASSERT_TRUE(exchange_until([&] { return are_ready(); }));
  client_->allow(100'000);
  ASSERT_TRUE(client_->open_streams(1));
  ASSERT_TRUE(exchange_until([&] { return server_->received_bytes() >= 100'000; }));
  EXPECT_LT(server_->received_bytes(), 120'000U);
  std::array<std::byte, 2000> room{};
  Wait wait = Wait::Idle;
  for (int i = 0; i < 20 && wait != Wait::Asked; ++i) {
    wait = client_->write(room, now_ns_)->wait;
  }
  EXPECT_EQ(wait, Wait::Asked);
}

TEST_F(Pair, SilenceIsAnErrorOfItsOwn) {
  connect(identity_->fingerprint());
  std::ignore = packets_of(*client_, now_ns_);
  now_ns_ += 6'000'000'000;
  const Result<> expired = client_->expire(now_ns_);
  ASSERT_FALSE(expired);
  EXPECT_EQ(expired.error().kind, ErrorKind::Timeout);
}

TEST_F(Pair, OnlyAPacketThatOpensAConnectionIsForAnother) {
  connect(identity_->fingerprint());
  const auto first = packets_of(*client_, now_ns_).front();
  ASSERT_TRUE(deliver(first));
  EXPECT_FALSE(server_->is_for_another(first));
  connect(identity_->fingerprint());
  const auto other = packets_of(*client_, now_ns_).front();
  ASSERT_TRUE(deliver(first));
  EXPECT_TRUE(server_->is_for_another(other));
  EXPECT_FALSE(server_->is_for_another(std::vector<std::byte>(1200, std::byte{0x40})));
  EXPECT_FALSE(server_->is_for_another({}));
}

TEST_F(Pair, PacketsOfNonsenseOpenNothingAndBreakNothing) {
  const std::vector<std::byte> nonsense(1200, std::byte{0xc0});
  EXPECT_FALSE(Connection::accept(*identity_, ends(2, 1), kTuning, nonsense, nullptr, now_ns_));
  connect(identity_->fingerprint());
  ASSERT_TRUE(exchange_until([&] { return are_ready(); }));
  for (unsigned first = 0; first < 256; ++first) {
    std::vector<std::byte> packet(100, static_cast<std::byte>(first * 7));
    packet[0] = static_cast<std::byte>(first);
    EXPECT_TRUE(server_->read(packet, 0, now_ns_)) << first;
  }
  ASSERT_TRUE(client_->open_streams(1));
  ASSERT_TRUE(exchange_until([&] { return server_->received_bytes() > 0; }));
}

}  // namespace
}  // namespace chokepoint::probe::quic
