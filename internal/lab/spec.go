package lab

// Places in the guest's file system.
const (
	specPath  = "/lab/guest.json" // marks an initramfs of this package
	binDir    = "/bin"            // the program, and nvmepass as a link to init
	moduleDir = "/lab/modules"
	guestWork = "/work" // working folder of the program
	guestOut  = "/out"  // what the program leaves here goes back to the host
	testOut   = "/out/.lab"
	selfPath  = "/init"
)

// guestSpec tells Init what to do. It travels as JSON in the initramfs.
type guestSpec struct {
	// Path of the program in the guest, and its argv.
	Path string
	Args []string
	Dir  string
	Env  []string
	// Modules to load, in order.
	Modules []guestModule
	Drives  []guestDrive
	// MakeDirs exist before the program starts.
	MakeDirs []string
	// SendFiles asks for the contents of /out.
	SendFiles bool
	// Control opens controlPath to the program.
	Control bool
}

// guestModule is a kernel module in the initramfs.
type guestModule struct {
	Name, Path, Params string
	// Compressed modules are unpacked by the kernel, where it can.
	Compressed bool
	// Optional modules may fail to load.
	Optional bool
}

// guestDrive is what Init waits for, one for each drive.
type guestDrive struct {
	Serial string
	// Controllers of the drive: the PCI slots, in order.
	Slots []int
	// NSIDs in the order of the namespaces' numbers.
	NSIDs []int
}
