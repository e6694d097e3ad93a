package nvme

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func padded(b []byte, s string) {
	for i := range b {
		b[i] = ' '
	}
	copy(b, s)
}

func controllerBlob() []byte {
	b := make([]byte, IdentifySize)
	le := binary.LittleEndian
	le.PutUint16(b[0:], 0x1b36)
	le.PutUint16(b[2:], 0x1af4)
	padded(b[4:24], "ABC123")
	padded(b[24:64], "QEMU NVMe Ctrl")
	padded(b[64:72], "8.2.2")
	b[72] = 6
	b[73], b[74], b[75] = 0x00, 0x54, 0x52
	b[76], b[77] = 0x0b, 7
	le.PutUint16(b[78:], 0x1234)
	le.PutUint32(b[80:], 0x10400)
	le.PutUint32(b[92:], 0x100)
	le.PutUint32(b[96:], 1<<15|1<<19|1)
	b[111] = 1
	b[112], b[127] = 0xf0, 0x0f
	le.PutUint16(b[128:], 1)
	le.PutUint16(b[130:], 2)
	le.PutUint16(b[132:], 3)
	le.PutUint16(b[256:], 0x012a)
	b[258], b[259], b[260], b[261], b[262], b[263] = 3, 4, 0x13, 0x07, 63, 1
	le.PutUint16(b[266:], 343)
	le.PutUint16(b[268:], 373)
	le.PutUint64(b[280:], 1<<40)
	le.PutUint64(b[304:], 1) // high half of UNVMCAP
	b[512], b[513] = 0x66, 0x44
	le.PutUint16(b[514:], 128)
	le.PutUint32(b[516:], 256)
	le.PutUint16(b[520:], 0x015d)
	le.PutUint16(b[522:], 1)
	b[524], b[525] = 0x04, 0x07
	le.PutUint16(b[526:], 0xffff)
	le.PutUint16(b[528:], 7)
	le.PutUint16(b[534:], 3)
	le.PutUint32(b[536:], 0x1)
	copy(b[768:], "nqn.2019-08.org.qemu:ABC123")
	le.PutUint16(b[2048:], 2500)
	le.PutUint32(b[2052:], 16)
	le.PutUint32(b[2056:], 4)
	p := b[2080:]
	le.PutUint16(p, 40000)
	p[3] = 3
	le.PutUint32(p[4:], 5000)
	le.PutUint32(p[8:], 10000)
	p[12], p[13], p[14], p[15] = 0xe1, 0xe2, 0xe3, 0xe4
	le.PutUint16(p[16:], 30)
	p[18] = 0x40
	le.PutUint16(p[20:], 50)
	p[22] = 0x82
	return b
}

func TestDecodeIdentifyController(t *testing.T) {
	c, err := DecodeIdentifyController(controllerBlob())
	require.NoError(t, err)
	require.Equal(t, uint16(0x1b36), c.VID)
	require.Equal(t, uint16(0x1af4), c.SSVID)
	require.Equal(t, "ABC123", c.SN)
	require.Equal(t, "QEMU NVMe Ctrl", c.MN)
	require.Equal(t, "8.2.2", c.FR)
	require.Equal(t, "52-54-00", c.OUI(), "OUI bytes are 75, 74, 73")
	require.True(t, c.CMIC.MultiPort() && c.CMIC.MultiController() && !c.CMIC.SRIOV() && c.CMIC.ANA())
	require.Equal(t, uint16(0x1234), c.CNTLID)
	require.Equal(t, "1.4", c.VER.String())
	require.True(t, c.VER.AtLeast(1, 4) && c.VER.AtLeast(1, 3) && !c.VER.AtLeast(2, 0))
	require.Equal(t, uint32(0x100), c.OAES)
	require.True(t, c.CTRATT.ExtendedLBAFormats() && c.CTRATT.FDP() && c.CTRATT.HostID128())
	require.False(t, c.CTRATT.NVMSets() || c.CTRATT.EnduranceGroups() || c.CTRATT.UUIDList() || c.CTRATT.MDTSExcludesMetadata())
	require.Equal(t, "I/O", c.Type())
	require.Equal(t, "f000000000000000000000000000000f", c.FGUID.String())
	require.Equal(t, [3]uint16{1, 2, 3}, c.CRDT)
	require.True(t, c.OACS.Format() && c.OACS.NamespaceManagement() && c.OACS.Directives() && c.OACS.DoorbellBuffer())
	require.False(t, c.OACS.Security() || c.OACS.Firmware() || c.OACS.SelfTest() || c.OACS.ManagementInterface() ||
		c.OACS.Virtualization() || c.OACS.LBAStatus() || c.OACS.Lockdown())
	require.Equal(t, [4]uint8{3, 4, 63, 1}, [4]uint8{c.ACL, c.AERL, c.ELPE, c.NPSS})
	require.True(t, c.FRMW.Slot1ReadOnly() && c.FRMW.ActivateWithoutReset())
	require.Equal(t, 1, c.FRMW.Slots())
	require.True(t, c.LPA.SMARTPerNamespace() && c.LPA.Effects() && c.LPA.Extended() && !c.LPA.Telemetry() && !c.LPA.PersistentEvents())
	require.Equal(t, [2]uint16{343, 373}, [2]uint16{c.WCTEMP, c.CCTEMP})
	require.Equal(t, "1099511627776", c.TNVMCAP.String())
	require.Equal(t, "18446744073709551616", c.UNVMCAP.String())
	require.Equal(t, [2]uint8{0x66, 0x44}, [2]uint8{c.SQES, c.CQES})
	require.Equal(t, uint16(128), c.MAXCMD)
	require.Equal(t, uint32(256), c.NN)
	require.True(t, c.ONCS.Compare() && c.ONCS.DSM() && c.ONCS.WriteZeroes() && c.ONCS.SaveFeatures() && c.ONCS.Timestamp() && c.ONCS.Copy())
	require.False(t, c.ONCS.WriteUncorrectable() || c.ONCS.Reservations() || c.ONCS.Verify())
	for op, want := range map[Opcode]bool{
		OpRead: true, OpCompare: true, OpWriteUncorrectable: false, OpDSM: true, OpWriteZeroes: true, OpVerify: false, OpCopy: true,
		OpReservationReg: false, 0x99: true,
	} {
		require.Equal(t, want, c.ONCS.Supports(op), op)
	}
	require.True(t, c.FNA.CryptoErase() && !c.FNA.FormatAll() && !c.FNA.EraseAll())
	require.True(t, c.VWC.Present() && c.VWC.FlushAll())
	require.Equal(t, [2]uint16{0xffff, 7}, [2]uint16{c.AWUN, c.AWUPF})
	require.True(t, c.OCFS.Format(CopyFormat0) && c.OCFS.Format(CopyFormat1) && !c.OCFS.Format(CopyFormat2) && !c.OCFS.Format(99))
	require.True(t, c.SGLS.Supported() && !c.SGLS.DwordAligned() && !c.SGLS.MetadataSGL())
	require.Equal(t, "nqn.2019-08.org.qemu:ABC123", c.SUBNQN)
	require.Equal(t, []PowerState{
		{MP: 2500, ENLAT: 16, EXLAT: 4},
		{MP: 40000, MXPS: true, NOPS: true, ENLAT: 5000, EXLAT: 10000, RRT: 1, RRL: 2, RWT: 3, RWL: 4, IDLP: 30, IPS: 1, ACTP: 50, APW: 2, APS: 2},
	}, c.PowerStates)
	require.Equal(t, uint64(25_000_000), c.PowerStates[0].MaxPower())
	require.Equal(t, uint64(4_000_000), c.PowerStates[1].MaxPower())
	require.Equal(t, "5ms", c.PowerStates[1].EntryLatency().String())
	require.Equal(t, "10ms", c.PowerStates[1].ExitLatency().String())

	j, err := json.Marshal(c)
	require.NoError(t, err)
	require.Contains(t, string(j), `"unvmcap":18446744073709551616,`)

	_, err = DecodeIdentifyController(make([]byte, 4095))
	require.EqualError(t, err, "Identify Controller needs 4096 bytes, given 4095")
}

func TestB27MaxDataTransfer(t *testing.T) {
	for _, tc := range []struct {
		mdts uint8
		page uint64
		want uint64
	}{
		{0, 4096, 0},
		{5, 4096, 128 << 10},
		{7, 4096, 512 << 10},
		{7, 0, 512 << 10},
		{20, 4096, 4 << 30},
		{7, 16384, 2 << 20},
		{50, 4096, 1 << 62},
		{51, 4096, math.MaxInt64},
		{63, 4096, math.MaxInt64},
		{255, 4096, math.MaxInt64},
		{1, math.MaxUint64, math.MaxInt64},
	} {
		c := IdentifyController{MDTS: tc.mdts}
		require.Equal(t, tc.want, c.MaxDataTransfer(tc.page), "MDTS %d", tc.mdts)
		require.Equal(t, tc.want, (&IdentifyZNSController{ZASL: tc.mdts}).MaxAppend(tc.page))
		nvm := IdentifyNVMController{VSL: tc.mdts, WZSL: tc.mdts, WUSL: tc.mdts}
		require.Equal(t, tc.want, nvm.MaxVerify(tc.page))
		require.Equal(t, tc.want, nvm.MaxWriteZeroes(tc.page))
		require.Equal(t, tc.want, nvm.MaxWriteUncorrectable(tc.page))
	}
}

func TestPrintableStrings(t *testing.T) {
	for in, want := range map[string]string{
		"  model  \x00\x00": "model",
		"a\x1b[31mred":      `a\x1b[31mred`,
		"bad\xff\xfeutf":    `bad\xff\xfeutf`,
		"nul\x00inside":     `nul\x00inside`,
		"na\u00efve":        "na\u00efve",
		"rtl\u202eevil":     `rtl\xe2\x80\xaeevil`,
		"\t\n":              `\x09\x0a`,
		"":                  "",
	} {
		require.Equal(t, want, fixedString([]byte(in)))
	}
	require.Equal(t, "nqn", terminatedString([]byte("nqn\x00garbage")))
	require.Equal(t, `n\x01`, terminatedString([]byte("n\x01  ")))
}

func TestVersion(t *testing.T) {
	for want, v := range map[string]Version{"not reported": 0, "1.2.1": 0x10201, "2.1": 0x20100, "1.0": 0x10000} {
		require.Equal(t, want, v.String())
	}
}

func TestControllerType(t *testing.T) {
	for want, v := range map[string]uint8{"not reported": 0, "I/O": 1, "discovery": 2, "administrative": 3, "unknown (9)": 9} {
		require.Equal(t, want, (&IdentifyController{CNTRLTYPE: v}).Type())
	}
}

func namespaceBlob(flbas, dps uint8, formats ...LBAFormat) []byte {
	b := make([]byte, IdentifySize)
	le := binary.LittleEndian
	le.PutUint64(b[0:], 0x1_0000_0000)
	le.PutUint64(b[8:], 0x8000_0000)
	le.PutUint64(b[16:], 0x1000)
	b[24], b[25], b[26], b[27], b[28], b[29], b[30], b[31] = 0x17, uint8(len(formats)-1), flbas, 3, 0x1f, dps, 1, 0xff
	b[32], b[33] = 0x80, 0x19
	for i, at := range []int{34, 36, 38, 40, 42, 44, 46} {
		le.PutUint16(b[at:], uint16(100+i))
	}
	le.PutUint64(b[48:], 1<<41)
	for i, at := range []int{64, 66, 68, 70, 72, 74} {
		le.PutUint16(b[at:], uint16(200+i))
	}
	le.PutUint32(b[76:], 128)
	b[80] = 127
	le.PutUint32(b[92:], 5)
	b[99] = 1
	le.PutUint16(b[100:], 6)
	le.PutUint16(b[102:], 7)
	for i := range 16 {
		b[104+i] = byte(i + 1)
	}
	for i := range 8 {
		b[120+i] = byte(0xa0 + i)
	}
	for i, f := range formats {
		le.PutUint16(b[128+4*i:], f.MS)
		b[130+4*i], b[131+4*i] = f.LBADS, f.RP
	}
	return b
}

func TestDecodeIdentifyNamespace(t *testing.T) {
	formats := []LBAFormat{{0, 9, 2}, {8, 9, 3}, {64, 12, 0}}
	n, err := DecodeIdentifyNamespace(namespaceBlob(0x02, 0, formats...))
	require.NoError(t, err)
	require.Equal(t, &IdentifyNamespace{
		NSZE: 0x1_0000_0000, NCAP: 0x8000_0000, NUSE: 0x1000, NSFEAT: 0x17, NLBAF: 2, FLBAS: 2, MC: 3, DPC: 0x1f, DPS: 0, NMIC: 1,
		RESCAP: 0xff, FPI: 0x80, DLFEAT: 0x19, NAWUN: 100, NAWUPF: 101, NACWU: 102, NABSN: 103, NABO: 104, NABSPF: 105, NOIOB: 106,
		NVMCAP: Uint128{Lo: 1 << 41}, NPWG: 200, NPWA: 201, NPDG: 202, NPDA: 203, NOWS: 204, MSSRL: 205, MCL: 128, MSRC: 127,
		ANAGRPID: 5, NSATTR: 1, NVMSETID: 6, ENDGID: 7,
		NGUID: GUID{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, EUI64: EUI64{0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7},
		Formats: formats,
	}, n)
	require.True(t, n.Active())
	require.True(t, n.NSFEAT.ThinProvisioning() && n.NSFEAT.AtomicWrites() && n.NSFEAT.DULBE() && !n.NSFEAT.UIDReuse() && n.NSFEAT.PreferredSizes())
	require.True(t, n.MC.Extended() && n.MC.Separate())
	require.True(t, n.DPC.Type(PINone) && n.DPC.Type(PIType1) && n.DPC.Type(PIType3) && !n.DPC.Type(4) && n.DPC.First() && n.DPC.Last())
	require.True(t, n.DLFEAT.ReadsZero() && !n.DLFEAT.ReadsOnes() && n.DLFEAT.DeallocateByWriteZeroes() && n.DLFEAT.GuardValid())
	require.Equal(t, "0102030405060708090a0b0c0d0e0f10", n.NGUID.String())
	require.Equal(t, "01020304-0506-0708-090a-0b0c0d0e0f10", n.NGUID.UUID())
	require.Equal(t, "a0a1a2a3a4a5a6a7", n.EUI64.String())
	require.False(t, n.NGUID.IsZero() || n.EUI64.IsZero())
	j, err := json.Marshal(n)
	require.NoError(t, err)
	require.Contains(t, string(j), `"nguid":"0102030405060708090a0b0c0d0e0f10","eui64":"a0a1a2a3a4a5a6a7"`)

	_, err = DecodeIdentifyNamespace(nil)
	require.EqualError(t, err, "Identify Namespace needs 4096 bytes, given 0")
}

func TestCurrentLayout(t *testing.T) {
	qemu := []LBAFormat{{0, 9, 0}, {8, 9, 0}, {16, 9, 0}, {64, 9, 0}, {0, 12, 0}, {8, 12, 0}, {16, 12, 0}, {64, 12, 0}}
	many := make([]LBAFormat, 64)
	for i := range many {
		many[i] = LBAFormat{MS: uint16(i), LBADS: 12}
	}
	for _, tc := range []struct {
		flbas, dps uint8
		formats    []LBAFormat
		want       string
		err        string
	}{
		{0x00, 0, qemu, "512", ""},
		{0x10, 0, qemu, "512", ""},
		{0x17, 0, qemu, "4096+64 extended", ""},
		{0x07, 0, qemu, "4096+64 separate", ""},
		{0x11, 1, qemu, "512+8 extended PI type 1 guard 16", ""},
		{0x01, 0x0b, qemu, "512+8 separate PI type 3 guard 16 first", ""},
		{0x01, 0x08, qemu, "512+8 separate", ""},
		{0x27, 0, qemu, "4096+64 separate", ""}, // bits 5 and 6 mean nothing with 16 formats or fewer
		{0x61, 0, many, "4096+49 separate", ""},
		{0x08, 0, qemu, "", "FLBAS 0x08 selects LBA format 8, but there are formats 0 to 7 only"},
		{0x00, 1, qemu, "", "0 bytes of metadata do not hold the 8-byte protection tuple"},
		{0x01, 5, qemu, "", "protection type 5 is not 0 to 3"},
		{0x00, 0, []LBAFormat{{0, 8, 0}}, "", "LBA format 0 has LBADS 8; block sizes of 2^9 to 2^31 bytes are supported"},
		{0x00, 0, []LBAFormat{{0, 32, 0}}, "", "LBADS 32"},
		{0x00, 0, []LBAFormat{{0, 255, 0}}, "", "LBADS 255"},
		{0x00, 0, []LBAFormat{{0, 31, 0}}, "2147483648", ""},
		{0x00, 0, []LBAFormat{{0, 0, 0}}, "", "LBADS 0"},
	} {
		n, err := DecodeIdentifyNamespace(namespaceBlob(tc.flbas, tc.dps, tc.formats...))
		require.NoError(t, err)
		l, err := n.CurrentLayout()
		if tc.err != "" {
			require.ErrorContains(t, err, tc.err)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, tc.want, l.String())
	}
	n, err := DecodeIdentifyNamespace(make([]byte, IdentifySize))
	require.NoError(t, err)
	require.False(t, n.Active())
	_, err = n.CurrentLayout()
	require.ErrorContains(t, err, "the namespace is not active (NSZE 0)")
}

func TestFormatsNeverPassTheTable(t *testing.T) {
	b := namespaceBlob(0x6f, 0, LBAFormat{0, 9, 0})
	b[25], b[82] = 255, 255
	n, err := DecodeIdentifyNamespace(b)
	require.NoError(t, err)
	require.Len(t, n.Formats, 64)
	require.Equal(t, 63, n.FormatIndex())
}

func TestLayoutWithExtendedFormats(t *testing.T) {
	n, err := DecodeIdentifyNamespace(namespaceBlob(0x00, 1, LBAFormat{16, 12, 0}))
	require.NoError(t, err)
	b := make([]byte, IdentifySize)
	b[8] = 1 << 3 // PIC: QPIF is supported
	for elbaf, want := range map[uint32]Layout{
		0:           {LBASize: 4096, MetadataSize: 16, PI: PIType1},
		2<<7 | 16:   {LBASize: 4096, MetadataSize: 16, PI: PIType1, PIFormat: Guard64, StorageTagBits: 16},
		1<<7 | 64:   {LBASize: 4096, MetadataSize: 16, PI: PIType1, PIFormat: Guard32, StorageTagBits: 64},
		3<<7 | 2<<9: {LBASize: 4096, MetadataSize: 16, PI: PIType1, PIFormat: Guard64},
	} {
		binary.LittleEndian.PutUint32(b[12:], elbaf)
		x, err := DecodeIdentifyNVMNamespace(b)
		require.NoError(t, err)
		l, err := n.LayoutWith(x)
		require.NoError(t, err)
		require.Equal(t, want, l)
	}
	for elbaf, want := range map[uint32]string{
		3<<7 | 5<<9: "has guard format 5",
		2<<7 | 49:   "a storage tag of 49 bits does not fit",
		1 << 7:      "a storage tag of 0 bits does not fit",
	} {
		binary.LittleEndian.PutUint32(b[12:], elbaf)
		x, err := DecodeIdentifyNVMNamespace(b)
		require.NoError(t, err)
		_, err = n.LayoutWith(x)
		require.ErrorContains(t, err, want)
	}
	b[8] = 0
	binary.LittleEndian.PutUint32(b[12:], 3<<7)
	x, err := DecodeIdentifyNVMNamespace(b)
	require.NoError(t, err)
	_, err = n.LayoutWith(x)
	require.ErrorContains(t, err, "has guard format 3", "QPIF counts only if PIC says so")
	for _, index := range []int{-1, 64} {
		_, err = x.Guard(index)
		require.ErrorContains(t, err, "there are 0 to 63")
	}
}

func TestDecodeIdentifyNVM(t *testing.T) {
	le := binary.LittleEndian
	b := make([]byte, IdentifySize)
	le.PutUint64(b, 0xfedc)
	b[8], b[9] = 7, 1
	le.PutUint32(b[12+4*63:], 0x123)
	for i, at := range []int{268, 272, 276, 280, 284} {
		le.PutUint32(b[at:], uint32(50+i))
	}
	n, err := DecodeIdentifyNVMNamespace(b)
	require.NoError(t, err)
	want := &IdentifyNVMNamespace{LBSTM: 0xfedc, PIC: 7, PIFA: 1, NPDGL: 50, NPRG: 51, NPRA: 52, NORS: 53, NPDAL: 54}
	want.Formats[63] = 0x123
	require.Equal(t, want, n)

	c := make([]byte, IdentifySize)
	copy(c, []byte{1, 2, 3, 4, 5, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 1, 9, 7})
	ctrl, err := DecodeIdentifyNVMController(c)
	require.NoError(t, err)
	require.Equal(t, &IdentifyNVMController{VSL: 1, WZSL: 2, WUSL: 3, DMRL: 4, DMRSL: 5, DMSL: 1<<56 | 6, WZDSL: 7}, ctrl)
	require.Equal(t, uint64(4<<12), ctrl.MaxWriteZeroes(0))
	require.Equal(t, uint64(128<<12), ctrl.MaxDeallocatingWriteZeroes(0))
	ctrl.WZDSL = 0
	require.Equal(t, uint64(4<<12), ctrl.MaxDeallocatingWriteZeroes(0))
}

func TestDecodeIndependentNamespace(t *testing.T) {
	b := make([]byte, IdentifySize)
	copy(b, []byte{0x10, 2, 3, 4, 5, 0, 0, 0, 6, 0, 7, 0, 8, 0, 1, 10, 11, 0, 0, 0, 12})
	n, err := DecodeIdentifyIndependentNamespace(b)
	require.NoError(t, err)
	require.Equal(t, &IdentifyIndependentNamespace{
		NSFEAT: 0x10, NMIC: 2, RESCAP: 3, FPI: 4, ANAGRPID: 5, NSATTR: 6, NVMSETID: 7, ENDGID: 8, NSTAT: 1, KPIOS: 10, MAXKT: 11, RGRPID: 12,
	}, n)
	require.True(t, n.Ready() && n.Rotational())
}

func TestDecodeNamespaceList(t *testing.T) {
	b := make([]byte, IdentifySize)
	le := binary.LittleEndian
	ids, err := DecodeNamespaceList(b)
	require.NoError(t, err)
	require.Empty(t, ids)
	le.PutUint32(b, 3)
	le.PutUint32(b[4:], 17)
	le.PutUint32(b[12:], 99) // after the end
	ids, err = DecodeNamespaceList(b)
	require.NoError(t, err)
	require.Equal(t, []uint32{3, 17}, ids)
	for i := range 1024 {
		le.PutUint32(b[4*i:], uint32(i+1))
	}
	ids, err = DecodeNamespaceList(b)
	require.NoError(t, err)
	require.Len(t, ids, MaxListedNamespaces)

	changed, err := DecodeChangedNamespaces(b)
	require.NoError(t, err)
	require.Equal(t, ids, changed.NSIDs)
	le.PutUint32(b, AllNamespaces)
	changed, err = DecodeChangedNamespaces(b)
	require.NoError(t, err)
	require.Equal(t, &ChangedNamespaces{Overflow: true}, changed)
}

func TestDecodeNamespaceDescriptors(t *testing.T) {
	list := func(d ...byte) []byte { return append(d, make([]byte, IdentifySize-len(d))...) }
	uuid := []byte{3, 16, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	d, err := DecodeNamespaceDescriptors(list(append(append([]byte{1, 8, 0, 0, 8, 7, 6, 5, 4, 3, 2, 1}, uuid...), 9, 2, 0, 0, 1, 1, 4, 1, 0, 0, 2)...))
	require.NoError(t, err)
	require.Equal(t, &NamespaceDescriptors{
		EUI64: EUI64{8, 7, 6, 5, 4, 3, 2, 1}, UUID: GUID{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, CSI: SetZNS, HasCSI: true,
	}, d)
	require.True(t, d.NGUID.IsZero())

	_, err = DecodeNamespaceDescriptors(list(2, 8, 0, 0))
	require.ErrorContains(t, err, "descriptor of type 2 at 0 has 8 bytes instead of 16")
	b := list()
	for at := 0; at < IdentifySize; at += 256 {
		b[at], b[at+1] = 9, 252
	}
	_, err = DecodeNamespaceDescriptors(b)
	require.NoError(t, err, "a list may fill the page")
	b[IdentifySize-256+1] = 253
	_, err = DecodeNamespaceDescriptors(b)
	require.ErrorContains(t, err, "descriptor of type 9 at 3840 has 253 bytes and passes the end at 4096")
}
