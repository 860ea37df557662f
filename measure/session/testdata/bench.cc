#include <benchmark/benchmark.h>

static void BM_Count(benchmark::State& state) {
  for (auto _ : state)
    for (long t = 0, i = 0; i < state.range(0); i++) benchmark::DoNotOptimize(t += i);
}
BENCHMARK(BM_Count)->Arg(10)->Arg(100);

BENCHMARK_MAIN();
