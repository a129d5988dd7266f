#include "rdma/verbs/api.h"

#include <gmock/gmock.h>

#include "rdma/verbs/device.h"

namespace chokepoint::rdma::verbs {
namespace {

using testing::HasSubstr;

TEST(Api, ALibraryThatIsMissingNamesThePackage) {
  const auto opened = open_api("libibverbs-not-here.so.1");
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind, ErrorKind::NotFound);
  EXPECT_THAT(describe(opened.error()), HasSubstr("apt install libibverbs1 ibverbs-providers"));
}

TEST(Api, ALibraryThatLacksAFunctionIsTooOld) {
  const auto opened = open_api("libc.so.6");
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().kind, ErrorKind::Unsupported);
  EXPECT_THAT(describe(opened.error()), HasSubstr("it has no ibv_get_device_list: too old"));
}

TEST(CmApi, ALibraryThatIsMissingNamesThePackage) {
  const auto opened = open_cm_api("librdmacm-not-here.so.1");
  ASSERT_FALSE(opened);
  EXPECT_THAT(describe(opened.error()), HasSubstr("apt install librdmacm1"));
}

TEST(Api, ADeviceThatIsNotThereIsAnErrorWithANextStep) {
  const auto opened = live_library()->open("no-such-device");
  ASSERT_FALSE(opened);
  EXPECT_FALSE(opened.error().next_step.empty());
}

}  // namespace
}  // namespace chokepoint::rdma::verbs
