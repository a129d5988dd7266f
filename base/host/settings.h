// Those facts about a host that are its setup: an administrator, an update, a reboot or another
// slot can change them, and such a change can explain a difference between two measurements.
// Counters, addresses, names and momentary values are left out. Pure but for read_settings(),
// which reads below the given root and calls no driver or server that may hang.
#pragma once

#include <map>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "base/host/fact.h"
#include "base/sys/root.h"

namespace chokepoint::host {

// By what they are about, "nic eth0", "sysctl", then by key; small enough to stand in a document.
using Settings = std::map<std::string, std::map<std::string, std::string>>;

// Cores that are set alike count as one, and interfaces that cannot carry a job's data are left
// out. Never more than settings_in() accepts.
Settings settings_of(const Facts& facts);

// Without GPUs, libraries and the environment of a job, which take time to ask or are not the
// host's.
Settings read_settings(const sys::Root& root);

// From an untrusted message or document: empty where it is not of that form, or too large.
Settings settings_in(const nlohmann::ordered_json& json);

}  // namespace chokepoint::host
