package nvme_test

import (
	"errors"
	"fmt"

	"github.com/nvmepass/nvmepass/nvme"
)

// One number of blocks yields the zero-based NLB field and the data length.
func ExampleNewRead() {
	layout := nvme.Layout{LBASize: 4096, MetadataSize: 64, Extended: true}
	c, err := nvme.NewRead(1, layout, 0x10, 2, nvme.IOOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(&c)
	// Output:
	// read (opcode 0x02) nsid=1 data_len=8320 metadata_len=0 cdw10=0x00000010 cdw11=0x00000000 cdw12=0x00000001
}

// Limits keep a command within the namespace and the transfer size.
func ExampleNewWrite_limits() {
	layout := nvme.Layout{LBASize: 512}
	_, err := nvme.NewWrite(1, layout, 999, 2, nvme.IOOptions{Limits: nvme.Limits{Blocks: 1000}})
	fmt.Println(err)
	// Output:
	// write nsid=1: slba: blocks 0x3e7 to 0x3e8 are beyond the namespace's 1000 blocks (last is 0x3e7)
}

// A command made by hand whose lengths disagree is found before a drive
// writes past the end of its buffer.
func ExampleCheck() {
	c := nvme.Command{Opcode: nvme.OpRead, NSID: 1, DataLen: 512}
	c.SetNLB(8)
	fmt.Println(nvme.Check(&c, nvme.Layout{LBASize: 512}, nvme.Limits{}))
	// Output:
	// read nsid=1: data_len: 512 bytes, but 8 blocks of 512 take 4096 (the NLB field is zero-based)
}

func ExampleLayout_Blocks() {
	layout := nvme.Layout{LBASize: 4096, MetadataSize: 64, Extended: true}
	fmt.Println(layout.Blocks(8320))
	fmt.Println(layout.Blocks(8192))
	// Output:
	// 2 <nil>
	// 0 block size 8192 is not a multiple of 4160 (4096 data + 64 metadata)
}

// The res of a completion is a negative errno or an NVMe status, never a
// number of bytes.
func ExampleStatusError() {
	c, err := nvme.NewRead(1, nvme.Layout{LBASize: 512}, 0x10, 8, nvme.IOOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	status, ok := nvme.StatusFromResult(0x4080)
	if !ok {
		fmt.Println("the kernel refused")
		return
	}
	err = nvme.NewStatusError(&c, nvme.SetNVM, status, 0)
	fmt.Println(err)
	fmt.Println(errors.Is(err, nvme.LBAOutOfRange), nvme.LBAOutOfRange.Text())
	// Output:
	// read nsid=1 slba=0x10 nlb=8: LBA Out of Range (sct=0 sc=0x80 dnr=1)
	// true the block range ends beyond the namespace
}

func ExampleDecodeIdentifyNamespace() {
	page := make([]byte, nvme.IdentifySize) // from NewIdentify(CNSNamespace, ...)
	page[2] = 1                             // NSZE 65536
	page[128+2] = 12                        // LBA format 0: 2^12 bytes
	ns, err := nvme.DecodeIdentifyNamespace(page)
	if err != nil {
		fmt.Println(err)
		return
	}
	layout, err := ns.CurrentLayout()
	fmt.Println(ns.NSZE, layout, err)
	// Output:
	// 65536 4096 <nil>
}

// Data units are thousands of 512 bytes, whatever the block size.
func ExampleSMARTLog_BytesWritten() {
	page := make([]byte, nvme.SMARTLogSize)
	page[48] = 3
	log, err := nvme.DecodeSMARTLog(page)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(log.DataUnitsWritten, log.BytesWritten())
	// Output:
	// 3 1536000
}

func ExampleLayout_VerifyPI() {
	layout := nvme.Layout{LBASize: 512, MetadataSize: 8, Extended: true, PI: nvme.PIType1}
	data := make([]byte, layout.DataLen(2))
	if err := layout.GeneratePI(data, nil, 100, nvme.PI{}); err != nil {
		fmt.Println(err)
		return
	}
	data[0] ^= 1
	fmt.Println(layout.VerifyPI(data, nil, 100, nvme.PICheck{Check: nvme.CheckAll}))
	// Output:
	// block 0x64 (0 of the buffer): End-to-end Guard Check Error: got 0x0, want 0xb45e
}
