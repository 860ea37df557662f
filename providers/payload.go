package providers

import (
	"fmt"
	"io"

	"github.com/flameox/flameox/evidence"
)

// ReadWhole is a payload whose reader needs all of it at once. copies is how often it is in memory with what is made of it before anything
// accounts for itself. The error is a *Refusal where the budget has no room for it.
func ReadWhole(a Artifact, budget evidence.Budget, copies int64) ([]byte, error) {
	memory := budget.Memory
	if memory <= 0 {
		memory = evidence.DefaultBudget().Memory
	}
	switch {
	case budget.InputBytes > 0 && a.Size > budget.InputBytes:
		return nil, Refuse(InputBudget, "%s has %d bytes, and the extraction may read %d; raise its budget", a.Name, a.Size, budget.InputBytes)
	case a.Size > memory/copies:
		return nil, Refuse(MemoryBudget, "%s has %d bytes, and %d can be read in the memory that the extraction may take; raise its memory budget, or sample less often", a.Name, a.Size, memory/copies)
	}
	f, err := a.Open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, a.Size))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", a.Name, err)
	}
	return data, nil
}
