package document

import "github.com/flameox/flameox/internal/stats"

// Values are the observations of a result that belong to it, in their order and the quantity's unit: those that their producer excluded are left out.
func Values(result map[string]any) []float64 {
	list, _ := At(result, "measurement", "observations").([]any)
	var out []float64
	for _, o := range list {
		switch o := o.(type) {
		case float64:
			out = append(out, o)
		case map[string]any:
			if v, ok := o["value"].(float64); ok && o["included"] != false {
				out = append(out, v)
			}
		}
	}
	return out
}

// Median is the median of a result's observations; of an even number the mean of the two in the middle.
func Median(result map[string]any) (float64, bool) {
	values := Values(result)
	if len(values) == 0 {
		return 0, false
	}
	return stats.Median(values), true
}
