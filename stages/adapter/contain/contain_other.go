//go:build !linux

package contain

import "fmt"

func become(req *Request) error {
	return fmt.Errorf("contain %s: programs are contained on Linux only", req.Argv[0])
}
