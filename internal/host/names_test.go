package host

import "testing"

func TestTheClassHoldsNoFactThatHasNoName(t *testing.T) {
	known := map[string]bool{}
	for _, name := range ClassNames() {
		known[name] = true
	}
	class := Class()
	if len(class) < 3 {
		t.Errorf("class %v", class)
	}
	for name := range class {
		if !known[name] {
			t.Errorf("%s is in the class of this machine and not among %v", name, ClassNames())
		}
	}
	if !IsCount("cpu.logical") || IsCount("arch") || IsCount("x") {
		t.Error("which facts are counts")
	}
}
