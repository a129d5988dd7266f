// Each reader on small documents of the form that its tool writes.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <zlib.h>

#include <filesystem>

#include <nlohmann/json.hpp>

#include "analysis/evidence/tool_file.h"
#include "tests/analysis/evidence/made_pickle.h"
#include "tests/fakes/golden.h"
#include "tests/fakes/temporary_file.h"

namespace chokepoint::analysis {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;
using testing::Optional;
using testing::SizeIs;

ToolFile read(std::string_view bytes, const std::string& name = "file") {
  const auto file = read_tool_file(bytes, name);
  EXPECT_TRUE(file) << describe(file.error());
  return file.value_or(ToolFile{});
}

std::string why(std::string_view bytes, const std::string& name = "file") {
  const auto file = read_tool_file(bytes, name);
  return file ? "" : describe(file.error());
}

constexpr const char* kDump = R"({"version": "2.10",
  "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 3]"}},
  "pg_status": {"7": {"last_enqueued_collective": "12", "last_started_collective": "-1",
                      "last_completed_collective": "10"}},
  "entries": [
    {"pg_id": 7, "process_group": ["0", "default_pg"], "collective_seq_id": 10, "is_p2p": false,
     "profiling_name": "nccl:all_reduce", "state": "completed", "duration_ms": 1.5,
     "time_created_ns": 1724779239936775119, "time_discovered_completed_ns": 1724779239975811724,
     "input_sizes": [[3, 4]]},
    {"pg_id": 7, "process_group": ["0", "default_pg"], "collective_seq_id": 11, "is_p2p": false,
     "profiling_name": "nccl:broadcast", "state": "scheduled", "time_created_ns": 1724779240036775119,
     "input_sizes": [[5]]},
    {"pg_id": 7, "process_group": ["0", "default_pg"], "collective_seq_id": 99, "is_p2p": true,
     "profiling_name": "nccl:send 0->1", "state": "scheduled"}]})";

TEST(AFlightRecordersDump, OfJsonSaysHowFarARankCame) {
  const ToolFile file = read(kDump, "dumps/nccl_trace_rank_3.json");
  EXPECT_EQ(file.tool, Tool::FlightRecorder);
  EXPECT_EQ(file.span.start_ns, 1724779239936775119);
  ASSERT_THAT(file.ranks, SizeIs(1));
  EXPECT_THAT(file.ranks[0].rank, Optional(3));
  const GroupState& state = file.ranks[0].states.at("0");
  EXPECT_THAT(state.members, ElementsAre(0, 1, 3));
  EXPECT_EQ(state.enqueued, 12);  // the status knows of one that the ring has not
  EXPECT_EQ(state.completed, 10);
  EXPECT_EQ(state.calls.at(11).operation, "broadcast");
  EXPECT_EQ(state.calls.at(11).sizes, "[[5]]");
  EXPECT_FALSE(state.calls.contains(99));  // a message is in no order with the others
  ASSERT_THAT(file.ranks[0].collectives, SizeIs(1));
  EXPECT_EQ(file.ranks[0].collectives[0].length_ns, 1'500'000);
}

TEST(AFlightRecordersDump, SaysWhichMessagesAreOpenAndWhereACallWasMade) {
  const GroupState state =
      read(R"({"pg_config": {"39": {"name": "39", "desc": "PIPELINE", "ranks": "[0, 8]"}},
               "entries": [
                 {"pg_id": 6, "process_group": ["39", "PIPELINE"], "collective_seq_id": 29,
                  "p2p_seq_id": 14, "is_p2p": true, "profiling_name": "nccl:recv 0<-1",
                  "state": "scheduled", "time_created_ns": 17},
                 {"pg_id": 6, "process_group": ["39", "PIPELINE"], "collective_seq_id": 29,
                  "p2p_seq_id": 13, "is_p2p": true, "profiling_name": "nccl:send 0->1",
                  "state": "completed"},
                 {"pg_id": 6, "process_group": ["39", "PIPELINE"], "collective_seq_id": 30,
                  "is_p2p": false, "profiling_name": "nccl:all_reduce", "state": "scheduled",
                  "input_sizes": [[2, 3], [4]], "input_dtypes": ["Float", "Half"],
                  "frames": [{"filename": "/x/torch/distributed/c10d.py", "line": 1},
                             {"filename": "/job/train.py", "line": 40}]}]})",
           "dump_0")
          .ranks.at(0)
          .states.at("39");
  EXPECT_EQ(state.label, "PIPELINE");
  EXPECT_TRUE(state.has_messages);
  EXPECT_EQ(state.message_number, 14);
  ASSERT_THAT(state.messages, SizeIs(1));
  EXPECT_EQ(state.messages[0].what, "recv 0<-1");
  EXPECT_FALSE(state.messages[0].is_sent);
  EXPECT_EQ(state.messages[0].from, 1);
  EXPECT_EQ(state.messages[0].to, 0);
  EXPECT_EQ(state.calls.at(30).site, "train.py:40");
  EXPECT_EQ(state.calls.at(30).sizes, "[[2,3],[4]]");
  EXPECT_EQ(state.calls.at(30).types, "[Float,Half]");
}

// Where nothing is open, a group's status has no entry that names it.
TEST(AFlightRecordersDump, WithoutEntriesHasItsStatusByTheOrderOfGroups) {
  const ToolFile file =
      read(R"({"pg_config": {"0": {"ranks": "[0, 1]"}, "35": {"ranks": "[0]"}, "4": {"ranks": ""}},
               "pg_status": {"7": {"last_enqueued_collective": 30, "last_completed_collective": 30},
                             "0": {"last_enqueued_collective": 10, "last_completed_collective": 9},
                             "2": {"last_enqueued_collective": 20, "last_completed_collective": 20}},
               "entries": []})",
           "dump_0");
  EXPECT_EQ(file.ranks.at(0).states.at("0").enqueued, 10);
  EXPECT_EQ(file.ranks[0].states.at("4").enqueued, 20);
  EXPECT_EQ(file.ranks[0].states.at("35").enqueued, 30);
}

TEST(AFlightRecordersDump, SaysWhetherTheRankLeftItsSequence) {
  const auto leaves = [](const std::string& last) {
    std::string entries;
    for (int number = 1; number <= 8; ++number) {
      for (const std::string& name : {std::string("all_reduce"), std::string("all_gather"),
                                      number == 8 ? last : std::string("broadcast")}) {
        entries += fmt::format(
            R"({}{{"process_group": ["0", ""], "collective_seq_id": {}, "state": "completed",
                   "profiling_name": "nccl:{}"}})",
            entries.empty() ? "" : ",", number, name);
      }
    }
    return read(fmt::format(R"({{"pg_config": {{}}, "entries": [{}]}})", entries), "dump_0")
        .ranks.at(0)
        .leaves_sequence;
  };
  EXPECT_FALSE(leaves("broadcast"));
  EXPECT_TRUE(leaves("all_reduce"));
}

TEST(AFlightRecordersDump, OfPickleIsTheSame) {
  const std::string bytes = MadePickle()
                                .raw("}(")
                                .text("pg_config")
                                .raw("}(")
                                .text("0")
                                .raw("}(")
                                .text("ranks")
                                .text("[0, 1]")
                                .raw("uu")
                                .text("entries")
                                .raw("](}(")
                                .text("process_group")
                                .text("0")
                                .text("default_pg")
                                .raw("\x86")
                                .text("collective_seq_id")
                                .raw("K\x05")
                                .text("profiling_name")
                                .text("nccl:all_gather")
                                .text("state")
                                .text("started")
                                .text("frames")
                                .raw("]")
                                .raw("ueu")
                                .done();
  const ToolFile file = read(bytes, "/tmp/nccl_trace_rank_1");
  ASSERT_THAT(file.ranks, SizeIs(1));
  EXPECT_THAT(file.ranks[0].rank, Optional(1));
  const GroupState& state = file.ranks[0].states.at("0");
  EXPECT_EQ(state.enqueued, 5);
  EXPECT_EQ(state.completed, -1);
  EXPECT_EQ(state.calls.at(5).operation, "all_gather");
}

// As PyTorch 2.14 wrote it of a job in which each step had a message, too.
TEST(AFlightRecordersDump, OfGlooSaysWhatIsOverByWhatIsRetired) {
  const auto entry = [](int number, bool is_retired) {
    return fmt::format(R"({{"pg_id": 0, "process_group": ["0", "default_pg"], "op_id": {},
                            "collective_seq_id": {}, "p2p_seq_id": 0, "is_p2p": false,
                            "profiling_name": "gloo:all_reduce", "state": "scheduled",
                            "time_discovered_completed_ns": 0, "retired": {}}})",
                       2 * number, number, is_retired);
  };
  const auto dump = [&](const std::string& entries) {
    return read(R"({"version": "2.10", "pg_config": {"": {"name": "", "ranks": "[0, 1]"}},
                    "pg_status": {"0": {"last_enqueued_collective": "25",
                                        "last_completed_collective": "24"}}, "entries": [)" +
                    entries + "]}",
                "dump_0");
  };
  const ToolFile waits = dump(entry(11, true) + "," + entry(12, false) + "," + entry(13, true));
  ASSERT_THAT(waits.ranks.at(0).states, SizeIs(1));
  EXPECT_EQ(waits.ranks[0].states.at("0").enqueued, 13);
  EXPECT_EQ(waits.ranks[0].states.at("0").completed, 11);
  EXPECT_EQ(dump(entry(11, true) + "," + entry(12, true)).ranks.at(0).states.at("0").completed, 12);
}

TEST(AFlightRecordersDump, OfNobodyIsLeftOut) {
  EXPECT_THAT(read(kDump, "dump").left_out, SizeIs(1));
}

TEST(ARank, MayBeInAFilesName) {
  const auto rank = [](const char* name) {
    return read(kDump, name).ranks.at(0).rank.value_or(-1);
  };
  EXPECT_EQ(rank("/tmp/nccl_trace_rank_12"), 12);
  EXPECT_EQ(rank("rank-34.Jul_15_10_52_41.pickle"), 34);
  EXPECT_EQ(rank("job77/_dump_5.json"), 5);
  EXPECT_EQ(rank("dump"), -1);
  EXPECT_EQ(rank("rank_x_3"), -1);
  EXPECT_EQ(rank("dump_99999999999999999999"), -1);
}

std::string event(const char* name, const char* category, double ts, double dur,
                  const std::string& args = "") {
  return fmt::format(
      R"({{"ph":"X","cat":"{}","name":"{}","pid":0,"tid":7,"ts":{},"dur":{},"args":{{{}}}}})",
      category, name, ts, dur, args);
}

// Two steps of 100 us. In each computing takes 60, NCCL 40 of which 10 are beside computing, a copy
// 5 of its own.
std::string trace(int rank = 2) {
  std::string events = R"({"ph":"M","name":"process_name","ts":1,"args":{"name":"python"}})";
  for (int step = 0; step < 2; ++step) {
    const double at = 1000 + 100 * step;
    events +=
        "," + event(fmt::format("ProfilerStep#{}", 5 + step).c_str(), "user_annotation", at, 100);
    events += "," + event("gemm", "kernel", at, 60);
    events += "," + event("ncclDevKernel_AllReduce_Sum_f32", "kernel", at + 50, 40,
                          R"("Collective name":"allreduce","Process Group Name":"0")");
    events += "," + event("Memcpy HtoD", "gpu_memcpy", at + 85, 10);
    events += "," + event("aten::mm", "cpu_op", at, 90);
  }
  return fmt::format(
      R"({{"schemaVersion":1,"distributedInfo":{{"backend":"nccl","rank":{},"world_size":4}},
"baseTimeNanoseconds":1759000000000000000,"traceEvents":[{}],"traceName":"a.json"}})",
      rank, events);
}

TEST(ATrace, SaysHowLongStepsTakeAndWhatFillsThem) {
  const ToolFile file = read(trace());
  EXPECT_EQ(file.tool, Tool::Profiler);
  ASSERT_THAT(file.ranks, SizeIs(1));
  const RankRecord& own = file.ranks[0];
  EXPECT_THAT(own.rank, Optional(2));
  ASSERT_THAT(own.steps, SizeIs(2));
  EXPECT_EQ(own.steps[0].start_ns, 1759000000001000000);
  EXPECT_EQ(own.steps[1].end_ns - own.steps[1].start_ns, 100'000);
  ASSERT_TRUE(own.time);
  EXPECT_TRUE(own.time->has_kernels);
  EXPECT_EQ(own.time->window_ns, 200'000);
  EXPECT_EQ(own.time->computing_ns, 120'000);
  EXPECT_EQ(own.time->exposed_ns, 60'000);
  EXPECT_EQ(own.time->copying_ns, 10'000);
  EXPECT_THAT(own.groups, ElementsAre("0/allreduce"));
  ASSERT_THAT(own.collectives, SizeIs(2));
  EXPECT_EQ(own.collectives[0].length_ns, 40'000);
  EXPECT_NE(own.collectives[0].number, own.collectives[1].number);
}

TEST(ATrace, OfGlooHasNoKernelsButCollectives) {
  const std::string text = R"({"traceEvents":[)" +
                           event("ProfilerStep#1", "user_annotation", 10, 50) + "," +
                           event("gloo:all_reduce", "user_annotation", 20, 30) + "]}";
  const ToolFile file = read(text, "rank0.json");
  ASSERT_THAT(file.ranks, SizeIs(1));
  EXPECT_THAT(file.ranks[0].rank, Optional(0));
  ASSERT_TRUE(file.ranks[0].time);
  EXPECT_FALSE(file.ranks[0].time->has_kernels);
  EXPECT_EQ(file.ranks[0].time->exposed_ns, 30'000);
  EXPECT_THAT(file.ranks[0].collectives, SizeIs(1));
}

// Of 100 us: 20 loading (an operator of 10 in it), operators from 20 to 60, a collective from 50
// to 90.
TEST(ATrace, OfProcessorsCountsLoadingThenOperatorsThenWhatNothingHides) {
  const std::string text =
      R"({"host_name":"a","distributedInfo":{"rank":1,"world_size":3},"traceEvents":[)" +
      event("ProfilerStep#1", "user_annotation", 0, 100) + "," +
      event("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "user_annotation", 0,
            20) +
      "," + event("aten::stack", "cpu_op", 5, 10) + "," + event("aten::mm", "cpu_op", 20, 40) +
      "," + event("c10d::allreduce_", "cpu_op", 60, 20) + "," +
      event("gloo:all_reduce", "user_annotation", 50, 40) + "]}";
  const ToolFile file = read(text);
  const RankRecord& own = file.ranks.at(0);
  EXPECT_EQ(own.host, "a");
  EXPECT_EQ(own.world_size, 3);
  ASSERT_TRUE(own.time);
  EXPECT_EQ(own.time->input_ns, 20'000);
  EXPECT_EQ(own.time->computing_ns, 40'000);
  EXPECT_EQ(own.time->exposed_ns, 30'000);
  EXPECT_EQ(own.time->rest_ns(), 10'000);
}

TEST(ATrace, OfAGpuCopiesWithinItAsKernelsAndWaitsForTheHostAsCopies) {
  const std::string text = R"({"traceEvents":[)" +
                           event("ProfilerStep#1", "user_annotation", 0, 100) + "," +
                           event("gemm", "kernel", 0, 30) + "," +
                           event("Memcpy DtoD (Device -> Device)", "gpu_memcpy", 30, 10) + "," +
                           event("Memcpy HtoD (Pinned -> Device)", "gpu_memcpy", 40, 20) + "]}";
  const TraceTime time = read(text).ranks.at(0).time.value();
  EXPECT_EQ(time.computing_ns, 40'000);
  EXPECT_EQ(time.copying_ns, 20'000);
}

TEST(ATrace, OfAGpuJobWithoutKernelsHasNoTimes) {
  const std::string text = R"({"traceEvents":[)" +
                           event("ProfilerStep#1", "user_annotation", 0, 100) + "," +
                           event("nccl:all_reduce", "user_annotation", 0, 30) + "]}";
  const ToolFile file = read(text);
  EXPECT_FALSE(file.ranks.at(0).time);
  EXPECT_THAT(file.left_out, SizeIs(1));
}

TEST(ATrace, ThatIsCutOffIsUsedUpToThere) {
  const std::string whole = trace();
  const ToolFile file = read(whole.substr(0, whole.find("aten::mm")));
  EXPECT_THAT(file.left_out, SizeIs(1));
  EXPECT_THAT(file.ranks[0].steps, SizeIs(1));
}

TEST(AFlightRecordersDump, OfNumbersThatNoCounterReachesIsCountedWithoutThem) {
  const ToolFile file = read(
      R"({"pg_config": {"0": {"ranks": "[0]"}}, "pg_status":
          {"0": {"last_enqueued_collective": 9223372036854775807, "last_completed_collective": 4}}})",
      "dump_0");
  EXPECT_EQ(file.ranks.at(0).states.at("0").enqueued, -1);
  EXPECT_EQ(file.ranks.at(0).states.at("0").completed, 4);
}

TEST(ATrace, OfChromesListIsReadToo) {
  const std::string list = "[" + event("ProfilerStep#1", "user_annotation", 10, 50) + "]";
  EXPECT_THAT(read(list).ranks[0].steps, SizeIs(1));
}

TEST(AFile, MayBeGzipped) {
  const fakes::TemporaryFile file("");
  const std::string text = trace();
  gzFile out = gzopen(file.path().c_str(), "wb");
  gzwrite(out, text.data(), static_cast<unsigned>(text.size()));
  gzclose(out);
  const auto whole = read_tool_file(file.path());
  ASSERT_TRUE(whole) << describe(whole.error());
  EXPECT_THAT(whole->ranks[0].steps, SizeIs(2));
  EXPECT_THAT(whole->left_out, IsEmpty());
  std::filesystem::resize_file(file.path(), std::filesystem::file_size(file.path()) - 60);
  const auto cut = read_tool_file(file.path());
  EXPECT_TRUE(!cut || !cut->left_out.empty());
}

TEST(AFile, OfNoKnownKindIsNotRead) {
  for (const char* text : {"", "hello", "{}", "[]", "[1, 2]", "{\"a\":", "\xff\xfe"}) {
    EXPECT_FALSE(read_tool_file(text, "file")) << text;
  }
  EXPECT_EQ(read_tool_file("/none/of/it").error().subject, "/none/of/it");
}

constexpr const char* kAllReduce =
    R"(# nThread 1 nGpus 4 minBytes 134217728 maxBytes 536870912 step: 2(factor)
#
# Using devices
#  Rank  0 Group  0 Pid    855 on host-a device  0 [0xa4] NVIDIA A100-SXM4-80GB
#  Rank  1 Group  0 Pid    856 on host-b device  0 [0xa9] NVIDIA A100-SXM4-80GB
host-a:855:855 [0] NCCL INFO Bootstrap : Using eth0:172.17.0.2<0>
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
   134217728      33554432     float     sum      -1    857.6  156.51  156.51      0    819.6  163.76  163.76      0
   268435456      67108864     float     sum      -1   1445.2  185.74  185.74      0   1441.9  186.17  186.17    N/A
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 179.465
)";

TEST(NcclTests, AreCeilingsOfACollective) {
  const ToolFile file = read(kAllReduce, "all_reduce_perf.txt");
  EXPECT_EQ(file.tool, Tool::NcclTests);
  EXPECT_THAT(file.hosts, ElementsAre("host-a", "host-b"));
  ASSERT_THAT(file.ceilings, SizeIs(1));
  EXPECT_EQ(file.ceilings[0].row.kind, "collective");
  EXPECT_EQ(file.ceilings[0].host, "host-a");
  const auto document = nlohmann::json::parse(file.ceilings[0].row.document);
  EXPECT_EQ(document["collective"], "all-reduce");
  EXPECT_EQ(document["ranks"], 2);
  EXPECT_EQ(document["sizes"].back()["bytes"], 268'435'456);
  EXPECT_EQ(document["sizes"].back()["busbw_mbps"], 1'489'360);
}

TEST(NcclTests, NameTheirCollectiveThemselvesOrByTheirFactor) {
  const ToolFile named =
      read(std::string("# Collective test starting: reduce_scatter_perf\n") + kAllReduce, "o");
  EXPECT_EQ(named.ceilings[0].row.direction, "reduce-scatter");
  std::string four = kAllReduce;
  four.replace(
      four.find("host-a:855"), 0,
      "#  Rank  2 Group  0 Pid 1 on c device 0\n#  Rank  3 Group  0 Pid 1 on d device 0\n");
  for (const char* of_two : {"186.17  186.17", "185.74  185.74"}) {
    const std::string of_four = std::string(of_two).substr(0, 6) + "  279.0 ";
    four.replace(four.find(of_two), std::string(of_two).size(), of_four);
  }
  EXPECT_EQ(read(four, "o").ceilings[0].row.direction, "all-reduce");
}

constexpr const char* kWrite = R"(---------------------------------------------------------------
                    RDMA_Write BW Test
 Dual-port       : OFF		Device         : mlx5_0
 Number of qps   : 1		Transport type : IB
 Link type       : Ethernet
---------------------------------------------------------------
 local address: LID 0000 QPN 0x00b7 PSN 0xda4e0c RKey 0x0057c3 VAddr 0x007f1d9feb0000
 GID: 00:00:00:00:00:00:00:00:00:00:255:255:10:00:00:157
 remote address: LID 0000 QPN 0x00b7 PSN 0x2c7174 RKey 0x009450 VAddr 0x007f286d020000
 GID: 00:00:00:00:00:00:00:00:00:00:255:255:10:00:00:155
---------------------------------------------------------------
 #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]
Conflicting CPU frequency values detected: 1003.892000 != 1940.696000. CPU Frequency is not max.
 65536      5000             11044.38            11043.78                  0.176700
)";

TEST(Perftest, IsACeilingOfADevice) {
  const ToolFile file = read(kWrite);
  EXPECT_EQ(file.tool, Tool::Perftest);
  ASSERT_THAT(file.ceilings, SizeIs(1));
  const GivenProbe& probe = file.ceilings[0];
  EXPECT_EQ(probe.own_address, "10.0.0.157");
  EXPECT_EQ(probe.peer_address, "10.0.0.155");
  EXPECT_EQ(probe.device, "mlx5_0");
  const auto document = nlohmann::json::parse(probe.row.document);
  EXPECT_EQ(document["operation"], "write");
  EXPECT_NEAR(document["average_mbps"].get<double>(), 92'641, 1);
}

TEST(Perftest, OfADeviceWhoseNameIsNoUtf8IsReadAllTheSame) {
  std::string text = kWrite;
  text.replace(text.find("mlx5_0"), 6, "mlx\xff\x0c");
  EXPECT_THAT(read(text).ceilings, SizeIs(1));
}

std::string inspected(int rank, int ranks, int number, double us, int pid = 1) {
  return fmt::format(R"({{"header":{{"id":"0xad{}","rank":{},"n_ranks":{},"nnodes":2}},"metadata":{{
"inspector_output_format_version":"v4.0","hostname":"a","pid":{},"dump_timestamp_us":1772585717263338}},
"coll_perf":{{"coll":"AllReduce","coll_sn":{},"coll_msg_size_bytes":2360832,"coll_exec_time_us":{}}}}})",
                     ranks, rank, ranks, pid, number, us);
}

std::string one_line(std::string text) {
  std::erase(text, '\n');
  return text + "\n";
}

TEST(Inspector, SaysHowLongARanksPartTook) {
  const ToolFile file = read(one_line(inspected(1, 2, 6, 10)) +
                             one_line(inspected(5, 8, 7, 5663.5)) + "{\"header\":\n");
  EXPECT_EQ(file.tool, Tool::Inspector);
  ASSERT_THAT(file.ranks, SizeIs(1));
  EXPECT_THAT(file.ranks[0].rank, Optional(5));  // of the larger communicator
  EXPECT_EQ(file.ranks[0].host, "a");
  ASSERT_THAT(file.ranks[0].collectives, SizeIs(2));
  EXPECT_EQ(file.ranks[0].collectives[1].length_ns, 5'663'500);
  EXPECT_EQ(file.ranks[0].groups[1], "0xad8/AllReduce");
  EXPECT_EQ(file.span.end_ns, 1772585717263338000);
  EXPECT_THAT(file.left_out, SizeIs(1));
}

// The comma before "status" is missing, as in NCCL 2.28.9.
constexpr const char* kRas = R"({
  "nccl_version": "2.28.9",
  "timestamp": "2026-06-19 06:56:24",
  "communicators_count": 1,
  "communicators": [
    {
      "hash": "0xae94423cfbb2ef4a",
      "size": 4,
      "ranks_count": 3,
      "missing_ranks_count": 1,
      "ranks": [
        {"rank": 0, "host": "10.0.0.1", "pid": 7, "collective_counts": {"AllReduce": 12}},
        {"rank": 1, "host": "10.0.0.1", "pid": 8, "collective_counts": {"AllReduce": 12}},
        {"rank": 2, "host": "10.0.0.2", "pid": 9, "collective_counts": {"AllReduce": 11}}
      ],
      "missing_ranks": [
        {
          "rank": 3,
          "host": "10.0.0.2",
          "pid": 10,
          "cuda_dev": 1,
          "nvml_dev": 1
          "status": {
            "unresponsive": true,
            "considered_dead": true
          }
        }
      ]
    }
  ]
})";

TEST(Ras, OfJsonNamesWhoIsMissingAndWhoIsBehind) {
  const ToolFile file = read(kRas);
  EXPECT_EQ(file.tool, Tool::Ras);
  ASSERT_THAT(file.ras, SizeIs(2));
  EXPECT_EQ(file.ras[0].rank, 3);
  EXPECT_EQ(file.ras[0].state, RasRank::State::Dead);
  EXPECT_TRUE(file.ras[0].is_world);
  EXPECT_EQ(file.ras[1].rank, 2);
  EXPECT_EQ(file.ras[1].state, RasRank::State::Behind);
  EXPECT_EQ(file.ras[1].others, 12);
  EXPECT_FALSE(file.ras_is_clean);
}

// A rank of a part of the job is known by its process.
TEST(Ras, OfASmallerCommunicatorNamesTheJobsRank) {
  const ToolFile file = read(R"({"nccl_version": "2.29.1", "communicators": [
    {"hash": "0x1", "size": 2, "ranks": [
      {"rank": 0, "host": "h", "pid": 12, "collective_counts": {"AllReduce": 9}},
      {"rank": 1, "host": "h", "pid": 13, "collective_counts": {"AllReduce": 3}},
      {"rank": 1, "host": "h", "pid": 99, "collective_counts": {"AllReduce": 9}}]},
    {"hash": "0x2", "size": 4, "ranks": [
      {"rank": 2, "host": "h", "pid": 12, "collective_counts": {"AllReduce": 1}},
      {"rank": 3, "host": "h", "pid": 13, "collective_counts": {"AllReduce": 1}}]}]})");
  ASSERT_THAT(file.ras, SizeIs(1));
  EXPECT_EQ(file.ras[0].rank, 3);
  EXPECT_TRUE(file.ras[0].is_world);
}

// Ranks 0 and 1 in one part of the job, 0 and 2 in another: 2 waits for 0, which waits for 1.
constexpr const char* kNestedRas = R"({"nccl_version": "2.29.1", "communicators": [
    {"hash": "0x1", "size": 3, "ranks": [
      {"rank": 0, "host": "h", "pid": 10, "collective_counts": {"AllReduce": 5}},
      {"rank": 1, "host": "h", "pid": 11, "collective_counts": {"AllReduce": 5}},
      {"rank": 2, "host": "h", "pid": 12, "collective_counts": {"AllReduce": 5}}]},
    {"hash": "0x2", "size": 2, "ranks": [
      {"rank": 0, "host": "h", "pid": 10, "collective_counts": {"AllReduce": 50}},
      {"rank": 1, "host": "h", "pid": 11, "collective_counts": {"AllReduce": 49}}]},
    {"hash": "0x3", "size": 2, "ranks": [
      {"rank": 0, "host": "h", "pid": 10, "collective_counts": {"AllReduce": 9}},
      {"rank": 1, "host": "h", "pid": 12, "collective_counts": {"AllReduce": 10}}]}]})";

TEST(Ras, WhoWaitsItselfIsNotTheOneThatIsBehind) {
  const ToolFile file = read(kNestedRas);
  ASSERT_THAT(file.ras, SizeIs(1));
  EXPECT_EQ(file.ras[0].rank, 1);
  EXPECT_EQ(file.ras[0].state, RasRank::State::Behind);
  EXPECT_EQ(file.ras[0].others, 50);
}

// Rank 1 is ahead of 0 in one part, and behind it in the other.
TEST(Ras, OfRanksThatWaitForEachOtherAllAreBehind) {
  std::string text = kNestedRas;
  text.replace(text.find("\"pid\": 12, \"collective_counts\": {\"AllReduce\": 10"), 9,
               "\"pid\": 11");
  const ToolFile file = read(text);
  ASSERT_THAT(file.ras, SizeIs(2));
  EXPECT_EQ(file.ras[0].rank + file.ras[1].rank, 1);
}

constexpr const char* kRasText = R"(NCCL version 2.26.2 compiled with CUDA 12.6
CUDA runtime version 12060, driver version 12060

Job summary
===========

  Nodes  Processes         GPUs  Processes     GPUs
(total)   per node  per process    (total)  (total)
      4          8            1         32       32

Communicators... (0.00s)
=============

Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
    0         1         4         8        32        32   RUNNING  MISMATCH

Errors
======

Warnings
========

#0-0 (fa93daea854b060b) MISMATCH
  Communicator ranks have different AllGather operation counts
  30 ranks have launched up to operation 641
  2 ranks have launched up to operation 640
  Rank 12 -- GPU 4 managed by process 323032 on node 10.137.190.124
  Rank 13 -- GPU 5 managed by process 323033 on node 10.137.190.124
)";

TEST(Ras, OfTextSaysTheSame) {
  const ToolFile file = read(kRasText);
  EXPECT_EQ(file.tool, Tool::Ras);
  ASSERT_THAT(file.ras, SizeIs(2));
  EXPECT_EQ(file.ras[1].rank, 13);
  EXPECT_EQ(file.ras[1].state, RasRank::State::Behind);
  EXPECT_EQ(file.ras[1].operation, "AllGather");
  EXPECT_EQ(file.ras[1].count, 640);
  EXPECT_EQ(file.ras[1].others, 641);
  EXPECT_EQ(file.ras[1].host, "10.137.190.124");
  EXPECT_TRUE(file.ras[1].is_world);
}

TEST(Ras, ThatFindsNothingIsClean) {
  std::string text = kRasText;
  text = text.substr(0, text.find("#0-0"));
  text.replace(text.find("MISMATCH"), 8, "OK");
  EXPECT_TRUE(read(text).ras_is_clean);
}

constexpr const char* kSacct =
    "JobID|JobName|State|ExitCode|Start|End|NodeList|\n"
    "4711|train|CANCELLED by 1000|0:0|2026-11-27T01:00:00|2026-11-27T02:00:00|n[1-2]|\n"
    "4711.0|python|OUT_OF_MEMORY|0:125|2026-11-27T01:00:05|2026-11-27T02:00:00|n[1-2]|\n";

TEST(Sacct, OfATableSaysHowJobAndStepsEnded) {
  const ToolFile file = read(kSacct);
  EXPECT_EQ(file.tool, Tool::Slurm);
  ASSERT_THAT(file.jobs, SizeIs(2));
  EXPECT_EQ(file.jobs[0].state, "CANCELLED");
  EXPECT_EQ(file.jobs[1].state, "OUT_OF_MEMORY");
  EXPECT_THAT(file.jobs[1].signal, Optional(125));
  EXPECT_EQ(file.jobs[1].span.end_ns - file.jobs[1].span.start_ns, 3'595'000'000'000);
}

TEST(Sacct, OfJsonIsTheSameInItsForms) {
  const ToolFile file = read(R"({"meta":{"slurm":{}},"jobs":[
    {"job_id":4711,"name":"train","nodes":"n[1-2]","state":{"current":["FAILED"],"reason":"NonZeroExitCode"},
     "exit_code":{"status":["ERROR"],"return_code":{"set":true,"infinite":false,"number":3},
                  "signal":{"id":{"set":false,"infinite":false,"number":0},"name":""}},
     "time":{"start":1795000000,"end":1795000600},
     "steps":[{"step":{"id":"4711.0","name":"python"},"state":"NODE_FAIL","nodes":{"range":"n2"},
               "exit_code":{"return_code":1,"signal":{"signal_id":9}},
               "time":{"start":{"set":true,"number":1795000001},"end":{"set":true,"number":1795000600}}}]}]})");
  ASSERT_THAT(file.jobs, SizeIs(2));
  EXPECT_THAT(file.jobs[0], AllOf(Field(&SlurmJob::id, "4711"), Field(&SlurmJob::state, "FAILED"),
                                  Field(&SlurmJob::exit_code, Optional(3)),
                                  Field(&SlurmJob::signal, std::nullopt)));
  EXPECT_THAT(file.jobs[1], AllOf(Field(&SlurmJob::id, "4711.0"), Field(&SlurmJob::nodes, "n2"),
                                  Field(&SlurmJob::signal, Optional(9))));
  EXPECT_EQ(file.span.end_ns, 1'795'000'600'000'000'000);
}

// A job whose command ended with 3: "sacct -P" of the same has 3:0 throughout.
TEST(Sacct, OfSlurm22SaysNoExitCodeOfWhatFailed) {
  const ToolFile file = read(R"({"meta":{"Slurm":{}},"jobs":[
    {"job_id":100,"name":"train","nodes":"n1","state":{"current":"FAILED","reason":"None"},
     "exit_code":{"status":"SUCCESS","return_code":0},"time":{"start":1795000000,"end":1795000600},
     "steps":[{"step":{"job_id":100,"id":"batch","name":"batch"},"state":"FAILED",
               "exit_code":{"status":"SUCCESS","return_code":0}},
              {"step":{"job_id":100,"id":1,"name":"python"},"state":"COMPLETED",
               "exit_code":{"status":"SUCCESS","return_code":0}}]}]})");
  ASSERT_THAT(file.jobs, SizeIs(3));
  EXPECT_EQ(file.jobs[0].exit_code, std::nullopt);
  EXPECT_EQ(file.jobs[1].id, "100.batch");
  EXPECT_EQ(file.jobs[1].exit_code, std::nullopt);
  EXPECT_EQ(file.jobs[2].id, "100.1");
  EXPECT_THAT(file.jobs[2].exit_code, Optional(0));
}

TEST(AProbesDocument, IsReadAsCeilingIsRead) {
  const ToolFile file = read(R"({"schema":"chokepoint.probe.tcp/1","host":"a"})");
  EXPECT_EQ(file.tool, Tool::Chokepoint);
  EXPECT_THAT(file.ceilings, SizeIs(1));
}

TEST(AFile, PictureOfWhatIsNotRead) {
  std::string latencies = kWrite;
  latencies.replace(latencies.find("BW peak[MB/sec]    BW average[MB/sec]"), 37,
                    "t_min[usec] t_typical[usec]");
  const std::string beyond_all_numbers =
      R"({"baseTimeNanoseconds":9223372036854775807,"traceEvents":[)" +
      event("ProfilerStep#1", "user_annotation", 3.9e15, 3.9e15) + "," +
      event("ProfilerStep#2", "user_annotation", 1e300, 1) + "]}";
  const std::string text_of_17_mib =
      R"({"traceEvents":[{"name":")" + std::string(std::size_t{17} << 20, 'a');
  const std::string deep = R"({"traceEvents":[{"args":)" + std::string(100'000, '[');
  fakes::Sentences sentences;
  for (const auto& [what, text] : std::initializer_list<std::pair<const char*, std::string>>{
           {"a text of no tool", "hello"},
           {"a dump without a process", R"({"pg_config": {}, "entries": []})"},
           {"a pickle that runs something",
            "\x80\x02"
            "cos\nsystem\n."},
           {"a trace that is cut off", R"({"traceEvents":[)"},
           {"a trace without events", R"({"traceEvents":[]})"},
           {"a trace of times beyond all numbers", beyond_all_numbers},
           {"a trace nested 100000 deep", deep},
           {"a trace with a text of 17 MiB", text_of_17_mib},
           {"nccl-tests of a collective that is not named", kAllReduce},
           {"perftest's latencies", latencies},
           {"perftest without its head",
            std::string(kWrite).substr(std::string_view(kWrite).find(" #bytes"))},
           {"sacct without a job", R"({"meta":{},"jobs":[]})"}}) {
    sentences.add(what, why(text));
  }
  sentences.add("a dump of no rank", read(kDump, "dump").left_out.at(0));
  const std::string whole = trace();
  sentences.add("a trace that is cut off after its first step",
                read(whole.substr(0, whole.find("aten::mm"))).left_out.at(0));
  sentences.add("a line of the inspector that is cut off",
                read(one_line(inspected(1, 2, 6, 10)) + "{\"header\":\n").left_out.at(0));
  EXPECT_GOLDEN("sentences_tool_files", sentences.text());
}

}  // namespace
}  // namespace chokepoint::analysis
