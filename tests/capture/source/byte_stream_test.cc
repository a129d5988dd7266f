#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <fstream>
#include <thread>

#include "capture/source/file_source.h"
#include "capture/source/pcap.h"
#include "capture/source/pcapng.h"
#include "tests/capture/source/bytes.h"
#include "tests/capture/source/folder.h"
#include "tests/capture/source/reading.h"

namespace chokepoint::capture::source {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint32_t kPackedPackets = 20'000;

std::vector<std::uint8_t> capture() {
  Bytes bytes;
  bytes.u32(kPcapNanoseconds).u16(2).u16(4).zeros(8).u32(96).u32(1);
  for (std::uint32_t i = 0; i < kPackedPackets; ++i) {
    bytes.u32(i).u32(i * 7919).u32(8).u32(60).u64(i * 0x9e3779b97f4a7c15U);
  }
  return bytes.all();
}

std::vector<std::uint8_t> gzipped(const std::vector<std::uint8_t>& bytes) {
  z_stream state{};
  deflateInit2(&state, 1, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::vector<std::uint8_t> packed(deflateBound(&state, bytes.size()));
  std::vector<std::uint8_t> input = bytes;
  state.next_in = input.data();
  state.avail_in = static_cast<uInt>(input.size());
  state.next_out = packed.data();
  state.avail_out = static_cast<uInt>(packed.size());
  deflate(&state, Z_FINISH);
  packed.resize(state.total_out);
  deflateEnd(&state);
  return packed;
}

std::vector<std::uint8_t> zstd_packed(const std::vector<std::uint8_t>& bytes) {
  std::vector<std::uint8_t> packed(ZSTD_compressBound(bytes.size()));
  ZSTD_CCtx* state = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(state, ZSTD_c_checksumFlag, 1);
  packed.resize(ZSTD_compress2(state, packed.data(), packed.size(), bytes.data(), bytes.size()));
  ZSTD_freeCCtx(state);
  return packed;
}

using Pack = std::vector<std::uint8_t> (*)(const std::vector<std::uint8_t>&);

class PackedFile : public testing::TestWithParam<Pack> {
 protected:
  Reading read(const std::vector<std::uint8_t>& bytes) {
    const std::string path = folder_.at("packed");
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    auto source = open_file(path);
    return source ? read_all(**source) : Reading{.error = describe(source.error())};
  }

  Folder folder_;
};

TEST_P(PackedFile, IsReadWhole) {
  const Reading reading = read(GetParam()(capture()));
  EXPECT_EQ(reading.frames.size(), kPackedPackets);
  EXPECT_EQ(reading.frames.back().time_ns, 19'999'158'372'081);
  EXPECT_THAT(reading.remarks, IsEmpty());
}

TEST_P(PackedFile, PiecesPutTogetherAreOneFile) {
  std::vector<std::uint8_t> bytes = capture();
  const std::vector<std::uint8_t> rest(bytes.begin() + 10'000, bytes.end());
  bytes.resize(10'000);
  std::vector<std::uint8_t> packed = GetParam()(bytes);
  const auto more = GetParam()(rest);
  packed.insert(packed.end(), more.begin(), more.end());
  const Reading reading = read(packed);
  EXPECT_EQ(reading.frames.size(), kPackedPackets);
  EXPECT_THAT(reading.remarks, IsEmpty());
}

TEST_P(PackedFile, CutOffItGivesWhatCanBeUnpackedAndSaysSo) {
  std::vector<std::uint8_t> packed = GetParam()(capture());
  packed.resize(packed.size() - 2);
  const Reading reading = read(packed);
  EXPECT_GT(reading.frames.size(), kPackedPackets / 2);
  EXPECT_THAT(reading.remarks, ElementsAre(HasSubstr("data is cut off, after ")));
}

TEST_P(PackedFile, DamagedItSaysSo) {
  std::vector<std::uint8_t> packed = GetParam()(capture());
  std::fill(packed.end() - 30'000, packed.end() - 29'000, 0xff);
  EXPECT_THAT(read(packed).remarks, ElementsAre(HasSubstr("damaged")));
}

TEST_P(PackedFile, CutOffBeforeTheFirstPacketItIsAnError) {
  std::vector<std::uint8_t> packed = GetParam()(capture());
  packed.resize(12);
  EXPECT_THAT(read(packed).error, HasSubstr("data is cut off"));
}

TEST_P(PackedFile, SomethingElseInsideIsNoCapture) {
  EXPECT_THAT(read(GetParam()(std::vector<std::uint8_t>(5000, 'x'))).error,
              HasSubstr("neither pcap nor pcapng"));
}

INSTANTIATE_TEST_SUITE_P(Kinds, PackedFile, testing::Values(&gzipped, &zstd_packed),
                         [](const auto& kind) { return kind.index == 0 ? "Gzip" : "Zstd"; });

TEST(OpenFile, ErrorsAreTheSystems) {
  const auto missing = open_file("/no/such/file.pcap");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::NotFound);
  const auto folder = open_file("/");
  ASSERT_FALSE(folder);
  EXPECT_THAT(describe(folder.error()), HasSubstr("/: "));
}

// Takes the place of standard input while it lives.
class StandardInput {
 public:
  explicit StandardInput(int descriptor) : before_(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)) {
    dup2(descriptor, STDIN_FILENO);
  }
  StandardInput(const StandardInput&) = delete;
  StandardInput& operator=(const StandardInput&) = delete;
  ~StandardInput() { dup2(before_.get(), STDIN_FILENO); }

 private:
  sys::Descriptor before_;
};

TEST(OpenFile, ADashIsStandardInputAsItComes) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const sys::Descriptor from(ends[0]);
  sys::Descriptor into(ends[1]);
  const StandardInput input(from.get());
  const std::vector<std::uint8_t> bytes = capture();
  ASSERT_EQ(write(into.get(), bytes.data(), 1000), 1000);
  auto source = open_file("-");
  ASSERT_TRUE(source);
  Batch batch;
  ASSERT_EQ((*source)->read(batch).value(), Progress::More);
  while (batch.frames.empty()) {
    ASSERT_EQ((*source)->read(batch).value(), Progress::More) << "the rest has not come yet";
  }
  const std::size_t first = batch.frames.size();
  std::jthread rest([&] {
    EXPECT_GT(write(into.get(), bytes.data() + 1000, bytes.size() - 1000), 0);
    into.reset();
  });
  const Reading reading = read_all(**source);
  EXPECT_EQ(first + reading.frames.size(), kPackedPackets);
  EXPECT_EQ((*source)->interfaces().at(0).name, "standard input");
}

}  // namespace
}  // namespace chokepoint::capture::source
