package kernelvalidation

import (
	"bytes"

	"github.com/flameox/flameox/providers"
)

// Formats is the document under the provider's name. What is imported belongs to no run here.
func (Provider) Formats() []providers.Format {
	return []providers.Format{{Name: "kernelvalidation", MediaType: MediaType, Role: Role, Detect: detect}}
}

// detect claims a JSON object that names one of the schemas, also one of a version that is not read, which an import then says.
func detect(head []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n"), []byte("{")) && bytes.Contains(head, []byte(`"flameox.kernel-validation.v`))
}
