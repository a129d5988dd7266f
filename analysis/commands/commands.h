// The commands that read records, most of them after a job, for main() to register: each factory
// makes a command with its flags at their defaults. A command lives as long as its process and runs
// on its thread.
#pragma once

#include <string>
#include <vector>

#include "base/cli/command.h"

namespace chokepoint::analysis {

cli::CommandFactory collect_command();
cli::CommandFactory compare_command();
cli::CommandFactory demo_command();
cli::CommandFactory diagnose_command();
cli::CommandFactory explain_command();
cli::CommandFactory export_command();
// `history` and what belongs to it.
std::vector<cli::CommandFactory> history_commands();
cli::CommandFactory live_command();
// `doctor` is of another part: main() has it.
cli::CommandFactory mcp_command(cli::CommandFactory doctor);
cli::CommandFactory predict_command();
cli::CommandFactory record_send_command();
cli::CommandFactory record_show_command();
cli::CommandFactory report_command();
cli::CommandFactory runs_command();
cli::CommandFactory web_command();

// Runs that these commands take by name here, the newest first, and "latest"; none with a letter
// that a line or a terminal does not take as it is.
std::vector<std::string> run_names();

}  // namespace chokepoint::analysis
