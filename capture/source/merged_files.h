// Several files as one Source, merged by time. One thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "capture/source/lanes.h"
#include "capture/source/source.h"

namespace chokepoint::capture::source {

class MergedFiles final : public Source {
 public:
  explicit MergedFiles(std::vector<std::unique_ptr<Source>> files);

  Result<Progress> read(Batch& batch) override { return lanes_.read(batch); }
  const std::vector<Interface>& interfaces() const override { return lanes_.interfaces(); }
  std::vector<std::string> remarks() const override;

 private:
  std::vector<const Source*> files_;  // owned by their lanes
  Lanes lanes_;
};

}  // namespace chokepoint::capture::source
