// Puts records that come from other hosts into one folder: incomplete ones are kept for a later
// attempt, complete ones are checked before they get their name, and replace an older state of the
// same record. Used by one thread for each host; what they share is the folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

#include "base/record/bundle.h"
#include "base/sys/error.h"

namespace chokepoint::record {

struct Collected {
  std::string file = {};
  std::string source = {};
  std::int64_t bytes = 0;
  std::int64_t sent_bytes = 0;  // less than all where the beginning was here
  bool is_live = false;
};

class Collector {
 public:
  // Reads what lies there already.
  explicit Collector(std::filesystem::path folder);

  const std::filesystem::path& folder() const { return folder_; }
  // For the sender: what of this source's records is here.
  std::vector<Beginning> beginnings(const std::string& source) const;
  // The bytes of an entry that the bundle has just given.
  Result<Collected> take(BundleReader& bundle, const BundleEntry& entry, const std::string& source);

 private:
  std::filesystem::path folder_;
  std::vector<Beginning> whole_;  // records that were there at first
  std::mutex mutex_;
};

}  // namespace chokepoint::record
