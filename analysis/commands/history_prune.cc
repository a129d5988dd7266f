#include <fmt/format.h>
#include <fmt/ostream.h>

#include <chrono>

#include "analysis/commands/history.h"
#include "analysis/commands/history_look.h"
#include "base/cli/text.h"
#include "base/history/server_url.h"

namespace chokepoint::analysis {
namespace {

class HistoryPruneCommand final : public cli::Command {
 public:
  cli::Summary summary() const override {
    return {.name = "history prune",
            .purpose = "removes old rows from the history",
            .description = "Removes all rows that are older than --keep.",
            .examples = {{"chokepoint history prune --keep 8760h", "keep a year"}}};
  }

  void define(cli::Flags& flags) override {
    flags.group("What to keep")
        .option("keep", &keep_, "TIME", "rows of the last hours or days, like 8760h for a year");
    history::define_to_read(flags, history_);
  }

  Result<cli::ExitCode> run(cli::Context& context) override {
    if (keep_.count() <= 0) {
      return fail(ErrorKind::Usage, "", "--keep", "is missing",
                  "give a time, like 8760h for a year");
    }
    TRY(const std::string place, wanted_place(history_, context));
    TRY(history::open_to_read(place));
    TRY(const std::unique_ptr<history::Store> store, history::open(place));
    TRY(const std::int64_t gone, store->prune(context.clock.wall_ns() - keep_.count()));
    if (!context.quiet) {
      fmt::print(context.err, "{} rows removed from {}\n", gone,
                 cli::printable(history::shown_place(place)));
    }
    return cli::ExitCode::Done;
  }

 private:
  std::chrono::nanoseconds keep_{};
  history::Flags history_;
};

}  // namespace

cli::CommandFactory history_prune_command() { return cli::command<HistoryPruneCommand>(); }

}  // namespace chokepoint::analysis
