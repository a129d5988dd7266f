// Which collectives are of one sort: of a kind, and of sizes that run into each other. What a
// capture sees of one collective varies, where several go on at a time. A value; one thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace chokepoint::capture::step {

struct SizedKind {
  std::int64_t kind = 0;
  double bytes = 0;
};

class SizeClasses {
 public:
  SizeClasses() = default;
  explicit SizeClasses(std::vector<SizedKind> seen);

  // The same for all of a sort; what is like nothing that was seen is of a sort of its own.
  std::uint64_t token_of(const SizedKind& sized) const;

 private:
  struct Class {
    std::int64_t kind = 0;
    double least = 0;
    double most = 0;
  };
  std::vector<Class> classes_;
};

}  // namespace chokepoint::capture::step
