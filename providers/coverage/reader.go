package coverage

import (
	_ "embed"
	"fmt"

	"github.com/flameox/flameox/internal/pyargv"
	"github.com/flameox/flameox/providers"
)

//go:embed reader.py
var script []byte

// protocol is the version of the stream that reader.py prints.
const protocol = 1

// Script is reader.py. Python runs it isolated: no variable, no folder of the user's and no file beside the project can put other code in its way.
func (Provider) Script() providers.Script {
	return providers.Script{
		Collector: providers.Collector{Name: "coverage_reader.py", Content: script},
		Library:   "coverage",
		Flags:     []string{"-I", "-B"},
	}
}

// Interpreter is the capture's own, or the one that the extraction names.
func (Provider) Interpreter(argv []string, options any) (string, error) {
	if o, ok := options.(*ExtractOptions); ok && o.Interpreter != "" {
		return o.Interpreter, nil
	}
	if len(argv) == 0 {
		return "", fmt.Errorf("an imported data file is read by coverage, and the file does not say which Python has it; write interpreter = \"…/bin/python\" in the extraction")
	}
	return argv[0], nil
}

// Probe runs the script as text, so that Python looks for coverage where `-m coverage` does: beginning with the working directory.
func (Provider) Probe(argv []string) ([]string, error) {
	c, err := pyargv.Parse("coverage", argv)
	if err != nil {
		return nil, err
	}
	return append(c.Interpreter(), "-c", string(script), "probe"), nil
}

// Argument is nothing: there is one way to read a data file.
func (Provider) Argument(options any) (string, error) {
	if _, err := extractOptions(options); err != nil {
		return "", err
	}
	return "{}", nil
}

// Missing says how coverage is installed.
func (Provider) Missing(interpreter, version string) string {
	return fmt.Sprintf("run `%s -m pip install %s`, or name an interpreter that has it", interpreter, requirement(version))
}

func requirement(version string) string {
	if version == "" {
		return "coverage"
	}
	return "coverage==" + version
}
