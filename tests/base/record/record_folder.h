// A temporary folder with a record in it, and the way in and out that most tests take.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "base/record/opening.h"
#include "base/record/reader.h"
#include "base/record/writer.h"
#include "tests/fakes/host_tree.h"
#include "tests/fakes/manual_clock.h"

namespace chokepoint::record {

class RecordFolder : public testing::Test {
 protected:
  std::filesystem::path folder() const { return folder_.path() / "run"; }
  std::filesystem::path file() const { return folder() / "n1.db"; }

  WriterOptions options() const {
    return {.folder = folder(), .node = "n1", .role = "run", .command = {"train", "--big model"}};
  }

  std::unique_ptr<Writer> open_writer(const WriterOptions& options) {
    auto writer = Writer::open(options, host_.root(), clock_);
    EXPECT_TRUE(writer) << describe(writer.error());
    return writer ? std::move(*writer) : nullptr;
  }
  std::unique_ptr<Writer> open_writer() { return open_writer(options()); }

  Error open_error(const WriterOptions& options) {
    auto writer = Writer::open(options, host_.root(), clock_);
    EXPECT_FALSE(writer);
    return writer ? Error{} : writer.error();
  }

  Reader open_reader() const {
    auto reader = Reader::open(file());
    if (!reader) {
      throw std::runtime_error(describe(reader.error()));
    }
    return std::move(*reader);
  }

  template <class Row>
  std::vector<Row> rows(Reader& reader) {
    std::vector<Row> rows;
    const Result<> done = reader.each<Row>([&](const Row& row) { rows.push_back(row); });
    EXPECT_TRUE(done) << describe(done.error());
    return rows;
  }

  PrivateFolder folder_ = std::move(*PrivateFolder::make());
  fakes::HostTree host_ = fakes::HostTree::from_text(
      "/proc/sys/kernel/hostname = alpha\n"
      "/proc/sys/kernel/osrelease = 6.1.0\n"
      "/proc/sys/kernel/random/boot_id = boot-1\n");
  fakes::ManualClock clock_;
};

}  // namespace chokepoint::record
