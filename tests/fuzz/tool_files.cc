// Files of other tools, of any content: Flight Recorder's pickles and JSON, traces, NCCL Inspector,
// RAS, sacct, nccl-tests, perftest. Whatever the bytes, values within their bounds or an error that
// gives a reason, by the reader that the content asks for and by every other one.
#include "analysis/evidence/tool_files.h"

#include <cmath>
#include <cstdlib>
#include <initializer_list>

#include <nlohmann/json.hpp>

#include "analysis/evidence/benchmarks.h"
#include "analysis/evidence/claims.h"
#include "analysis/evidence/flight_recorder.h"
#include "analysis/evidence/nccl.h"
#include "analysis/evidence/pickle.h"
#include "analysis/evidence/profiler.h"
#include "analysis/evidence/slurm.h"
#include "analysis/evidence/source.h"
#include "analysis/evidence/trace_waits.h"

namespace {

using namespace chokepoint;
using namespace chokepoint::analysis;

void check_that(bool holds) {
  if (!holds) std::abort();
}

void check(const ToolFile& file) {
  for (const RankRecord& own : file.ranks) {
    check_that(!own.rank || is_rank(own.rank));
    for (const CollectiveTime& each : own.collectives) {
      check_that(each.group < own.groups.size() && each.length_ns >= 0);
    }
    check_that(!own.time || (own.time->exposed_ns >= 0 && own.time->rest_ns() >= 0));
    for (const auto& [name, state] : own.states) {
      check_that(state.calls.size() <= 64 && state.messages.size() <= 64);
    }
  }
  for (const PrintedSteps& each : file.printed) {
    check_that(std::isfinite(each.ms) && each.ms > 0 && each.count > 0);
  }
  for (const RasRank& each : file.ras) {
    check_that(is_rank(each.rank));
  }
  for (const GivenProbe& each : file.ceilings) {
    check_that(json::parse_object(each.row.document, kMaxGivenBytes, "ceiling").has_value());
  }
}

void look(const Result<ToolFile>& file) {
  if (!file) {
    check_that(!describe(file.error()).empty());
    return;
  }
  check(*file);
  // The same as two ranks', which is what claims compare.
  ToolFile other = *file;
  for (RankRecord& own : other.ranks) {
    own.rank = own.rank.value_or(0) + 1;
    for (CollectiveTime& each : own.collectives) {
      each.length_ns /= 2;
    }
    for (auto& [name, state] : own.states) {
      state.enqueued -= state.enqueued > INT64_MIN ? 1 : 0;
    }
  }
  ToolFile third = other;
  for (RankRecord& own : third.ranks) {
    own.rank = *own.rank + 1;
    for (auto& [name, state] : own.states) {
      for (auto& [number, call] : state.calls) {
        call.is_completed = !call.is_completed;
        call.operation += "x";
      }
      for (Message& message : state.messages) {
        message.is_sent = !message.is_sent;
      }
    }
  }
  for (const Claim& claim : claims_of({*file, other, third})) {
    check_that(!claim.what.empty() && (!claim.value || std::isfinite(*claim.value)));
    check_that(claim.what.size() < 65'536 && claim.confidence >= 0 && claim.confidence <= 1);
  }
  std::vector<const RankRecord*> timed;
  for (const ToolFile* each : std::initializer_list<const ToolFile*>{&*file, &other, &third}) {
    for (const RankRecord& own : each->ranks) {
      if (own.rank && own.time) {
        timed.push_back(&own);
      }
    }
  }
  for (const auto& [rank, ns] : waits_of(timed).waiting_ns) {
    check_that(ns >= 0);
  }
  std::vector<ToolFile> both{*file, other};
  std::vector<Error> troubles;
  keep_newest_incident(both, troubles);
  check_that(both.size() + troubles.size() == 2);
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string bytes(data, data + size);
  look(read_tool_file(bytes, "dump_3"));
  look(read_flight_recorder(bytes, "dump_3"));
  look(read_profiler(*bytes_of(bytes), "trace"));
  look(read_inspector(*bytes_of(bytes), "inspector"));
  look(read_ras(bytes, "ras"));
  look(read_slurm(bytes, "sacct"));
  look(read_nccl_tests(bytes, "all_reduce_perf"));
  look(read_perftest(bytes, "write"));
  if (const auto value = unpickled(bytes)) {
    check_that(!value->dump(-1, ' ', false, json::Json::error_handler_t::replace).empty());
  }
  return 0;
}
