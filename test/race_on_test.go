//go:build race

package test

// raceDetector maps memory of its own as a program goes on.
const raceDetector = true
