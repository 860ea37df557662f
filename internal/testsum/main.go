package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
)

func main() {
	groups := groups(os.Args[1:])
	if len(groups) == 0 {
		fmt.Fprintln(os.Stderr, "testsum: no packages given; write for example: testsum ./... -- -race ./graph/...")
		os.Exit(1)
	}
	s := newSummary(os.Stdout)
	broken := false
	for _, args := range groups {
		fmt.Fprintf(os.Stdout, "== go test %s\n", strings.Join(args, " "))
		cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "testsum: cannot run go test: %v\n", err)
			os.Exit(1)
		}
		readErr := s.read(out)
		if err := cmd.Wait(); err != nil || readErr != nil {
			broken = true
			if readErr != nil {
				fmt.Fprintf(os.Stderr, "testsum: %v\n", readErr)
			}
		}
	}
	if !s.finish(broken) {
		os.Exit(1)
	}
}

// groups splits the arguments at "--": one run of go test for each group.
func groups(args []string) [][]string {
	var all [][]string
	var group []string
	for _, a := range append(args, "--") {
		if a != "--" {
			group = append(group, a)
			continue
		}
		if len(group) > 0 {
			all = append(all, group)
		}
		group = nil
	}
	return all
}
