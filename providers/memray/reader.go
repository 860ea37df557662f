package memray

import (
	_ "embed"
	"encoding/json"
	"fmt"

	"github.com/flameox/flameox/formats/profile"
	"github.com/flameox/flameox/providers"
)

//go:embed reader.py
var script []byte

// protocol is the version of the stream that reader.py prints.
const protocol = 1

// Script is reader.py. Python runs it isolated: no variable, no folder of the user's and no file beside the project can put other code in its way.
func (Provider) Script() providers.Script {
	return providers.Script{
		Collector: providers.Collector{Name: "memray_reader.py", Content: script},
		Library:   "memray",
		Flags:     []string{"-I", "-B"},
	}
}

// Interpreter is the capture's own, or the one that the extraction names.
func (Provider) Interpreter(argv []string, options any) (string, error) {
	if o, ok := options.(*ExtractOptions); ok && o.Interpreter != "" {
		return o.Interpreter, nil
	}
	if len(argv) == 0 {
		return "", fmt.Errorf("an imported capture is read by the memray that wrote it, and the file does not say which Python has it; write interpreter = \"…/bin/python\" in the extraction")
	}
	return argv[0], nil
}

// Probe runs the script as text, so that Python looks for memray where `-m memray` does: beginning with the working directory.
func (Provider) Probe(argv []string) ([]string, error) {
	c, err := parse(argv)
	if err != nil {
		return nil, err
	}
	return append(c.interpreter(), "-c", string(script), "probe"), nil
}

// Argument tells the script which views to make.
func (Provider) Argument(options any) (string, error) {
	o, err := extractOptions(options)
	if err != nil {
		return "", err
	}
	b, err := json.Marshal(map[string]any{
		"threshold": o.Threshold, "threads": o.Threads, "allocated": o.Allocated,
		"depth": profile.MaxDepth + 1, // one more than is taken, so that it is noticed
	})
	return string(b), err
}

// Missing says how memray is installed.
func (Provider) Missing(interpreter, version string) string {
	what := "memray"
	if version != "" {
		what += "==" + version
	}
	return fmt.Sprintf("run `%s -m pip install %s`, or name an interpreter that has it", interpreter, what)
}
