package lab

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParseDrive(t *testing.T) {
	for _, c := range []struct {
		text string
		want Drive
	}{
		{"", Drive{}},
		{"size=2g,backend=null,lba=4096", Drive{Size: 2 << 30, Backend: BackendNull, LBA: 4096}},
		{"size=1T,format=qcow2,backend=memory", Drive{Size: 1 << 40, Backend: BackendMemory, Format: FormatQcow2}},
		{"file=/a\\,b\\\\c=d.img", Drive{File: `/a,b\c=d.img`}},
		{"lba=4k", Drive{LBA: 4096}},
		{"ms=8,mset,pi=1,pil", Drive{Metadata: 8, Extended: true, PI: 1, PIFirst: true}},
		{"ms=64,mset=0", Drive{Metadata: 64}},
		{"ms=16,pi=1,pif=2,mset=on", Drive{Metadata: 16, PI: 1, PIF: 2, Extended: true}},
		{"mdts=0", Drive{MDTS: -1}},
		{"mdts=5", Drive{MDTS: 5}},
		{"zoned,zone-size=4m,zone-capacity=3m,max-open=4,max-active=8", Drive{Zoned: true, ZoneSize: 4 << 20, ZoneCapacity: 3 << 20, MaxOpen: 4, MaxActive: 8}},
		{"iops=20,bw=10m", Drive{IOPS: 20, Bandwidth: 10 << 20}},
		{"latency=80us", Drive{Latency: 80 * time.Microsecond}},
		{"latency=1500", Drive{Latency: 1500}},
		{"error-sectors=2048", Drive{ReadErrors: ErrorSectors{2048, 1}}},
		{"error-sectors=8+3,write-error-sectors=0", Drive{ReadErrors: ErrorSectors{8, 3}, WriteErrors: ErrorSectors{0, 1}}},
		{"count=2,queues=4", Drive{Count: 2, Queues: 4}},
		{"ns=2", Drive{Namespaces: 2}},
		{"nsid=3:17,serial=ABC-123", Drive{NSIDs: []int{3, 17}, Serial: "ABC-123"}},
		{"zoned,mdts=7,zasl=5", Drive{Zoned: true, MDTS: 7, ZASL: 5}},
		{"error-sectors=4,errors-once", Drive{ReadErrors: ErrorSectors{First: 4, Count: 1}, ErrorsOnce: true}},
		{"hotplug", Drive{Hotplug: true}},
		{"multipath,zeroes", Drive{Multipath: true, Zeroes: true}},
	} {
		t.Run(c.text, func(t *testing.T) {
			d, err := ParseDrive(c.text)
			require.NoError(t, err)
			require.Equal(t, c.want, d)
			again, err := ParseDrive(d.String())
			require.NoError(t, err, d.String())
			require.Equal(t, d, again)
		})
	}
}

func TestParseDriveErrors(t *testing.T) {
	for _, c := range []struct {
		text, option string
		says         []string
	}{
		{"sizes=1g", `"sizes"`, []string{"unknown", "size, backend"}},
		{",", `""`, []string{"unknown"}},
		{"size", "size", []string{"needs a value"}},
		{"size=", "size", []string{"needs a value"}},
		{"size=1g,size=2g", "size", []string{"twice"}},
		{"size=1gb", "size", []string{`"1gb"`, "k, m, g, t"}},
		{"size=1.5g", "size", []string{"whole number"}},
		{"size=-1", "size", []string{"whole number"}},
		{"size=+1", "size", []string{"whole number"}},
		{"size=0", "size", []string{"zero"}},
		{"size=9999999t", "size", []string{"8 EiB"}},
		{"size=4096", "size", []string{"1m", "1024t"}},
		{"size= 1g", "size", []string{"whole number"}},
		{"backend=ram", "backend", []string{"null, memory or file"}},
		{"backend=file", "backend", []string{"file=PATH"}},
		{"backend=null,file=/x", "file", []string{"backend=file"}},
		{"file=/x,count=2", "file", []string{"one drive per file"}},
		{"file=/x\x01", "file", []string{"control"}},
		{"format=vmdk", "format", []string{"raw or qcow2"}},
		{"format=qcow2", "format", []string{"backend=memory"}},
		{"backend=memory,zeroes", "zeroes", []string{"null backend"}},
		{"zeroes=yes", "zeroes", []string{"0, 1, off or on"}},
		{"lba=1000", "lba", []string{"power of two", "512", "65536"}},
		{"lba=256", "lba", []string{"power of two"}},
		{"lba=131072", "lba", []string{"65536"}},
		{"ms=129", "ms", []string{"128"}},
		{"mset", "mset", []string{"ms=8"}},
		{"pi=1", "pi", []string{"at least 8"}},
		{"pi=1,ms=8,pif=2", "pi", []string{"at least 16"}},
		{"pi=1,ms=16,pif=1", "pif", []string{"(0)", "(2)"}},
		{"pif=2", "pif", []string{"pi=1"}},
		{"pi=4,ms=8", "pi", []string{"1 to 3"}},
		{"pil", "pil", []string{"pi=1"}},
		{"mdts=13", "mdts", []string{"12"}},
		{"zasl=3", "zasl", []string{"zoned"}},
		{"zoned,mdts=4,zasl=5", "zasl", []string{"mdts=4"}},
		{"zoned,mdts=0,zasl=13", "zasl", []string{"12"}},
		{"errors-once", "errors-once", []string{"error-sectors="}},
		{"hotplug,multipath", "hotplug", []string{"one controller"}},
		{"hotplug,ns=2", "hotplug", []string{"one namespace"}},
		{"hotplug,zoned", "hotplug", []string{"plain blocks"}},
		{"zone-size=4m", "zone-size", []string{"zoned"}},
		{"max-open=4", "max-open", []string{"zoned"}},
		{"zoned,zone-size=3m", "zone-size", []string{"power of two"}},
		{"zoned,zone-size=1g", "zone-size", []string{"two zones"}},
		{"zoned,zone-capacity=8m", "zone-capacity", []string{"4m"}},
		{"zoned,zone-capacity=1000", "zone-capacity", []string{"whole blocks"}},
		{"zoned,max-open=8,max-active=4", "max-open", []string{"max-active=4"}},
		{"iops=2g", "iops", []string{"1000000000"}},
		{"bw=2t", "bw", []string{"1t"}},
		{"latency=20s", "latency", []string{"10s"}},
		{"latency=-1s", "latency", []string{"10s"}},
		{"latency=x", "latency", []string{"80us"}},
		{"latency=1ms,backend=memory", "latency", []string{"iops="}},
		{"error-sectors=1+0", "error-sectors", []string{"256"}},
		{"error-sectors=1+257", "error-sectors", []string{"256"}},
		{"error-sectors=x", "error-sectors", []string{"FIRST+COUNT"}},
		{"size=1m,error-sectors=2048", "error-sectors", []string{"2047"}},
		{"count=0", "count", nil},
		{"count=25", "count", []string{"24"}},
		{"count=13,multipath", "count", []string{"12"}},
		{"ns=65", "ns", []string{"64"}},
		{"ns=3,nsid=1:2", "nsid", []string{"ns=3"}},
		{"nsid=1:1", "nsid", []string{"differ"}},
		{"nsid=0", "nsid", []string{"256"}},
		{"nsid=257", "nsid", []string{"256"}},
		{"nsid=1,2", `"2"`, []string{"unknown"}},
		{"serial=012345678901234567890", "serial", []string{"20"}},
		{"serial=a b", "serial", []string{"space"}},
		{"serial=\u00e9", "serial", []string{"ASCII"}},
		{"serial=x,count=2", "serial", []string{"count=2"}},
		{"queues=2048", "queues", []string{"2047"}},
	} {
		t.Run(c.text, func(t *testing.T) {
			d, err := ParseDrive(c.text)
			if c.text == "count=0" {
				require.NoError(t, err, "0 stands for the default, as in the struct")
				require.Zero(t, d)
				return
			}
			var e *DriveError
			require.ErrorAs(t, err, &e)
			require.ErrorIs(t, err, ErrConfig)
			require.Equal(t, c.option, e.Option, err.Error())
			for _, s := range c.says {
				require.Contains(t, err.Error(), s)
			}
			require.Zero(t, d)
		})
	}
}

// TestDriveStringRoundTrip holds for every valid drive, not only for those that someone thought of.
func TestDriveStringRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	valid := 0
	for range 20000 {
		d := randomDrive(r)
		if d.Validate() != nil {
			continue
		}
		valid++
		again, err := ParseDrive(d.String())
		require.NoError(t, err, d.String())
		require.Equal(t, d, again, d.String())
	}
	require.Greater(t, valid, 500, "the generator makes too few valid drives to prove anything")
}

func randomDrive(r *rand.Rand) Drive {
	var d Drive
	maybe := func(n int) bool { return r.IntN(n) == 0 }
	if maybe(2) {
		d.Size = int64(1+r.IntN(4096)) << 20
	}
	d.Backend = []Backend{"", BackendNull, BackendMemory, BackendFile}[r.IntN(4)]
	if d.Backend == BackendFile {
		d.File = []string{"x", `a,b`, `\`, "ü=,", "/dev/../y"}[r.IntN(5)]
	}
	if maybe(4) {
		d.Format = []Format{FormatRaw, FormatQcow2}[r.IntN(2)]
	}
	if maybe(2) {
		d.LBA = 512 << r.IntN(8)
	}
	if maybe(2) {
		d.Metadata = []int{8, 16, 64, 7}[r.IntN(4)]
		d.Extended, d.PIFirst = maybe(2), maybe(4)
		d.PI, d.PIF = r.IntN(4), 2*r.IntN(2)
	}
	d.MDTS = r.IntN(14) - 1
	if d.MDTS < -1 {
		d.MDTS = 0
	}
	if maybe(3) {
		d.Zoned, d.ZoneSize, d.MaxOpen = true, 1<<(12+r.IntN(12)), r.IntN(5)
	}
	if maybe(3) {
		d.IOPS, d.Bandwidth = int64(r.IntN(100)), int64(r.IntN(1<<20))
	}
	if maybe(3) {
		d.Latency = time.Duration(r.IntN(1e9))
	}
	if maybe(3) {
		d.ReadErrors, d.WriteErrors = ErrorSectors{int64(r.IntN(3000)), 1 + r.IntN(3)}, ErrorSectors{5, 1 + r.IntN(2)}
	}
	d.Count, d.Namespaces, d.Queues = r.IntN(3), r.IntN(3), r.IntN(70)
	if maybe(3) {
		d.NSIDs = []int{1 + r.IntN(256)}
		d.Namespaces = r.IntN(2)
	}
	if maybe(3) {
		d.Serial = "S-" + strings.Repeat("x", r.IntN(19))
	}
	d.Multipath, d.Zeroes = maybe(4), maybe(6)
	return d
}

func FuzzParseDrive(f *testing.F) {
	for _, s := range []string{"", "size=1g,backend=null,lba=512", `file=a\,b,format=qcow2`, "zoned,zone-size=4m,max-open=4", "nsid=3:17,ms=8,pi=1",
		"error-sectors=2048+8,iops=20", "latency=1h", "count=99999999999", "mdts=0,mset", `\`, "=", "size=1g,size=1g"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := ParseDrive(s)
		if err != nil {
			require.True(t, errors.Is(err, ErrConfig), err)
			return
		}
		again, err := ParseDrive(d.String())
		require.NoError(t, err, "%q came back as %q", s, d.String())
		require.Equal(t, d, again)
		require.NoError(t, d.withDefaults().Validate())
	})
}

func TestSpreadDrives(t *testing.T) {
	got, err := spreadDrives([]Drive{{Count: 2}, {Serial: "X"}, {Multipath: true}})
	require.NoError(t, err)
	var serials []string
	for _, d := range got {
		serials = append(serials, d.Serial)
		require.Equal(t, 1, d.Count)
		require.Equal(t, 512, d.LBA)
	}
	require.Equal(t, []string{"lab0", "lab1", "X", "lab3"}, serials)

	_, err = spreadDrives([]Drive{{}, {Serial: "lab0"}})
	require.ErrorIs(t, err, ErrConfig)
	require.ErrorContains(t, err, "serial")
	_, err = spreadDrives([]Drive{{File: "a"}, {File: "./a"}})
	require.ErrorContains(t, err, "another drive keeps its data there")
	_, err = spreadDrives([]Drive{{Count: 20}, {Count: 3, Multipath: true}})
	require.ErrorContains(t, err, "24 controllers")
}
