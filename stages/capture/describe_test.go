package capture

import (
	"maps"
	"testing"

	"github.com/flameox/flameox/graph/facet"
)

func TestVersionsOfPackagesAreThoseOfTheLockOrOfTheMachine(t *testing.T) {
	got := map[string]string{}
	for _, e := range []facet.Entry{
		{Name: "distribution triton", Value: "3.9.0"},
		{Name: "python.package numpy", Value: "2.3.1"},
		{Name: "python.package colorama ; sys_platform == \"win32\"", Value: "0.4.6"},
		// In several versions: which one was installed depends on the marker.
		{Name: "python.package torch ; python_version < \"3.12\"", Value: "2.7"},
		{Name: "python.package torch ; python_version >= \"3.12\"", Value: "2.8"},
		{Name: "python.version", Value: "CPython 3.12.1"},
		{Name: "library 0", Value: "ab"},
	} {
		addPackage(got, e)
	}
	want := map[string]string{"triton": "3.9.0", "numpy": "2.3.1", "colorama": "0.4.6", "torch": ""}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
