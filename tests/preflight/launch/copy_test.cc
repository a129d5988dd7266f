#include "preflight/launch/copy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

#include "tests/preflight/launch/fake_hosts.h"

namespace chokepoint::preflight {
namespace {

namespace fs = std::filesystem;
using made::FakeHosts;
using testing::HasSubstr;
using testing::StartsWith;

TEST(Copy, IsNamedByVersionAndContent) {
  const FakeHosts hosts;
  const fs::path own = hosts.installation();
  const std::string before = Copy::of_installation(own, "1.2").value().name();
  EXPECT_THAT(before, StartsWith("1.2-"));
  EXPECT_EQ(Copy::of_installation(own, "1.2").value().name(), before);
  made::program(own.parent_path().parent_path() / "lib/libfoo.so.1", "another");
  EXPECT_NE(Copy::of_installation(own, "1.2").value().name(), before);
}

TEST(Copy, OfWhatIsInstalledAmongOthersIsNone) {
  const FakeHosts hosts;
  hosts.add("usr", made::kAgent);
  EXPECT_THAT(describe(Copy::of_installation(hosts.at("usr/bin/chokepoint"), "1").error()),
              HasSubstr("--tarball FILE"));
  const fs::path own = hosts.installation();
  made::program(own.parent_path() / "another", "");
  EXPECT_FALSE(Copy::of_installation(own, "1"));
}

TEST(Copy, EachReaderBeginsAtTheBeginning) {
  const FakeHosts hosts;
  Copy copy = Copy::of_installation(hosts.installation(), "1").value();
  for (int i = 0; i < 2; ++i) {
    const sys::Descriptor tarball = copy.open().value();
    std::array<unsigned char, 2> magic{};
    ASSERT_EQ(read(tarball.get(), magic.data(), magic.size()), 2);
    EXPECT_EQ(magic, (std::array<unsigned char, 2>{0x1f, 0x8b}));  // gzip's
  }
}

TEST(Copy, OfAFileThatIsNotThereIsNone) {
  EXPECT_THAT(describe(Copy::of_file("/nowhere/x.tar.gz", "1").error()),
              HasSubstr("/nowhere/x.tar.gz"));
}

}  // namespace
}  // namespace chokepoint::preflight
