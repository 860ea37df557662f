package view

import (
	"testing"
	"time"
)

func TestAPlanForAnotherMachineNamesIt(t *testing.T) {
	golden(t, "plan_on", models{
		&Plan{
			On: "bench-7", Class: "AMD EPYC 7763, 2 CPUs, 24 GiB",
			Blocks: []Block{{Name: "capture.command.m", Instances: []Instance{
				{Key: "w=a", State: Cached, Where: Where{Age: 2 * time.Hour, Host: "bench-7"}},
				{Key: "w=b", State: Run, Because: []Because{{Fact: "host class kernel", Verb: "changed", Old: "6.8", New: "6.9"}}},
			}}},
			Estimate: Estimate{Total: 100 * time.Second, Runs: 3},
		},
		&Plan{On: "x\x1b[2J", Blocks: []Block{{Name: "a", Instances: []Instance{{State: Cached}}}}},
	})
}

func TestALastColumnGoesOnBelowItself(t *testing.T) {
	golden(t, "table_wrap", &Table{
		Columns: []Column{{Keep: true}, {Keep: true}, {Wrap: true}},
		Rows: [][]string{
			{"node", "available", "v20.20.2 /usr/bin/node"},
			{"pyperf", "absent", "/usr/bin/python3 has no pyperf (ModuleNotFoundError: No module named 'pyperf'): add pyperf to the requirements of the workload's environment, or run `python -m pip install pyperf`"},
			{"", "blocked", "there is no lock: run `flameox lock`"},
		},
	})
}
