package fault

import (
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/flameox/flameox/graph"
	"github.com/flameox/flameox/graph/facet"
	"github.com/flameox/flameox/internal/digest"
	"github.com/flameox/flameox/stages/kind"
	"github.com/flameox/flameox/stages/tool"
)

// release is the version of Toxiproxy that faults are made with. Its interface has no version of its own, and its toxics are what they are in this one.
const release = "2.12.0"

// fromSource is what a program says that was not built as a release is.
const fromSource = "git"

// archives are the SHA-256 of what the release publishes, by the platform as Go names it.
var archives = map[string]string{
	"linux/amd64":   "65e042d3fc2290c099527bc506446a6fd863a09f113b8944b636ece70221c2b3",
	"linux/arm64":   "ab417dafc77ae8b54ec8461cc5da5180d0465a61dcbda86c72da72ee4ab843b7",
	"darwin/amd64":  "52ac1f99d7204b4b523f910b791bc86318b50ef94822c79a6157606704003ced",
	"darwin/arm64":  "cece3905c06ad84d6b3bb4cd024c344e6466736b2a8cbaf9ef4fe45e62aba9b2",
	"windows/amd64": "fad5a5be0b5eedf4fd2dd7d36ff26d0508149eb1b14457e40c7a203a219304dd",
}

// archiveURL is where the release publishes the archive of a platform.
func archiveURL(platform string) string {
	return "https://github.com/Shopify/toxiproxy/releases/download/v" + release + "/toxiproxy_" + release + "_" + strings.ReplaceAll(platform, "/", "_") + ".tar.gz"
}

// origin is where the program of the proxy comes from.
type origin string

const (
	published origin = "published" // a managed tool from an archive that the release published
	managed   origin = "managed"   // another managed tool
	unmanaged origin = "unmanaged" // what this machine has
)

// originOf says where the program that is named comes from.
func originOf(c *kind.Compiler, program string) origin {
	for _, t := range c.Tokens(program) {
		if x, ok := t.File.(*tool.Tool); ok {
			for _, sum := range archives {
				if d, err := digest.Parse(sum); err == nil && d == x.Archive() {
					return published
				}
			}
			return managed
		}
	}
	return unmanaged
}

// unavailable says what to do where the program of the proxy is not there.
func unavailable(err error) error {
	var blocked *graph.BlockedError
	if !errors.As(err, &blocked) {
		return err
	}
	do := fmt.Sprintf("install Toxiproxy %s and name its program in toxiproxy, or declare a block tool", release)
	platform := runtime.GOOS + "/" + runtime.GOARCH
	if sum, ok := archives[platform]; ok {
		do += fmt.Sprintf(" for %s, whose SHA-256 is %s, with toxiproxy = tool.NAME.path", archiveURL(platform), sum)
	}
	return &graph.BlockedError{Why: blocked.Why, Do: do}
}

// executableOf is the digest of the program that runs, among the facts of the server that it is run as: the last of the links that lead to it.
func executableOf(facts []facet.Entry) string {
	sum := ""
	for _, e := range facts {
		name, ok := strings.CutPrefix(e.Name, string(facet.Executables)+" ")
		if ok && !strings.HasPrefix(name, "library ") {
			sum = e.Value
		}
	}
	return sum
}
