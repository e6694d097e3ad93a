// Package test holds the integration tests: they drive a real NVMe driver.
//
// In the lab, test/matrix boots guests with suitable drives and runs them on
// several kernels (make test). On a drive of your own:
//
//	NVMEPASS_TEST_DEVICE=/dev/ng0n1 go test ./test/
//
// That only reads; with NVMEPASS_TEST_DESTRUCTIVE=1 the tests that write run as
// well, and what is on the drive is lost. Several nodes can be given, separated
// by commas; each test takes the first one that suits it.
package test
