#include "base/checks/check.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <iterator>
#include <ranges>

#include "base/cli/table.h"
#include "base/cli/text.h"

namespace chokepoint::checks {

Status worst(const Checks& checks) {
  Status verdict = Status::Pass;
  for (const Check& check : checks) {
    verdict = std::max(verdict, check.status);
  }
  return verdict;
}

namespace {

using cli::Tint;

constexpr int kMaxPageWidth = 110;
constexpr int kTextColumn = 18;  // "          found   "

Tint tint_of(Status status) {
  switch (status) {
    case Status::Pass:
      return Tint::Good;
    case Status::Warning:
      return Tint::Notice;
    case Status::Critical:
      return Tint::Bad;
    case Status::Info:
    case Status::Unknown:
      break;
  }
  return Tint::Faint;
}

// "sysctl -w" holds until the next boot.
std::string kept_over_reboots(std::string_view command) {
  constexpr std::string_view kNow = "sysctl -w ";
  if (!command.starts_with(kNow) || command.find_first_of(";#") != std::string_view::npos) {
    return "";
  }
  std::string settings;
  command.remove_prefix(kNow.size());
  while (!command.empty()) {
    const std::string_view setting = command.substr(0, command.find(' '));
    settings += fmt::format(" {}", setting);
    command.remove_prefix(std::min(command.size(), setting.size() + 1));
  }
  return fmt::format("printf '%s\\n'{} >>/etc/sysctl.d/90-chokepoint.conf", settings);
}

std::string tinted_name(const cli::Context& context, Status status) {
  return cli::tinted(fmt::format("{:<8}", name_of(status)), tint_of(status), context.out_terminal);
}

void print_line(const cli::Context& context, std::string_view label, const std::string& text) {
  if (text.empty()) {
    return;
  }
  const int width = std::min(context.out_terminal.width, kMaxPageWidth);
  const std::string lines = cli::wrapped(cli::printable(text), width, kTextColumn);
  fmt::print(context.out, "          {:<8}{}", label, lines.substr(kTextColumn));
}

// A command is copied into a shell: it stands on a line of its own, unbroken.
void print_command(const cli::Context& context, const char* label, const std::string& command) {
  if (!command.empty()) {
    fmt::print(context.out, "          {:<8}{}\n", label,
               cli::tinted(cli::printable(command), Tint::Bold, context.out_terminal));
  }
}

void print_finding(const cli::Context& context, const Check& check) {
  fmt::print(context.out, "{}  {}  {}\n", tinted_name(context, check.status),
             cli::tinted(check.id, Tint::Bold, context.out_terminal),
             cli::printable(check.subject));
  print_line(context, "found", check.found);
  print_line(context, "wanted", check.wanted);
  print_line(context, "why", check.why);
  print_command(context, "do", check.next_step);
  print_command(context, "keep", kept_over_reboots(check.next_step));
  context.out << '\n';
}

// One line each: nothing is wrong, or nothing could be seen.
void print_asides(const cli::Context& context, const Checks& checks) {
  cli::Table table({{"also"}, {"check"}, {"subject"}, {"result, or why it matters"}});
  for (const Check& check : checks) {
    table.add({{std::string(name_of(check.status)), tint_of(check.status)},
               check.id,
               check.subject,
               check.found.empty() ? check.why : check.found});
  }
  if (!checks.empty()) {
    table.print(context.out, context.out_terminal);
    context.out << '\n';
  }
}

void print_passed(const cli::Context& context, const Checks& checks) {
  cli::Table table({{"passed"}, {"subject"}, {"found"}});
  for (const Check& check : checks) {
    if (check.status == Status::Pass) {
      table.add({check.id, check.subject, check.found});
    }
  }
  table.print(context.out, context.out_terminal);
  context.out << '\n';
}

std::string counts(const Checks& checks) {
  std::string text = fmt::format("{} checks", checks.size());
  for (const Status status :
       {Status::Critical, Status::Warning, Status::Unknown, Status::Info, Status::Pass}) {
    if (const auto count = std::ranges::count(checks, status, &Check::status); count > 0) {
      text += fmt::format(", {} {}", count, name_of(status));
    }
  }
  return text;
}

}  // namespace

void print_page(const cli::Context& context, const Checks& checks, bool all) {
  Checks findings = checks;
  std::erase_if(findings, [](const Check& check) { return check.status == Status::Pass; });
  std::ranges::stable_sort(findings, std::ranges::greater(), &Check::status);
  const auto first_aside = std::ranges::find_if(
      findings, [&](const Check& check) { return !all && check.status < Status::Warning; });
  const Checks asides(first_aside, findings.end());
  findings.erase(first_aside, findings.end());
  for (const Check& finding : findings) {
    print_finding(context, finding);
  }
  print_asides(context, asides);
  if (all) {
    print_passed(context, checks);
  }
  const Status verdict = worst(checks);
  const std::string name =
      cli::tinted(std::string(name_of(verdict)), tint_of(verdict), context.out_terminal);
  fmt::print(context.out, "{}: {}{}\n", name, counts(checks),
             all ? "" : " (--all explains them, and shows what passed)");
}

namespace {

constexpr std::size_t kMaxShown = 3;
constexpr std::size_t kMaxBytes = 120;

// Bytes that begin no letter are not cut apart from the one that does.
std::string shortened(std::string text) {
  if (text.size() > kMaxBytes) {
    std::size_t end = kMaxBytes;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) {
      --end;
    }
    text.replace(end, std::string::npos, "…");
  }
  return text;
}

}  // namespace

std::string brief(const Check& check) {
  std::string text = fmt::format("{} {}", check.id, check.subject);
  if (!check.found.empty()) {
    text += ": " + check.found;
  }
  if (!check.wanted.empty()) {
    text += ", wanted " + check.wanted;
  }
  return shortened(cli::printable(text));
}

std::string summary(const Checks& checks, Status least) {
  Checks bad;
  std::ranges::copy_if(checks, std::back_inserter(bad),
                       [&](const Check& check) { return check.status >= least; });
  std::ranges::stable_sort(bad, std::ranges::greater{}, &Check::status);
  std::string line;
  for (const Check& check : bad | std::views::take(kMaxShown)) {
    line += (line.empty() ? "" : "; ") + brief(check);
  }
  return bad.size() > kMaxShown ? fmt::format("{} (and {} more)", line, bad.size() - kMaxShown)
                                : line;
}

}  // namespace chokepoint::checks
