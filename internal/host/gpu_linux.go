//go:build linux

package host

import (
	"fmt"
	"slices"
	"strings"
)

// gpus is what the NVIDIA kernel module tells without its library.
type gpus struct {
	driver string
	blocks []string // information of each GPU, in bus order
}

func (m machine) gpus() gpus {
	version := m.text("/proc/driver/nvidia/version")
	if version == "" {
		return gpus{}
	}
	g := gpus{driver: driverVersion(version)}
	for _, p := range m.glob("/proc/driver/nvidia/gpus/*/information") {
		g.blocks = append(g.blocks, m.text(p))
	}
	return g
}

// driverVersion is the first number with a dot in the module's line: "NVRM version: NVIDIA UNIX x86_64 Kernel Module
// 535.104.05  Sat Aug 19 …".
func driverVersion(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	for word := range strings.FieldsSeq(line) {
		if word[0] >= '0' && word[0] <= '9' && strings.Contains(word, ".") {
			return word
		}
	}
	return ""
}

func (g gpus) list(name string) (values []string) {
	for _, b := range g.blocks {
		if v := field(b, name); v != "" {
			values = append(values, v)
		}
	}
	return values
}

// models counts equal models: "2 x NVIDIA A100-SXM4-40GB + 1 x NVIDIA T4".
func (g gpus) models() string {
	count := map[string]int{}
	var names []string
	for _, n := range g.list("Model") {
		if count[n] == 0 {
			names = append(names, n)
		}
		count[n]++
	}
	slices.Sort(names)
	for i, n := range names {
		names[i] = fmt.Sprintf("%d x %s", count[n], n)
	}
	return strings.Join(names, " + ")
}
