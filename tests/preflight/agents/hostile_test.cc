// Agents that lie, dawdle or break off, over all sources of preflight/agents.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/preflight/agents/leader.h"
#include "tests/preflight/crowd/crowd.h"

namespace chokepoint::preflight {
namespace {

using crowd::Behaviour;
using crowd::Crowd;
using crowd::CrowdOptions;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::HasSubstr;

struct Case {
  Behaviour behaviour = Behaviour::Good;
  Presence presence = Presence::Strange;
  std::string says = {};
};

std::vector<Case> cases() {
  return {{Behaviour::Silent, Presence::Strange, "it accepted the connection but sent nothing"},
          {Behaviour::Closes, Presence::Strange, "closed it without a word"},
          {Behaviour::Http, Presence::Strange, "does another program listen"},
          {Behaviour::Garbage, Presence::Strange, "does another program listen"},
          {Behaviour::HugeLength, Presence::Strange, "at most 4096"},
          {Behaviour::HalfFrame, Presence::Strange, "it accepted the connection but sent nothing"},
          {Behaviour::WrongFraming, Presence::Strange, "framing 9 is not known"},
          {Behaviour::DeepWelcome, Presence::Strange, "nested deeper than 64"},
          {Behaviour::OtherVersion, Presence::Strange, "the server speaks version 3"},
          {Behaviour::OldVersion, Presence::Strange, "same version of chokepoint"},
          {Behaviour::Impostor, Presence::Refused, "key"},
          {Behaviour::Busy, Presence::Refused, "another preflight is on"},
          {Behaviour::NoSuchService, Presence::Strange, "same version of chokepoint"},
          {Behaviour::NeverReady, Presence::Lost, "no longer answers"},
          {Behaviour::QueuesForEver, Presence::Refused, "many are ahead"},
          {Behaviour::StrangeFacts, Presence::Strange, "same version of chokepoint"},
          {Behaviour::Hidden, Presence::Lost, "closed the connection"},
          {Behaviour::NeverAnswers, Presence::Lost, "no longer answers"},
          {Behaviour::NeverReads, Presence::Lost, "no longer answers"},
          {Behaviour::Dies, Presence::Lost, "does 'chokepoint serve' still run there?"},
          {Behaviour::HalfAnswer, Presence::Lost, "no longer answers"},
          {Behaviour::WrongTask, Presence::Strange, "what it had not been asked"},
          {Behaviour::AnswersTwice, Presence::Strange, "what it had not been asked"},
          {Behaviour::Unasked, Presence::Strange, "what it had not been asked"},
          {Behaviour::DeepAnswer, Presence::Strange, "nested deeper than 64"},
          {Behaviour::LargeAnswer, Presence::Strange, "at most"},
          {Behaviour::NoObject, Presence::Strange, "no JSON object"},
          {Behaviour::InvalidText, Presence::Strange, "no JSON object"},
          {Behaviour::NeitherNor, Presence::Strange, "neither a document nor an error"},
          {Behaviour::ErrorOfWrongType, Presence::Strange, "neither a document nor an error"},
          {Behaviour::WrongMessage, Presence::Strange, "a result came"},
          {Behaviour::Floods, Presence::Strange, "what it had not been asked"}};
}

// A hostile agent is waited for so long each time; a good one answers at once, if its machine lets
// it.
AgentPoolOptions options_for(const Crowd& crowd, milliseconds deadline) {
  AgentPoolOptions options = patient(crowd.hosts());
  options.handshake = deadline;
  options.getting_ready = deadline;
  options.beyond_task = milliseconds(0);
  options.longest = [deadline](const Task&) { return deadline; };
  options.giving_up = deadline / 2;
  return options;
}

class Hostile : public testing::TestWithParam<Case> {};

TEST_P(Hostile, IsAloneInIt) {
  const Result<std::unique_ptr<Crowd>> crowd =
      Crowd::start({.hosts = 3, .behaviours = {{1, GetParam().behaviour}}});
  ASSERT_TRUE(crowd);
  const Story story = lead(options_for(**crowd, milliseconds(2500)), 5, seconds(60));
  EXPECT_EQ(story.all_answered(5), (std::set<HostIndex>{0, 2}));
  ASSERT_EQ(story.went.size(), 1U);
  ASSERT_TRUE(story.went.contains(1));
  EXPECT_EQ(story.went.at(1).presence, GetParam().presence);
  EXPECT_THAT(describe(story.went.at(1).error), HasSubstr(GetParam().says));
}

INSTANTIATE_TEST_SUITE_P(Ways, Hostile, testing::ValuesIn(cases()), [](const auto& each) {
  std::string name(name_of(each.param.behaviour));
  std::erase(name, '-');
  return name;
});

TEST(Hostile, EveryWayIsTried) {
  std::set<Behaviour> tried{Behaviour::Good, Behaviour::ByteByByte, Behaviour::UglyWords};
  for (const Case& each : cases()) {
    tried.insert(each.behaviour);
  }
  EXPECT_EQ(tried.size(), static_cast<std::size_t>(Behaviour::Last));
}

TEST(Hostile, AByteAtATimeIsStillAnAgent) {
  const auto crowd = Crowd::start({.hosts = 2, .behaviours = {{0, Behaviour::ByteByByte}}});
  ASSERT_TRUE(crowd);
  const Story story = lead(patient((*crowd)->hosts()), 1, seconds(60));
  EXPECT_EQ(story.all_answered(1), (std::set<HostIndex>{0, 1}));
}

TEST(Hostile, UglyWordsArriveAsTheyAre) {
  const auto crowd = Crowd::start({.hosts = 1, .behaviours = {{0, Behaviour::UglyWords}}});
  ASSERT_TRUE(crowd);
  const Story story = lead(patient((*crowd)->hosts()), 1, seconds(20));
  ASSERT_TRUE(story.came.contains(0));
  EXPECT_EQ(story.came.at(0).program, crowd::ugly_words());
  ASSERT_EQ(story.answers.at(0).size(), 1U);
  ASSERT_FALSE(story.answers.at(0)[0]);
  EXPECT_EQ(story.answers.at(0)[0].error().reason, crowd::ugly_words());
}

void among(HostIndex hosts, int times) {
  CrowdOptions options{.hosts = hosts};
  std::map<HostIndex, Presence> wanted;
  HostIndex host = 3;
  while (host < hosts) {
    for (const Case& each : cases()) {
      if (host < hosts) {
        options.behaviours[host] = each.behaviour;
        wanted[host] = each.presence;
      }
      host += 7;
    }
  }
  const auto crowd = Crowd::start(std::move(options));
  ASSERT_TRUE(crowd);
  const Story story = lead(options_for(**crowd, milliseconds(10'000)), times, seconds(200));
  EXPECT_EQ(story.all_answered(static_cast<std::size_t>(times)).size(), hosts - wanted.size());
  ASSERT_EQ(story.went.size(), wanted.size());
  for (const auto& [each, presence] : wanted) {
    ASSERT_TRUE(story.went.contains(each));
    EXPECT_EQ(story.went.at(each).presence, presence) << each;
  }
}

TEST(Hostile, SomeAmongAHundred) { among(100, 5); }
TEST(Hostile, SomeAmongAThousand) { among(1000, 5); }

}  // namespace
}  // namespace chokepoint::preflight
