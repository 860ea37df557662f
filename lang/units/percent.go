package units

import (
	"fmt"
	"strconv"
	"strings"
)

// Percent reads a number with a percent sign, "5%" or "0.5 %", as a share: 0.05, 0.005. The sign is wanted because a bare 5 and a bare 0.05 are
// both meant by somebody.
func Percent(s string) (float64, error) {
	text, ok := strings.CutSuffix(strings.TrimSpace(s), "%")
	text = strings.TrimSpace(text)
	if !ok || text == "" || strings.Trim(text, "0123456789.") != "" {
		return 0, fmt.Errorf("it is not a number with a percent sign; write for example \"5%%\"")
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, fmt.Errorf("it is not a number with a percent sign; write for example \"5%%\"")
	}
	return v / 100, nil
}
