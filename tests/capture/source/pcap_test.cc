#include "capture/source/pcap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "capture/source/file_source.h"
#include "tests/capture/source/bytes.h"
#include "tests/capture/source/reading.h"

namespace chokepoint::capture::source {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Bytes file_head(std::uint32_t magic = kPcapMicroseconds, std::endian order = std::endian::little,
                std::uint32_t link_type = 1) {
  Bytes bytes(order);
  bytes.u32(magic).u16(2).u16(4).u32(0).u32(0).u32(96).u32(link_type);
  return bytes;
}

void add_packet(Bytes& bytes, std::uint32_t seconds, std::uint32_t fraction,
                std::string_view content, std::uint32_t length) {
  bytes.u32(seconds).u32(fraction).u32(static_cast<std::uint32_t>(content.size())).u32(length);
  bytes.text(content);
}

Reading read_pcap(std::span<const std::uint8_t> bytes, std::size_t step = SIZE_MAX) {
  auto source = file_source(std::make_unique<MemoryStream>(bytes, step), "some/a.pcap");
  return source ? read_all(**source) : Reading{.error = describe(source.error())};
}

TEST(PcapFile, UnitsAndByteOrdersAreToldByTheMagic) {
  for (const std::endian order : {std::endian::little, std::endian::big}) {
    Bytes micro = file_head(kPcapMicroseconds, order);
    add_packet(micro, 10, 7, "hello", 1500);
    EXPECT_THAT(
        read_pcap(micro.all()).frames,
        ElementsAre(ReadFrame{.time_ns = 10'000'007'000, .bytes = "hello", .frame_bytes = 1500}));
    Bytes nano = file_head(kPcapNanoseconds, order);
    add_packet(nano, 4'000'000'000, 999'999'999, "", 60);
    EXPECT_THAT(read_pcap(nano.all()).frames,
                ElementsAre(ReadFrame{.time_ns = 4'000'000'000'999'999'999, .frame_bytes = 60}));
  }
}

TEST(PcapFile, TheModifiedKindHasLongerPacketHeads) {
  Bytes bytes = file_head(kPcapModified);
  bytes.u32(1).u32(2).u32(3).u32(60).zeros(8).text("abc");
  EXPECT_THAT(read_pcap(bytes.all()).frames,
              ElementsAre(ReadFrame{.time_ns = 1'000'002'000, .bytes = "abc", .frame_bytes = 60}));
}

TEST(PcapFile, TheHeadTellsOfTheInterface) {
  const Bytes bytes = file_head(kPcapNanoseconds, std::endian::big, 0x5400'0071);
  auto source = file_source(std::make_unique<MemoryStream>(bytes.all()), "some/a.pcap");
  ASSERT_TRUE(source);
  const Interface& interface = (*source)->interfaces().at(0);
  EXPECT_EQ(interface.name, "a.pcap");
  EXPECT_EQ(interface.link_type, packet::LinkType::LinuxCooked);
  EXPECT_EQ(interface.snapshot_bytes, 96u);
}

TEST(PcapFile, RawIpOfOtherSystemsIsRawIp) {
  for (const std::uint32_t number : {12u, 14u, 101u}) {
    Bytes bytes = file_head(kPcapMicroseconds, std::endian::little, number);
    add_packet(bytes, 0, 0, "E", 1);
    EXPECT_EQ(read_pcap(bytes.all()).frames.at(0).link_type, packet::LinkType::Raw) << number;
  }
}

TEST(PcapFile, CutAnywhereItGivesThePacketsBeforeTheCutAndSaysSo) {
  Bytes bytes = file_head();
  std::vector<std::size_t> ends{bytes.all().size()};
  for (const std::string_view content : {"one", "", "three"}) {
    add_packet(bytes, 1, 1, content, 60);
    ends.push_back(bytes.all().size());
  }
  for (std::size_t cut = kPcapFileHeadBytes; cut <= bytes.all().size(); ++cut) {
    const Reading reading = read_pcap(std::span(bytes.all()).first(cut));
    const auto whole = static_cast<std::size_t>(std::ranges::upper_bound(ends, cut) - ends.begin());
    EXPECT_EQ(reading.frames.size(), whole - 1) << cut;
    EXPECT_EQ(reading.remarks.empty(), ends.at(whole - 1) == cut) << cut;
  }
  EXPECT_THAT(read_pcap(std::span(bytes.all()).first(ends.back() - 1)).remarks,
              ElementsAre("some/a.pcap ends inside a packet, after 2 packets"));
}

TEST(PcapFile, PacketsMayArriveInPiecesOfAnySize) {
  Bytes bytes = file_head();
  for (std::uint32_t i = 0; i < 50; ++i) {
    add_packet(bytes, i, i, std::string(i, 'x'), 60);
  }
  const Reading whole = read_pcap(bytes.all());
  ASSERT_EQ(whole.frames.size(), 50u);
  for (const std::size_t step : {1u, 7u, 24u, 100u}) {
    EXPECT_EQ(read_pcap(bytes.all(), step).frames, whole.frames) << step;
  }
}

TEST(PcapFile, ABatchIsBoundedInFramesAndLosesNone) {
  Bytes bytes = file_head();
  constexpr std::uint32_t kPackets = 3 * kBatchFrames + 5;
  for (std::uint32_t i = 0; i < kPackets; ++i) {
    add_packet(bytes, i, 0, "", 60);
  }
  auto source = file_source(std::make_unique<MemoryStream>(bytes.all()), "a");
  ASSERT_TRUE(source);
  Batch batch;
  std::uint32_t packets = 0;
  while ((*source)->read(batch).value() == Progress::More) {
    ASSERT_LE(batch.frames.size(), kBatchFrames);
    for (const packet::Frame& frame : batch.frames) {
      ASSERT_EQ(frame.time_ns, std::int64_t{packets} * 1'000'000'000);
      ++packets;
    }
  }
  EXPECT_EQ(packets, kPackets);
}

TEST(PcapFile, APacketLargerThanABatchIsWhole) {
  Bytes bytes = file_head();
  add_packet(bytes, 1, 0, "first", 5);
  add_packet(bytes, 2, 0, std::string(3 * kBatchBytes, 'x'), 3 * kBatchBytes);
  add_packet(bytes, 3, 0, "last", 4);
  const Reading reading = read_pcap(bytes.all());
  ASSERT_EQ(reading.frames.size(), 3u);
  EXPECT_EQ(reading.frames[1].bytes, std::string(3 * kBatchBytes, 'x'));
  EXPECT_EQ(reading.frames[2].bytes, "last");
  EXPECT_THAT(reading.remarks, IsEmpty());
}

TEST(PcapFile, AHostileLengthEndsTheFileWithoutMemoryForIt) {
  Bytes bytes = file_head();
  add_packet(bytes, 1, 0, "good", 60);
  bytes.u32(1).u32(1).u32(0xffff'ffff).u32(0xffff'ffff).text("more");
  auto source = file_source(std::make_unique<MemoryStream>(bytes.all()), "a.pcap");
  ASSERT_TRUE(source);
  const Reading reading = read_all(**source);
  EXPECT_EQ(reading.frames.size(), 1u);
  EXPECT_THAT(
      reading.remarks,
      ElementsAre("a.pcap is damaged: claims a packet of 4294967295 bytes, after 1 packet"));
}

TEST(PcapFile, AFrameIsNeverShorterThanWhatWasCaptured) {
  Bytes bytes = file_head();
  add_packet(bytes, 1, 0, "hello", 0);
  EXPECT_EQ(read_pcap(bytes.all()).frames.at(0).frame_bytes, 5u);
}

TEST(PcapFile, WhatIsNoneIsSaidInOneLine) {
  EXPECT_THAT(read_pcap(Bytes().all()).error,
              HasSubstr("open capture: some/a.pcap: the file is empty; "));
  const std::string text(100, 'x');
  EXPECT_THAT(read_pcap(Bytes().text(text).all()).error, HasSubstr("neither pcap nor pcapng; "));
  EXPECT_THAT(read_pcap(std::span(file_head().all()).first(23)).error, HasSubstr("neither"));
}

}  // namespace
}  // namespace chokepoint::capture::source
