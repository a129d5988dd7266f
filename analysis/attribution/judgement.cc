#include "analysis/attribution/judgement.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>

#include "analysis/attribution/causes.h"
#include "analysis/attribution/gpu_clocks.h"
#include "analysis/attribution/gpu_copies.h"
#include "analysis/attribution/hosts.h"
#include "analysis/attribution/network.h"
#include "analysis/attribution/ranks.h"
#include "analysis/attribution/route.h"
#include "analysis/limits/exchanging.h"
#include "analysis/load/captured_hosts.h"

namespace chokepoint::analysis {
namespace {

constexpr double kMbpsPerGbps = 1000;
constexpr double kRoundingShare = 1e-9;            // of the step: a smaller rest is rounding
constexpr double kMaxUnexplainedPercent = 20;      // of the step: above it the verdict is unknown
constexpr double kMinWaitingOfUnexplained = 0.75;  // at least, that the job waits for processors
constexpr double kMinMainCausePercent = 50;        // of the step; below it the confidence is lower
// Judgement, since no play of the draws had it: a step of messages may be full of round trips that
// no network shortens.
constexpr double kMessagesFactor = 0.6;
constexpr std::size_t kMinStepsForConfidence = 10;
// docs/internals/capture-alone.md: of plays with a capture of one host alone.
constexpr double kCaptureFactor = 0.8;
// A rank that the others wait for may look like computing, too: a judgement.
constexpr double kUnseenLatenessFactor = 0.6;
// Of a capture in which no collective is recognised: a link that takes less of the step may be what
// ranks wait with for another. docs/internals/capture-alone.md: of plays made unreadable.
constexpr double kMinUnreadableFullPercent = 40;

// By which what is lost was off in nine of ten plays of the corpus, docs/internals/attribution.md:
// of itself, and of the step.
constexpr double kGainError = 0.20;
constexpr double kGainErrorOfStep = 0.02;

using Words = std::map<std::string, std::string, std::less<>>;

// nullopt if a word is not known.
std::optional<std::string> filled(std::string_view text, const Words& words) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t open = std::min(text.find('{', at), text.size());
    result += text.substr(at, open - at);
    if (open == text.size()) {
      break;
    }
    const std::size_t close = text.find('}', open);
    const auto word = words.find(text.substr(open + 1, close - open - 1));
    if (word == words.end() || word->second.empty()) {
      return std::nullopt;
    }
    result += word->second;
    at = close + 1;
  }
  return result;
}

std::string rate_text(double gbps) {
  return gbps < 1 ? fmt::format("{:g}M", gbps * kMbpsPerGbps) : fmt::format("{:g}G", gbps);
}

// The rate to give to predict: the card's own if something slower lies behind it, else the next
// one that can be bought.
std::string next_link(const Route& route) {
  constexpr double kMinCardToRate = 2;
  constexpr double kMinNextLinkToRate = 1.5;
  constexpr std::array kGbps{0.1,  0.25, 0.5,   1.0,   2.5,   5.0,  10.0,
                             25.0, 40.0, 100.0, 200.0, 400.0, 800.0};
  const double line_gbps = route.line_mbps().value_or(0) / kMbpsPerGbps;
  const double rate_gbps = route.rate_mbps / kMbpsPerGbps;
  if (line_gbps > kMinCardToRate * rate_gbps && !route.is_wan) {
    return rate_text(line_gbps);
  }
  if (route.rate_mbps <= 0) {
    return "";
  }
  const auto* const next = std::ranges::find_if(
      kGbps, [&](double each) { return each > kMinNextLinkToRate * rate_gbps; });
  return next == kGbps.end() ? "" : rate_text(*next);
}

// In bytes: twice what the path holds, and no less than what suits any LAN.
std::string buffer_of(const Route& route) {
  constexpr double kMinBuffer = 16 * 1024 * 1024;
  constexpr double kMaxBuffer = 1024.0 * 1024 * 1024;
  constexpr double kBytesPerMegabitMs = 1e6 / 8 / 1e3;
  const double holds =
      route.line_mbps().value_or(route.rate_mbps) * kBytesPerMegabitMs * route.rtt_ms;
  const double bytes = std::clamp(2 * holds, kMinBuffer, kMaxBuffer);
  return fmt::format("{}", std::bit_ceil(static_cast<std::uint64_t>(bytes)));
}

std::string peer_address(const DiagnosisInput& input, const DirectionLimits& direction) {
  const Connection& connection = input.run.connections[direction.view.connection];
  return direction.view.direction == record::Direction::AToB ? connection.row.b_address
                                                             : connection.row.a_address;
}

// The processes or quota that take the processors of the verdict's host from the job.
void add_consumers(const DiagnosisInput& input, const Verdict& verdict, Words& words) {
  const Where& where = verdict.where;
  const std::string& host = verdict.verdict == VerdictClass::ReceiverHost ? where.to
                            : verdict.verdict == VerdictClass::SenderHost ? where.from
                                                                          : where.node;
  for (std::size_t place = 0; place < input.run.nodes.size(); ++place) {
    if (input.run.nodes[place].name == host) {
      const NodeData& node = input.run.nodes[place];
      const std::vector<Restraint> consumers = cpu_consumers(node, input.span_of(place));
      const auto quota = throttled_cgroup(node, input.span_of(place));
      words["taker"] = consumers.empty() || quota ? "" : consumers.front().name;
      words["quota"] = quota ? quota->name : "";
      words["own"] = consumers.empty() && !quota ? "the job's own threads" : "";
    }
  }
}

Words words_of(const DiagnosisInput& input, const Verdict& verdict) {
  const Where& where = verdict.where;
  Words words{{"from", where.from},   {"to", where.to},
              {"node", where.node},   {"node_interface", where.interface},
              {"mount", where.mount}, {"rank", where.rank ? fmt::format("{}", *where.rank) : ""}};
  if (verdict.cause == Cause::ProcessCpu) {
    add_consumers(input, verdict, words);
  }
  const DirectionLimits* direction = main_direction_of(input, where);
  if (direction == nullptr) {
    return words;
  }
  const Route route = route_of(input, *direction);
  words["interface"] = route.sender.interface;
  words["peer_interface"] = route.receiver.interface;
  words["link"] = next_link(route);
  words["buffer"] = buffer_of(route);
  words["to_address"] = peer_address(input, *direction);
  if (const auto better = better_route(input, *direction, route)) {
    words["better"] = better->interface;
    words["address"] = better->address;
  }
  return words;
}

Accounting account_for(const Phases& phases, const Findings& findings) {
  Accounting accounting = findings.accounting;
  const double explained = accounting.sum();
  const double computing_ms = phases.computing_ms - findings.of_computing_ms;
  accounting[Account::Compute] = computing_ms;
  const double rest_ms = phases.step_ms - computing_ms - explained;
  accounting[Account::Other] += rest_ms > kRoundingShare * phases.step_ms ? rest_ms : 0;
  return accounting;
}

// One end's record shows which rank the others wait for, but not why.
bool is_seen_from_both_ends(const RunData& run) {
  const Exchanging exchanging(run);
  const auto is_recorded = [&](const std::optional<FlowPlace>& end) {
    return end && !run.nodes[end->node].is_inferred;
  };
  return std::ranges::all_of(run.connections, [&](const Connection& connection) {
    return (is_recorded(connection.ends[0]) && is_recorded(connection.ends[1])) ||
           !exchanging.includes(connection);
  });
}

// Or knows that there is none.
bool are_late_ranks_known(const Phases& phases) {
  return phases.source == PhaseSource::Alone ||
         (phases.source == PhaseSource::Library && phases.unattributed.ms <= 0);
}

bool is_any_socket_read(const RunData& run) {
  return std::ranges::any_of(run.connections, [&](const Connection& connection) {
    return std::ranges::any_of(connection.ends, [&](const std::optional<FlowPlace>& end) {
      return end && std::ranges::any_of(run.flow(*end).sockets,
                                        [](const auto& samples) { return !samples.empty(); });
    });
  });
}

// How often such a verdict was right where jobs were played whose truth was known:
// docs/internals/attribution.md, "Confidence", has how far it is off. What is missing of the record
// counts most, then by how much the largest stands out, and of how many steps.
double confidence_of(const DiagnosisInput& input, double share_percent, double next_percent) {
  const double margin = share_percent > 0 ? std::max(0.0, 1 - next_percent / share_percent) : 0;
  const double above =
      std::clamp((share_percent - kMattersPercent) / (3 * kMattersPercent), 0.0, 1.0);
  const double steps = std::min(1.0, static_cast<double>(input.steps.settled.size()) /
                                         static_cast<double>(kMinStepsForConfidence));
  const double clear = 0.65 + 0.14 * margin + 0.20 * above;
  const double seen = 0.8 + 0.2 * steps;
  const double source = are_late_ranks_known(input.phases) ? 1 : 0.92;
  if (is_captured(input.run)) {
    return std::round(100 * clear * seen * source * kCaptureFactor) / 100;
  }
  const double ends = is_seen_from_both_ends(input.run) ? 1 : 0.5;
  const double sockets = is_any_socket_read(input.run) || input.run.connections.empty() ? 1 : 0.85;
  return std::round(100 * clear * seen * source * ends * sockets) / 100;
}

// And what percent of the time the job waited for processors.
std::pair<Verdict, double> computing_and_wait(const DiagnosisInput& input, double lost_percent) {
  Verdict verdict{.verdict = VerdictClass::Compute};
  verdict.share_percent = 100 * input.phases.computing_ms / input.phases.step_ms;
  verdict.confidence = confidence_of(input, 100 - lost_percent, lost_percent * 4);
  if (!are_late_ranks_known(input.phases)) {
    verdict.confidence = std::round(100 * kUnseenLatenessFactor * verdict.confidence) / 100;
  }
  if (verdict.share_percent < kMinMainCausePercent) {
    verdict.confidence = std::round(100 * kMessagesFactor * verdict.confidence) / 100;
  }
  verdict.evidence.push_back({"computing, and communication hidden behind it",
                              input.phases.computing_ms, "ms", "steps and what was under way"});
  const double waited_percent = remark_processors(input, verdict);
  remark_clocks(input, verdict);
  remark_nvlink(input, verdict);
  advise(input, verdict);
  return {std::move(verdict), waited_percent};
}

// Of these, counters of the hardware show the time itself; of all else it is what a model of the
// step leaves.
bool is_counted(VerdictClass verdict) {
  using enum VerdictClass;
  return verdict == PcieGpu || verdict == RdmaLoss || verdict == RdmaCongestion;
}

// Whether even the least that it may cost matters.
bool surely_matters(double step_ms, const Verdict& verdict) {
  return 100 * verdict.lost_low_ms >= kMattersPercent * step_ms;
}

// Those that matter, the largest first.
std::vector<Verdict> weighed(const DiagnosisInput& input, std::vector<Verdict> verdicts) {
  std::ranges::sort(verdicts, std::ranges::greater{}, &Verdict::lost_ms_per_step);
  for (Verdict& verdict : verdicts) {
    verdict.lost_ms_per_step = std::min(verdict.lost_ms_per_step, input.phases.step_ms);
    verdict.share_percent = 100 * verdict.lost_ms_per_step / input.phases.step_ms;
    add_interval(input.phases.step_ms, verdict);
  }
  std::erase_if(verdicts,
                [](const Verdict& verdict) { return verdict.share_percent < kMattersPercent; });
  for (std::size_t place = 0; place < verdicts.size(); ++place) {
    Verdict& verdict = verdicts[place];
    const double next = place + 1 < verdicts.size() ? verdicts[place + 1].share_percent : 0;
    verdict.confidence = confidence_of(input, verdict.share_percent, next);
    if (is_loss(verdict.verdict)) {
      explain_loss(input, verdict);
    }
    advise(input, verdict);
  }
  return verdicts;
}

double other_percent(const DiagnosisInput& input, const Accounting& accounting) {
  return 100 * accounting[Account::Other] / input.phases.step_ms;
}

Verdict unknown_of(const DiagnosisInput& input, double lost_ms, std::vector<Evidence> hints) {
  Verdict verdict{.lost_ms_per_step = lost_ms,
                  .share_percent = 100 * lost_ms / input.phases.step_ms,
                  .evidence = std::move(hints)};
  add_interval(input.phases.step_ms, verdict);
  advise(input, verdict);
  return verdict;
}

Verdict unknown(const DiagnosisInput& input, const Accounting& accounting,
                std::vector<Evidence> hints) {
  return unknown_of(input, accounting[Account::Other], std::move(hints));
}

// Where nothing that could be named takes much. What could not be attributed is the processors', if
// the job waited for them nearly as long.
Verdict otherwise(const DiagnosisInput& input, double lost_percent, const Accounting& accounting,
                  std::vector<Evidence> hints) {
  if (const auto gone = early_end(input.run)) {
    return *gone;
  }
  const double unexplained_percent = other_percent(input, accounting);
  auto [computes, waited_percent] = computing_and_wait(input, lost_percent);
  const bool is_of_processors =
      waited_percent > 0 && waited_percent >= kMinWaitingOfUnexplained * unexplained_percent;
  // What a peer without a record did would be missing from what is left.
  const bool is_half_seen = computes.share_percent < kMinMainCausePercent &&
                            !is_captured(input.run) && !is_seen_from_both_ends(input.run);
  if (is_half_seen) {
    return unknown_of(input, accounting.sum() - accounting[Account::Compute], std::move(hints));
  }
  return unexplained_percent < kMaxUnexplainedPercent || is_of_processors
             ? std::move(computes)
             : unknown(input, accounting, std::move(hints));
}

// RDMA without the library's messages: the remaining time includes the minimum that communication
// takes, since only the cost of loss and of congestion can be separated from it.
bool is_usual_cost_left(const Phases& phases, VerdictClass found) {
  return phases.source == PhaseSource::None ||
         (phases.source == PhaseSource::Packets &&
          (found == VerdictClass::RdmaLoss || found == VerdictClass::RdmaCongestion));
}

// More time is unattributed than the largest cause takes: then that cause is not the verdict.
bool is_outweighed(const DiagnosisInput& input, const Verdict& largest,
                   const Accounting& accounting) {
  return !is_usual_cost_left(input.phases, largest.verdict) &&
         other_percent(input, accounting) >= kMaxUnexplainedPercent &&
         accounting[Account::Other] > largest.lost_ms_per_step;
}

bool may_be_lateness(const DiagnosisInput& input, const Verdict& verdict) {
  using enum VerdictClass;
  return is_captured(input.run) && input.phases.source != PhaseSource::Library &&
         (verdict.verdict == LanBandwidth || verdict.verdict == WanBandwidth) &&
         verdict.share_percent < kMinUnreadableFullPercent;
}

}  // namespace

void add_interval(double step_ms, Verdict& verdict) {
  const double of_step = is_counted(verdict.verdict) ? 0 : kGainErrorOfStep;
  const double off_ms = kGainError * verdict.lost_ms_per_step + of_step * step_ms;
  verdict.lost_low_ms = std::max(0.0, verdict.lost_ms_per_step - off_ms);
  verdict.lost_high_ms = std::min(step_ms, verdict.lost_ms_per_step + off_ms);
}

void advise(const DiagnosisInput& input, Verdict& verdict) {
  const Words words = words_of(input, verdict);
  const auto add = [&](const AdviceText& text) {
    const auto what = filled(text.what, words);
    const auto command = filled(text.command, words);
    const bool is_present = command && !command->empty() &&
                            std::ranges::count(verdict.advice, *command, &Advice::command) > 0;
    if (!text.what.empty() && what && command && !is_present) {
      verdict.advice.push_back({.what = *what,
                                .command = *command,
                                .option = std::string(text.option),
                                .value = filled(text.value, words).value_or("")});
    }
  };
  if (const CauseUnder* own = describe(verdict.verdict, verdict.cause)) {
    std::ranges::for_each(own->advice, add);
  }
  const VerdictDescription& of_class = verdict_table()[static_cast<std::size_t>(verdict.verdict)];
  std::ranges::for_each(of_class.advice, add);
  verdict.disproof = of_class.disproof;
}

void judge(const DiagnosisInput& input, Findings findings, Diagnosis& diagnosis) {
  diagnosis.accounting = account_for(input.phases, findings);
  double largest_ms = 0;
  for (const Verdict& verdict : findings.verdicts) {
    largest_ms = std::max(largest_ms, verdict.lost_ms_per_step);
  }
  diagnosis.others = weighed(input, std::move(findings.verdicts));
  if (!diagnosis.others.empty() && is_chance(input, diagnosis.others.front())) {
    diagnosis.others.erase(diagnosis.others.begin());
  }
  if (diagnosis.others.empty() || !surely_matters(input.phases.step_ms, diagnosis.others.front())) {
    diagnosis.verdict = otherwise(input, 100 * largest_ms / input.phases.step_ms,
                                  *diagnosis.accounting, std::move(findings.hints));
  } else if (is_undecided(input, diagnosis.others.front()) ||
             may_be_lateness(input, diagnosis.others.front()) ||
             is_outweighed(input, diagnosis.others.front(), *diagnosis.accounting)) {
    diagnosis.verdict = unknown(input, *diagnosis.accounting, std::move(findings.hints));
  } else {
    diagnosis.verdict = std::move(diagnosis.others.front());
    diagnosis.others.erase(diagnosis.others.begin());
  }
}

}  // namespace chokepoint::analysis
