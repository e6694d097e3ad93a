package uringcmd

import "unsafe"

func imageOf(e *BigSQE) []byte { return unsafe.Slice((*byte)(unsafe.Pointer(e)), unsafe.Sizeof(*e)) }

func addressOf(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(&b[0]))) }

// bigOf and smallOf are the entries of an image.
func bigOf(b []byte) BigSQE { return *(*BigSQE)(unsafe.Pointer(&b[0])) }

func smallOf(b []byte) SQE { return *(*SQE)(unsafe.Pointer(&b[0])) }

func wordAt(array unsafe.Pointer, i uint32) uint32 { return *(*uint32)(unsafe.Add(array, i*4)) }
