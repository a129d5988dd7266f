// chokepoint explain: what a verdict's class or cause means, what shows it and what to do, and what
// a check of doctor or preflight looks at, and the traps that they know.
#include "analysis/commands/explain.h"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/attribution/causes.h"
#include "analysis/commands/commands.h"
#include "analysis/confirm/tests.h"
#include "base/checks/traps.h"
#include "base/cli/context.h"
#include "base/cli/output.h"
#include "base/cli/text.h"
#include "base/json/codec.h"

namespace chokepoint::analysis {
namespace {

constexpr int kTextIndent = 2;

// Texts of causes.def have places of a run in braces.
std::string without_places(std::string_view text) {
  std::string plain;
  for (const char c : text) {
    if (c == '{') {
      plain += "the ";
    } else if (c != '}') {
      plain += c;
    }
  }
  for (const std::string_view twice : {"the the ", "The the "}) {
    for (std::size_t at = plain.find(twice); at != std::string::npos; at = plain.find(twice)) {
      plain.erase(at, 4);
    }
  }
  return plain;
}

// In what is typed they are for the reader to fill in: "ethtool INTERFACE".
std::string with_placeholders(std::string_view text) {
  std::string typed;
  bool is_place = false;
  for (const char c : text) {
    is_place = c == '{' || (is_place && c != '}');
    if (c != '{' && c != '}') {
      typed += is_place && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    }
  }
  return typed;
}

// `condition` stands in front of each: "under lan-loss: ".
void add_advice(const std::array<AdviceText, 3>& all, std::string_view condition, Topic& topic) {
  for (const AdviceText& each : all) {
    std::string line = with_placeholders(each.what);
    line += each.what.empty() || each.command.empty() ? "" : ": ";
    line += with_placeholders(each.command);
    line.insert(0, line.empty() ? "" : condition);
    if (!line.empty() && std::ranges::find(topic.advice, line) == topic.advice.end()) {
      topic.advice.push_back(std::move(line));
    }
  }
}

// Of a class its own, of a cause those that it has instead.
void add_tests(VerdictClass verdict, Cause cause, Topic& topic) {
  for (const confirm::Check& check : confirm::check_table()) {
    if (check.verdict == verdict && check.cause == cause) {
      topic.tests.push_back(confirm::text_of(check));
    }
  }
}

Topic topic_of(const VerdictDescription& verdict) {
  Topic topic{.name = verdict.name,
              .kind = TopicKind::Class,
              .means = without_places(verdict.sentence),
              .wrong_if = std::string(verdict.disproof)};
  for (const CauseDescription& cause : cause_table()) {
    if (describe(verdict.verdict, cause.cause) != nullptr) {
      topic.under.emplace_back(cause.name);
    }
  }
  add_advice(verdict.advice, "", topic);
  add_tests(verdict.verdict, Cause::None, topic);
  return topic;
}

Topic topic_of(const CauseDescription& cause) {
  Topic topic{
      .name = cause.name, .kind = TopicKind::Cause, .shown_by = std::string(cause.evidence)};
  for (const CauseUnder& under : cause.under) {
    if (!under.verdict) {
      continue;
    }
    const VerdictDescription& verdict = verdict_table()[static_cast<std::size_t>(*under.verdict)];
    topic.under.emplace_back(verdict.name);
    topic.means += topic.means.empty() ? "" : "; ";
    topic.means += without_places(under.sentence.empty() ? verdict.sentence : under.sentence);
    add_advice(under.advice, "", topic);
    add_tests(*under.verdict, cause.cause, topic);
  }
  // A verdict has its class's advice after that of its cause.
  for (const CauseUnder& under : cause.under) {
    if (under.verdict) {
      const VerdictDescription& verdict = verdict_table()[static_cast<std::size_t>(*under.verdict)];
      add_advice(verdict.advice,
                 topic.under.size() > 1 ? fmt::format("under {}: ", verdict.name) : std::string(),
                 topic);
    }
  }
  return topic;
}

// The tables of docs/reference/doctor.md and preflight-checks.md, taken from there by the build.
struct CheckRow {
  const char* id;
  const char* command;
  const char* section;
  const char* passes;
  const char* otherwise;
};

constexpr auto kCheckRows = std::to_array<CheckRow>({
#include <check_rows.inc>  // made by the build: analysis/CMakeLists.txt
});

std::vector<std::string> traps_under(std::string_view check) {
  std::vector<std::string> names;
  for (const checks::Trap& trap : checks::kTraps) {
    if (trap.check == check) {
      names.emplace_back(trap.name);
    }
  }
  return names;
}

Topic topic_of(const checks::Trap& trap) {
  return {.name = std::string(trap.name),
          .kind = TopicKind::Trap,
          .means = std::string(trap.means),
          .shown_by = std::string(trap.shown_by),
          .under = {std::string(trap.check)},
          .advice = {std::string(trap.advice)},
          .source = std::string(trap.source)};
}

Topic topic_of(const CheckRow& row) {
  return {.name = row.id,
          .kind = TopicKind::Check,
          .means = std::string("a check of 'chokepoint ") + row.command + "', of " + row.section,
          .under = traps_under(row.id),
          .passes = row.passes,
          .otherwise = row.otherwise,
          .advice = {row.command == std::string_view("doctor")
                         ? "what it found here, why that matters, and the command that fixes it: "
                           "chokepoint doctor --all"
                         : "what it found, why, and what to do: chokepoint preflight HOST…"}};
}

std::vector<Topic> all_topics() {
  std::vector<Topic> topics;
  for (const VerdictDescription& verdict : verdict_table()) {
    topics.push_back(topic_of(verdict));
  }
  for (const CauseDescription& cause : cause_table()) {
    topics.push_back(topic_of(cause));
  }
  for (const CheckRow& row : kCheckRows) {
    topics.push_back(topic_of(row));
  }
  for (const checks::Trap& trap : checks::kTraps) {
    topics.push_back(topic_of(trap));
  }
  return topics;
}

const char* under_title(const Topic& topic) {
  return topic.kind == TopicKind::Class   ? "causes"
         : topic.kind == TopicKind::Check ? "traps"
         : topic.kind == TopicKind::Trap  ? "seen by the check"
                                          : "under";
}

void print_topic(const cli::Context& context, const Topic& topic) {
  const auto line = [&](const char* title, const std::string& text) {
    if (!text.empty()) {
      fmt::print(context.out, "{}\n{}", title,
                 cli::wrapped(text, context.out_terminal.width, kTextIndent));
    }
  };
  if (topic.kind == TopicKind::Check) {
    fmt::print(context.out, "{}: {}\n", topic.name, topic.means);
  } else if (topic.kind == TopicKind::Trap) {
    fmt::print(context.out, "{}: a known trap\n", topic.name);
    line("means", topic.means);
  } else {
    fmt::print(context.out, "{}: the {} of a verdict\n", topic.name, name_of(topic.kind));
    line("means", topic.means);
  }
  line("passes", topic.passes);
  line("otherwise", topic.otherwise);
  line("shown by", topic.shown_by);
  line(under_title(topic), fmt::format("{}", fmt::join(topic.under, ", ")));
  line("wrong if", topic.wrong_if);
  for (std::size_t number = 0; number < topic.tests.size(); ++number) {
    line(number == 0 ? "tested with --confirm by" : "and", topic.tests[number]);
  }
  for (std::size_t number = 0; number < topic.advice.size(); ++number) {
    line(number == 0 ? "what to do" : "or", topic.advice[number]);
  }
  line("reported", topic.source);
}

void print_names(const cli::Context& context, const std::vector<Topic>& topics) {
  for (const auto& [kind, title] : {std::pair(TopicKind::Class, "classes of verdicts"),
                                    std::pair(TopicKind::Cause, "causes of verdicts"),
                                    std::pair(TopicKind::Check, "checks of doctor and preflight"),
                                    std::pair(TopicKind::Trap, "known traps")}) {
    std::vector<std::string> names;
    for (const Topic& topic : topics) {
      if (topic.kind == kind) {
        names.push_back(topic.name);
      }
    }
    fmt::print(context.out, "{}\n{}", title,
               cli::wrapped(fmt::format("{}", fmt::join(names, ", ")), context.out_terminal.width,
                            kTextIndent));
  }
}

class ExplainCommand final : public cli::Command {
 public:
  cli::Summary summary() const override {
    return {
        .name = "explain",
        .purpose = "what a verdict or a check means, what shows it, and what to do",
        .description =
            "Explains a class or a cause of verdicts, as 'lan-bandwidth' or 'gloo-credit': what "
            "it means, which evidence belongs to it, what would show that it is wrong, and what to "
            "change; a check of doctor or preflight, as 'nic.rings': when it passes, and what "
            "it is otherwise; and a known trap, as 'small-shm': its sign, the check that sees it, "
            "and where it was reported. Without a name, all are listed.",
        .examples = {{"chokepoint explain lan-bandwidth", "a class of verdicts"},
                     {"chokepoint explain gloo-credit", "a cause"},
                     {"chokepoint explain nic.rings", "a check of doctor"},
                     {"chokepoint explain small-shm", "a known trap"},
                     {"chokepoint explain", "their names"}}};
  }

  void define(cli::Flags& flags) override {
    flags.positional("NAME", &name_,
                     "a class or a cause, as a verdict names it, a check's id, or a trap", false);
  }

  Result<cli::ExitCode> run(cli::Context& context) override {
    std::vector<Topic> topics = all_topics();
    if (name_.empty() && !context.json) {
      print_names(context, topics);
      return cli::ExitCode::Done;
    }
    if (!name_.empty()) {
      // 'input' is a class, and a cause of another one.
      const auto [first, last] = std::ranges::stable_partition(
          topics, [this](const Topic& topic) { return topic.name == name_; });
      if (first == topics.begin()) {
        return unknown(topics);
      }
      topics.erase(first, last);
    }
    if (context.json) {
      cli::Json document = cli::document(context, Fields<Explanation>::kSchema);
      document.update(json::to_json(Explanation{.topics = std::move(topics)}));
      cli::print(context, document);
      return cli::ExitCode::Done;
    }
    for (const Topic& topic : topics) {
      print_topic(context, topic);
    }
    return cli::ExitCode::Done;
  }

 private:
  Result<cli::ExitCode> unknown(const std::vector<Topic>& topics) const {
    std::vector<std::string> names;
    for (const Topic& topic : topics) {
      names.push_back(topic.name);
    }
    const std::string near = cli::nearest(name_, names);
    return fail(
        ErrorKind::Usage, "", name_, "neither a class or cause of verdicts, nor a check or a trap",
        near.empty() ? "'chokepoint explain' lists them" : fmt::format("did you mean '{}'?", near));
  }

  std::string name_;
};

}  // namespace

cli::CommandFactory explain_command() { return cli::command<ExplainCommand>(); }

}  // namespace chokepoint::analysis
