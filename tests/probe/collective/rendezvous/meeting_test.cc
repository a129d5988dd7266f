#include "probe/collective/rendezvous/meeting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <future>

#include "base/control/client.h"
#include "base/net/socket.h"
#include "probe/collective/rendezvous/member.h"

namespace chokepoint::probe::collective {
namespace {

using control::Json;
using control::Message;
using control::Type;
using net::Deadline;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;

constexpr seconds kSoon{20};

class MeetingTest : public testing::Test {
 protected:
  static constexpr int kRanks = 3;

  void open(std::optional<control::Secret> key = std::nullopt) {
    auto meeting = Meeting::open({.own = {"chokepoint 1", "hubble"}, .key = key, .loopback = true},
                                 hub_, clock_);
    ASSERT_TRUE(meeting) << describe(meeting.error());
    meeting_ = std::move(*meeting);
  }

  MemberOptions options(int rank) const {
    return {.meeting = {"127.0.0.1", meeting_->port()},
            .ports = 1,
            .who = {.job = "j",
                    .rank = rank,
                    .ranks = kRanks,
                    .host = "voyager",
                    .program = "chokepoint 1"},
            .timeout = seconds(5)};
  }

  std::vector<std::unique_ptr<Member>> all_join() const {
    std::vector<std::future<Result<std::unique_ptr<Member>>>> coming;
    for (int rank = 0; rank < kRanks; ++rank) {
      coming.push_back(
          std::async(std::launch::async, [this, rank] { return Member::join(options(rank)); }));
    }
    std::vector<std::unique_ptr<Member>> members;
    for (auto& each : coming) {
      Result<std::unique_ptr<Member>> member = each.get();
      EXPECT_TRUE(member) << describe(member.error());
      members.push_back(member ? std::move(*member) : nullptr);
    }
    return members;
  }

  Result<control::Client> stranger() const {
    return control::Client::connect(
        {.peer = {"127.0.0.1", meeting_->port()}, .own = {"somebody", "else"}},
        Deadline::of(kSoon));
  }

  sys::Descriptor raw() const {
    return std::move(net::connect({net::Address::parse("127.0.0.1").value(), meeting_->port()}, {},
                                  Deadline::of(kSoon))
                         .value());
  }

  sys::SystemClock clock_;
  Hub hub_{"j", kRanks};
  std::unique_ptr<Meeting> meeting_;
};

TEST_F(MeetingTest, RanksTellEachOtherBytes) {
  open();
  const auto members = all_join();
  std::string bytes;
  for (int i = 0; i < 256; ++i) {
    bytes += static_cast<char>(i);
  }
  auto waiting = std::async(std::launch::async, [&] { return members[2]->get("key"); });
  ASSERT_TRUE(members[0]->set("key", bytes));
  EXPECT_EQ(waiting.get().value(), bytes);
  EXPECT_EQ(members[1]->take("key").value(), bytes);
  for (const auto& member : members) {
    member->bye();
  }
  EXPECT_TRUE(hub_.await_gone(Hub::Clock::now() + kSoon, {}));
  EXPECT_EQ(hub_.failure(), std::nullopt);
}

TEST_F(MeetingTest, WhoFailsIsToldToAllOthers) {
  open();
  const auto members = all_join();
  auto first = std::async(std::launch::async, [&] { return members[0]->get("never"); });
  auto second = std::async(std::launch::async, [&] { return members[1]->take("never"); });
  members[2]->fail({.kind = ErrorKind::NotFound,
                    .operation = "open",
                    .subject = "eth7",
                    .reason = "there is no such interface"});
  for (auto* waiting : {&first, &second}) {
    const Result<std::string> got = waiting->get();
    ASSERT_FALSE(got);
    EXPECT_THAT(describe(got.error()), AllOf(HasSubstr("rank 2 on voyager: "),
                                             HasSubstr("open: eth7: there is no such interface")));
  }
}

TEST_F(MeetingTest, WhoVanishesIsToldToAllOthers) {
  open();
  auto members = all_join();
  auto waiting = std::async(std::launch::async, [&] { return members[0]->get("never"); });
  members[1].reset();
  EXPECT_THAT(describe(waiting.get().error()),
              AllOf(HasSubstr("rank 1 on voyager: "), HasSubstr("ended without a word")));
}

TEST_F(MeetingTest, WhatDoesNotComeInTimeIsNoFailureOfTheGroup) {
  open();
  const auto members = all_join();
  const Result<std::string> got = hub_.get("never", Hub::Clock::now(), {});
  ASSERT_FALSE(got);
  EXPECT_EQ(hub_.failure(), std::nullopt);
  ASSERT_TRUE(members[0]->set("key", "value"));
  EXPECT_EQ(members[1]->get("key").value(), "value");
}

TEST_F(MeetingTest, TheNextPortIsTriedWhereAnotherJobMeets) {
  open();
  Hub other("another", kRanks);
  const auto elsewhere = Meeting::open({.own = {"chokepoint 1", "hubble"},
                                        .key = {},
                                        .loopback = true,
                                        .first_port = meeting_->port()},
                                       other, clock_);
  ASSERT_TRUE(elsewhere) << describe(elsewhere.error());
  EXPECT_GT((*elsewhere)->port(), meeting_->port()) << "the first one is taken";
  MemberOptions wanted = options(0);
  wanted.ports = kPorts;
  wanted.who.job = "another";
  auto coming = std::async(std::launch::async, [&] { return Member::join(wanted); });
  while (other.members().empty() &&
         coming.wait_for(milliseconds(10)) != std::future_status::ready) {
  }
  EXPECT_EQ(other.members().size(), 1U);
  other.finish();
  EXPECT_FALSE(coming.get());
}

TEST_F(MeetingTest, TheNextPortIsTriedWhereOthersHaveAnotherKeyOrNone) {
  using Key = std::optional<control::Secret>;
  const Key own = control::random_secret();
  for (const auto& [theirs, mine] : {std::pair(own, Key()), std::pair(Key(), own),
                                     std::pair(Key(control::random_secret()), own)}) {
    Hub first("j", kRanks);
    Hub second("j", kRanks);
    MeetingOptions opened{.own = {"chokepoint 1", "hubble"}, .key = theirs, .loopback = true};
    const auto there = Meeting::open(opened, first, clock_);
    ASSERT_TRUE(there) << describe(there.error());
    opened.key = mine;
    opened.first_port = (*there)->port();
    const auto beside = Meeting::open(opened, second, clock_);
    ASSERT_TRUE(beside) << describe(beside.error());
    MemberOptions wanted{.meeting = {"127.0.0.1", (*there)->port()},
                         .ports = kPorts,
                         .key = mine,
                         .who = {.job = "j", .ranks = kRanks, .program = "chokepoint 1"},
                         .timeout = seconds(5)};
    auto coming = std::async(std::launch::async, [&] { return Member::join(wanted); });
    while (second.members().empty() &&
           coming.wait_for(milliseconds(10)) != std::future_status::ready) {
    }
    EXPECT_EQ(second.members().size(), 1U);
    second.finish();
    EXPECT_FALSE(coming.get());
  }
}

TEST_F(MeetingTest, AWrongKeyIsToldWhereNobodyElseIs) {
  open(control::random_secret());
  MemberOptions wanted = options(0);
  wanted.ports = kPorts;
  wanted.timeout = seconds(1);
  const auto joined = Member::join(wanted);
  ASSERT_FALSE(joined);
  EXPECT_THAT(describe(joined.error()), HasSubstr("key"));
}

TEST_F(MeetingTest, NobodyThereIsToldWithThePorts) {
  open();
  MemberOptions wanted = options(0);
  wanted.ports = 4;
  wanted.timeout = seconds(1);
  meeting_.reset();
  const auto joined = Member::join(wanted);
  ASSERT_FALSE(joined);
  EXPECT_EQ(joined.error().kind, ErrorKind::Timeout);
  EXPECT_THAT(describe(joined.error()), HasSubstr("127.0.0.1 ports"));
  EXPECT_THAT(describe(joined.error()), HasSubstr("connection refused"));
}

TEST_F(MeetingTest, WhoseStarterIsGoneDoesNotWait) {
  open();
  MemberOptions wanted = options(0);
  wanted.timeout = seconds(200);
  meeting_.reset();
  EXPECT_EQ(Member::join(wanted).error().kind, ErrorKind::Refused);
}

TEST_F(MeetingTest, WithoutTheKeyNobodyComesIn) {
  const control::Secret key = control::random_secret();
  open(key);
  EXPECT_EQ(Member::join(options(0)).error().kind, ErrorKind::Permission);
  MemberOptions wrong = options(0);
  wrong.key = control::random_secret();
  EXPECT_EQ(Member::join(wrong).error().kind, ErrorKind::Permission);
  EXPECT_TRUE(hub_.members().empty());
}

TEST_F(MeetingTest, StrangersDoNoHarm) {
  open();
  std::vector<sys::Descriptor> silent;
  for (int i = 0; i < 50; ++i) {
    silent.push_back(raw());
  }
  const sys::Descriptor noisy = raw();
  const std::string noise(100'000, '\xa5');
  std::ignore = net::send_all(noisy.get(), std::as_bytes(std::span(noise)),
                              Deadline::of(milliseconds(100)), "meeting");
  // Let in, but no rank: it asks for nonsense, or for the place of a rank that is not its own.
  Result<control::Client> client = stranger();
  ASSERT_TRUE(client);
  const auto nobody_waits = [](const std::string&) {};
  EXPECT_FALSE(client->request("tcp", Json::object(), Deadline::of(kSoon), nobody_waits));
  EXPECT_FALSE(client->request("rank", Json::object(), Deadline::of(kSoon), nobody_waits));
  Json huge = body_of(JoiningRank{.job = "j", .rank = 1, .ranks = kRanks});
  huge["host"] = std::string(10'000, 'x');
  EXPECT_FALSE(client->request("rank", huge, Deadline::of(kSoon), nobody_waits));
  Json odd = body_of(JoiningRank{.job = "j", .rank = 7, .ranks = kRanks});
  EXPECT_FALSE(client->request("rank", odd, Deadline::of(kSoon), nobody_waits));

  const auto members = all_join();
  EXPECT_FALSE(client->request("rank", body_of(JoiningRank{.job = "j", .rank = 1, .ranks = kRanks}),
                               Deadline::of(kSoon), nobody_waits))
      << "its place is taken";
  ASSERT_TRUE(members[0]->set("key", "value"));
  EXPECT_EQ(members[1]->get("key").value(), "value");
}

TEST_F(MeetingTest, ARankThatTalksNonsenseFails) {
  open();
  Hub& hub = hub_;
  auto first = std::async(std::launch::async, [&] { return Member::join(options(0)); });
  auto second = std::async(std::launch::async, [&] { return Member::join(options(1)); });
  Result<control::Client> client = stranger();
  ASSERT_TRUE(client);
  JoiningRank third = options(2).who;
  ASSERT_TRUE(
      client->request("rank", body_of(third), Deadline::of(kSoon), [](const std::string&) {}));
  const auto a = first.get();
  const auto b = second.get();
  ASSERT_TRUE(a && b);
  ASSERT_TRUE(client->channel().send({Type::Report, {{"key", "k"}, {"value", "xyz"}}},
                                     Deadline::of(kSoon)));
  EXPECT_FALSE((*a)->get("never"));
  EXPECT_THAT(describe(*hub.failure()), HasSubstr("rank 2 on voyager"));
}

TEST_F(MeetingTest, ItsEndIsSeenWithoutReading) {
  open();
  const auto members = all_join();
  pollfd watched{members[1]->descriptor(), POLLRDHUP, 0};
  EXPECT_EQ(::poll(&watched, 1, 0), 0);
  hub_.fail({.rank = 0,
             .error = {.kind = ErrorKind::Io, .operation = "", .subject = "", .reason = "lost"}});
  EXPECT_EQ(::poll(&watched, 1, 10'000), 1);
}

}  // namespace
}  // namespace chokepoint::probe::collective
