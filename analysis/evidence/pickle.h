// Python's pickles as values, without Python: a pickle is a program for a stack machine, and the
// parts of it that import names, call them or build objects are refused. What remains are
// dictionaries, lists, tuples, texts, numbers, true, false and none, which is all that PyTorch's
// Flight Recorder writes. Tuples become lists. Bounded in values; the Error's reason names the
// opcode that is refused. Pure; any thread.
#pragma once

#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "analysis/evidence/values.h"
#include "base/json/codec.h"
#include "base/sys/error.h"

namespace chokepoint::analysis {

// Texts are views of the bytes.
Result<Value> read_pickle(std::string_view bytes, Values& values);

// As a document of bounded depth: keys that are numbers become texts, a value that is used twice is
// there twice, and what dictionaries have under the key `skipped` is left out.
Result<json::Json> unpickled(std::string_view bytes, std::string_view skipped = {});

}  // namespace chokepoint::analysis
