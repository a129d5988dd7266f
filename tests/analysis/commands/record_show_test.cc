#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include <nlohmann/json.hpp>

#include "analysis/commands/commands.h"
#include "base/math/units.h"
#include "base/record/names.h"
#include "base/record/stacks.h"
#include "tests/base/record/record_folder.h"
#include "tests/fakes/cli_run.h"
#include "tests/fakes/golden.h"

namespace chokepoint::analysis {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

constexpr std::int64_t kMs = 1'000'000;

class RecordShow : public record::RecordFolder {
 protected:
  fakes::CliRun show(std::vector<std::string> words) {
    words.insert(words.begin(), {"record", "show"});
    const cli::Program program{.name = "chokepoint",
                               .version = "0",
                               .purpose = "test",
                               .sections = cli::one_section({record_show_command()})};
    return fakes::run_cli(program, words);
  }
  json show_json() {
    const fakes::CliRun run = show({folder().string(), "--json"});
    EXPECT_EQ(run.code, cli::ExitCode::Done) << run.err;
    return json::parse(run.out);
  }

  void counter(record::Writer& writer, record::Producer& producer, std::string_view name,
               double last) {
    const std::int64_t series = writer.add(record::Series{.name = std::string(name)});
    producer.push(
        record::CounterSample{.t_ns = clock_.monotonic_ns(), .series = series, .value = last / 2});
    producer.push(
        record::CounterSample{.t_ns = clock_.monotonic_ns() + 1, .series = series, .value = last});
  }

  // Ten seconds; steps of 10 ms and, one in ten, of 20 ms, on two ranks.
  void write_node(const std::string& node, int exit_status) {
    record::WriterOptions named = options();
    named.node = node;
    auto writer = open_writer(named);
    {
      record::Producer producer = writer->producer("test");
      for (std::int64_t number = 0; number < 200; ++number) {
        const std::int64_t start = clock_.monotonic_ns() + number * 30 * kMs;
        const std::int64_t length = (number % 10 == 9 ? 20 : 10) * kMs;
        for (std::int64_t rank = 0; rank < 2; ++rank) {
          producer.push(record::Step{
              .start_ns = start, .end_ns = start + length, .number = number, .rank = rank});
        }
      }
      producer.push(record::Step{.end_ns = 1, .source = record::StepSource::Traffic});
      counter(*writer, producer, record::kJobSentBytes, 1e9);
      counter(*writer, producer, record::kJobReceivedBytes, 0.25e9);
      counter(*writer, producer, record::kOwnCpu, 0.2e9);
    }
    writer->add(record::Label{.key = "setup", .value = "2x2"});
    for (const std::int64_t rank : {0, 1, 1}) {
      writer->add(record::Process{.rank = rank});
    }
    writer->add(record::Event{.kind = "dropped", .detail = R"({"rows":3})"});
    clock_.advance(10'000 * kMs);
    writer->close(exit_status);
  }
};

TEST_F(RecordShow, IsTheDocumentOfTheContract) {
  write_node("n1", 0);
  write_node("n2", 9);
  const json document = show_json();
  EXPECT_EQ(document["schema"], "chokepoint.run/1");
  EXPECT_EQ(document["command"], "train '--big model'");
  EXPECT_EQ(document["exit_status"], 9);
  EXPECT_EQ(document["labels"]["setup"], "2x2");
  EXPECT_EQ(document["duration_s"], 10.0);
  EXPECT_EQ(document["steps"]["count"], 200);
  EXPECT_EQ(document["steps"]["source"], "marks");
  EXPECT_EQ(document["steps"]["median_ms"], 10.0);
  EXPECT_EQ(document["steps"]["p99_ms"], 20.0);
  EXPECT_EQ(document["volume"]["sent_bytes"], 2e9);
  EXPECT_EQ(document["volume"]["received_bytes"], 0.5e9);
  EXPECT_EQ(document["volume"]["network_mbps_full_duplex"], 2000.0);
  EXPECT_EQ(document["volume"]["network_mbps"], 1000.0) << "of the busiest node, as compare has it";
  EXPECT_EQ(document["overhead"]["cpu_percent"], 2.0);
  EXPECT_EQ(document["dropped"], 6);
  ASSERT_EQ(document["nodes"].size(), 2U);
  EXPECT_EQ(document["nodes"][0]["name"], "n1");
  EXPECT_EQ(document["nodes"][0]["host"], "alpha");
  EXPECT_EQ(document["nodes"][0]["sessions"], 1);
  EXPECT_EQ(document["nodes"][0]["rows"]["step"], 401);
  EXPECT_EQ(document["nodes"][0]["volume"]["sent_bytes"], 1e9);
  EXPECT_EQ(document["nodes"][0]["volume"]["network_mbps_full_duplex"], 1000.0);
}

TEST_F(RecordShow, WhatIsUnknownIsNull) {
  open_writer()->close();
  const json document = show_json();
  EXPECT_TRUE(document["exit_status"].is_null());
  EXPECT_TRUE(document["steps"]["count"].is_null());
  EXPECT_TRUE(document["steps"]["source"].is_null());
  EXPECT_TRUE(document["volume"]["sent_bytes"].is_null());
  EXPECT_TRUE(document["overhead"]["cpu_percent"].is_null());
  EXPECT_EQ(document["dropped"], 0);
}

TEST_F(RecordShow, PictureOfTwoNodes) {
  write_node("n1", 0);
  write_node("n2", 9);
  const fakes::CliRun run = show({folder().string()});
  EXPECT_EQ(run.err, "");
  // How large a file is differs between versions of SQLite.
  std::string page = run.out;
  const std::string size =
      math::format_bytes(static_cast<double>(std::filesystem::file_size(folder() / "n1.db")));
  for (std::size_t at = page.find(size); at != std::string::npos; at = page.find(size)) {
    page.replace(at, size.size(), "SIZE");
  }
  const std::string path = folder().string();
  for (std::size_t at = page.find(path); at != std::string::npos; at = page.find(path)) {
    page.replace(at, path.size(), "RUN");
  }
  EXPECT_GOLDEN("record_show", page);
}

TEST_F(RecordShow, BeginsWithHowTheRunEnded) {
  write_node("n1", 0);
  EXPECT_THAT(show({folder().string()}).out,
              AllOf(HasSubstr("state     ended well: exit 0\n"),
                    HasSubstr("nodes     n1 on alpha; 2 ranks\n"),
                    HasSubstr("\nnext      chokepoint diagnose " + folder().string() + "\n")));
  record::WriterOptions named = options();
  named.node = "n2";
  const auto writer = open_writer(named);
  EXPECT_THAT(show({folder().string()}).out,
              AllOf(HasSubstr("state     running\n"), HasSubstr("next      chokepoint live ")));
}

TEST_F(RecordShow, ARecordWithoutAJobAdvisesNoDiagnosis) {
  record::WriterOptions named = options();
  named.command.clear();
  open_writer(named)->close();
  EXPECT_THAT(show({folder().string()}).out,
              AllOf(HasSubstr("command   none\n"), testing::Not(HasSubstr("\nnext"))));
}

TEST_F(RecordShow, PrintsTheNewestStacksOfARank) {
  auto writer = open_writer();
  for (const std::string function : {"older", "load"}) {
    const record::Stacks stacks{.rank = 3,
                                .pid = 17,
                                .idle_threads = 9,
                                .threads = {{.id = 17,
                                             .name = "Main\x1b[1m",
                                             .state = "S",
                                             .waits_in = "futex_do_wait",
                                             .kernel = {"do_futex"},
                                             .frames = {{function, "/a/train.py", 41}}}}};
    writer->add(record::Event{.kind = std::string(record::kStacks),
                              .subject = "rank 3",
                              .detail = record::text_of(stacks)});
  }
  writer->close(0);
  const fakes::CliRun run = show({folder().string()});
  EXPECT_THAT(run.out, HasSubstr("load (train.py:41)"));
  EXPECT_THAT(run.out, HasSubstr("\nstacks of rank 3, process 17, on n1\n"));
  EXPECT_THAT(run.out, HasSubstr("\n    load (/a/train.py:41)\n    kernel: do_futex\n"));
  EXPECT_THAT(run.out, HasSubstr("and 9 idle threads"));
  EXPECT_THAT(run.out, testing::Not(HasSubstr("    older")));
  EXPECT_THAT(run.out, testing::Not(HasSubstr("\x1b")));
}

TEST_F(RecordShow, ShowsTheRestWhereOneRecordCannotBeRead) {
  write_node("n1", 0);
  std::ofstream(folder() / "zz.db") << "nonsense";
  const fakes::CliRun run = show({folder().string(), "--json"});
  EXPECT_EQ(run.code, cli::ExitCode::Done);
  EXPECT_THAT(run.err, HasSubstr("zz.db"));
  EXPECT_EQ(json::parse(run.out)["unreadable"].size(), 1U);
}

TEST_F(RecordShow, SaysWhatACutRecordStillHolds) {
  write_node("n1", 0);
  std::filesystem::resize_file(file(), std::filesystem::file_size(file()) - 4096);
  const fakes::CliRun run = show({folder().string()});
  EXPECT_EQ(run.code, cli::ExitCode::Done);
  EXPECT_THAT(run.err, HasSubstr("n1.db"));
  EXPECT_FALSE(show_json()["nodes"][0]["damage"].is_null());
}

TEST_F(RecordShow, ErrorsAreOneLine) {
  for (const std::string& place : {folder().string(), folder_.path().string()}) {
    const fakes::CliRun run = show({place});
    EXPECT_EQ(run.code, cli::ExitCode::Failed);
    EXPECT_EQ(run.out, "");
    EXPECT_THAT(run.err, AllOf(HasSubstr(place), HasSubstr("--out")));
    EXPECT_EQ(std::ranges::count(run.err, '\n'), 1);
  }
}

}  // namespace
}  // namespace chokepoint::analysis
