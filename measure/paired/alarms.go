package paired

import "gonum.org/v1/gonum/stat/distuv"

// FalseAlarms is how often Relative alarms for one unit where nothing changed, with k and so many rounds: the chance that the mean of so few differences lies more than k
// of its own standard errors off, which is Student's. It is 1 for fewer than two rounds.
func FalseAlarms(k float64, rounds int) float64 {
	if rounds < 2 || !(k > 0) {
		return 1
	}
	return student{se: 1, t: distuv.StudentsT{Sigma: 1, Nu: float64(rounds - 1)}}.tail(k)
}
