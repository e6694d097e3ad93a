package faults

import (
	"slices"
)

// driveCases are the faults of drives.
func driveCases() []Case {
	return slices.Concat(errorCases(), stuckCases(), resetCases(), hotplugCases(), namespaceCases(), capacityCases())
}
