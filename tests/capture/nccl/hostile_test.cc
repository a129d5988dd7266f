// A folder in which anybody may put anything.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <fstream>
#include <random>

#include "base/record/opening.h"
#include "capture/nccl/reader.h"
#include "tests/capture/nccl/made_entries.h"
#include "tests/capture/nccl/ring_writer.h"

namespace chokepoint::capture::nccl {
namespace {

namespace fs = std::filesystem;

class HostileFolder : public testing::Test {
 protected:
  void read() {
    Reader reader(
        folder_.path(), [this](const record::Collective& row) { keep(row); },
        [](std::uint64_t, std::uint64_t) { return std::optional<Reader::Owner>(); });
    reader.tick(100 * kSecond);
    reader.tick(103 * kSecond);
    reader.finish(104 * kSecond);
    figures_ = reader.figures();
  }
  void keep(const record::Collective& row) {
    ++rows_;
    EXPECT_LE(row.start_ns, row.end_ns);
    EXPECT_GE(row.start_ns, -(std::int64_t{1} << 62));
    EXPECT_LE(row.communicator.value_or(0), 1 << 23);
    EXPECT_GE(row.bytes.value_or(0), 0);
    EXPECT_GE(row.gpu_wait_ns.value_or(0), 0);
  }

  record::PrivateFolder folder_ = std::move(*record::PrivateFolder::make());
  std::size_t rows_ = 0;
  Figures figures_;
};

TEST_F(HostileFolder, WhatIsNoFileOfRingsIsLetLie) {
  std::ofstream(folder_.path() / "empty.nccl");
  std::ofstream(folder_.path() / "short.nccl") << "CHKPNCCL";
  std::ofstream(folder_.path() / "name\n\x1b[31m.nccl") << std::string(5'000, 'x');
  fs::create_directory(folder_.path() / "folder.nccl");
  fs::create_symlink("/dev/zero", folder_.path() / "link.nccl");
  ASSERT_EQ(::mkfifo((folder_.path() / "pipe.nccl").c_str(), 0600), 0);
  read();
  EXPECT_EQ(rows_, 0U);
  EXPECT_EQ(figures_.processes, 0U);
}

TEST_F(HostileFolder, AFolderThatIsGoneIsAnEmptyOne) {
  fs::remove_all(folder_.path());
  read();
  EXPECT_EQ(rows_, 0U);
}

TEST_F(HostileFolder, AnyWordsMakeSoundRowsOrNone) {
  std::mt19937_64 random(7);
  RingWriter writer(folder_.path() / "1.nccl");
  const auto any = [&]() -> std::uint64_t {
    constexpr std::array<std::uint64_t, 6> kEdges{
        0, 1, ~std::uint64_t{0}, std::uint64_t{1} << 63U, std::uint64_t{1} << 62U, 99 * kSecond};
    return random() % 2 == 0 ? kEdges.at(random() % kEdges.size()) : random() % 16;
  };
  for (int i = 0; i < 20'000; ++i) {
    Ring& ring = writer.file().rings.at(random() % kRings);
    writer.push(random() % kRings, static_cast<Kind>(random() % 10), random() % 3,
                {{1, random() % 500},
                 {2, any()},
                 {3, random() % 13},
                 {4, any()},
                 {5, any()},
                 {6, any()},
                 {7, any()},
                 {8, any()},
                 {9, any()},
                 {10, any()},
                 {11, any()},
                 {12, any()}});
    if (i % 5'000 == 0) {
      ring.written = any();
    }
  }
  read();
  EXPECT_GT(rows_, 0U);
}

}  // namespace
}  // namespace chokepoint::capture::nccl
