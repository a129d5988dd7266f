#include <fmt/format.h>
#include <fmt/ostream.h>

#include <chrono>
#include <utility>

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
            .description =
                "Removes all rows that are older than --keep, and of those that are older "
                "than --thin all but one a day of each figure.",
            .examples = {{"chokepoint history prune --keep 8760h", "keep a year"},
                         {"chokepoint history prune --thin 720h --keep 43800h",
                          "of what is older than a month a row a day, for five years"}}};
  }

  void define(cli::Flags& flags) override {
    flags.group("What to keep")
        .option("keep", &keep_, "TIME", "rows of the last hours or days, like 8760h for a year")
        .option("thin", &thin_, "TIME", "of older rows one a day of each figure, at any hour");
    history::define_to_read(flags, history_);
  }

  Result<cli::ExitCode> run(cli::Context& context) override {
    if (keep_.count() <= 0 && thin_.count() <= 0) {
      return fail(ErrorKind::Usage, "", "--keep", "is missing, and so is --thin",
                  "give a time, like 8760h for a year");
    }
    TRY(const std::string place, wanted_place(history_, context));
    TRY(history::open_to_read(place));
    TRY(const std::unique_ptr<history::Store> store, history::open(place));
    std::int64_t gone = 0;
    for (const auto& [age, remove] :
         {std::pair(keep_, &history::Store::prune), {thin_, &history::Store::thin}}) {
      if (age.count() > 0) {
        TRY(const std::int64_t part, (*store.*remove)(context.clock.wall_ns() - age.count()));
        gone += part;
      }
    }
    if (!context.quiet) {
      fmt::print(context.err, "{} rows removed from {}\n", gone,
                 cli::printable(history::shown_place(place)));
    }
    return cli::ExitCode::Done;
  }

 private:
  std::chrono::nanoseconds keep_{};
  std::chrono::nanoseconds thin_{};
  history::Flags history_;
};

}  // namespace

cli::CommandFactory history_prune_command() { return cli::command<HistoryPruneCommand>(); }

}  // namespace chokepoint::analysis
