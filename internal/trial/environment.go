package trial

import "github.com/nvmepass/nvmepass/internal/compare"

// Environment makes lists present also when empty, so that a record that is
// read back equals the one written.
func Environment(e compare.Environment) compare.Environment {
	for _, list := range []*[]string{&e.Mitigations, &e.IOUringFeatures} {
		if *list == nil {
			*list = []string{}
		}
	}
	if e.Devices == nil {
		e.Devices = []compare.Device{}
	}
	return e
}
