package identity

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/flameox/flameox/internal/ijson"
	"github.com/flameox/flameox/measure/document"
)

// Estimator is a rule that makes one number of the observations of an attempt, as documents write it.
type Estimator map[string]any

// Median is the estimator that a store derives itself.
func Median() Estimator { return derived("median") }

func derived(name string) Estimator {
	return Estimator{"name": name, "method_version": "benchx/" + name + "/v1", "input_level": "observations"}
}

// Reported is the digest of everything that a result says of itself.
func Reported(result map[string]any) (string, error) {
	v := map[string]any{"source": result["source"], "coordinates": result["coordinates"]}
	for _, name := range []string{"project", "benchmark"} {
		if x, ok := result[name]; ok {
			v[name] = x
		}
	}
	return ijson.Sum("benchmark-reported-coordinates-v1\x00", v)
}

// Comparison is the digest of the facts that a policy matches. unseriable is the pointer of a matched fact that is null, "" where there is none: the
// result has no identity then.
func (p Policy) Comparison(result map[string]any) (sum, unseriable string, err error) {
	for _, f := range p.Split(result)[Match] {
		if f.Value == nil {
			return "", f.Pointer, nil
		}
	}
	sum, err = ijson.Sum("benchmark-comparison-v1\x00"+p.Name+"\x00", p.project(result))
	return sum, "", err
}

// project is the result with only what the policy matches, in the shape that is hashed.
func (p Policy) project(result map[string]any) map[string]any {
	out := map[string]any{}
	if p.rule("/project").Role == Match {
		out["project"] = Project(result)
	}
	if uri, ok := document.At(result, "source", "uri").(string); ok && p.rule("/source/uri").Role == Match {
		out["source"] = document.IdentityURI(uri)
	}
	if b, ok := result["benchmark"].(map[string]any); ok {
		kept := map[string]any{}
		if uri, ok := document.At(b, "source", "uri").(string); ok && p.rule("/benchmark/source/uri").Role == Match {
			kept["source"] = document.IdentityURI(uri)
		}
		if r, ok := b["revision"]; ok && p.rule("/benchmark/revision").Role == Match {
			kept["revision"] = r
		}
		if len(kept) > 0 {
			out["benchmark"] = kept
		}
	}
	if r, ok := result["revision"]; ok && p.rule("/revision/key").Role == Match {
		out["revision"] = r
	}
	if c := p.keep("/coordinates", result["coordinates"]); c != nil {
		out["coordinates"] = c
	}
	return out
}

// keep is what of a value the policy matches, nil where that is nothing.
func (p Policy) keep(at string, v any) any {
	m, ok := v.(map[string]any)
	if !ok || len(m) == 0 {
		if p.rule(at).Role == Match {
			return v
		}
		return nil
	}
	out := map[string]any{}
	for k, x := range m {
		if kept := p.keep(at+"/"+k, x); kept != nil {
			out[k] = kept
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// Fingerprint is the digest of an estimator.
func (e Estimator) Fingerprint() (string, error) {
	return ijson.Sum("benchmark-estimator-v1\x00", map[string]any(e))
}

// Series is the digest of a comparison identity and an estimator, both in hex.
func Series(comparison, estimator string) string {
	sum := sha256.Sum256([]byte("benchmark-series-v6\x00" + comparison + "\x00" + estimator))
	return hex.EncodeToString(sum[:])
}
