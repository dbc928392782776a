// Loads a program and runs it from several threads: `classify PROGRAM`. The program takes one f32 tensor; extents that are
// not known are 1.

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "penstock.h"

namespace {

// Throws what a call reports.
template <typename Call>
void check(Call call) {
  ps_error *error = nullptr;
  if (call(&error) == PS_OK) return;
  std::unique_ptr<ps_error, decltype(&ps_error_free)> owned(error, ps_error_free);
  throw std::runtime_error(ps_error_message(error));
}

using Program = std::unique_ptr<ps_program, decltype(&ps_program_free)>;
using Function = std::unique_ptr<ps_function, decltype(&ps_function_free)>;
using Results = std::unique_ptr<ps_results, decltype(&ps_results_free)>;

Program load(const char *path) {
  ps_program *program = nullptr;
  check([&](ps_error **e) { return ps_program_load(path, /*threads=*/1, &program, e); });
  return Program(program, ps_program_free);
}

Function function(const Program &program, const char *name) {
  ps_function *found = nullptr;
  check([&](ps_error **e) { return ps_program_function(program.get(), name, &found, e); });
  return Function(found, ps_function_free);
}

float sum(const Function &function, const ps_tensor &input) {
  ps_results *raw = nullptr;
  check([&](ps_error **e) { return ps_run(function.get(), &input, 1, &raw, e); });
  Results results(raw, ps_results_free);
  ps_tensor result;
  check([&](ps_error **e) { return ps_results_get(results.get(), 0, &result, e); });
  int64_t count = 1;
  for (int i = 0; i < result.ndim; ++i) count *= result.shape[i];
  float total = 0;
  for (int64_t i = 0; i < count; ++i) total += static_cast<const float *>(result.data)[i];
  return total;
}

}  // namespace

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: classify PROGRAM\n");
    return 2;
  }
  try {
    Program program = load(argv[1]);
    Function f = function(program, nullptr);
    ps_port port;
    check([&](ps_error **e) { return ps_function_input(f.get(), 0, &port, e); });
    std::vector<int64_t> shape(port.shape, port.shape + port.ndim);
    int64_t count = 1;
    for (int64_t &extent : shape) count *= extent = extent < 0 ? 1 : extent;
    std::vector<float> ones(count, 1.0f);
    ps_tensor input = {ones.data(), shape.data(), port.ndim, {PS_FLOAT, 32, 1}};

    std::vector<float> sums(4);
    std::vector<std::thread> threads;
    for (float &to : sums) threads.emplace_back([&] { to = sum(f, input); });
    for (std::thread &thread : threads) thread.join();
    std::printf("%s(%s): %g %g %g %g\n", ps_function_name(f.get()), port.name, sums[0], sums[1], sums[2], sums[3]);

    try {
      function(program, "nothing");
    } catch (const std::runtime_error &error) {
      std::printf("error: %s\n", error.what());
    }
  } catch (const std::exception &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
