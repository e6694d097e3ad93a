package uringcmd

import "unsafe"

func imageOf(e *BigSQE) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(e)), unsafe.Sizeof(*e)) }

func addressOf(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(&b[0]))) }
