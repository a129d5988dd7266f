// The made-up driver of tests/fakes/cuda, with its environment put back after each test, and none
// of what was made on it left over.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/gpu/cuda.h"
#include "base/sys/library.h"

namespace chokepoint::gpu {

class FakeDriver : public testing::Test {
 protected:
  FakeDriver() : library_(sys::Library::open(CHOKEPOINT_FAKE_CUDA)) {}

  void TearDown() override {
    for (const std::string& name : set_) {
      unsetenv(name.c_str());
    }
    EXPECT_EQ(library_->function<long()>("fake_cuda_alive")(), 0);
  }
  void set(const std::string& name, const std::string& value) {
    setenv(name.c_str(), value.c_str(), 1);
    set_.push_back(name);
  }
  static Result<std::unique_ptr<Cuda>> open(int gpu = 0) {
    auto driver = Driver::open(CHOKEPOINT_FAKE_CUDA);
    return driver ? Cuda::open(*driver, gpu) : fail(std::move(driver.error()));
  }

  Result<sys::Library> library_;

 private:
  std::vector<std::string> set_;
};

template <class T>
std::string error_of(const Result<T>& result) {
  return result ? "none" : describe(result.error());
}

}  // namespace chokepoint::gpu
