// By what a host's figures during a job are told from those during another one: the `setting` of
// their series, which also says on which hosts a job ran. Pure; any thread.
#pragma once

#include <string>

namespace chokepoint::history {

inline std::string setting_of_job(const std::string& job) { return "job=" + job; }

}  // namespace chokepoint::history
