#include "rdma/verbs/endpoint.h"

#include <gmock/gmock.h>
#include <infiniband/verbs.h>

namespace chokepoint::rdma::verbs {
namespace {

using testing::HasSubstr;
using testing::Not;

Error explained(ibv_wc_status status, std::uint32_t vendor_error = 0) {
  return explain({.status = static_cast<int>(status), .vendor_error = vendor_error}, "hubble");
}

TEST(Explain, EveryStatusHasWordsAndANextStep) {
  for (int status = IBV_WC_LOC_LEN_ERR; status <= IBV_WC_GENERAL_ERR; ++status) {
    const Error error = explained(static_cast<ibv_wc_status>(status));
    EXPECT_THAT(error.reason, Not(HasSubstr("unknown"))) << status;
    EXPECT_FALSE(error.next_step.empty()) << status;
    EXPECT_EQ(error.subject, "hubble");
  }
}

TEST(Explain, TheKindSaysWhoHasFailed) {
  EXPECT_EQ(explained(IBV_WC_RETRY_EXC_ERR).kind, ErrorKind::Timeout);
  EXPECT_EQ(explained(IBV_WC_RNR_RETRY_EXC_ERR).kind, ErrorKind::Busy);
  EXPECT_EQ(explained(IBV_WC_REM_ACCESS_ERR).kind, ErrorKind::Permission);
}

TEST(Explain, AStatusOfANewerLibraryIsNamedByItsNumber) {
  EXPECT_THAT(explain({.status = 99}, "hubble").reason, HasSubstr("unknown status 99"));
}

TEST(Explain, TheDevicesOwnErrorIsKept) {
  EXPECT_THAT(explained(IBV_WC_RETRY_EXC_ERR, 0x81).reason, HasSubstr("vendor error 0x81"));
  EXPECT_THAT(explained(IBV_WC_RETRY_EXC_ERR).reason, Not(HasSubstr("vendor")));
}

}  // namespace
}  // namespace chokepoint::rdma::verbs
