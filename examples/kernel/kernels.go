package main

import "math"

// The kernels under test compute in float32, as an accelerator does. Their references compute the same in float64.

// softmax is the kernel: one pass for the maximum, one for the sum.
func softmax(x []float32) []float32 {
	most := float32(math.Inf(-1))
	for _, v := range x {
		most = max(most, v)
	}
	var sum float32
	out := make([]float32, len(x))
	for i, v := range x {
		out[i] = float32(math.Exp(float64(v - most)))
		sum += out[i]
	}
	for i := range out {
		out[i] /= sum
	}
	return out
}

// quickSoftmax leaves the maximum out, which is faster, and wrong as soon as a value is large.
func quickSoftmax(x []float32) []float32 {
	var sum float32
	out := make([]float32, len(x))
	for i, v := range x {
		out[i] = float32(math.Exp(float64(v)))
		sum += out[i]
	}
	for i := range out {
		out[i] /= sum
		if out[i] != out[i] { // not a number: no document holds one
			out[i] = 0
		}
	}
	return out
}

func referenceSoftmax(x []float32) []float64 {
	most := math.Inf(-1)
	for _, v := range x {
		most = max(most, float64(v))
	}
	sum := 0.0
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = math.Exp(float64(v) - most)
		sum += out[i]
	}
	for i := range out {
		out[i] /= sum
	}
	return out
}

// add is exact for small whole numbers, whatever the width of the float.
func add(x, y []float32) []float32 {
	out := make([]float32, len(x))
	for i := range x {
		out[i] = x[i] + y[i]
	}
	return out
}

func referenceAdd(x, y []float32) []float64 {
	out := make([]float64, len(x))
	for i := range x {
		out[i] = float64(x[i]) + float64(y[i])
	}
	return out
}
