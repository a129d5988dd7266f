#include "capture/source/pcapng.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "capture/source/file_source.h"
#include "tests/capture/source/bytes.h"
#include "tests/capture/source/reading.h"
#include "tests/fakes/golden.h"

namespace chokepoint::capture::source {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::StrEq;

void pad(Bytes& bytes) { bytes.zeros((4 - bytes.all().size() % 4) % 4); }

// Writes blocks of one section into a file.
class Section {
 public:
  explicit Section(std::endian order = std::endian::little) : file_(order) {
    Bytes body(order);
    block(BlockType::Section, body.u32(kPcapngByteOrderMagic).u16(1).u16(0).u64(UINT64_MAX));
  }

  Bytes body() const { return Bytes(file_.order()); }
  Section& block(BlockType type, Bytes& body) {
    pad(body);
    const auto length = static_cast<std::uint32_t>(body.all().size() + 12);
    file_.u32(static_cast<std::uint32_t>(type)).u32(length).bytes(body.all()).u32(length);
    return *this;
  }
  Section& interface(const Bytes& options, std::uint16_t link_type = 1, std::uint32_t snap = 0) {
    Bytes described = body();
    described.u16(link_type).u16(0).u32(snap).bytes(options.all());
    return block(BlockType::Interface, described);
  }
  Section& packet(std::uint32_t interface, std::uint64_t ticks, std::string_view content,
                  std::uint32_t length, const Bytes& options = Bytes()) {
    Bytes packet = body();
    packet.u32(interface).u32(static_cast<std::uint32_t>(ticks >> 32));
    packet.u32(static_cast<std::uint32_t>(ticks));
    packet.u32(static_cast<std::uint32_t>(content.size())).u32(length).text(content);
    pad(packet);
    return block(BlockType::Packet, packet.bytes(options.all()));
  }

  std::span<const std::uint8_t> all() const { return file_.all(); }

 private:
  Bytes file_;
};

Bytes option(Bytes options, std::uint16_t code, const Bytes& value) {
  options.u16(code).u16(static_cast<std::uint16_t>(value.all().size())).bytes(value.all());
  pad(options);
  return options;
}

Reading read_pcapng(std::span<const std::uint8_t> bytes, std::size_t step = SIZE_MAX) {
  auto source = file_source(std::make_unique<MemoryStream>(bytes, step), "a.pcapng");
  return source ? read_all(**source) : Reading{.error = describe(source.error())};
}

TEST(PcapngFile, PacketsOfBothByteOrders) {
  for (const std::endian order : {std::endian::little, std::endian::big}) {
    Section section(order);
    section.interface(section.body(), 113, 96).packet(0, 0x1'0000'0001, "hello", 1500);
    EXPECT_THAT(read_pcapng(section.all()).frames,
                ElementsAre(ReadFrame{.time_ns = 0x1'0000'0001 * 1000,
                                      .bytes = "hello",
                                      .frame_bytes = 1500,
                                      .link_type = packet::LinkType::LinuxCooked}));
  }
}

TEST(PcapngFile, EachInterfaceHasItsNameAndUnitOfTime) {
  Section section(std::endian::big);
  const Bytes empty = section.body();
  section.interface(option(option(empty, 2, Bytes().text("eth0")), 9, Bytes().u8(9)));
  section.interface(option(option(empty, 9, Bytes().u8(0x80 | 10)), 2, Bytes().text("eth1")));
  section.interface(option(option(empty, 9, Bytes().u8(0)), 14, section.body().u64(1000)));
  section.packet(0, 5, "", 60).packet(1, 1536, "", 60).packet(2, 7, "", 60);
  auto source = file_source(std::make_unique<MemoryStream>(section.all()), "a.pcapng");
  ASSERT_TRUE(source);
  const Reading reading = read_all(**source);
  ASSERT_EQ(reading.frames.size(), 3u) << testing::PrintToString(reading.remarks);
  EXPECT_EQ(reading.frames[0].time_ns, 5);
  EXPECT_EQ(reading.frames[1].time_ns, 1'500'000'000);
  EXPECT_EQ(reading.frames[2].time_ns, 1'007'000'000'000);
  EXPECT_EQ(reading.frames[2].interface, 2u);
  EXPECT_EQ((*source)->interfaces().at(0).name, "eth0");
  EXPECT_EQ((*source)->interfaces().at(1).name, "eth1");
}

TEST(PcapngFile, SimplePacketsAreAsLongAsTheirInterfaceKeeps) {
  Section section;
  section.interface(section.body(), 1, 4).packet(0, 9, "", 60);
  Bytes simple = section.body();
  section.block(BlockType::SimplePacket, simple.u32(100).text("abcdefgh"));
  EXPECT_EQ(read_pcapng(section.all()).frames.at(1),
            (ReadFrame{.time_ns = 9000, .bytes = "abcd", .frame_bytes = 100}));
}

TEST(PcapngFile, OldPacketsAreReadWithTheirDrops) {
  Section section;
  section.interface(section.body());
  Bytes old = section.body();
  old.u16(0).u16(3).u32(0).u32(9).u32(2).u32(60).text("ab");
  section.block(BlockType::OldPacket, old);
  const Reading reading = read_pcapng(section.all());
  EXPECT_THAT(reading.frames,
              ElementsAre(ReadFrame{.time_ns = 9000, .bytes = "ab", .frame_bytes = 60}));
  ASSERT_EQ(reading.drops.size(), 1u);
  EXPECT_EQ(reading.drops[0].by_kernel, 3u);
}

TEST(PcapngFile, DropsAreWhatTheCountersGrewBy) {
  Section section;
  section.interface(section.body());
  for (const std::uint64_t count : {5u, 5u, 8u}) {
    Bytes statistics = section.body();
    statistics.u32(0).u32(0).u32(static_cast<std::uint32_t>(count));
    const Bytes counters = option(option(section.body(), 5, section.body().u64(count)), 7,
                                  section.body().u64(10 * count));
    section.block(BlockType::Statistics, statistics.bytes(counters.all()));
  }
  section.packet(0, 9, "abc", 60, option(section.body(), 4, section.body().u64(2)));
  const Reading reading = read_pcapng(section.all());
  ASSERT_EQ(reading.drops.size(), 3u);
  EXPECT_EQ(reading.drops[0].by_interface, 5u);
  EXPECT_EQ(reading.drops[0].by_kernel, 50u);
  EXPECT_EQ(reading.drops[1].by_interface, 3u);
  EXPECT_EQ(reading.drops[1].by_kernel, 30u);
  EXPECT_EQ(reading.drops[1].time_ns, 8000);
  EXPECT_EQ(reading.drops[2].by_kernel, 2u);
}

TEST(PcapngFile, SectionsBringTheirOwnInterfacesAndByteOrder) {
  Section one;
  one.interface(one.body()).packet(0, 1, "a", 60);
  Section other(std::endian::big);
  other.interface(other.body(), 101).packet(0, 2, "b", 60);
  Bytes file;
  file.bytes(one.all()).bytes(other.all()).bytes(one.all());
  for (const std::size_t step : {std::size_t{1}, std::size_t{13}, SIZE_MAX}) {
    const Reading reading = read_pcapng(file.all(), step);
    ASSERT_EQ(reading.frames.size(), 3u) << testing::PrintToString(reading.remarks);
    EXPECT_EQ(reading.frames[1].bytes, "b");
    EXPECT_EQ(reading.frames[1].interface, 1u);
    EXPECT_EQ(reading.frames[1].link_type, packet::LinkType::Raw);
    EXPECT_EQ(reading.frames[2].interface, 2u);
  }
}

TEST(PcapngFile, UnknownBlocksArePassedOver) {
  Section section;
  Bytes secret = section.body();
  section.interface(section.body()).block(static_cast<BlockType>(0x80000bad), secret.text("???"));
  EXPECT_EQ(read_pcapng(section.packet(0, 1, "a", 60).all()).frames.size(), 1u);
}

TEST(PcapngFile, CutAnywhereItGivesThePacketsBeforeTheCutAndSaysSo) {
  Section section;
  section.interface(section.body());
  std::vector<std::size_t> ends{section.all().size()};
  for (const std::string_view content : {"one", "", "three"}) {
    ends.push_back(section.packet(0, 1, content, 60).all().size());
  }
  for (std::size_t cut = ends.front(); cut <= ends.back(); ++cut) {
    const Reading reading = read_pcapng(section.all().first(cut));
    const auto whole = static_cast<std::size_t>(std::ranges::upper_bound(ends, cut) - ends.begin());
    EXPECT_EQ(reading.frames.size(), whole - 1) << cut;
    EXPECT_EQ(reading.remarks.empty(), ends.at(whole - 1) == cut) << cut;
  }
}

TEST(PcapngFile, PictureOfDamageAfterWhatWasWhole) {
  Section good;
  good.interface(good.body()).packet(0, 1, "a", 60);
  fakes::Sentences sentences;
  const auto add = [&](const char* what, const Bytes& bytes) {
    const Reading reading =
        read_pcapng(Bytes().bytes(good.all()).bytes(bytes.all()).zeros(64).all());
    EXPECT_EQ(reading.frames.size(), 1u) << what;
    ASSERT_EQ(reading.remarks.size(), 1u) << what;
    sentences.add(what, reading.remarks.front());
  };
  add("a block of 4 GiB", Bytes().u32(6).u32(0xffff'fffc));
  add("a block shorter than its head", Bytes().u32(6).u32(8));
  add("two lengths of a block", Bytes().u32(99).u32(16).u32(0).u32(20));
  add("a packet without a head", Bytes().u32(6).u32(12).u32(12));
  add("a packet larger than its block", Bytes().u32(6).u32(32).zeros(12).u32(1).u32(1).u32(32));
  add("a packet of the second interface", Bytes().u32(6).u32(32).u32(1).zeros(16).u32(32));
  add("a section without a byte order", Bytes().u32(0x0a0d0d0a).u32(28).u32(7));
  add("an interface without a head", Bytes().u32(1).u32(12).u32(12));
  add("statistics without a head", Bytes().u32(5).u32(12).u32(12));
  EXPECT_GOLDEN("sentences_pcapng", sentences.text());
}

TEST(PcapngFile, AFileOfNothingButInterfacesIsBounded) {
  Section section;
  for (std::size_t i = 0; i <= kMaxInterfaces; ++i) {
    section.interface(section.body());
  }
  EXPECT_EQ(read_pcapng(section.all()).remarks.size(), 1u);
}

TEST(PcapngFile, UnitsThatNoClockHasDoNotFail) {
  for (const unsigned resolution : {10u, 19u, 28u, 29u, 127u, 0x80u, 0x80u | 63u, 0xffu}) {
    const TimeUnit unit = TimeUnit::of_resolution(static_cast<std::uint8_t>(resolution));
    EXPECT_GE(unit.ns(1), 0) << resolution;
    unit.ns(UINT64_MAX);
  }
  EXPECT_EQ(TimeUnit::of_resolution(12).ns(7'999), 7);
  EXPECT_EQ(TimeUnit::of_resolution(28).ns(UINT64_MAX), 1);
}

}  // namespace
}  // namespace chokepoint::capture::source
