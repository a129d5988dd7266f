#include "capture/source/capture_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "capture/source/file_source.h"
#include "capture/source/pcap.h"
#include "capture/source/pcapng.h"
#include "tests/capture/source/folder.h"
#include "tests/capture/source/reading.h"

namespace chokepoint::capture::source {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::int64_t kStart = 1'700'000'000'123'456'789;

// Frames of one byte value each, a millisecond apart.
Batch batch_of(std::uint32_t first, std::uint32_t count, std::uint32_t interfaces = 1) {
  Batch batch;
  batch.bytes.resize(std::size_t{count} * 50);
  for (std::uint32_t i = 0; i < count; ++i) {
    std::uint8_t* at = batch.bytes.data() + std::size_t{i} * 50;
    const std::uint32_t captured = 20 + i % 30;
    std::fill_n(at, captured, static_cast<std::uint8_t>(first + i));
    batch.frames.push_back({.time_ns = kStart + (first + i) * std::int64_t{1'000'000},
                            .data = at,
                            .captured_bytes = captured,
                            .frame_bytes = 1000 + i,
                            .interface = i % interfaces});
  }
  return batch;
}

std::vector<Interface> interfaces(std::size_t count) {
  std::vector<Interface> all;
  for (std::size_t i = 0; i < count; ++i) {
    all.push_back({.name = "eth" + std::to_string(i), .snapshot_bytes = 96});
  }
  return all;
}

std::vector<ReadFrame> frames_of(const Batch& batch) {
  Reading reading;
  keep(batch, reading);
  return reading.frames;
}

Reading read(const std::vector<std::string>& paths) {
  auto source = open_files(paths);
  EXPECT_TRUE(source) << describe(source.error());
  return source ? read_all(**source) : Reading{};
}

TEST(CaptureWriter, WhatIsWrittenIsReadAgain) {
  const Folder folder;
  for (const char* name : {"a.pcap", "a.pcap.zst", "a.pcapng", "a.pcapng.zst"}) {
    auto writer = CaptureWriter::create({.path = folder.at(name)});
    ASSERT_TRUE(writer);
    const Batch batch = batch_of(0, 100);
    ASSERT_TRUE(writer->add(batch, interfaces(1)));
    ASSERT_TRUE(writer->finish());
    EXPECT_EQ(writer->packets(), 100u);
    const Reading reading = read({folder.at(name)});
    EXPECT_EQ(reading.frames, frames_of(batch)) << name;
    EXPECT_THAT(reading.remarks, IsEmpty());
  }
}

TEST(CaptureWriter, SeveralInterfacesNeedPcapngAndKeepTheirNames) {
  const Folder folder;
  auto writer = CaptureWriter::create({.path = folder.at("a.pcap")});
  ASSERT_TRUE(writer);
  Batch batch = batch_of(0, 10, 2);
  ASSERT_TRUE(writer->add(batch, interfaces(2)));
  Batch more = batch_of(10, 9, 3);
  more.drops.push_back({.time_ns = kStart, .interface = 2, .by_kernel = 7, .by_interface = 1});
  ASSERT_TRUE(writer->add(more, interfaces(3)));
  ASSERT_TRUE(writer->finish());
  auto source = open_file(folder.at("a.pcap"));
  ASSERT_TRUE(source);
  const Reading reading = read_all(**source);
  auto expected = frames_of(batch);
  const auto rest = frames_of(more);
  expected.insert(expected.end(), rest.begin(), rest.end());
  EXPECT_EQ(reading.frames, expected);
  ASSERT_EQ((*source)->interfaces().size(), 3u);
  EXPECT_EQ((*source)->interfaces().at(2).name, "eth2");
  EXPECT_EQ((*source)->interfaces().at(2).snapshot_bytes, 96u);
  ASSERT_EQ(reading.drops.size(), 1u);
  EXPECT_EQ(reading.drops[0].by_kernel, 7u);
  EXPECT_EQ(reading.drops[0].by_interface, 1u);
  EXPECT_EQ(reading.drops[0].interface, 2u);
  EXPECT_EQ(reading.drops[0].time_ns, kStart);
}

TEST(CaptureWriter, ALargeFileIsFollowedByTheNext) {
  const Folder folder;
  auto writer = CaptureWriter::create({.path = folder.at("dir.d/a.b.pcap"), .file_bytes = 1000});
  ASSERT_FALSE(writer);
  std::filesystem::create_directory(folder.at("dir.d"));
  writer = CaptureWriter::create({.path = folder.at("dir.d/a.b.pcap"), .file_bytes = 1000});
  ASSERT_TRUE(writer);
  const Batch batch = batch_of(0, 100);
  ASSERT_TRUE(writer->add(batch, interfaces(1)));
  ASSERT_TRUE(writer->finish());
  EXPECT_GT(writer->paths().size(), 3u);
  EXPECT_EQ(writer->paths().front(), folder.at("dir.d/a.b-0001.pcap"));
  for (const std::string& path : writer->paths()) {
    EXPECT_LE(std::filesystem::file_size(path), 1000u);
  }
  Reading reading = read(writer->paths());
  for (ReadFrame& frame : reading.frames) {
    frame.interface = 0;  // each file has its own
  }
  EXPECT_EQ(reading.frames, frames_of(batch));
}

TEST(CaptureWriter, AnOldFileIsFollowedByTheNext) {
  const Folder folder;
  auto writer = CaptureWriter::create(
      {.path = folder.at("a.pcapng.zst"), .file_time = std::chrono::milliseconds(25)});
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->add(batch_of(0, 100), interfaces(1)));
  ASSERT_TRUE(writer->finish());
  EXPECT_THAT(writer->paths(),
              ElementsAre(folder.at("a-0001.pcapng.zst"), folder.at("a-0002.pcapng.zst"),
                          folder.at("a-0003.pcapng.zst"), folder.at("a-0004.pcapng.zst")));
  for (const std::string& path : writer->paths()) {
    EXPECT_EQ(read({path}).frames.size(), 25u);
  }
}

TEST(CaptureWriter, AFullDiskIsToldOnce) {
  auto writer = CaptureWriter::create({.path = "/dev/full"});
  if (!writer) {
    GTEST_SKIP() << "no /dev/full";
  }
  ASSERT_TRUE(writer->add(batch_of(0, 10), interfaces(1))) << "nothing has gone to the disk yet";
  Result<> outcome;
  for (std::uint32_t i = 0; outcome && i < 1000; ++i) {
    outcome = writer->add(batch_of(0, 100), interfaces(1));
  }
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().kind, ErrorKind::Exhausted);
  EXPECT_TRUE(writer->add(batch_of(0, 10), interfaces(1)));
  EXPECT_TRUE(writer->finish());
}

TEST(CaptureWriter, AnotherLinkTypeDoesNotFitIntoPcap) {
  const Folder folder;
  auto writer = CaptureWriter::create({.path = folder.at("a.pcap")});
  ASSERT_TRUE(writer);
  Batch batch = batch_of(0, 2);
  batch.frames[1].link_type = packet::LinkType::Raw;
  const auto added = writer->add(batch, interfaces(1));
  ASSERT_FALSE(added);
  EXPECT_THAT(describe(added.error()), HasSubstr("another has come; give the file a name that"));
}

TEST(CaptureWriter, ACaptureOfNothingIsAFileOfNothing) {
  const Folder folder;
  auto writer = CaptureWriter::create({.path = folder.at("a.pcap")});
  ASSERT_TRUE(writer);
  ASSERT_TRUE(writer->finish());
  const Reading reading = read({folder.at("a.pcap")});
  EXPECT_THAT(reading.frames, IsEmpty());
  EXPECT_THAT(reading.error, IsEmpty());
}

TEST(CaptureWriter, AFileCutAfterAFlushIsReadUpToIt) {
  const Folder folder;
  auto descriptor = open_capture_file(folder.at("a.pcap.zst"), CaptureName::OfUser);
  ASSERT_TRUE(descriptor);
  OutputFile output(folder.at("a.pcap.zst"), *std::move(descriptor));
  OutputFile* const file = &output;
  append_pcap_head(*file, interfaces(1).front());
  const Batch batch = batch_of(0, 5);
  for (std::size_t i = 0; i < 5; ++i) {
    append_pcap_packet(*file, batch.frames[i]);
    if (i == 2) {
      ASSERT_TRUE(file->flush());
    }
  }
  std::filesystem::copy_file(folder.at("a.pcap.zst"), folder.at("b.pcap.zst"));
  const Reading reading = read({folder.at("b.pcap.zst")});
  EXPECT_EQ(reading.frames.size(), 3u);
  EXPECT_THAT(reading.remarks, ElementsAre(HasSubstr("its zstd data is cut off, after 3 packets")));
}

}  // namespace
}  // namespace chokepoint::capture::source
