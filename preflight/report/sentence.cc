#include "preflight/report/sentence.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/cli/text.h"
#include "preflight/judge/words.h"

namespace chokepoint::preflight {
namespace {

std::string scope(const Measured& measured) {
  const auto present = static_cast<std::size_t>(
      std::ranges::count(measured.hosts, Presence::Present, &HostResult::presence));
  const std::string hosts =
      present == measured.hosts.size()
          ? counted(present, "host", "hosts")
          : fmt::format("{} of {}", present, counted(measured.hosts.size(), "host", "hosts"));
  return fmt::format("{}, {}{}", hosts, counted(measured.pairs.size(), "pair", "pairs"),
                     measured.is_sampled ? " of a sample" : "");
}

std::string told(const checks::Check& check) {
  std::string text = check.subject;
  if (!check.found.empty()) {
    text += ": " + check.found;
  }
  if (!check.wanted.empty()) {
    text += " (wanted: " + check.wanted + ")";
  }
  return text;
}

// What nobody looked at is not well for that.
std::string untested(const Measured& measured) {
  const auto count =
      static_cast<std::size_t>(std::ranges::count_if(measured.pairs, [&](const PairResult& pair) {
        return !is_tested(pair) && measured.hosts[pair.a].presence == Presence::Present &&
               measured.hosts[pair.b].presence == Presence::Present;
      }));
  return count == 0                      ? ""
         : count < measured.pairs.size() ? "; " + counted(count, "pair", "pairs") + " not tested"
         : count == 1                    ? "; the pair was not tested"
                                         : "; none of the pairs was tested";
}

}  // namespace

std::string sentence_of(const Measured& measured, const Judgement& judgement) {
  const auto count = static_cast<std::size_t>(std::ranges::count_if(
      judgement.findings,
      [](const Finding& finding) { return finding.check.status >= checks::Status::Warning; }));
  std::string text = scope(measured) + ": ";
  if (count == 0) {
    text += "nothing wrong was found";
  } else {
    const auto worst = std::ranges::max_element(
        judgement.findings, {}, [](const Finding& finding) { return finding.check.status; });
    text += told(worst->check);
    text += count == 1 ? "" : "; " + counted(count - 1, "more finding", "more findings");
  }
  text += untested(measured);
  text += measured.was_interrupted ? "; interrupted, so not all was measured" : "";
  return cli::printable(text);
}

}  // namespace chokepoint::preflight
