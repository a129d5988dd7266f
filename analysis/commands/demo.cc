// chokepoint demo: a recorded run that the program carries, its verdict and its page, for who wants
// to see what there is to be had before a job of their own.
#include <fmt/format.h>
#include <fmt/ostream.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "analysis/commands/commands.h"
#include "analysis/demo/recorded_run.h"

namespace chokepoint::analysis {
namespace {

constexpr const char* kDemo = "demo";
constexpr const char* kDemoPage = "report.html";

// As a user would type it.
Result<cli::ExitCode> run_as_typed(const cli::CommandFactory& make,
                                   const std::vector<std::string>& words, cli::Context& context) {
  const std::unique_ptr<cli::Command> command = make();
  cli::Flags flags;
  command->define(flags);
  TRY(cli::parse(flags, words));
  return command->run(context);
}

class Demo final : public cli::Command {
 public:
  cli::Summary summary() const override {
    return {.name = kDemo,
            .purpose = "diagnose a recorded run that this program contains",
            .description =
                "Unpacks the records of a small training on two hosts into a folder, diagnoses it "
                "like any other run, and writes its page. Needs no network and no privilege, and "
                "takes a second.",
            .examples = {{"chokepoint demo", "into ./chokepoint-demo"},
                         {"chokepoint demo --out /tmp/demo", "elsewhere"}},
            .json = false};
  }

  void define(cli::Flags& flags) override {
    flags.group("Output").option("out", &folder_, "DIR", "the folder to write to");
  }

  Result<cli::ExitCode> run(cli::Context& context) override {
    namespace fs = std::filesystem;
    std::error_code problem;
    fs::create_directories(folder_, problem);
    if (problem) {
      Error error = from_errno(problem.value(), kDemo, folder_);
      error.next_step = "name another folder by --out";
      return fail(std::move(error));
    }
    TRY(write_recorded_run(folder_));
    fmt::print(
        context.out,
        "A training by PyTorch on two hosts, recorded by 'chokepoint run'. What gpu1 sends to gpu2 "
        "is limited to far\nless than its card's speed; chokepoint has to find that out. Its "
        "verdict:\n\n");
    context.out.flush();
    const std::string page = (fs::path(folder_) / kDemoPage).string();
    TRY(run_as_typed(diagnose_command(), {folder_}, context));
    cli::Context silent = context;
    silent.quiet = true;
    TRY(run_as_typed(report_command(), {folder_, "--output", page}, silent));
    fmt::print(context.out,
               "\npage         {0}, for a browser\n"
               "in full      chokepoint diagnose {1} --all\n"
               "what it is   chokepoint explain lan-bandwidth\n"
               "what if      chokepoint predict --from {1} --link 1G\n"
               "your own     chokepoint run YOUR TRAINING COMMAND     # on each node\n"
               "             chokepoint diagnose\n",
               page, folder_);
    return cli::ExitCode::Done;
  }

 private:
  std::string folder_ = "chokepoint-demo";
};

}  // namespace

cli::CommandFactory demo_command() { return cli::command<Demo>(); }

}  // namespace chokepoint::analysis
