#include "capture/gloo/message.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>

#include "base/record/samples.h"
#include "capture/gloo/collectives.h"
#include "tests/capture/gloo/made_header.h"

namespace chokepoint::capture::gloo {
namespace {

TEST(GlooHeader, IsTakenForSendAndReceiveWithABareTag) {
  Header header;
  header.message_bytes = kHeaderBytes + 8;
  header.opcode = 1;
  header.slot = 77;
  header.length = 8;
  EXPECT_TRUE(is_plausible(header));
  header.slot = std::uint64_t{1} << 31;
  EXPECT_FALSE(is_plausible(header));
}

TEST(GlooHeader, IsRefusedForEachFieldThatGlooWouldNotWrite) {
  const Header good = header_of(Kind::AllReduce, 1, Opcode::UnboundBuffer, 4'096);
  ASSERT_TRUE(is_plausible(good));
  const auto refused = [&](auto change) {
    Header header = good;
    change(header);
    return !is_plausible(header);
  };
  EXPECT_TRUE(refused([](Header& header) { header.message_bytes += 1; }));
  EXPECT_TRUE(refused([](Header& header) { header.opcode = 4; }));
  EXPECT_TRUE(refused([](Header& header) { header.opcode = 2; })) << "ready, with a payload";
  EXPECT_TRUE(refused([](Header& header) { header.slot |= std::uint64_t{9} << 56; }));
  EXPECT_TRUE(refused([](Header& header) { header.slot |= 0x100; }));
  EXPECT_TRUE(refused([](Header& header) { header.offset = 8; }));
  EXPECT_TRUE(refused([](Header& header) { header.remote_offset = 8; }));
  EXPECT_TRUE(refused([](Header& header) {
    header.length = kMaxPayloadBytes + 1;
    header.message_bytes = header.length + kHeaderBytes;
  }));
}

TEST(GlooHeader, WithoutAPrefixIsNoReasonToFollowAStreamFromItsMiddle) {
  Bytes bytes;
  Header header = header_of(Kind::Unknown, 0, Opcode::SendReady, 8);
  append(bytes, header);
  EXPECT_TRUE(looks_like_gloo(0, bytes));
  EXPECT_FALSE(looks_like_gloo(1'448, bytes));
}

TEST(GlooKind, HasTheNameThatTheRecordHasForIt) {
  EXPECT_EQ(kind_in_record(Kind::AllReduce, true), record::CollectiveKind::AllReduce);
  EXPECT_EQ(kind_in_record(Kind::Barrier, true), record::CollectiveKind::Barrier);
  EXPECT_EQ(kind_in_record(Kind::PointToPoint, true), record::CollectiveKind::Send);
  EXPECT_EQ(kind_in_record(Kind::PointToPoint, false), record::CollectiveKind::Receive);
  EXPECT_EQ(kind_in_record(Kind::Unknown, true), record::CollectiveKind::Unknown);
}

// Floats as in gradients, random words, small integers, zeros: none is ever a header.
TEST(GlooHeader, IsNotSeenInTensors) {
  std::mt19937_64 random(1);
  std::normal_distribution<float> gradient(0, 0.01F);
  Bytes noise(1 << 18);
  Bytes floats(1 << 18);
  Bytes integers(1 << 18);
  for (std::size_t at = 0; at < noise.size(); at += 8) {
    const std::uint64_t word = random();
    const std::uint64_t small = random() % 64;
    const std::array<float, 2> pair = {gradient(random), gradient(random)};
    std::memcpy(&noise[at], &word, 8);
    std::memcpy(&integers[at], &small, 8);
    std::memcpy(&floats[at], pair.data(), 8);
  }
  for (const Bytes& bytes : {noise, floats, integers, Bytes(1 << 18)}) {
    for (std::size_t at = 0; at + kSnapshot <= bytes.size(); ++at) {
      ASSERT_FALSE(looks_like_gloo(1'448, std::span(bytes).subspan(at, kSnapshot))) << at;
    }
  }
}

}  // namespace
}  // namespace chokepoint::capture::gloo
