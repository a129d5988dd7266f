// Commands that a person copies into a shell, with names in them that other hosts told. Pure
// functions.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace chokepoint::preflight {

// One word to a shell, whatever it holds.
std::string shell_word(const std::string& word);

// The command as it is run on that host, from here: ssh gpu3 'ethtool -S eth0 | grep crc'.
std::string on_host(const std::string& host, const std::string& command);

// Between a command and what else to do.
inline constexpr std::string_view kNote = "  # ";

// The command, and behind it what else to do, as a comment: the line can be pasted as it is.
std::string with_note(const std::string& command, const std::string& note);

}  // namespace chokepoint::preflight
