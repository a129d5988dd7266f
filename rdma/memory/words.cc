#include "rdma/memory/words.h"

namespace chokepoint::rdma::memory {

Result<> check_inside(std::uint64_t size, std::uint64_t offset, std::uint64_t bytes) {
  if (offset > size || bytes > size - offset) {
    return fail(ErrorKind::Usage, "reach memory", size_words(size), "outside of the buffer");
  }
  return {};
}

}  // namespace chokepoint::rdma::memory
