// chokepoint-capture, the one program that may be given the capability to capture
// (capture/main.cc): where it is, and becoming it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace chokepoint::capture::source {

// This program itself, if it is the helper; else the one beside it.
std::optional<std::filesystem::path> helper_program();

// What gives users the right to capture, as a command to type.
std::string how_to_allow_capture();

// If this process may not capture and the helper may: becomes the helper, with this process's own
// command line, and does not return. Call it before anything is opened.
void become_helper_if_needed();

}  // namespace chokepoint::capture::source
