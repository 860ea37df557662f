// A benchmark program with everything that the provider has to read. What it does is said by its first argument that is no flag.
#include <benchmark/benchmark.h>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <vector>

static void BM_Copy(benchmark::State& state) {
  std::vector<char> from(state.range(0)), to(state.range(0));
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), from.size());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
  state.SetItemsProcessed(state.iterations());
  state.SetComplexityN(state.range(0));
  state.SetLabel("copy \"it\"\n\xc3\xbc");
}
BENCHMARK(BM_Copy)->RangeMultiplier(4)->Range(64, 1024)->Complexity(benchmark::oN);

static void BM_Counters(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(state.iterations());
  state.counters["nan"] = std::numeric_limits<double>::quiet_NaN();
  state.counters["inf"] = -std::numeric_limits<double>::infinity();
  state.counters["plain"] = 2.5;
}
BENCHMARK(BM_Counters)->Unit(benchmark::kMillisecond)->UseRealTime();

static void BM_Threads(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(state.iterations());
}
BENCHMARK(BM_Threads)->Threads(2)->Unit(benchmark::kMicrosecond);

static void BM_Error(benchmark::State& state) {
  state.SkipWithError("bad \"thing\" happened");
  for (auto _ : state) {
  }
}

static void BM_Abort(benchmark::State& state) {
  for (auto _ : state) std::abort();
}

int main(int argc, char** argv) {
  const char* mode = "";
  for (int i = 1; i < argc; i++)
    if (argv[i][0] != '-') {
      mode = argv[i];
      for (int j = i; j + 1 < argc; j++) argv[j] = argv[j + 1];
      argc--;
      break;
    }
  if (std::strcmp(mode, "error") == 0) benchmark::RegisterBenchmark("BM_Error", BM_Error);
  if (std::strcmp(mode, "abort") == 0) benchmark::RegisterBenchmark("BM_Abort", BM_Abort);
  if (std::strcmp(mode, "twin") == 0) benchmark::RegisterBenchmark("BM_Counters", BM_Counters)->UseRealTime();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
