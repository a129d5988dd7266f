// A folder with a key for each host, read again when it changes, so that a new host needs no
// restart and one that is gone no longer gets in. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/control/key.h"
#include "base/sys/error.h"

namespace chokepoint::control {

class KeyFolder {
 public:
  // Made before the keys are read for the first time: what changes after that is news.
  explicit KeyFolder(std::string folder);

  // Nothing where no file has changed; looks once a second at most. An Error, once for each change,
  // where what is there now is no folder of keys: the caller goes on with those from before. Where
  // the last key is gone, a ring that fits nobody.
  std::optional<Result<KeyRing>> news(std::int64_t now_ns);

 private:
  // Names, places, sizes and times of all files; empty where the folder cannot be read.
  std::string glance() const;

  std::string folder_;
  std::string seen_;
  std::int64_t looked_ns_ = 0;
};

}  // namespace chokepoint::control
