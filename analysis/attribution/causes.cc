#include "analysis/attribution/causes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string_view>

#include "analysis/attribution/diagnosis.h"

namespace chokepoint::analysis {
namespace {

struct AccountDescription {
  const char* name = "";
  const char* words = "";
};

#define ADVICE(what, command) \
  AdviceText { what, command }
#define PREDICT(what, option, value) \
  AdviceText { what, "chokepoint predict --from DIR " option " " value, option, value }
#define UNDER(class_, sentence_, ...)                                                 \
  CauseUnder {                                                                        \
    .verdict = VerdictClass::class_, .sentence = sentence_, .advice = { __VA_ARGS__ } \
  }
#define VERDICT(enumerator, name_, sentence_, disproof_, ...) \
  VerdictDescription{.verdict = VerdictClass::enumerator,     \
                     .name = name_,                           \
                     .sentence = sentence_,                   \
                     .disproof = disproof_,                   \
                     .advice = {__VA_ARGS__}},
constexpr std::array kVerdicts{
#include "analysis/attribution/causes.def"
};

#define CAUSE(enumerator, name_, evidence_, ...) \
  CauseDescription{                              \
      .cause = Cause::enumerator, .name = name_, .evidence = evidence_, .under = {__VA_ARGS__}},
constexpr std::array kCauses{
#include "analysis/attribution/causes.def"
};
#undef UNDER
#undef PREDICT
#undef ADVICE

#define ACCOUNT(enumerator, name_, words_, text_) \
  AccountDescription{.name = (name_), .words = (words_)},
constexpr std::array kDescribedAccounts{
#include "analysis/attribution/causes.def"
};

const VerdictDescription& described(VerdictClass verdict) {
  return kVerdicts.at(static_cast<std::size_t>(verdict));
}

std::string_view sentence_template_of(const Verdict& verdict) {
  const CauseUnder* own = describe(verdict.verdict, verdict.cause);
  return own != nullptr && !own->sentence.empty() ? own->sentence
                                                  : described(verdict.verdict).sentence;
}

std::string or_else(const std::string& text, const char* otherwise) {
  return text.empty() ? otherwise : text;
}

std::string interface_of(const Where& where) {
  if (where.interface.empty()) {
    return where.node.empty() ? "an interface" : "an interface of " + where.node;
  }
  return where.node.empty() ? where.interface : where.interface + " of " + where.node;
}

// "the link from a to b", "the path between a and b, both ways"
std::string place_text(const char* what, const Where& where) {
  if (where.from.empty() && where.to.empty()) {
    return where.interface.empty() ? fmt::format("the {}", what)
                                   : fmt::format("the {} at {}", what, interface_of(where));
  }
  if (where.from.empty() || where.to.empty()) {
    return where.from.empty() ? fmt::format("the {} to {}", what, where.to)
                              : fmt::format("the {} from {}", what, where.from);
  }
  return where.direction == "both"
             ? fmt::format("the {} between {} and {} (both directions)", what,
                           std::min(where.from, where.to), std::max(where.from, where.to))
             : fmt::format("the {} from {} to {}", what, where.from, where.to);
}

std::string file_system_of(const Where& where) {
  const std::string name = or_else(where.mount, "a file system");
  return where.node.empty() ? name : name + " on " + where.node;
}

std::string rank_of(const Where& where) {
  if (!where.rank) {
    return or_else(where.node, "one rank");
  }
  return where.node.empty() ? fmt::format("rank {}", *where.rank)
                            : fmt::format("rank {} on {}", *where.rank, where.node);
}

// By its row of causes.def.
std::string own_sentence_of(const Verdict& verdict) {
  const Where& where = verdict.where;
  return fmt::format(
      fmt::runtime(sentence_template_of(verdict)), fmt::arg("link", place_text("link", where)),
      fmt::arg("path", place_text("path", where)), fmt::arg("interface", interface_of(where)),
      fmt::arg("node", or_else(where.node, "one node")), fmt::arg("rank", rank_of(where)),
      fmt::arg("file_system", file_system_of(where)),
      fmt::arg("mount", or_else(where.mount, "a file system")),
      fmt::arg("collective", or_else(where.collective, "a collective")),
      fmt::arg("receiver", or_else(where.node.empty() ? where.to : where.node, "the receiver")),
      fmt::arg("sender", or_else(where.node.empty() ? where.from : where.node, "the sender")));
}

// Behind the sentence of a job that stands.
std::string frame_text(const Where& where) {
  return where.frame.empty() || !where.rank
             ? ""
             : fmt::format("; rank {} is in {}", *where.rank, where.frame);
}

}  // namespace

std::string sentence_of(const Verdict& verdict) {
  const Where& where = verdict.where;
  return (where.said.empty() ? own_sentence_of(verdict) : where.said) + frame_text(where);
}

// Nothing holds the step back, but computing does not fill it either: what any network takes does.
static bool is_compute_below_half(const Diagnosis& diagnosis) {
  constexpr double kMinComputingShare = 0.5;
  return diagnosis.verdict.verdict == VerdictClass::Compute &&
         diagnosis.verdict.cause == Cause::None && diagnosis.accounting &&
         (*diagnosis.accounting)[Account::Compute] <
             kMinComputingShare * diagnosis.accounting->sum();
}

std::string sentence_of(const Diagnosis& diagnosis) {
  constexpr double kMinCertainConfidence = 0.6;
  const bool is_blind = !diagnosis.accounting && diagnosis.verdict.cause == Cause::None &&
                        diagnosis.verdict.verdict == VerdictClass::Unknown;
  if (is_blind) {
    return fmt::format("the {} contain too little to say where the time went",
                       diagnosis.nodes.empty() && !diagnosis.given.empty() ? "files" : "records");
  }
  const bool is_doubtful = diagnosis.verdict.verdict != VerdictClass::Unknown &&
                           diagnosis.verdict.confidence < kMinCertainConfidence;
  return (is_doubtful ? "probably " : "") + (is_compute_below_half(diagnosis)
                                                 ? "no link, path or host holds the step back"
                                                 : sentence_of(diagnosis.verdict));
}

const char* words_of(Account account) {
  return kDescribedAccounts.at(static_cast<std::size_t>(account)).words;
}

std::span<const VerdictDescription> verdict_table() { return kVerdicts; }
std::span<const CauseDescription> cause_table() { return kCauses; }

const CauseDescription& describe(Cause cause) {
  return kCauses.at(static_cast<std::size_t>(cause) - 1);
}

const CauseUnder* describe(VerdictClass verdict, Cause cause) {
  if (cause == Cause::None) {
    return nullptr;
  }
  const auto& under = describe(cause).under;
  const auto* const found = std::ranges::find(under, verdict, &CauseUnder::verdict);
  return found == under.end() ? nullptr : found;
}

const char* name_of(VerdictClass verdict) { return described(verdict).name; }

const char* name_of(Cause cause) { return cause == Cause::None ? "" : describe(cause).name; }

const char* name_of(Account account) {
  return kDescribedAccounts.at(static_cast<std::size_t>(account)).name;
}

double Accounting::sum() const { return std::accumulate(ms.begin(), ms.end(), 0.0); }

}  // namespace chokepoint::analysis
