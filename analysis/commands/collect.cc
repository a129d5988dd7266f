// chokepoint collect: brings the records of a run together from the hosts that they lie on.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <utility>

#include "analysis/collect/collection.h"
#include "analysis/collect/sender.h"
#include "analysis/collect/sources.h"
#include "analysis/commands/commands.h"
#include "analysis/commands/run_files.h"
#include "base/cli/output.h"
#include "base/cli/table.h"
#include "base/cli/text.h"
#include "base/host/launcher.h"
#include "base/json/codec.h"
#include "base/math/units.h"
#include "base/record/bundle.h"
#include "base/record/collector.h"
#include "base/record/runs.h"
#include "base/record/schema.h"

namespace chokepoint::analysis {
namespace {

namespace fs = std::filesystem;

class CollectCommand final : public cli::Command {
 public:
  cli::Summary summary() const override;
  void define(cli::Flags& flags) override;
  Result<cli::ExitCode> run(cli::Context& context) override;

 private:
  Result<std::vector<Source>> sources() const;
  Result<fs::path> target(const std::vector<Source>& sources) const;
  std::vector<std::string> command_for(const Source& source,
                                       const record::Collector& collector) const;

  std::vector<std::string> words_;
  std::string slurm_job_;
  std::string ssh_;
  std::string program_ = "chokepoint";
  std::string out_;
  std::chrono::nanoseconds max_silence_ = std::chrono::seconds(60);
};

cli::Summary CollectCommand::summary() const {
  return {
      .name = "collect",
      .purpose = "brings the records of a run together from its hosts",
      .description =
          "Copies the records of each host into one folder by ssh, for diagnose, report and the "
          "others. A record is copied as it is at one moment, also while it is being written; what "
          "was copied before is not copied again, and a copy that was interrupted goes on where it "
          "stopped. Each record is checked before it gets its name. chokepoint must be installed "
          "on each host, and ssh must not ask for a password.\n\n"
          "HOST: without a folder is the newest run of that host, in chokepoint-runs in the home "
          "folder.",
      .examples = {{"chokepoint collect gpu1:chokepoint-runs/812 gpu2:chokepoint-runs/812",
                    "into chokepoint-runs/812 here"},
                   {"chokepoint collect gpu[1-8]:runs/a --out all/a", "of eight hosts"},
                   {"chokepoint collect --slurm 812", "from the nodes of a Slurm job"},
                   {"chokepoint collect runs/a /mnt/b/runs/a --out both", "folders of this host"}}};
}

void CollectCommand::define(cli::Flags& flags) {
  flags
      .positional("[HOST:]DIR", &words_, "a run's folder on a host, or on several: gpu[1-8]:DIR",
                  false)
      .a_run();
  flags.group("From where")
      .option("slurm", &slurm_job_, "JOBID", "the nodes of this job, from its run's folder there")
      .option("ssh", &ssh_, "COMMAND", "in place of 'ssh', with options, as in 'ssh -p 2222'")
      .option("program", &program_, "PATH", "chokepoint on those hosts")
      .option("timeout", &max_silence_, "TIME", "how long a host may send nothing")
      .formerly("patience")
      .group("To where")
      .option("out", &out_, "DIR", "the folder for all; default: chokepoint-runs/NAME");
}

Result<std::vector<Source>> CollectCommand::sources() const {
  if (slurm_job_.empty() == words_.empty()) {
    return fail(ErrorKind::Usage, "", "", "what is to be collected?",
                "give HOST:DIR for each host, or --slurm JOBID");
  }
  if (!slurm_job_.empty()) {
    return sources_of_slurm_job(slurm_job_);
  }
  TRY(std::vector<Source> sources, sources_of(words_));
  for (Source& source : sources) {
    std::error_code failed;
    source.folder = source.host.empty() ? path_of_run(source.folder) : source.folder;
    if (source.host.empty() && !fs::exists(source.folder, failed)) {
      return fail(ErrorKind::NotFound, "", source.folder, "no such folder on this host",
                  "give HOST:DIR for one of another host, or HOST: for its newest run");
    }
  }
  return sources;
}

Result<fs::path> CollectCommand::target(const std::vector<Source>& sources) const {
  fs::path folder = out_;
  if (out_.empty()) {
    const std::string name = fs::path(name_of_folder(sources.front().folder)).filename();
    folder = fs::path(record::kRunsFolder) / (name.empty() || name == "." ? "collected" : name);
  }
  const bool is_own = std::ranges::any_of(sources, [&](const Source& source) {
    std::error_code failed;
    return source.host.empty() && fs::equivalent(source.folder, folder, failed);
  });
  if (is_own) {
    return fail(ErrorKind::Usage, "", folder.string(), "is collected, and where it would go",
                "give another folder with --out");
  }
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    return fail(from_errno(error.value(), "collect", folder.string()));
  }
  return folder;
}

std::vector<std::string> CollectCommand::command_for(const Source& source,
                                                     const record::Collector& collector) const {
  std::vector<std::string> there{source.host.empty() ? kOwnProgram : program_, "record", "send"};
  for (const record::Beginning& each : collector.beginnings(source.name())) {
    there.insert(there.end(), {"--have", record::text_of(each)});
  }
  if (!source.folder.empty()) {
    there.insert(there.end(), {"--", source.folder});
  }
  if (source.host.empty()) {
    return there;
  }
  if (!ssh_.empty()) {
    return {"/bin/sh", "-c", ssh_ + " \"$@\"", "sh", source.host, record::shell_line(there)};
  }
  std::vector<std::string> command = host::ssh_to(source.host);
  command.push_back(record::shell_line(there));
  return command;
}

void print_table(const cli::Context& context, const CollectOutcome& all) {
  cli::Table table({{"record"}, {"from"}, {"size", cli::Align::Right}, {""}});
  for (const record::Collected& each : all.collected) {
    table.add({each.file, each.source, math::format_bytes(static_cast<double>(each.bytes)),
               each.sent_bytes == 0 ? "was here already"
               : each.is_live       ? "goes on: collect it again"
                                    : ""});
  }
  table.print(context.out, context.out_terminal);
}

Result<cli::ExitCode> CollectCommand::run(cli::Context& context) {
  TRY(const std::vector<Source> sources, this->sources());
  TRY(const fs::path folder, target(sources));
  record::Collector collector(folder);
  const auto command = [&](const Source& source) { return command_for(source, collector); };
  TRY(CollectOutcome all, collect(sources, collector, command, max_silence_, context));
  all.folder = folder.string();
  for (const std::string& trouble : all.troubles) {
    fmt::print(context.err, "chokepoint: collect: {}\n", cli::printable(trouble));
  }
  if (context.json) {
    cli::Json document = cli::document(context, Fields<CollectOutcome>::kSchema);
    document.update(json::to_json(all));
    cli::print(context, document);
  } else if (!all.collected.empty()) {
    print_table(context, all);
  }
  if (!all.collected.empty() && !context.quiet) {
    const std::array next{std::string("chokepoint"), std::string("diagnose"), folder.string()};
    fmt::print(context.err, "chokepoint: collect: next: {}\n", record::shell_line(next));
  }
  std::error_code kept;
  fs::remove(folder, kept);  // only if nothing came
  return all.troubles.empty() ? cli::ExitCode::Done : cli::ExitCode::Failed;
}

}  // namespace

cli::CommandFactory collect_command() { return cli::command<CollectCommand>(); }

}  // namespace chokepoint::analysis
