// chokepoint record send: what 'collect' starts on other hosts.
#include <fmt/ostream.h>

#include <cerrno>
#include <csignal>
#include <string>
#include <vector>

#include "analysis/commands/commands.h"
#include "analysis/commands/run_files.h"
#include "base/cli/command.h"
#include "base/cli/text.h"
#include "base/record/bundle.h"
#include "base/record/collector.h"

namespace chokepoint::analysis {

namespace {

class SendCommand final : public cli::Command {
 public:
  cli::Summary summary() const override {
    return {.name = "record send",
            .purpose = "writes a run's records to standard output, for 'collect'",
            .description =
                "Writes a copy of each record in a run's folder to standard output, with its size "
                "and hash. 'chokepoint collect' starts it on other hosts. A record that is being "
                "written is copied as it is at one moment.",
            .examples = {{"chokepoint record send runs/a >a.records", "all records of runs/a"}},
            .json = false};
  }

  void define(cli::Flags& flags) override {
    flags.positional("DIR", &folder_, "the run's folder; default: the newest run here", false)
        .a_run();
    flags.group("What is there")
        .option("have", &have_, "NAME=BYTES:HASH",
                "a record whose beginning the reader has already");
  }

  Result<cli::ExitCode> run(cli::Context& context) override {
    std::vector<record::Beginning> there;
    for (const std::string& text : have_) {
      TRY(record::Beginning each, record::beginning_in(text));
      there.push_back(std::move(each));
    }
    if (context.out_terminal.interactive) {
      return fail(ErrorKind::Usage, "", "", "standard output is a terminal",
                  "'chokepoint collect' reads what this writes");
    }
    context.quiet = true;
    // A reader that has gone is an error of the write, after which the copies are removed.
    signal(SIGPIPE, SIG_IGN);
    TRY(const std::string folder, choose_run(context, "record send", folder_));
    TRY(const std::vector<Error> left_out,
        record::send_records(folder, there, [&](std::string_view bytes) -> Result<> {
          context.out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
          return context.out ? Result<>() : fail(from_errno(EPIPE, "write", "standard output"));
        }));
    for (const Error& error : left_out) {
      fmt::print(context.err, "{}\n", cli::printable(describe(error)));
    }
    return left_out.empty() ? cli::ExitCode::Done : cli::ExitCode::Failed;
  }

 private:
  std::string folder_;
  std::vector<std::string> have_;
};

}  // namespace

cli::CommandFactory record_send_command() { return cli::command<SendCommand>(); }

}  // namespace chokepoint::analysis
