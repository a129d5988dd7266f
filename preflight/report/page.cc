#include "preflight/report/page.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>

#include "base/checks/check.h"
#include "base/cli/table.h"
#include "base/cli/text.h"
#include "preflight/report/heat_map.h"
#include "preflight/report/sentence.h"
#include "preflight/report/summary.h"
#include "preflight/report/words.h"

namespace chokepoint::preflight {
namespace {

using checks::Status;
using cli::Tint;

constexpr int kWidestPage = 110;
constexpr int kLabel = 12;
constexpr std::size_t kFewTroubles = 5;

Tint tint_of(Status verdict) {
  return verdict == Status::Critical  ? Tint::Bad
         : verdict == Status::Warning ? Tint::Notice
         : verdict == Status::Unknown ? Tint::Faint
                                      : Tint::Good;
}

void print_verdict(const cli::Context& context, const Measured& measured,
                   const Judgement& judgement) {
  const std::string name(checks::name_of(judgement.verdict));
  const int width = std::min(context.out_terminal.width, kWidestPage);
  const int indent = static_cast<int>(name.size()) + 2;
  const std::string lines = cli::wrapped(sentence_of(measured, judgement), width, indent);
  fmt::print(context.out, "{}  {}\n",
             cli::tinted(name, tint_of(judgement.verdict), context.out_terminal),
             lines.substr(static_cast<std::size_t>(indent)));
}

checks::Checks checks_of(const Judgement& judgement) {
  checks::Checks checks;
  for (const Finding& finding : judgement.findings) {
    checks.push_back(finding.check);
  }
  return checks;
}

void print_absent(const cli::Context& context, const Measured& measured) {
  cli::Table table({{"not there"}, {"state"}, {"why"}});
  bool is_any = false;
  for (const HostResult& host : measured.hosts) {
    if (host.presence == Presence::Present) {
      continue;
    }
    is_any = true;
    std::string why = host.error ? describe(*host.error) : std::string();
    why += host.lost_during.empty() ? "" : fmt::format(" (during {})", host.lost_during);
    table.add({{host.name, Tint::Bold}, std::string(name_of(host.presence)), why});
  }
  if (is_any) {
    table.print(context.out, context.out_terminal);
    context.out << '\n';
  }
}

void print_troubles(const cli::Context& context, const Measured& measured, bool all) {
  const std::size_t count =
      all ? measured.troubles.size() : std::min(measured.troubles.size(), kFewTroubles);
  if (count == 0) {
    return;
  }
  cli::Table table({{"came to nothing"}, {"between"}, {"why"}});
  for (std::size_t at = 0; at < count; ++at) {
    const Trouble& trouble = measured.troubles[at];
    table.add({trouble.test,
               measured.hosts[trouble.a].name + " and " + measured.hosts[trouble.b].name,
               describe(trouble.error)});
  }
  table.print(context.out, context.out_terminal);
  if (count < measured.troubles.size()) {
    fmt::print(context.out, "… and {} more (--all)\n", measured.troubles.size() - count);
  }
  context.out << '\n';
}

void print_left_out(const cli::Context& context, const Measured& measured) {
  const int width = std::min(context.out_terminal.width, kWidestPage);
  for (const std::string& what : measured.left_out) {
    const std::string lines = cli::wrapped(cli::printable(what), width, kLabel);
    fmt::print(context.out, "{:<{}}{}", "left out", kLabel,
               lines.substr(static_cast<std::size_t>(kLabel)));
  }
  context.out << (measured.left_out.empty() ? "" : "\n");
}

void print_summary(const cli::Context& context, const Measured& measured) {
  const int width = std::min(context.out_terminal.width, kWidestPage);
  for (const auto& [label, text] : summary_of(measured)) {
    const std::string lines = cli::wrapped(cli::printable(text), width, kLabel);
    fmt::print(context.out, "{:<{}}{}", label, kLabel, lines.substr(kLabel));
  }
  context.out << '\n';
}

}  // namespace

void print_page(const cli::Context& context, const Measured& measured, const Judgement& judgement,
                bool all) {
  print_verdict(context, measured, judgement);
  checks::print_page(context, checks_of(judgement), all);
  context.out << '\n';
  print_heat_map(context, measured);
  print_summary(context, measured);
  print_left_out(context, measured);
  print_absent(context, measured);
  print_troubles(context, measured, all);
}

}  // namespace chokepoint::preflight
