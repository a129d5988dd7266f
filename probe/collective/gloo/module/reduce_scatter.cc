#include "probe/collective/gloo/module/reduce_scatter.h"

#include <gloo/reduce_scatter.h>

#include <climits>
#include <cstring>
#include <stdexcept>

#include "probe/collective/gloo/module/elements.h"

namespace chokepoint::probe::collective::gloo_module {
namespace {

template <class Element>
Collectively halving(const Work& work, const std::shared_ptr<::gloo::Context>& context) {
  static const ::gloo::ReductionFunction<Element> sum(::gloo::SUM, add_to<Element>);
  const auto ranks = static_cast<std::size_t>(context->size);
  const auto count = static_cast<int>(work.input_bytes / sizeof(Element));
  const std::vector<int> shares(ranks, static_cast<int>(work.output_bytes / sizeof(Element)));
  auto algorithm = std::make_shared<::gloo::ReduceScatterHalvingDoubling<Element>>(
      context, std::vector<Element*>{static_cast<Element*>(work.input)}, count, shares, &sum);
  return [work, algorithm](const std::shared_ptr<::gloo::Context>& /*context*/,
                           std::uint32_t /*tag*/) {
    algorithm->run();
    std::memcpy(work.output, work.input, work.output_bytes);
  };
}

}  // namespace

Collectively reduce_scatter(const Work& work, const std::shared_ptr<::gloo::Context>& context) {
  if (work.input_bytes > INT_MAX) {
    throw std::invalid_argument(
        "libgloo's own reduce-scatter counts to 2 GiB; --algorithm all-reduce does it as PyTorch");
  }
  return with_element(static_cast<ElementType>(work.type),
                      [&](auto element) { return halving<decltype(element)>(work, context); });
}

}  // namespace chokepoint::probe::collective::gloo_module
