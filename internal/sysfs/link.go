package sysfs

import (
	"path/filepath"
	"strconv"
	"strings"
)

// PCILink is the PCI Express link of a controller.
type PCILink struct {
	// Dir is the PCI function's folder.
	Dir string
	// Speed is in GT/s and Width in lanes, as they are now; MaxSpeed and
	// MaxWidth are what the drive can do; 0 is not known.
	Speed, MaxSpeed float64
	Width, MaxWidth int
	// PortSpeed and PortWidth are what the port above it can do, 0 if not
	// known.
	PortSpeed float64
	PortWidth int
}

// ReadPCILink reads the link of a controller; ok is false if it has none.
func ReadPCILink(controllerDir string) (l PCILink, ok bool) {
	dir, err := filepath.EvalSymlinks(filepath.Join(controllerDir, "device"))
	if err != nil {
		return l, false
	}
	port := filepath.Dir(dir)
	l = PCILink{
		Dir:   dir,
		Speed: gigatransfers(text(dir, "current_link_speed")), MaxSpeed: gigatransfers(text(dir, "max_link_speed")),
		Width: lanes(dir, "current_link_width"), MaxWidth: lanes(dir, "max_link_width"),
		PortSpeed: gigatransfers(text(port, "max_link_speed")), PortWidth: lanes(port, "max_link_width"),
	}
	return l, l.Speed > 0 && l.Width > 0
}

// gigatransfers reads "8.0 GT/s PCIe"; 0 for "Unknown".
func gigatransfers(s string) float64 {
	digits, unit, _ := strings.Cut(s, " ")
	v, err := strconv.ParseFloat(digits, 64)
	if err != nil || !strings.HasPrefix(unit, "GT/s") || !(v > 0 && v < 1e4) {
		return 0 // "Inf" and "NaN" are numbers to ParseFloat, and no speed
	}
	return v
}

// lanes reads a link width; 0 for one that is not known, which some kernels
// show as 255.
func lanes(dir, attr string) int {
	n, ok := number(dir, attr)
	if !ok || n < 0 || n > 32 {
		return 0
	}
	return int(n)
}
