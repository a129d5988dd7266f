#include "rdma/verbs/types.h"

#include <gtest/gtest.h>

#include "rdma/verbs/queues.h"

namespace chokepoint::rdma::verbs {
namespace {

TEST(Types, ATransportIsFoundByItsName) {
  for (const Transport each : {Transport::Rc, Transport::Uc, Transport::Ud}) {
    EXPECT_EQ(named<Transport>(name_of(each)), each);
  }
  EXPECT_EQ(named<Transport>("XRC"), std::nullopt);
}

TEST(Types, OnlyRcReadsAndCounts) {
  for (const Operation operation :
       {Operation::Read, Operation::FetchAndAdd, Operation::CompareAndSwap}) {
    EXPECT_TRUE(carries(Transport::Rc, operation));
    EXPECT_FALSE(carries(Transport::Uc, operation));
    EXPECT_FALSE(carries(Transport::Ud, operation));
  }
}

TEST(Types, DatagramsOnlySend) {
  EXPECT_TRUE(carries(Transport::Ud, Operation::Send));
  EXPECT_FALSE(carries(Transport::Ud, Operation::Write));
  EXPECT_FALSE(carries(Transport::Ud, Operation::WriteImmediate));
  EXPECT_TRUE(carries(Transport::Uc, Operation::WriteImmediate));
}

TEST(Types, ARequestsNumberHoldsQueueAndPlace) {
  const std::uint64_t number = request_number(1023, 4'000'000'000);
  EXPECT_EQ(queue_of(number), 1023);
  EXPECT_EQ(place_of(number), 4'000'000'000);
}

}  // namespace
}  // namespace chokepoint::rdma::verbs
