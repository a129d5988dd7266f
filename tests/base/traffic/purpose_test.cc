#include "base/traffic/purpose.h"

#include <gtest/gtest.h>

namespace chokepoint::traffic {
namespace {

TEST(Purpose, FollowsFromTheProtocol) {
  EXPECT_EQ(purpose_of({.content = Content::Gloo, .ports = {443, 50'000}}), Purpose::Collectives);
  EXPECT_EQ(purpose_of({.content = Content::Nfs}), Purpose::Storage);
  EXPECT_EQ(purpose_of({.content = Content::TensorPipe}), Purpose::Rpc);
}

TEST(Purpose, OfHttpDependsOnWhoSpeaksIt) {
  EXPECT_EQ(purpose_of({.content = Content::Http}), Purpose::Storage);
  EXPECT_EQ(purpose_of({.content = Content::Http, .is_between_ranks = true}), Purpose::Weights);
  EXPECT_EQ(purpose_of({.content = Content::Tls}), Purpose::Storage);
  EXPECT_EQ(purpose_of({.content = Content::Tls, .is_between_ranks = true}), Purpose::Unknown);
}

TEST(Purpose, IsTheServersWhereTheBeginningWasNotSeen) {
  EXPECT_EQ(purpose_of({.ports = {50'000, 2049}}), Purpose::Storage);
  EXPECT_EQ(purpose_of({.ports = {29'500, 50'000}}), Purpose::Rendezvous);
  EXPECT_EQ(purpose_of({.ports = {50'000, 40'000}}), Purpose::Unknown);
  EXPECT_EQ(purpose_of({.ports = {50'000, 40'000}, .is_at_meeting_port = true}),
            Purpose::Rendezvous);
}

TEST(Purpose, OfEtcdIsThatOfItsPort) {
  EXPECT_EQ(purpose_of({.content = Content::Http2, .ports = {50'000, 2379}}), Purpose::Rendezvous);
  EXPECT_EQ(purpose_of({.content = Content::Http2, .ports = {50'000, 50'051}}), Purpose::Rpc);
}

TEST(Purpose, OfRdmaIsCollectivesAmongRanks) {
  EXPECT_EQ(purpose_of({.is_tcp = false, .is_between_ranks = true}), Purpose::Collectives);
  EXPECT_EQ(purpose_of({.is_tcp = false}), Purpose::Unknown);
}

}  // namespace
}  // namespace chokepoint::traffic
