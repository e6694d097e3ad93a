package nvme

// NSFEAT are the namespace features.
type NSFEAT uint8

// ThinProvisioning reports whether the capacity may be smaller than the size.
func (v NSFEAT) ThinProvisioning() bool { return v&1 != 0 }

// AtomicWrites reports whether NAWUN, NAWUPF and NACWU apply.
func (v NSFEAT) AtomicWrites() bool { return v>>1&1 != 0 }

// DULBE reports whether reads of deallocated blocks can be made an error.
func (v NSFEAT) DULBE() bool { return v>>2&1 != 0 }

// UIDReuse reports whether NGUID and EUI64 are never used again for another namespace.
func (v NSFEAT) UIDReuse() bool { return v>>3&1 != 0 }

// PreferredSizes reports whether NPWG, NPWA, NPDG, NPDA and NOWS apply, all or some.
func (v NSFEAT) PreferredSizes() bool { return v>>4&3 != 0 }

// MC are the metadata capabilities.
type MC uint8

// Extended reports whether metadata may be part of the data buffer.
func (v MC) Extended() bool { return v&1 != 0 }

// Separate reports whether metadata may have its own buffer.
func (v MC) Separate() bool { return v&2 != 0 }

// DPC are the end-to-end protection capabilities.
type DPC uint8

// Type reports whether a protection type is supported; [PINone] always is.
func (v DPC) Type(t PIType) bool { return t == PINone || t <= PIType3 && v>>(t-1)&1 != 0 }

// First reports whether the tuple may be at the start of the metadata.
func (v DPC) First() bool { return v>>3&1 != 0 }

// Last reports whether the tuple may be at the end of the metadata.
func (v DPC) Last() bool { return v>>4&1 != 0 }

// DPS are the end-to-end protection settings.
type DPS uint8

// Type is the protection type; values above 3 are not defined.
func (v DPS) Type() PIType { return PIType(v & 7) }

// First reports whether the tuple is at the start of the metadata.
func (v DPS) First() bool { return v>>3&1 != 0 }

// DLFEAT says how deallocated blocks behave.
type DLFEAT uint8

// ReadsZero reports whether deallocated blocks read as zeros.
func (v DLFEAT) ReadsZero() bool { return v&7 == 1 }

// ReadsOnes reports whether deallocated blocks read as 0xff bytes.
func (v DLFEAT) ReadsOnes() bool { return v&7 == 2 }

// DeallocateByWriteZeroes reports whether write zeroes takes DEAC.
func (v DLFEAT) DeallocateByWriteZeroes() bool { return v>>3&1 != 0 }

// GuardValid reports whether the guard of deallocated blocks fits what they read as,
// instead of being 0xffff.
func (v DLFEAT) GuardValid() bool { return v>>4&1 != 0 }
