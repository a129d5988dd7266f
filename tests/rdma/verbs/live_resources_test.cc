// Everything that was made is given back.
#include <cstdio>
#include <memory>

#include "tests/rdma/verbs/live_fixture.h"

namespace chokepoint::rdma::verbs {
namespace {

using LiveResources = KernelTest;

// What the kernel holds for all processes: "rxe0: pd 1 cq 0 qp 1 …".
std::string held() {
  const std::unique_ptr<FILE, int (*)(FILE*)> told(popen("rdma resource show", "r"), pclose);
  std::string text;
  for (int next = std::fgetc(told.get()); next != EOF; next = std::fgetc(told.get())) {
    text += static_cast<char>(next);
  }
  return text;
}

TEST_F(LiveResources, NothingIsLeftOfAnEndpointAndItsMemory) {
  const std::string before = held();
  ASSERT_NE(before.find(name_), std::string::npos) << "needs the program rdma: " << before;
  {
    EndpointOptions wanted = options(Transport::Ud);
    wanted.queues = 4;
    wanted.events = true;
    const Ends ends = connected_ends(wanted, path());
    const Piece memory = piece(4096);
    EXPECT_NE(held(), before);
  }
  EXPECT_EQ(held(), before);
}

TEST_F(LiveResources, NothingIsLeftOfAnEndpointThatCouldNotBeOpened) {
  const std::string before = held();
  EndpointOptions wanted = options();
  wanted.queues = 2;
  wanted.inline_bytes = 1 << 20;
  EXPECT_FALSE(device().open_endpoint(wanted));
  EXPECT_EQ(held(), before);
}

TEST_F(LiveResources, NothingIsLeftWhereRequestsWereUnderWay) {
  const std::string before = held();
  {
    Piece from = piece(1 << 20);
    Piece to = piece(1 << 20);
    const Ends ends = connected_ends();
    const std::vector<SendRequest> ring(16, to_remote(Operation::Write, from, to, 1 << 20));
    ASSERT_TRUE(ends.source->lay_out_sends(0, ring));
    ASSERT_EQ(ends.source->post_sends(0, 0, 16, true), 0);
  }
  EXPECT_EQ(held(), before);
}

}  // namespace
}  // namespace chokepoint::rdma::verbs
