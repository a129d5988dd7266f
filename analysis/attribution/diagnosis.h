// The diagnosis of a run: where each step's time went, what limited the job, the evidence for it,
// and what to change. The chokepoint.diagnosis/1 document and the page for people are two views of
// it. What is not known is empty, never 0. Values; the functions here are defined in causes.cc.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/attribution/confirmation.h"
#include "analysis/load/run_summary.h"
#include "analysis/phases/goodput.h"
#include "analysis/replay/critical_path.h"
#include "base/math/statistics.h"
#include "base/record/samples.h"
#include "base/trends/standing_text.h"

namespace chokepoint::analysis {

// Rows of causes.def: the contract's classes of verdicts, the finer causes under them, and where a
// step's time went, which sums to the step.
enum class VerdictClass : std::uint8_t {
#define VERDICT(enumerator, ...) enumerator,
#include "analysis/attribution/causes.def"
};

enum class Cause : std::uint8_t {
  None,
#define CAUSE(enumerator, ...) enumerator,
#include "analysis/attribution/causes.def"
};

enum class Account : std::uint8_t {
#define ACCOUNT(enumerator, ...) enumerator,
#include "analysis/attribution/causes.def"
};
constexpr std::size_t kAccounts = static_cast<std::size_t>(Account::Other) + 1;

// Loss on TCP connections; RDMA's is RdmaLoss.
constexpr bool is_loss(VerdictClass verdict) {
  return verdict == VerdictClass::LanLoss || verdict == VerdictClass::WanLoss;
}

const char* name_of(VerdictClass verdict);  // "lan-bandwidth"
const char* name_of(Cause cause);           // "line-rate", of none ""
const char* name_of(Account account);       // "receiver_host"

struct Accounting {
  std::array<double, kAccounts> ms = {};  // a step
  double& operator[](Account account) { return ms[static_cast<std::size_t>(account)]; }
  double operator[](Account account) const { return ms[static_cast<std::size_t>(account)]; }
  double sum() const;
};

// Nodes by name; empty: not one of them alone.
struct Where {
  std::string from = {};
  std::string to = {};
  std::string direction = {};  // "both", or empty if it is from `from` to `to`
  std::string interface = {};  // of `node`
  std::string node = {};
  std::optional<std::int64_t> rank = {};
  std::vector<std::int64_t> ranks = {};  // where they are several, with `rank`
  std::string mount = {};                // of a file system on `node`
  std::string collective = {};           // "all-reduce 641", which a rank is in, or has not come to
  std::string said = {};                 // by another tool's files: who waits for whom, a sentence
  std::string frame = {};                // where the program of `rank` is: "load (train.py:41)"
};

// A number that a claim rests on, and the rows that it came from: "socket samples of a".
struct Evidence {
  std::string what = {};
  std::optional<double> value = {};
  std::string unit = {};
  std::string from = {};
};

// Behind a disk's name, of the share of time in which it had requests: without the rest the rate of
// what a job read is no more than a part of what the disk gave it.
inline constexpr const char* kAtWork = "was at work, of the time";

// `command` is one to type as it is, but for DIR, which stands for the run's folder; empty where
// words are all there is.
struct Advice {
  std::string what = {};
  std::string command = {};
  std::string option = {};  // of its prediction, else empty
  std::string value = {};
};

// What a probe measured of something that the job used, too: what could be reached of it.
struct Ceiling {
  std::string probe = {};   // "tcp"
  std::string what = {};    // "throughput", "all-reduce of 25 MB"
  std::string from = {};    // node's name; of a device that node alone
  std::string to = {};      // empty: it is no path
  std::string device = {};  // a GPU, an RDMA device; empty: none
  double probe_value = 0;
  std::optional<double> job_value = {};
  std::string unit = {};               // "Mb/s", "ms"
  std::int64_t wall_ns = 0;            // when it was measured
  std::int64_t ahead_ns = 0;           // of the run's start; below 0: after it
  std::string source = {};             // "probe 3 tcp of a", or a file
  Support support = Support::Nothing;  // of the verdict

  // What the job reached of it; nullopt of a round trip, which is no rate.
  std::optional<double> share_percent() const;
};

// A claim of another tool's file about the run, beside this program's own about the same.
struct GivenClaim {
  std::string tool = {};  // "flight-recorder"
  std::string what = {};  // for people
  std::optional<double> theirs = {};
  std::optional<double> ours = {};
  std::string unit = {};               // "rank", "ms"
  Support support = Support::Nothing;  // for this program's claim, or against it
  std::string from = {};               // the file
};

struct Verdict {
  VerdictClass verdict = VerdictClass::Unknown;
  Cause cause = Cause::None;
  Where where = {};
  double lost_ms_per_step = 0;
  double lost_low_ms = 0;  // the interval of it, which holds nine of ten: judgement.cc
  double lost_high_ms = 0;
  double share_percent = 0;  // of the step
  double confidence = 0;     // 0..1
  std::vector<Evidence> evidence = {};
  std::string disproof = {};  // what would show that it is wrong
  std::string against = {};   // what a probe or another tool measured that contradicts it
  std::vector<Advice> advice = {};
};

// What the step would take if what stands in one account took half as long (findings.h), also where
// computing or another rank hides it.
struct WhatIf {
  Account account = Account::Compute;
  double step_ms = 0;
  double gained_ms = 0;
};

struct RankFigures {
  std::int64_t rank = 0;
  std::string node = {};
  double computing_ms = 0;  // a step, and reading input; the three sum to the step
  double waiting_ms = 0;    // for others
  double communicating_ms = 0;
};

// Of a job that exchanges in every so many of its steps only, as with local SGD.
struct RoundTimes {
  std::int64_t every_steps = 0;
  std::int64_t syncs = 0;           // exchanges that were seen
  double inner_ms = 0;              // a step without exchange
  math::Distribution sync_ms = {};  // what an exchange adds to its step
  double sync_bytes = 0;            // of the ranks of one node, the median
  double utilisation_percent = 0;   // of a mean round, the part of its steps without exchange
};

struct Diagnosis {
  std::string run = {};
  std::string command = {};
  std::map<std::string, std::string> labels = {};
  std::vector<std::string> nodes = {};
  StepTimes steps = {};
  std::optional<RoundTimes> rounds = {};     // empty: steps exchange all alike, or none does
  std::vector<PurposeVolume> purposes = {};  // what its bytes were for; empty: not known
  std::optional<Goodput> goodput = {};       // empty without steps
  // Against earlier runs of this job; empty where a history has none.
  std::optional<trends::ShownStanding> standing = {};
  std::optional<Accounting> accounting = {};  // empty without steps
  // Half the width of the 95 % interval of each account's mean, by how the steps differ; what the
  // model of a step is wrong by is not in it.
  std::optional<Accounting> uncertainty = {};
  std::vector<WhatIf> what_ifs = {};               // empty where the run cannot be replayed
  std::optional<CriticalPath> critical_path = {};  // likewise
  Verdict verdict = {};
  std::vector<Verdict> others = {};  // the largest first
  std::vector<RankFigures> ranks = {};
  std::vector<Ceiling> ceilings = {};  // that probes measured, those of paths first
  std::vector<GivenClaim> given = {};  // claims of other tools' files
  std::vector<PlannedTest> plan = {};  // what may confirm the verdict, where the user wants that
  std::optional<Confirmation> confirmation = {};  // by tests after the job
  std::string pause = {};                 // why no step ends at present, where that may be meant so
  std::vector<std::string> missing = {};  // what the data lack, a line each
  bool is_complete = false;               // the job was seen to its end
};

}  // namespace chokepoint::analysis

namespace chokepoint {

template <>
struct EnumNames<analysis::VerdictClass> {
  using V = analysis::VerdictClass;
  static constexpr std::string_view kWhat = "a class of verdicts";
  static constexpr auto kNames = std::to_array<EnumName<V>>({
#define VERDICT(enumerator, name, ...) {V::enumerator, name},
#include "analysis/attribution/causes.def"
  });
};

template <>
struct EnumNames<analysis::Cause> {
  using C = analysis::Cause;
  static constexpr std::string_view kWhat = "a cause of verdicts";
  static constexpr auto kNames = std::to_array<EnumName<C>>({
#define CAUSE(enumerator, name, ...) {C::enumerator, name},
#include "analysis/attribution/causes.def"
  });
};

}  // namespace chokepoint
