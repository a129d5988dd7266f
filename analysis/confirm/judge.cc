#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include <nlohmann/json.hpp>

#include "analysis/confirm/confirm.h"
#include "analysis/load/connections.h"
#include "analysis/load/probe_document.h"
#include "base/json/codec.h"
#include "base/math/statistics.h"
#include "base/math/units.h"

namespace chokepoint::analysis::confirm {
namespace {

using json::Json;

// The thresholds that the texts of tests.def name.
constexpr double kATenthMore = 1.1;
constexpr double kAThirdMore = 4.0 / 3;
constexpr double kTwice = 2;
constexpr double kAQuarterMore = 1.25;
constexpr double kATwentiethMore = 1.05;
constexpr double kSixTenths = 0.6;
constexpr double kButATenth = 0.9;
constexpr double kAQuarterLess = 0.75;
constexpr double kAlmostAsFar = 0.7;
constexpr double kHalf = 0.5;
// A test that was held to a pace and reached it may have carried more.
constexpr double kReachedPace = 0.95;

constexpr double kMinPackets = 1000;
constexpr double kMinExpectedLost = 10;
constexpr double kMinLost = 3;
constexpr double kMinLossPercent = 0.005;

// By how much tests change the odds of a verdict: docs/internals/attribution.md, "Tests of
// verdicts". One that is not confirmed is more often a fault that is over than one that never was.
constexpr double kOddsConfirmed = 3;
constexpr double kOddsNotConfirmed = 0.4;
constexpr double kMostConfidence = 0.99;

Json member(const Json& object, const char* key) {
  return object.is_object() && object.contains(key) ? object[key] : Json();
}

std::optional<double> number(const Json& object, const char* key) {
  const Json value = member(object, key);
  return value.is_number() && value.get<double>() >= 0 ? std::optional(value.get<double>())
                                                       : std::nullopt;
}

struct LostPackets {
  double sent = 0;
  double lost = 0;
};

// `is_whole`: of both ways, else of what the host that ran the test sent.
std::optional<LostPackets> lost_in(const Json& document, bool is_whole) {
  LostPackets packets;
  for (const char* way : {"send", "receive"}) {
    const Json part = member(document, way);
    if (way == std::string_view("send") || is_whole) {
      packets.sent += number(part, "packets_sent").value_or(0);
      packets.lost += number(part, "lost").value_or(0);
    }
  }
  return packets.sent > 0 && packets.lost <= packets.sent ? std::optional(packets) : std::nullopt;
}

// In ms, of the first size.
std::optional<double> collective_ms(const Json& document) {
  const Json sizes = member(document, "sizes");
  if (!sizes.is_array() || sizes.empty()) {
    return std::nullopt;
  }
  const auto us = number(member(sizes.front(), "time_us"), "median");
  return us ? std::optional(*us / 1e3) : std::nullopt;
}

// Of the processor that computed least.
std::optional<double> slowest_steps(const Json& document) {
  std::optional<double> least;
  const Json processors = member(document, "processors");
  for (const Json& each : processors.is_array() ? processors : Json::array()) {
    if (const auto steps = number(each, "million_steps_per_s")) {
      least = std::min(least.value_or(*steps), *steps);
    }
  }
  return least;
}

std::optional<double> of_storage(const PlannedTest& test, const std::string& document) {
  const auto probe = read_storage_probe({.kind = "storage", .document = document});
  return !probe                                ? std::nullopt
         : test.rule == TestRule::WritesSlowly ? probe->write_mb_per_s
                                               : probe->read_mb_per_s;
}

std::string rate_text(double mbps) { return math::format_rate(mbps * math::kMega); }

struct Judged {
  std::optional<double> value = {};
  std::string unit = {};
  TestSays says = TestSays::Nothing;
  std::string sentence = {};
};

// `for_it` and `against` cannot both hold.
TestSays says_of(bool for_it, bool against) {
  return for_it ? TestSays::For : against ? TestSays::Against : TestSays::Nothing;
}

// What the rules of throughput say where the path carries `times` of what the job sent.
TestSays by_room(TestRule rule, double times, bool is_at_pace) {
  switch (rule) {
    case TestRule::IsFull:
      return says_of(times <= kAThirdMore && !is_at_pace, times >= kTwice);
    case TestRule::HasRoom:
      return says_of(times >= kTwice, times <= kATenthMore && !is_at_pace);
    case TestRule::MayHaveRoom:
      return says_of(times >= kTwice, false);
    default:
      return TestSays::Nothing;
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
    const Json document = json::object_or_null(result.document);
    switch (test.kind) {
      case TestKind::Throughput:
      case TestKind::Neighbour:
      case TestKind::OtherWay:
        return throughput(test, result);
      case TestKind::Latency:
      case TestKind::LoadedLatency:
        return round_trip(test, result);
      case TestKind::Loss:
        return loss(test, document);
      case TestKind::Collective:
        return collective(test, document);
      case TestKind::Processor:
      case TestKind::OtherProcessor:
        return processor(test, document);
      case TestKind::Storage:
        return storage(test, result);
    }
    return {};
  }

 private:
  static std::optional<ProbedWay> sent_in(const TestResult& result) {
    const auto probe = read_probe({.kind = "tcp", .document = result.document});
    return probe ? std::optional(probe->way(ProbeWay::Send)) : std::nullopt;
  }

  Judged throughput(const PlannedTest& test, const TestResult& result) const {
    const auto way = sent_in(result);
    if (!way || !way->throughput_mbps) {
      return {};
    }
    if (test.rule == TestRule::LosesUnderLoad) {
      return retransmitted(test, *way);
    }
    const double mbps = *way->throughput_mbps;
    const bool is_at_pace = test.pace_mbps > 0 && mbps >= kReachedPace * test.pace_mbps;
    Judged judged{.value = mbps, .unit = "Mb/s"};
    judged.sentence =
        fmt::format("probe tcp carries {}{} {} from {} to {}{}", is_at_pace ? "at least " : "",
                    rate_text(mbps), alone(test), test.on, test.to, way_words(test));
    if (test.job_value && *test.job_value > 0) {
      judged.sentence += fmt::format(", the job {}", rate_text(*test.job_value));
      judged.says = by_room(test.rule, mbps / *test.job_value, is_at_pace);
    }
    if (test.rule == TestRule::IsBetter) {
      judged.says = against_used_way(test, mbps);
    }
    return judged;
  }

  static const char* alone(const PlannedTest& test) {
    return test.beside_job ? "beside the job" : "alone";
  }

  static std::string way_words(const PlannedTest& test) {
    return test.kind == TestKind::OtherWay ? fmt::format(" at {}", test.to_address) : "";
  }

  // The other way against the one that the job used.
  TestSays against_used_way(const PlannedTest& test, double mbps) const {
    for (const TestResult& each : results_) {
      if (each.kind == TestKind::Throughput && each.on == test.on && each.to == test.to) {
        const auto used = sent_in(each);
        const double of_used = used ? used->throughput_mbps.value_or(0) : 0;
        return of_used > 0
                   ? says_of(mbps >= kAQuarterMore * of_used, mbps <= kATwentiethMore * of_used)
                   : TestSays::Nothing;
      }
    }
    return TestSays::Nothing;
  }

  static Judged retransmitted(const PlannedTest& test, const ProbedWay& way) {
    if (!way.loss_percent) {
      return {};
    }
    const double least = std::max(kMinLossPercent, kHalf * test.job_value.value_or(0));
    return {.value = way.loss_percent,
            .unit = "%",
            .says = says_of(*way.loss_percent >= least, false),
            .sentence = fmt::format("probe tcp from {} to {} retransmits {:.2g} % {}", test.on,
                                    test.to, *way.loss_percent, alone(test))};
  }

  static Judged round_trip(const PlannedTest& test, const TestResult& result) {
    const auto probe = read_probe({.kind = "latency", .document = result.document});
    if (!probe) {
      return {};
    }
    if (test.kind == TestKind::LoadedLatency) {
      const auto& loaded = probe->way(ProbeWay::Send).loaded_rtt_ms;
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
    if (test.job_value && test.rule == TestRule::IsFar) {
      judged.sentence += fmt::format(", {} in the job", math::format_ms(*test.job_value));
      judged.says = says_of(ms >= kAlmostAsFar * *test.job_value, ms < kHalf * *test.job_value);
    }
    return judged;
  }

  Judged loss(const PlannedTest& test, const Json& document) const {
    const bool is_whole = test.rule != TestRule::Loses || !is_one_way_;
    const auto packets = lost_in(document, is_whole);
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
        judged.says = says_of(is_lost, packets->lost == 0 && expected >= kMinExpectedLost);
        break;
      case TestRule::LosesNothing:
        judged.says = says_of(packets->lost == 0 && packets->sent >= kMinPackets, is_lost);
        break;
      case TestRule::Passes:
        judged.says = says_of(false, packets->lost < kHalf * packets->sent);
        break;
      default:
        break;
    }
    return judged;
  }

  static Judged collective(const PlannedTest& test, const Json& document) {
    const auto ms = collective_ms(document);
    if (!ms) {
      return {};
    }
    Judged judged{.value = ms, .unit = "ms"};
    judged.sentence = fmt::format(
        "an all-reduce of {} takes {} {}", math::format_bytes(static_cast<double>(test.bytes)),
        math::format_ms(*ms), test.beside_job ? alone(test) : "without the job");
    if (test.job_value && *test.job_value > 0) {
      judged.sentence += fmt::format(", {} in it", math::format_ms(*test.job_value));
      judged.says =
          says_of(*ms <= kSixTenths * *test.job_value, *ms >= kButATenth * *test.job_value);
    }
    return judged;
  }

  // Against the median of the other hosts.
  Judged processor(const PlannedTest& test, const Json& document) const {
    const auto steps = slowest_steps(document);
    if (!steps) {
      return {};
    }
    Judged judged{.value = steps, .unit = "million steps/s"};
    judged.sentence =
        fmt::format("the slowest processor of {} computes {:.0f} million steps/s", test.on, *steps);
    std::vector<double> others;
    for (const TestResult& each : results_) {
      if (each.kind == TestKind::OtherProcessor && each.on != test.on) {
        if (const auto other = slowest_steps(json::object_or_null(each.document))) {
          others.push_back(*other);
        }
      }
    }
    const auto usual = math::median(others);
    if (!usual || test.kind == TestKind::OtherProcessor) {
      return judged;
    }
    judged.sentence += fmt::format(", of another host {:.0f}", *usual);
    const bool is_slow = *steps <= kAQuarterLess * *usual;
    if (test.rule == TestRule::IsSlow) {
      judged.says = says_of(is_slow, false);
    } else if (test.rule == TestRule::IsAlike) {
      const bool is_fast = *steps * kAQuarterLess >= *usual;
      judged.says = says_of(!is_slow && !is_fast, is_slow || is_fast);
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
    judged.says = test.rule == TestRule::ReadsFast ? says_of(times >= kTwice, times <= kATenthMore)
                                                   : says_of(times <= kAThirdMore, times >= kTwice);
    return judged;
  }

  std::span<const PlannedTest> plan_;
  std::span<const TestResult> results_;
  bool is_one_way_;
};

struct Lead {
  TestKind test = TestKind::Throughput;
  TestSays says = TestSays::Nothing;
  VerdictClass lan = VerdictClass::Unknown;
  VerdictClass wan = VerdictClass::Unknown;
};

constexpr std::array kLeads{
#define LEADS(test_, says_, rule_, lan_, wan_) \
  Lead{.test = TestKind::test_,                \
       .says = TestSays::says_,                \
       .lan = VerdictClass::lan_,              \
       .wan = VerdictClass::wan_},
#include "analysis/attribution/tests.def"
};

std::string sentences_of(const std::vector<TestResult>& tests, TestSays says) {
  std::string text;
  for (const TestResult& each : tests) {
    if (each.says == says && !each.sentence.empty()) {
      text += (text.empty() ? "" : "; ") + each.sentence;
    }
  }
  return text;
}

bool has(const std::vector<TestResult>& tests, TestSays says) {
  return std::ranges::find(tests, says, &TestResult::says) != tests.end();
}

// Why nothing is decided.
std::string undecided(const std::vector<TestResult>& tests) {
  const auto failed =
      std::ranges::find_if(tests, [](const TestResult& each) { return !each.failure.empty(); });
  const std::string measured = sentences_of(tests, TestSays::Nothing);
  return !measured.empty()       ? "the tests decide nothing: " + measured
         : failed != tests.end() ? "no test could be run: " + failed->failure
                                 : "no test was run";
}

void lead_on(Confirmation& confirmation, bool is_wan) {
  for (const Lead& lead : kLeads) {
    const auto found = std::ranges::find_if(confirmation.tests, [&](const TestResult& each) {
      return each.kind == lead.test && each.says == lead.says;
    });
    if (found != confirmation.tests.end()) {
      confirmation.leads_to = name_of(is_wan ? lead.wan : lead.lan);
      confirmation.sentence =
          fmt::format("the tests lead to {}: {}", confirmation.leads_to, found->sentence);
      return;
    }
  }
  confirmation.sentence = "the tests lead to no cause: " + undecided(confirmation.tests);
}

void decide(const Verdict& verdict, Confirmation& confirmation) {
  // Room on a path speaks for latency only while the path is as far as it was.
  const bool is_near = std::ranges::any_of(confirmation.tests, [](const TestResult& each) {
    return each.kind == TestKind::Latency && each.says == TestSays::Against;
  });
  const bool is_for = has(confirmation.tests, TestSays::For) && !is_near;
  const bool is_against =
      has(confirmation.tests, TestSays::Against) && !(is_loss(verdict.verdict) && is_for);
  using State = Confirmation::State;
  confirmation.state = is_for == is_against ? State::Open
                       : is_for             ? State::Confirmed
                                            : State::NotConfirmed;
  const std::string for_it = sentences_of(confirmation.tests, TestSays::For);
  const std::string against = sentences_of(confirmation.tests, TestSays::Against);
  confirmation.sentence = confirmation.state == State::Confirmed      ? "confirmed: " + for_it
                          : confirmation.state == State::NotConfirmed ? "not confirmed: " + against
                          : is_for ? fmt::format("not confirmed: {}; but {}", against, for_it)
                                   : "not confirmed: " + undecided(confirmation.tests);
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
        const TestSays possible = describe(test.rule).beside_job;
        if (run.beside_job && judged[at].says != possible) {
          judged[at].says = TestSays::Nothing;
        }
        results[at].job_value = test.job_value;
      }
    }
  }
  for (std::size_t at = 0; at < results.size(); ++at) {
    results[at].value = judged[at].value;
    results[at].unit = judged[at].unit;
    results[at].says = judged[at].says;
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
  return std::round(100 * std::min(after, std::max(kMostConfidence, confidence))) / 100;
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
