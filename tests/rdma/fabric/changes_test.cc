#include "rdma/fabric/changes.h"

#include <gmock/gmock.h>

namespace chokepoint::rdma::fabric {
namespace {

using control::Json;

Json sound() {
  return body_of({.subject = "mlx5_0/1",
                  .netdev = "eth0",
                  .grown = {{"sent_bytes", UINT64_MAX}},
                  .still = {"packet_seq_err"},
                  .lost = {"cnp_sent"}});
}

TEST(Changes, TravelWhole) {
  const Result<Changes> read = changes_in(sound());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->subject, "mlx5_0/1");
  EXPECT_EQ(read->netdev, "eth0");
  EXPECT_EQ(read->of("sent_bytes"), UINT64_MAX);
  EXPECT_EQ(read->of("packet_seq_err"), 0U);
  EXPECT_EQ(read->of("cnp_sent"), std::nullopt);
}

TEST(Changes, OfAHostilePeerAreRefused) {
  const auto refused = [](const char* key, Json value) {
    Json body = sound();
    body[key] = std::move(value);
    return !changes_in(body);
  };
  EXPECT_TRUE(refused("subject", 5));
  EXPECT_TRUE(refused("subject", std::string(65, 'x')));
  EXPECT_TRUE(refused("grown", Json::array()));
  EXPECT_TRUE(refused("grown", {{"sent_bytes", -1}}));
  EXPECT_TRUE(refused("grown", {{"sent_bytes", 0.5}}));
  EXPECT_TRUE(refused("grown", {{"\x1b[2J", 1}}));
  EXPECT_TRUE(refused("still", {{"a", 1}}));
  EXPECT_TRUE(refused("still", Json::array({std::string(65, 'x')})));
  EXPECT_TRUE(refused("lost", Json::array({"line\nend"})));
  EXPECT_TRUE(refused("lost", nullptr));
  EXPECT_FALSE(changes_in(Json::array()));
}

}  // namespace
}  // namespace chokepoint::rdma::fabric
