// Package newcomer goes the README's way from a fresh clone to the report. Its
// test takes some minutes and runs with NVMEPASS_TEST_LONG=1 (make long).
package newcomer
