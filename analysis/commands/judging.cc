#include "analysis/commands/judging.h"

namespace chokepoint::analysis {

void define_judging(cli::Flags& flags, DiagnoseOptions& options) {
  flags.group("How to judge")
      .option("wan-rtt-ms", &options.wan_rtt_ms, "MS",
              "a path with at least this round trip, unloaded, is wide-area");
}

Result<> check_judging(const DiagnoseOptions& options) {
  if (!(options.wan_rtt_ms > 0)) {
    return fail(ErrorKind::Usage, "", "--wan-rtt-ms", "is no time", "give more than 0");
  }
  return {};
}

}  // namespace chokepoint::analysis
