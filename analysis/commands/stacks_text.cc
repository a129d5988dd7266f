#include "analysis/commands/stacks_text.h"

#include <fmt/format.h>

#include "base/cli/text.h"

namespace chokepoint::analysis {
namespace {

void add_line(std::string& text, const std::string& line) { text += cli::printable(line) + "\n"; }

// "MainThread (17), state S, flock in locks_lock_inode_wait"
std::string thread_line(const record::StackThread& thread) {
  std::string line = fmt::format("  {} ({}), state {}", thread.name, thread.id,
                                 thread.state.empty() ? "not known" : thread.state);
  line += thread.system_call.empty() ? "" : ", " + thread.system_call;
  return line + (thread.waits_in.empty() ? "" : " in " + thread.waits_in);
}

}  // namespace

std::string stacks_text(const record::Stacks& stacks, const std::string& node) {
  std::string text;
  add_line(text,
           fmt::format("stacks of {} on {}{}",
                       stacks.rank ? fmt::format("rank {}, process {},", *stacks.rank, stacks.pid)
                                   : fmt::format("process {}", stacks.pid),
                       node, stacks.remark.empty() ? "" : ": " + stacks.remark));
  for (const record::StackThread& thread : stacks.threads) {
    add_line(text, thread_line(thread));
    for (const record::StackFrame& frame : thread.frames) {
      add_line(text, fmt::format("    {} ({}:{})", frame.function, frame.file, frame.line));
    }
    for (const std::string& function : thread.kernel) {
      add_line(text, fmt::format("    kernel: {}", function));
    }
  }
  if (stacks.idle_threads > 0) {
    add_line(text, fmt::format("  and {} idle threads", stacks.idle_threads));
  }
  return text;
}

}  // namespace chokepoint::analysis
