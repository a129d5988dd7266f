#include "base/documents/document.h"

#include <gtest/gtest.h>

#include "base/documents/collective.h"
#include "base/documents/doctor.h"
#include "base/documents/pcie.h"
#include "base/documents/probe_path.h"
#include "base/documents/probe_paths.h"
#include "base/documents/probe_processor.h"
#include "base/documents/probe_storage.h"
#include "base/documents/rdma.h"
#include "tests/fakes/printed.h"

namespace chokepoint::documents {
namespace {

template <class T>
class EveryDocument : public testing::Test {};
using Documents = testing::Types<Collective, Doctor, Pcie, ProbePath, ProbePaths, ProbeProcessor,
                                 ProbeStorage, Rdma>;
TYPED_TEST_SUITE(EveryDocument, Documents);

// read_partial_text() stands on it.
TYPED_TEST(EveryDocument, IsReadWhereNothingWasMeasured) {
  const auto read_in = read<TypeParam>(fakes::printed(TypeParam{}));
  ASSERT_TRUE(read_in) << describe(read_in.error());
  EXPECT_EQ(json::to_json(*read_in), json::to_json(TypeParam{}));
}

TYPED_TEST(EveryDocument, IsNoneOfAnotherSchema) {
  Json other = fakes::printed(TypeParam{});
  other["schema"] = "chokepoint.other/1";
  EXPECT_FALSE(read<TypeParam>(other));
  EXPECT_FALSE(read_partial_text<TypeParam>(other.dump()));
}

TEST(PartialDocument, HasWhatItSaysAndNothingElse) {
  const auto read_in = read_partial_text<Rdma>(
      R"({"schema":"chokepoint.rdma/1","device":"mlx5_0","average_mbps":7,"peer":{"port":1}})");
  ASSERT_TRUE(read_in) << describe(read_in.error());
  EXPECT_EQ(read_in->device, "mlx5_0");
  EXPECT_EQ(read_in->figures.average_mbps, 7);
  EXPECT_EQ(read_in->peer.port, 1);
  EXPECT_FALSE(read_in->figures.peak_mbps);
  EXPECT_FALSE(read_text<Rdma>(R"({"schema":"chokepoint.rdma/1","device":"mlx5_0"})"));
  EXPECT_FALSE(read_partial_text<Rdma>(R"({"schema":"chokepoint.rdma/1","device":7})"));
}

TEST(StorageDocument, SaysWhereItsFilesLie) {
  const ProbeStorage measured{.mount = host::Mount{.point = "/data", .type = "nfs4"},
                              .disk = host::Disk{.name = "sda"}};
  const Json said = json::to_json(measured);
  EXPECT_EQ(said["mount"].dump(),
            R"({"point":"/data","type":"nfs4","source":"","remote":true,"in_memory":false})");
  EXPECT_EQ(said["disk"].dump(), R"({"name":"sda","model":null,"rotational":null})");
  EXPECT_EQ(json::to_json(*read<ProbeStorage>(fakes::printed(measured))), said);
}

TEST(PathDocument, AWayThatWasNotTracedSaysWhy) {
  PathFamily family;
  family.forward = {.trace = PathTrace{.length = 2}, .hops = PathHops{{.ttl = 1}, {.ttl = 2}}};
  family.reverse = {.why_not = "no serve"};
  family.symmetry.symmetric = false;
  const ProbePath measured{.families = {.ipv4 = family}};
  const auto read_in = read<ProbePath>(fakes::printed(measured));
  ASSERT_TRUE(read_in) << describe(read_in.error());
  EXPECT_EQ(json::to_json(*read_in), json::to_json(measured));
  EXPECT_FALSE(read_in->families.ipv4.reverse.trace);
  EXPECT_EQ(read_in->families.ipv4.symmetry.symmetric, false);
}

}  // namespace
}  // namespace chokepoint::documents
