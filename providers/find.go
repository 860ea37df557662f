package providers

import (
	"fmt"
	"strings"
)

// findRole is the only artifact of a role. Several candidates are an error, never a guess.
func findRole(artifacts []Artifact, role string) (Artifact, error) {
	found := withRole(artifacts, role)
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		var have []string
		for _, a := range artifacts {
			have = append(have, fmt.Sprintf("%s (%s)", a.Name, a.Role))
		}
		if len(have) == 0 {
			return Artifact{}, fmt.Errorf("looking for the artifact with role %s: the run left no artifact", role)
		}
		return Artifact{}, fmt.Errorf("looking for the artifact with role %s: the run left none; it left %s", role, strings.Join(have, ", "))
	}
	var names []string
	for _, a := range found {
		names = append(names, a.Name)
	}
	return Artifact{}, fmt.Errorf("looking for the artifact with role %s: the run left %d (%s), and exactly one is needed; make each a capture of its own", role, len(found), strings.Join(names, ", "))
}

// FindAll returns every artifact of a role, in their order; none is an empty list.
func (in Input) FindAll(role string) []Artifact { return withRole(in.Artifacts, role) }

func withRole(artifacts []Artifact, role string) (found []Artifact) {
	for _, a := range artifacts {
		if a.Role == role {
			found = append(found, a)
		}
	}
	return found
}

// ExitExpected says whether the run's exit status is one that the workload declares as success; [0]
// where it declares none.
func (in Input) ExitExpected() bool {
	if len(in.ExpectExit) == 0 {
		return in.Exit == 0
	}
	for _, e := range in.ExpectExit {
		if in.Exit == e {
			return true
		}
	}
	return false
}
