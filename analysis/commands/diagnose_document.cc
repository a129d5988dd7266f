// The chokepoint.diagnosis/1 document: a diagnosis by its Fields.
#include <algorithm>
#include <array>
#include <iterator>

#include "analysis/attribution/causes.h"
#include "analysis/attribution/ceilings.h"
#include "analysis/commands/accounting_fields.h"
#include "analysis/commands/diagnose.h"
#include "analysis/evidence/tool_file.h"
#include "analysis/load/run_summary.h"
#include "base/json/codec.h"
#include "base/json/schema.h"
#include "base/sys/clock.h"

namespace chokepoint {

template <>
struct Fields<analysis::Where> {
  using W = analysis::Where;
  static constexpr FieldList kList{
      field("from", &W::from, "the node that sends").null_if_empty(),
      field("to", &W::to, "the node that receives").null_if_empty(),
      field("direction", &W::direction, "both: also from `to` to `from`").null_if_empty(),
      field("mount", &W::mount, "mount point of a file system of `node`").null_if_empty(),
      field("collective", &W::collective,
            "the collective that the rank is in, or has not yet reached")
          .null_if_empty(),
      field("interface", &W::interface, "NIC, RDMA port or GPU of `node`").null_if_empty(),
      field("node", &W::node, "the node, where it is no direction, device or rank").null_if_empty(),
      field("rank", &W::rank, "the rank that arrives late or that ended"),
      field("frame", &W::frame, "where the program of `rank` stands, by `run --stacks`")
          .null_if_empty(),
      field("ranks", &W::ranks, "all ranks concerned, where there are several, with `rank`")
          .null_if_empty()};
};

template <>
struct Fields<analysis::Evidence> {
  using E = analysis::Evidence;
  static constexpr FieldList kList{
      field("what", &E::what, "what was measured"),
      field("value", &E::value, "the measured value; null: it is not a number"),
      field("unit", &E::unit, "unit of the value").null_if_empty(),
      field("from", &E::from, "rows of the record that show it").null_if_empty()};
};

template <>
struct Fields<analysis::Ceiling> {
  using C = analysis::Ceiling;
  static constexpr FieldList kList{
      field("probe", &C::probe, "which kind of probe measured it"),
      field("what", &C::what, "throughput, unloaded round trip, copies to the GPU …"),
      field("from", &C::from, "the node that sends, or the node that has the device"),
      field("to", &C::to, "the node that receives; null where it is no path").null_if_empty(),
      field("device", &C::device, "a GPU or an RDMA port").null_if_empty(),
      field("probe_value", &C::probe_value, "what the probe reached").at_least(0),
      field("job_value", &C::job_value, "the best value that the job reached").at_least(0),
      field("unit", &C::unit, "unit of both values"),
      computed<C>(
          "share_percent", [](const C& c) { return c.share_percent(); },
          "the job's value in percent of the probe's; null for a round trip"),
      computed<C>(
          "at", [](const C& c) { return sys::rfc3339(c.wall_ns); }, "when it was measured"),
      computed<C>(
          "says",
          [](const C& c) {
            const std::string name(label_of(c.support));
            return name.empty() ? std::nullopt : std::optional(name);
          },
          "whether the comparison supports or contradicts the verdict"),
      computed<C>(
          "sentence", [](const C& c) { return sentence_of(c); }, "the comparison in words"),
      field("source", &C::source, "a row of the record, or a file")};
};

template <>
struct Fields<analysis::GivenClaim> {
  using G = analysis::GivenClaim;
  static constexpr FieldList kList{
      field("tool", &G::tool, "the tool that wrote the file"),
      field("what", &G::what, "what the file reports"),
      field("theirs", &G::theirs, "the figure of the file; null where it is no number"),
      field("ours", &G::ours,
            "chokepoint's own figure of the same thing; null where there is none"),
      field("unit", &G::unit, "unit of both values").null_if_empty(),
      computed<G>(
          "says",
          [](const G& g) {
            const std::string name(label_of(g.support));
            return name.empty() ? std::nullopt : std::optional(name);
          },
          "whether the file supports or contradicts chokepoint's own figures"),
      field("from", &G::from, "name of the file")};
};

template <>
struct Fields<analysis::RankFigures> {
  using R = analysis::RankFigures;
  static constexpr FieldList kList{
      field("rank", &R::rank, "in the job").at_least(0),
      field("node", &R::node, "on which it ran").null_if_empty(),
      field("computing_ms", &R::computing_ms, "milliseconds of computing in a step"),
      field("waiting_ms", &R::waiting_ms, "milliseconds of waiting for other ranks in a step"),
      field("communicating_ms", &R::communicating_ms,
            "milliseconds of communication in a step that computing does not hide; the three sum "
            "to the step")};
};

template <>
struct Fields<analysis::WhatIf> {
  using W = analysis::WhatIf;
  static constexpr FieldList kList{
      computed<W>(
          "account", [](const W& what_if) { return name_of(what_if.account); },
          "name of the account in accounting_ms_per_step"),
      field("step_ms", &W::step_ms, "what a step takes if this account's time is halved")
          .at_least(0),
      field("gained_ms", &W::gained_ms, "milliseconds that the step becomes shorter").at_least(0)};
};

template <>
struct Fields<analysis::PathPart> {
  using P = analysis::PathPart;
  static constexpr FieldList kList{
      field("kind", &P::kind, "kind of part; late: computing of a rank that others waited for"),
      field("rank", &P::rank, "rank; null: not known").at_least(0),
      field("node", &P::node, "on which it ran").null_if_empty(),
      field("to_rank", &P::to_rank, "the rank that waits for the transfer").at_least(0),
      field("start_ms", &P::start_ms, "milliseconds since the step began").at_least(0),
      field("ms", &P::ms, "length in milliseconds").at_least(0)};
};

template <>
struct Fields<analysis::CriticalPath> {
  using C = analysis::CriticalPath;
  static constexpr FieldList kList{
      field("step", &C::step, "number of the step, from 1").at_least(1),
      field("length_ms", &C::length_ms,
            "from the last exchange of the step before to the last exchange of this step")
          .at_least(0),
      field("parts", &C::parts, "parts of the step in order of time; they sum to the length")};
};

template <>
struct Fields<analysis::Verdict> {
  using V = analysis::Verdict;
  static std::optional<analysis::Cause> cause(const V& verdict) {
    return verdict.cause == analysis::Cause::None ? std::nullopt : std::optional(verdict.cause);
  }
  static std::vector<std::string> advice(const V& verdict) {
    std::vector<std::string> texts;
    std::ranges::transform(verdict.advice, std::back_inserter(texts), analysis::advice_text);
    return texts;
  }
  static std::vector<std::string> commands(const V& verdict) {
    std::vector<std::string> commands;
    std::ranges::transform(verdict.advice, std::back_inserter(commands),
                           &analysis::Advice::command);
    std::erase(commands, "");
    return commands;
  }
  static constexpr FieldList kList{
      field("class", &V::verdict, "class of the bottleneck"),
      computed<V>("cause", cause, "the cause within the class"),
      computed<V>(
          "sentence", [](const V& verdict) { return sentence_of(verdict); },
          "the verdict in words"),
      field("where", &V::where, "where the time is lost: nodes by name; null where not known"),
      field("lost_ms_per_step", &V::lost_ms_per_step,
            "milliseconds per step that a change could save")
          .at_least(0),
      field("lost_low_ms", &V::lost_low_ms,
            "lower bound of the milliseconds lost, correct in nine of ten verdicts")
          .at_least(0),
      field("lost_high_ms", &V::lost_high_ms,
            "upper bound of the milliseconds lost, correct in nine of ten verdicts")
          .at_least(0),
      field("share_percent", &V::share_percent, "share of the step in percent").between(0, 100),
      field("confidence", &V::confidence,
            "probability that the verdict is right, calibrated by many runs")
          .between(0, 1),
      field("evidence", &V::evidence, "the most important first"),
      field("disproof", &V::disproof, "what would show that it is wrong").null_if_empty(),
      field("against", &V::against,
            "what a probe or another tool reports that contradicts the verdict")
          .null_if_empty(),
      computed<V>("advice", advice, "what to change, the most useful first"),
      computed<V>("commands", commands, "the commands of the advice, ready to type")};
};

template <>
struct Fields<analysis::RoundTimes> {
  using R = analysis::RoundTimes;
  static constexpr FieldList kList{
      computed<R>(
          "sentence", [](const R& rounds) { return analysis::sentence_of(rounds); }, "for people"),
      field("every_steps", &R::every_steps, "steps from one exchange to the next").at_least(2),
      field("syncs", &R::syncs, "number of exchanges").at_least(0),
      field("inner_ms", &R::inner_ms, "median time of a step without exchange").at_least(0),
      field("sync_ms", &R::sync_ms, "time that an exchange adds to its step"),
      field("sync_bytes", &R::sync_bytes,
            "data of an exchange at the ranks of one node, as the library or packets count them; "
            "median")
          .at_least(0),
      field("utilisation_percent", &R::utilisation_percent,
            "share of the time that steps take without their exchanges")
          .between(0, 100)};
};

template <>
struct Fields<analysis::RunPause> {
  using P = analysis::RunPause;
  static constexpr FieldList kList{
      field("at_s", &P::at_s, "when it began, since the run began"),
      field("s", &P::s, "how long it lasted").at_least(0),
      field("does", &P::does, "what the job did meanwhile, by its counters")};
};

template <>
struct Fields<analysis::Goodput> {
  using G = analysis::Goodput;
  static constexpr FieldList kList{
      computed<G>(
          "sentence", [](const G& goodput) { return analysis::sentence_of(goodput); },
          "for people"),
      computed<G>(
          "percent", [](const G& goodput) { return goodput.percent(); },
          "share of the run's time that its steps take, without pauses")
          .between(0, 100),
      field("run_s", &G::run_s, "the run").at_least(0),
      field("start_s", &G::start_s, "before the first step").at_least(0),
      field("steps_s", &G::steps_s, "steps without pauses").at_least(0),
      field(
          "pauses_s", &G::pauses_s,
          "between steps, and what steps took beyond a usual one where that is more than three of "
          "them and half a second")
          .at_least(0),
      field("end_s", &G::end_s, "after the last step").at_least(0),
      field("pauses", &G::pauses, "number of pauses").at_least(0),
      field("longest", &G::longest, "of them the longest, at most eight")};
};

template <>
struct Fields<analysis::Diagnosis> {
  using D = analysis::Diagnosis;
  static constexpr FieldList kList{
      field("run", &D::run, "the folder as it was given"),
      field("command", &D::command, "the job's").null_if_empty(),
      field("labels", &D::labels, "labels of the run"),
      field("nodes", &D::nodes, "names of the nodes with a record"),
      field("complete", &D::is_complete, "every record has an end"),
      field("steps", &D::steps, "number of all steps recorded"),
      field(
          "rounds", &D::rounds,
          "exchanges of a job that exchanges in every so many steps only, as with local SGD; null: "
          "its steps are all alike"),
      field(
          "goodput", &D::goodput,
          "the share of the run's time that its steps take, and where the rest went; null without "
          "steps"),
      field("purposes", &D::purposes,
            "what the job's bytes between hosts were for; empty where packets were not captured"),
      field(
          "standing", &D::standing,
          "the time of a step compared with earlier runs of this job; null: the history has none"),
      field("accounting_ms_per_step", &D::accounting,
            "milliseconds of each account, which sum to the step; null without steps"),
      field("accounting_uncertainty_ms", &D::uncertainty,
            "half of each account's 95 % interval, computed from how steps differ; null for fewer "
            "than three steps"),
      field("what_ifs", &D::what_ifs,
            "the run replayed with one account at half; empty where a replay is impossible"),
      field("critical_path", &D::critical_path,
            "what decided the length of the median step; null where the run cannot be replayed"),
      field("verdict", &D::verdict, "the largest part that a change could remove"),
      field("others", &D::others, "the next largest parts, the largest first"),
      field("ranks", &D::ranks, "accounts of each rank"),
      field("ceilings", &D::ceilings,
            "what probes measured of the paths and devices that the job used"),
      field("given", &D::given, "what the files of other tools report; see --with"),
      field(
          "plan", &D::plan,
          "tests that may confirm the verdict, where it is unknown or where a plan was requested"),
      field("confirmation", &D::confirmation,
            "results of tests that ran after the job to confirm the verdict"),
      field("pause", &D::pause, "why no step ends at present, where that may be intended")
          .null_if_empty(),
      field("missing", &D::missing, "what the data lack, one line each")};
};

}  // namespace chokepoint

namespace chokepoint::analysis {
namespace {

constexpr std::array kUnknownWithoutSteps{"lost_ms_per_step", "lost_low_ms", "lost_high_ms",
                                          "share_percent"};

}  // namespace

cli::Json diagnosis_schema() {
  cli::Json schema = json::schema_of<Diagnosis>();
  cli::Json& parts = schema["properties"];
  parts["ceilings"]["items"]["properties"]["says"]["enum"] = {name_of(Support::For),
                                                              name_of(Support::Against), nullptr};
  parts["given"]["items"]["properties"]["says"]["enum"] =
      parts["ceilings"]["items"]["properties"]["says"]["enum"];
  cli::Json& tools = parts["given"]["items"]["properties"]["tool"]["enum"];
  for (const auto& each : EnumNames<Tool>::kNames) {
    tools.push_back(each.second);
  }
  // Where no step was accounted for, nothing is known to be lost.
  for (const char* unknown : kUnknownWithoutSteps) {
    parts["verdict"]["properties"][unknown]["type"] = {"number", "null"};
  }
  return schema;
}

cli::Json document_of(const cli::Context& context, const Diagnosis& diagnosis) {
  cli::Json document = cli::document(context, "chokepoint.diagnosis/1");
  document.update(json::to_json(diagnosis));
  document["verdict"]["sentence"] = sentence_of(diagnosis);
  if (!diagnosis.accounting) {  // what is lost is known only where steps were accounted for
    for (const char* unknown : kUnknownWithoutSteps) {
      document["verdict"][unknown] = nullptr;
    }
  }
  return document;
}

}  // namespace chokepoint::analysis
