#include "capture/source/window.h"

#include <algorithm>
#include <utility>

namespace chokepoint::capture::source {

std::size_t Window::read(std::span<std::uint8_t> into) {
  auto chunk = stream_->read(into);
  if (!chunk) {
    error_ = std::move(chunk.error());
    ended_ = true;
    return 0;
  }
  ended_ = chunk->ended;
  return chunk->bytes;
}

std::span<const std::uint8_t> Window::head(std::size_t bytes) {
  std::size_t filled = kept_.size();
  kept_.resize(std::max(bytes, filled));
  while (filled < bytes && !ended_) {
    filled += read(std::span(kept_).subspan(filled));
  }
  kept_.resize(filled);
  return kept_;
}

void Window::skip_head(std::size_t bytes) {
  kept_.erase(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(bytes));
}

std::span<const std::uint8_t> Window::fill(std::vector<std::uint8_t>& bytes) {
  const std::size_t size = std::max({kBatchBytes, wanted_, kept_.size()});
  if (bytes.size() != size) {
    bytes.resize(size);
    bytes.shrink_to_fit();
  }
  std::ranges::copy(kept_, bytes.begin());
  std::size_t filled = kept_.size();
  if (!ended_ && filled < size) {
    filled += read(std::span(bytes).subspan(filled));
  }
  return std::span(bytes).first(filled);
}

void Window::keep(std::span<const std::uint8_t> rest, std::size_t wanted) {
  kept_.assign(rest.begin(), rest.end());
  wanted_ = wanted;
}

}  // namespace chokepoint::capture::source
