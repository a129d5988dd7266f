#include "analysis/confirm/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include <nlohmann/json.hpp>

#include "analysis/attribution/diagnose.h"
#include "analysis/confirm/tests.h"
#include "analysis/load/connections.h"
#include "analysis/load/probe_document.h"
#include "base/documents/collective.h"
#include "base/documents/document.h"
#include "base/documents/probe_processor.h"
#include "base/documents/probe_storage.h"
#include "base/documents/probe_udp.h"
#include "base/math/queue.h"
#include "base/math/statistics.h"
#include "base/math/units.h"

namespace chokepoint::analysis::confirm {
namespace {

// Thresholds of the rules in tests.def, whose texts name them: judgements, tried by scripts/bench
// confirm. docs/internals/confirm.md explains them.
// Rates, in times the job's:
constexpr double kMaxNoFaster = 1.1;
constexpr double kMaxSimilarRate = 4.0 / 3;
constexpr double kMinFaster = 2;
constexpr double kMinFullRate = 0.75;
// A route's rate, in times the rate of the route that the job used.
constexpr double kMinBetterRoute = 1.5;
constexpr double kMaxNoBetterRoute = 1.05;
// One host's processors, in times another's.
constexpr double kMaxSlowerPace = 0.75;
// A collective, in times what it took in the job.
constexpr double kMaxQuickCollective = 0.6;
constexpr double kMinSlowCollective = 0.9;
constexpr double kMinComparableCollective = 0.5;
// A round trip, in times the job's.
constexpr double kMinFarRtt = 0.7;
constexpr double kMaxNearRtt = 0.5;
// Shares of a test's time in which a buffer, a window or a program held it back.
constexpr double kMinHeldShare = 0.5;
// A test that was held to a pace and reached it may have carried more.
constexpr double kReachedPace = 0.95;

// Packets of a test of loss, and how many of them decide.
constexpr double kMinPackets = 1000;
constexpr double kMinExpectedLost = 10;
constexpr double kMinLost = 3;
constexpr double kMinLossPercent = 0.005;
constexpr double kMinShareOfJobLoss = 0.5;
constexpr double kMaxLostOfOpenPath = 0.5;

// By how much tests change the odds of a verdict: docs/internals/confirm.md. One that is not
// confirmed is more often a fault that is over than one that never was.
constexpr double kOddsConfirmed = 3;
constexpr double kOddsNotConfirmed = 0.25;
constexpr double kMaxConfidence = 0.99;

struct LostPackets {
  double sent = 0;
  double lost = 0;
};

// `is_whole`: of both directions, else of what the host that ran the test sent.
std::optional<LostPackets> lost_in(const std::string& document, bool is_whole) {
  const auto measured = documents::read_text<documents::ProbeUdp>(document);
  LostPackets packets;
  const auto add = [&](const std::optional<documents::UdpFigures>& figures) {
    if (figures) {
      const std::uint64_t by_socket = figures->lost_in_receiver_queue.value_or(0);
      packets.sent += static_cast<double>(figures->packets_sent);
      packets.lost += static_cast<double>(figures->lost - std::min(figures->lost, by_socket));
    }
  };
  if (measured) {
    add(measured->by_direction.send);
  }
  if (measured && is_whole) {
    add(measured->by_direction.receive);
  }
  return packets.sent > 0 ? std::optional(packets) : std::nullopt;
}

// In ms, of the first size.
std::optional<double> collective_ms(const std::string& document) {
  const auto measured = documents::read_text<documents::Collective>(document);
  return measured && !measured->sizes.empty() && measured->sizes.front().time_us
             ? std::optional(measured->sizes.front().time_us->median / 1e3)
             : std::nullopt;
}

// In million steps/s.
struct Pace {
  double alone = 0;     // of one thread
  double together = 0;  // of one on each processor, the mean of them
};

std::optional<Pace> pace_in(const std::string& document) {
  const auto measured = documents::read_text<documents::ProbeProcessor>(document);
  if (!measured || measured->processors.empty()) {
    return std::nullopt;
  }
  return Pace{.alone = measured->alone.million_steps_per_s,
              .together = math::sum_by(measured->processors,
                                       &documents::ProcessorPace::million_steps_per_s) /
                          static_cast<double>(measured->processors.size())};
}

// Whether `one` is clearly below the other in both.
bool is_slower(const Pace& one, const Pace& other) {
  return one.alone <= kMaxSlowerPace * other.alone &&
         one.together <= kMaxSlowerPace * other.together;
}

// Of several rounds: other programs only lower it, for a moment or for long.
struct Paces {
  Pace best = {};
  Pace worst = {};

  void add(const Pace& pace) {
    best = {.alone = std::max(best.alone, pace.alone),
            .together = std::max(best.together, pace.together)};
    worst = {.alone = std::min(worst.alone, pace.alone),
             .together = std::min(worst.together, pace.together)};
  }
  bool is_surely_below(const Paces& other) const { return is_slower(best, other.worst); }
  bool may_be_below(const Paces& other) const { return is_slower(best, other.best); }
};

std::optional<double> of_storage(const PlannedTest& test, const std::string& document) {
  const auto measured = documents::read_text<documents::ProbeStorage>(document);
  return !measured                             ? std::nullopt
         : test.rule == TestRule::WritesSlowly ? measured->write_mb_per_s
                                               : measured->cold_read_mb_per_s();
}

std::string rate_text(double mbps) { return math::format_rate(mbps * math::kMega); }

struct Judged {
  std::optional<double> value = {};
  std::string unit = {};
  Support support = Support::Nothing;
  std::string sentence = {};
};

// `for_it` and `against` cannot both hold.
Support support_of(bool for_it, bool against) {
  return for_it ? Support::For : against ? Support::Against : Support::Nothing;
}

// By a buffer or a program of either end.
bool is_held_by_host(const ProbedDirection& sent) {
  return sent.by_application.value_or(0) + sent.by_receive_window.value_or(0) +
             sent.by_send_buffer.value_or(0) >=
         kMinHeldShare;
}

bool has_queue(const ProbedDirection& sent) {
  return !is_held_by_host(sent) &&
         math::has_queue(sent.loaded_rtt_ms.value_or(0), sent.least_rtt_ms.value_or(0),
                         math::kMomentQueueFactor);
}

// The support by rules of throughput where the path carries `times` of what the job sent.
Support by_room(TestRule rule, double times, bool is_at_pace, const ProbedDirection& sent) {
  const bool is_full = !is_at_pace && has_queue(sent);
  switch (rule) {
    case TestRule::IsFull:
      return support_of(is_full && times >= kMinFullRate && times <= kMaxSimilarRate,
                        times >= kMinFaster);
    case TestRule::MayBeFull:
      return support_of(false, times >= kMinFaster);
    case TestRule::HasRoom:
      return support_of(times >= kMinFaster, times <= kMaxNoFaster && !is_at_pace);
    case TestRule::IsFree:
      return support_of(times >= kMaxSimilarRate, false);
    case TestRule::IsNotFull:
      return support_of(times >= kMinFaster || is_held_by_host(sent),
                        is_full && times <= kMaxNoFaster);
    default:
      return Support::Nothing;
  }
}

class Judge {
 public:
  Judge(std::span<const PlannedTest> plan, std::span<const TestResult> results, bool is_one_way)
      : plan_(plan), results_(results), is_one_way_(is_one_way) {}

  static bool is_of(const PlannedTest& test, const TestResult& result) {
    return test.kind == result.kind && test.on == result.on && test.to == result.to &&
           test.folder == result.folder && test.to_address == result.address;
  }

  Judged judged(const PlannedTest& test, const TestResult& result) const {
    switch (test.kind) {
      case TestKind::Throughput:
      case TestKind::Buffers:
      case TestKind::Neighbour:
      case TestKind::OtherRoute:
        return throughput(test, result);
      case TestKind::Latency:
      case TestKind::LoadedLatency:
        return round_trip(test, result);
      case TestKind::Loss:
        return loss(test, result);
      case TestKind::Collective:
        return collective(test, result);
      case TestKind::Processor:
      case TestKind::OtherProcessor:
        return processor(test, result);
      case TestKind::Storage:
        return storage(test, result);
    }
    return {};
  }

 private:
  static std::optional<ProbedDirection> sent_in(const TestResult& result) {
    const auto probe = read_probe({.kind = "tcp", .document = result.document});
    return probe ? std::optional(probe->direction(ProbeDirection::Send)) : std::nullopt;
  }

  Judged throughput(const PlannedTest& test, const TestResult& result) const {
    const auto sent = sent_in(result);
    if (!sent || !sent->throughput_mbps) {
      return {};
    }
    if (test.rule == TestRule::LosesUnderLoad) {
      return retransmitted(test, *sent);
    }
    const double mbps = *sent->throughput_mbps;
    const bool is_at_pace = test.pace_mbps > 0 && mbps >= kReachedPace * test.pace_mbps;
    Judged judged{.value = mbps, .unit = "Mb/s"};
    judged.sentence =
        fmt::format("probe tcp carries {}{} {} from {} to {}{}", is_at_pace ? "at least " : "",
                    rate_text(mbps), alone(test), test.on, test.to, route_text(test));
    if (test.job_value && *test.job_value > 0) {
      judged.sentence += fmt::format(", the job {}", rate_text(*test.job_value));
      judged.support = by_room(test.rule, mbps / *test.job_value, is_at_pace, *sent);
    }
    if (test.rule == TestRule::IsBetter) {
      judged.support = against_used_route(test, mbps);
    }
    if (mbps < kMinFaster * test.job_value.value_or(mbps)) {
      held_by(test.rule, *sent, judged);
    }
    return judged;
  }

  static void held_by(TestRule rule, const ProbedDirection& sent, Judged& judged) {
    if (rule == TestRule::BuffersHold) {
      const bool by_window = sent.by_receive_window.value_or(0) >= sent.by_send_buffer.value_or(0);
      held_by(by_window ? TestRule::WindowHolds : TestRule::BufferHolds, sent, judged);
      judged.support =
          by_window || judged.support == Support::Nothing ? judged.support : Support::Against;
      return;
    }
    const auto share = rule == TestRule::WindowHolds   ? sent.by_receive_window
                       : rule == TestRule::BufferHolds ? sent.by_send_buffer
                                                       : std::nullopt;
    if (share) {
      judged.support = support_of(*share >= kMinHeldShare, false);
      judged.sentence += fmt::format(
          "; {} holds it back for {:.0f} % of its time",
          rule == TestRule::WindowHolds ? "the receiver's window" : "the sender's buffer",
          100 * *share);
    }
  }

  static const char* alone(const PlannedTest& test) {
    return test.beside_job ? "beside the job" : "alone";
  }

  static std::string route_text(const PlannedTest& test) {
    return test.kind == TestKind::OtherRoute ? fmt::format(" at {}", test.to_address) : "";
  }

  // The other route against the one that the job used.
  Support against_used_route(const PlannedTest& test, double mbps) const {
    for (const TestResult& each : results_) {
      if (each.kind == TestKind::Throughput && each.on == test.on && each.to == test.to) {
        const auto used = sent_in(each);
        const double of_used = used ? used->throughput_mbps.value_or(0) : 0;
        return of_used > 0 ? support_of(mbps >= kMinBetterRoute * of_used,
                                        mbps <= kMaxNoBetterRoute * of_used)
                           : Support::Nothing;
      }
    }
    return Support::Nothing;
  }

  static Judged retransmitted(const PlannedTest& test, const ProbedDirection& sent) {
    if (!sent.loss_percent) {
      return {};
    }
    const double least = std::max(kMinLossPercent, kMinShareOfJobLoss * test.job_value.value_or(0));
    return {.value = sent.loss_percent,
            .unit = "%",
            .support = support_of(*sent.loss_percent >= least && !has_queue(sent), false),
            .sentence = fmt::format("probe tcp from {} to {} retransmits {:.2g} % {}", test.on,
                                    test.to, *sent.loss_percent, alone(test))};
  }

  static Judged round_trip(const PlannedTest& test, const TestResult& result) {
    const auto probe = read_probe({.kind = "latency", .document = result.document});
    if (!probe) {
      return {};
    }
    if (test.kind == TestKind::LoadedLatency) {
      const auto& loaded = probe->direction(ProbeDirection::Send).loaded_rtt_ms;
      return !loaded ? Judged{}
                     : Judged{.value = loaded,
                              .unit = "ms",
                              .sentence = fmt::format("under load a round trip from {} to {} takes "
                                                      "{}",
                                                      test.on, test.to, math::format_ms(*loaded))};
    }
    if (!probe->least_rtt_ms) {
      return {};
    }
    const double ms = *probe->least_rtt_ms;
    Judged judged{.value = ms, .unit = "ms"};
    judged.sentence = fmt::format("a round trip from {} to {} takes {} {}", test.on, test.to,
                                  math::format_ms(ms), alone(test));
    if (test.rule == TestRule::IsWide) {
      judged.support = support_of(ms >= DiagnoseOptions().wan_rtt_ms, false);
    } else if (test.job_value && test.rule == TestRule::IsFar) {
      judged.sentence += fmt::format(", {} in the job", math::format_ms(*test.job_value));
      judged.support =
          support_of(ms >= kMinFarRtt * *test.job_value, ms < kMaxNearRtt * *test.job_value);
    }
    return judged;
  }

  Judged loss(const PlannedTest& test, const TestResult& result) const {
    const bool is_whole = test.rule != TestRule::Loses || !is_one_way_;
    const auto packets = lost_in(result.document, is_whole);
    if (!packets) {
      return {};
    }
    const double percent = 100 * packets->lost / packets->sent;
    const bool is_lost = packets->lost >= kMinLost && percent >= kMinLossPercent;
    Judged judged{.value = percent, .unit = "%"};
    judged.sentence = fmt::format("probe udp loses {} of {:.0f} packets {} {} {} {}",
                                  packets->lost > 0 ? fmt::format("{:.0f}", packets->lost) : "none",
                                  packets->sent, is_whole ? "between" : "from", test.on,
                                  is_whole ? "and" : "to", test.to);
    const double expected = packets->sent * test.job_value.value_or(0) / 100;
    switch (test.rule) {
      case TestRule::Loses:
        judged.support = support_of(is_lost, packets->lost == 0 && expected >= kMinExpectedLost);
        break;
      case TestRule::LosesNothing:
        judged.support = support_of(packets->lost == 0 && packets->sent >= kMinPackets, is_lost);
        break;
      case TestRule::Passes:
        judged.support = support_of(false, packets->lost < kMaxLostOfOpenPath * packets->sent);
        break;
      default:
        break;
    }
    return judged;
  }

  static Judged collective(const PlannedTest& test, const TestResult& result) {
    const auto ms = collective_ms(result.document);
    if (!ms) {
      return {};
    }
    Judged judged{.value = ms, .unit = "ms"};
    judged.sentence = fmt::format(
        "an all-reduce of {} takes {} {}", math::format_bytes(static_cast<double>(test.bytes)),
        math::format_ms(*ms), test.beside_job ? alone(test) : "without the job");
    if (test.job_value && *test.job_value > 0) {
      judged.sentence += fmt::format(", {} in it", math::format_ms(*test.job_value));
      judged.support = test.rule == TestRule::IsAsLong
                           ? support_of(*ms >= kMinComparableCollective * *test.job_value, false)
                           : support_of(*ms <= kMaxQuickCollective * *test.job_value,
                                        *ms >= kMinSlowCollective * *test.job_value);
    }
    return judged;
  }

  std::optional<Paces> paces_of(const std::string& node) const {
    std::optional<Paces> paces;
    for (const TestResult& each : results_) {
      const bool is_one = each.kind == TestKind::Processor || each.kind == TestKind::OtherProcessor;
      const auto pace =
          is_one && each.on == node && each.failure.empty() ? pace_in(each.document) : std::nullopt;
      if (pace) {
        paces = paces.value_or(Paces{.best = *pace, .worst = *pace});
        paces->add(*pace);
      }
    }
    return paces;
  }

  std::vector<Paces> others_of(const std::string& node) const {
    std::vector<std::string> seen{node};
    std::vector<Paces> found;
    for (const TestResult& each : results_) {
      if (each.kind == TestKind::OtherProcessor && std::ranges::find(seen, each.on) == seen.end()) {
        seen.push_back(each.on);
        if (const auto paces = paces_of(each.on)) {
          found.push_back(*paces);
        }
      }
    }
    return found;
  }

  bool is_second_round(const TestResult& result) const {
    const auto first = std::ranges::find_if(results_, [&](const TestResult& each) {
      return each.kind == result.kind && each.on == result.on;
    });
    return &*first != &result;
  }

  Judged processor(const PlannedTest& test, const TestResult& result) const {
    const auto pace = pace_in(result.document);
    const auto own = paces_of(test.on);
    if (!pace || !own) {
      return {};
    }
    Judged judged{.value = pace->together, .unit = "million steps/s"};
    judged.sentence = fmt::format(
        "a processor of {} computes {:.0f} million steps/s beside the others, {:.0f} alone",
        test.on, pace->together, pace->alone);
    const std::vector<Paces> others = others_of(test.on);
    if (others.empty() || test.kind == TestKind::OtherProcessor || is_second_round(result)) {
      return judged;
    }
    const auto is_below = [&](const Paces& other) { return own->is_surely_below(other); };
    const auto is_above = [&](const Paces& other) { return other.is_surely_below(*own); };
    const auto may_differ = [&](const Paces& other) {
      return own->may_be_below(other) || other.may_be_below(*own);
    };
    const Pace best =
        std::ranges::max(others, {}, [](const Paces& other) { return other.best.together; }).best;
    judged.sentence += fmt::format(", of {} {:.0f} and {:.0f}",
                                   others.size() == 1 ? "another host" : "the fastest other host",
                                   best.together, best.alone);
    if (test.rule == TestRule::IsSlow) {
      judged.support = support_of(std::ranges::all_of(others, is_below), false);
    } else if (test.rule == TestRule::IsSimilar) {
      judged.support = support_of(
          std::ranges::none_of(others, may_differ),
          std::ranges::any_of(others, is_below) || std::ranges::any_of(others, is_above));
    }
    return judged;
  }

  static Judged storage(const PlannedTest& test, const TestResult& result) {
    const auto mb_per_s = of_storage(test, result.document);
    if (!mb_per_s) {
      return {};
    }
    Judged judged{.value = mb_per_s, .unit = "MB/s"};
    judged.sentence = fmt::format("probe storage {} {:.3g} MB/s at {} on {}",
                                  test.rule == TestRule::WritesSlowly ? "writes" : "reads",
                                  *mb_per_s, test.folder, test.on);
    if (!test.job_value || *test.job_value <= 0) {
      return judged;
    }
    judged.sentence += fmt::format(", the job {:.3g} while it waited", *test.job_value);
    const double times = *mb_per_s / *test.job_value;
    judged.support = test.rule == TestRule::ReadsFast
                         ? support_of(times >= kMinFaster, times <= kMaxNoFaster)
                         : support_of(times <= kMaxSimilarRate, times >= kMinFaster);
    return judged;
  }

  std::span<const PlannedTest> plan_;
  std::span<const TestResult> results_;
  bool is_one_way_;
};

struct Lead {
  TestKind test = TestKind::Throughput;
  Support support = Support::Nothing;
  VerdictClass lan = VerdictClass::Unknown;
  VerdictClass wan = VerdictClass::Unknown;
};

constexpr std::array kLeads{
#define LEADS(test_, support_, rule_, lan_, wan_) \
  Lead{.test = TestKind::test_,                   \
       .support = Support::support_,              \
       .lan = VerdictClass::lan_,                 \
       .wan = VerdictClass::wan_},
#include "analysis/attribution/tests.def"
};

std::string sentences_of(const std::vector<TestResult>& tests, Support support) {
  std::string text;
  for (const TestResult& each : tests) {
    if (each.support == support && !each.sentence.empty()) {
      text += (text.empty() ? "" : "; ") + each.sentence;
    }
  }
  return text;
}

// Why nothing is decided.
std::string undecided(const std::vector<TestResult>& tests) {
  const auto failed =
      std::ranges::find_if(tests, [](const TestResult& each) { return !each.failure.empty(); });
  const std::string excluded = sentences_of(tests, Support::For);
  const std::string rest = sentences_of(tests, Support::Nothing);
  const std::string measured = excluded + (excluded.empty() || rest.empty() ? "" : "; ") + rest;
  return !measured.empty()       ? measured
         : failed != tests.end() ? "no test could be run: " + failed->failure
                                 : "no test was run";
}

bool has(const std::vector<TestResult>& tests, TestKind kind, Support support) {
  return std::ranges::any_of(
      tests, [&](const TestResult& each) { return each.kind == kind && each.support == support; });
}

void lead_on(Confirmation& confirmation, bool is_wan) {
  is_wan = is_wan || has(confirmation.tests, TestKind::Latency, Support::For);
  for (const Lead& lead : kLeads) {
    const auto found = std::ranges::find_if(confirmation.tests, [&](const TestResult& each) {
      return each.kind == lead.test && each.support == lead.support;
    });
    const VerdictClass to = is_wan ? lead.wan : lead.lan;
    if (found != confirmation.tests.end() && to != VerdictClass::Unknown) {
      confirmation.leads_to = name_of(to);
      confirmation.sentence =
          fmt::format("the tests lead to {}: {}", confirmation.leads_to, found->sentence);
      return;
    }
  }
  confirmation.sentence = "the tests lead to no cause: " + undecided(confirmation.tests);
}

// The tests of a verdict together, by their roles.
struct Together {
  bool is_shown = false;  // by a test of the named thing, or there is none and all else is excluded
  bool is_refuted = false;  // by any test
  std::string left = {};    // what was not excluded: the tests that would
};

Together together(const Verdict& verdict, const std::vector<TestResult>& tests) {
  Together found;
  bool is_by_exclusion = false;
  for (const Check& check : checks_of(verdict.verdict, verdict.cause)) {
    const bool is_for = has(tests, check.test, Support::For);
    found.is_refuted = found.is_refuted || has(tests, check.test, Support::Against);
    found.is_shown = found.is_shown || (check.role == TestRole::Shows && is_for);
    if (check.role == TestRole::Excludes) {
      is_by_exclusion = true;
      found.left +=
          is_for ? "" : (found.left.empty() ? "" : ", ") + std::string(name_of(check.test));
    }
  }
  const bool is_shown_by_some =
      std::ranges::any_of(checks_of(verdict.verdict, verdict.cause),
                          [](const Check& check) { return check.role == TestRole::Shows; });
  found.is_shown = found.is_shown || (!is_shown_by_some && is_by_exclusion && found.left.empty());
  return found;
}

std::string undecided(const Together& found, const std::vector<TestResult>& tests) {
  return undecided(tests) +
         (found.left.empty() ||
                  std::ranges::none_of(
                      tests, [](const TestResult& each) { return each.value.has_value(); })
              ? ""
              : fmt::format("; other explanations are not excluded: {}", found.left));
}

void decide(const Verdict& verdict, Confirmation& confirmation) {
  const Together found = together(verdict, confirmation.tests);
  // A path may lose packets at one rate only.
  const bool is_refuted = found.is_refuted && !(is_loss(verdict.verdict) && found.is_shown);
  using State = Confirmation::State;
  confirmation.state = found.is_shown && found.left.empty() && !is_refuted ? State::Confirmed
                       : is_refuted && !found.is_shown                     ? State::NotConfirmed
                                                                           : State::Open;
  const std::string for_it = sentences_of(confirmation.tests, Support::For);
  const std::string against = sentences_of(confirmation.tests, Support::Against);
  confirmation.sentence = confirmation.state == State::Confirmed      ? "confirmed: " + for_it
                          : confirmation.state == State::NotConfirmed ? "not confirmed: " + against
                          : is_refuted ? fmt::format("not decided: {}; but {}", against, for_it)
                                       : "not decided: " + undecided(found, confirmation.tests);
}

}  // namespace

Confirmation judge(const Verdict& verdict, std::span<const PlannedTest> plan,
                   std::vector<TestResult> results, bool is_wan) {
  const bool is_one_way = verdict.where.direction != "both" && !verdict.where.to.empty();
  const Judge judge(plan, results, is_one_way);
  std::vector<Judged> judged(results.size());
  for (std::size_t at = 0; at < results.size(); ++at) {
    for (const PlannedTest& test : plan) {
      if (results[at].failure.empty() && Judge::is_of(test, results[at])) {
        PlannedTest run = test;
        run.beside_job = results[at].beside_job;
        judged[at] = judge.judged(run, results[at]);
        const Support possible = describe(test.rule).beside_job;
        if (run.beside_job && judged[at].support != possible) {
          judged[at].support = Support::Nothing;
        }
        results[at].job_value = test.job_value;
      }
    }
  }
  for (std::size_t at = 0; at < results.size(); ++at) {
    results[at].value = judged[at].value;
    results[at].unit = judged[at].unit;
    results[at].support = judged[at].support;
    results[at].sentence = judged[at].sentence;
  }
  Confirmation confirmation{.confidence_before = verdict.confidence, .tests = std::move(results)};
  if (verdict.verdict == VerdictClass::Unknown) {
    lead_on(confirmation, is_wan);
  } else {
    decide(verdict, confirmation);
  }
  return confirmation;
}

double confidence_after(Confirmation::State state, double confidence) {
  const double odds = state == Confirmation::State::Confirmed      ? kOddsConfirmed
                      : state == Confirmation::State::NotConfirmed ? kOddsNotConfirmed
                                                                   : 1;
  const double after = odds * confidence / (odds * confidence + 1 - confidence);
  return std::round(100 * std::min(after, std::max(kMaxConfidence, confidence))) / 100;
}

void apply(Confirmation confirmation, Diagnosis& diagnosis) {
  Verdict& verdict = diagnosis.verdict;
  verdict.confidence = confidence_after(confirmation.state, verdict.confidence);
  for (const TestResult& each : confirmation.tests) {
    if (each.value) {
      verdict.evidence.push_back({.what = each.sentence,
                                  .value = each.value,
                                  .unit = each.unit,
                                  .from = fmt::format("{} {} the job", name_of(each.kind),
                                                      each.beside_job ? "beside" : "after")});
    }
  }
  diagnosis.confirmation = std::move(confirmation);
}

}  // namespace chokepoint::analysis::confirm
