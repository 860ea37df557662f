#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <unistd.h>

static void Sum(benchmark::State& state) {
  for (auto _ : state) {
    int total = 0;
    for (int i = 0; i < state.range(0); i++) benchmark::DoNotOptimize(total += i);
  }
  state.counters["size"] = state.range(0);
  state.counters["rate"] = benchmark::Counter(state.iterations(), benchmark::Counter::kIsRate);
}
BENCHMARK(Sum)->Arg(100)->Arg(1000);

static void Named(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(1);
}
BENCHMARK(Named)->Name("with space (x+y)")->Arg(16);

static void Fails(benchmark::State& state) {
  state.SkipWithError("no device");
  for (auto _ : state) {
  }
}
BENCHMARK(Fails);

static void Aborts(benchmark::State& state) {
  for (auto _ : state) {
  }
  std::fprintf(stderr, "out of paper\n");
  std::abort();
}
BENCHMARK(Aborts);

// Hangs, with a process that would outlive it.
static void Hangs(benchmark::State& state) {
  for (auto _ : state) {
    if (std::getenv("HANG") != nullptr) {
      if (fork() == 0) execlp("sleep", "sleep", std::getenv("HANG"), nullptr);
      sleep(1000);
    }
  }
}
BENCHMARK(Hangs);

static void Environment(benchmark::State& state) {
  for (auto _ : state) {
  }
  const char* threads = std::getenv("OMP_NUM_THREADS");
  state.counters["threads_seen"] = threads == nullptr ? -1 : std::atoi(threads);
}
BENCHMARK(Environment);

BENCHMARK_MAIN();
