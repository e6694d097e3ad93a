// Package packaging_test builds the Debian package of this machine's architecture
// and looks into it.
package packaging_test
