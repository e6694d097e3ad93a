package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/nvmepass/nvmepass/nvme"
)

// memory is a drive that does what it is told, at once.
type memory struct {
	t      *testing.T
	j      *judge
	blocks [][]byte
	meta   [][]byte
}

func newMemory(t *testing.T, layout nvme.Layout, blocks uint64) *memory {
	m := &memory{t: t, j: newJudge(newModel(blocks), layout, 7)}
	for range blocks {
		m.blocks = append(m.blocks, make([]byte, layout.Unit()))
		m.meta = append(m.meta, make([]byte, layout.MetadataLen(1)))
	}
	return m
}

// carryOut puts a write's data onto the drive.
func (m *memory) carryOut(w *write) {
	for i := range uint64(w.n) {
		require.NoError(m.t, m.j.expect(w, w.slba+i))
		copy(m.blocks[w.slba+i], m.j.data)
		copy(m.meta[w.slba+i], m.j.meta)
	}
}

func (m *memory) write(slba uint64, n uint32) *write {
	w := m.j.model.beginWrite(slba, n, stamped, byQueue)
	m.carryOut(w)
	m.j.model.acknowledge(w)
	return w
}

func (m *memory) contents(slba uint64, n uint32) (data, meta []byte) {
	for i := range uint64(n) {
		data = append(data, m.blocks[slba+i]...)
		meta = append(meta, m.meta[slba+i]...)
	}
	return data, meta
}

// read reads and judges blocks in one moment.
func (m *memory) read(slba uint64, n uint32) verdict {
	start := m.j.model.beginRead(slba, n)
	data, meta := m.contents(slba, n)
	v, err := m.j.read(slba, n, start, data, 0, meta)
	require.NoError(m.t, err)
	require.EqualValues(m.t, n, v.verified+uint64(len(v.mismatches)))
	return v
}

func (m *memory) good(slba uint64, n uint32) {
	m.t.Helper()
	require.Empty(m.t, m.read(slba, n).mismatches)
}

// bad requires one mismatch and returns it.
func (m *memory) bad(slba uint64, n uint32) finding {
	m.t.Helper()
	v := m.read(slba, n)
	require.Len(m.t, v.mismatches, 1)
	return v.mismatches[0]
}

var layouts = map[string]nvme.Layout{
	"512":              {LBASize: 512},
	"4096":             {LBASize: 4096},
	"4096+16 extended": {LBASize: 4096, MetadataSize: 16, Extended: true},
	"512+8 separate":   {LBASize: 512, MetadataSize: 8},
}

// TestJudgeFindsFaults plants what a drive or an engine may do wrong.
func TestJudgeFindsFaults(t *testing.T) {
	for name, layout := range layouts {
		t.Run(name, func(t *testing.T) {
			m := newMemory(t, layout, 64)
			m.good(0, 64)
			m.write(0, 64)
			m.good(0, 64)

			t.Run("wrong byte", func(t *testing.T) {
				m.t = t
				m.blocks[9][100] ^= 1
				f := m.bad(8, 4)
				require.EqualValues(t, 9, f.lba)
				require.Contains(t, f.expected, "write 1 by passthru")
				require.Contains(t, f.found, "byte 100")
				m.write(9, 1)
				m.good(0, 64)
			})
			t.Run("lost write", func(t *testing.T) {
				m.t = t
				w := m.j.model.beginWrite(20, 2, stamped, byBlock)
				m.j.model.acknowledge(w) // nothing reached the drive
				v := m.read(16, 16)
				require.Len(t, v.mismatches, 2)
				require.EqualValues(t, 20, v.mismatches[0].lba)
				require.Contains(t, v.mismatches[0].expected, "by block")
				require.Contains(t, v.mismatches[0].found, "lost write")
				m.carryOut(w)
				m.good(0, 64)
			})
			t.Run("misdirected write", func(t *testing.T) {
				m.t = t
				copy(m.blocks[31], m.blocks[30])
				f := m.bad(28, 8)
				require.EqualValues(t, 31, f.lba)
				require.Contains(t, f.found, "misdirected")
				require.Contains(t, f.found, "LBA 30")
				m.write(31, 1)
			})
			t.Run("torn block", func(t *testing.T) {
				m.t = t
				old := append([]byte{}, m.blocks[40]...)
				m.write(40, 1)
				copy(m.blocks[40][256:], old[256:])
				require.EqualValues(t, 40, m.bad(40, 1).lba)
				m.write(40, 1)
			})
			t.Run("stale read", func(t *testing.T) {
				m.t = t
				data, meta := m.contents(50, 1)
				m.write(50, 1)
				start := m.j.model.beginRead(50, 1)
				v, err := m.j.read(50, 1, start, data, 0, meta)
				require.NoError(t, err)
				require.Len(t, v.mismatches, 1, "what was overwritten before the read began")
			})
			t.Run("part of a block", func(t *testing.T) {
				m.t = t
				data, _ := m.contents(60, 2)
				start := m.j.model.beginRead(60, 2)
				v, err := m.j.read(60, 2, start, data[100:len(data)-7], 100, nil)
				require.NoError(t, err)
				require.Empty(t, v.mismatches)
				require.EqualValues(t, 2, v.verified)
				data[200] ^= 0x80
				start = m.j.model.beginRead(60, 2)
				v, err = m.j.read(60, 2, start, data[100:len(data)-7], 100, nil)
				require.NoError(t, err)
				require.Len(t, v.mismatches, 1)
				require.Contains(t, v.mismatches[0].found, "bytes 100 to")
			})
			if layout.MetadataSize > 0 && !layout.Extended {
				t.Run("metadata", func(t *testing.T) {
					m.t = t
					m.meta[3][2] ^= 1
					require.EqualValues(t, 3, m.bad(0, 8).lba)
					m.write(3, 1)
					m.good(0, 64)
				})
			}
		})
	}
}

// TestModelAllows what a drive may do.
func TestModelAllows(t *testing.T) {
	m := newMemory(t, nvme.Layout{LBASize: 512}, 16)
	model := m.j.model
	m.write(0, 16)

	// A read that began before a write may find either, until it ends.
	before, _ := m.contents(0, 1)
	start := model.beginRead(0, 1)
	m.write(0, 1)
	m.write(0, 1)
	v, err := m.j.read(0, 1, start, before, 0, nil)
	require.NoError(t, err)
	require.Empty(t, v.mismatches)

	// A read during a write may find a mixture of the two, later ones may not.
	old, _ := m.contents(1, 1)
	start = model.beginRead(1, 1)
	w := model.beginWrite(1, 1, stamped, byFile)
	m.carryOut(w)
	mixture := append(append([]byte{}, old[:200]...), m.blocks[1][200:]...)
	v, err = m.j.read(1, 1, start, mixture, 0, nil)
	require.NoError(t, err)
	require.Empty(t, v.mismatches)
	require.EqualValues(t, 1, v.mixed)
	model.acknowledge(w)
	copy(m.blocks[1], mixture)
	m.bad(1, 1)
	m.write(1, 1)

	// A failed write may have been carried out, or not; but a read tells which.
	old, _ = m.contents(2, 1)
	w = model.beginWrite(2, 1, stamped, byDevice)
	model.settle(w)
	m.good(2, 1) // still the old data
	m.carryOut(w)
	m.bad(2, 1) // it cannot land any more
	copy(m.blocks[2], old)
	m.good(2, 1)

	// One that nobody waits for may land later, whatever was read meanwhile, until
	// it is known to be gone.
	w = model.beginWrite(3, 1, stamped, byDevice)
	m.good(3, 1)
	newer := m.write(3, 1)
	m.good(3, 1)
	m.carryOut(w)
	m.good(3, 1)
	require.Nil(t, model.sure(3))
	model.settle(w)
	m.good(3, 1)
	require.Same(t, w, model.sure(3))
	m.carryOut(newer)
	m.bad(3, 1)

	// Deallocated blocks hold the old data or zeros, but not now these, now those.
	w = model.beginWrite(4, 2, hinted, byQueue)
	model.acknowledge(w)
	m.good(4, 1)
	clear(m.blocks[5])
	m.good(4, 2)
	clear(m.blocks[4])
	m.bad(4, 1)

	w = model.beginWrite(6, 1, zeroed, byQueue)
	model.acknowledge(w)
	m.bad(6, 1) // write zeroes is no hint
	clear(m.blocks[6])
	m.good(6, 1)
}

// TestModelForgets: what is overwritten takes no memory.
func TestModelForgets(t *testing.T) {
	m := newMemory(t, nvme.Layout{LBASize: 512}, 8)
	for range 100 {
		m.write(0, 8)
		model := m.j.model
		model.settle(model.beginWrite(0, 8, stamped, byQueue)) // failed, not carried out
		start := model.beginRead(0, 8)
		m.write(2, 2)
		model.endRead(0, 8, start, nil)
		m.good(0, 8)
	}
	require.Zero(t, m.j.model.candidates())
	require.Zero(t, m.j.model.blocks[0].readers)
}

// BenchmarkJudge: what a verified block costs.
func BenchmarkJudge(b *testing.B) {
	j := newJudge(newModel(256), nvme.Layout{LBASize: 512}, 7)
	w := j.model.beginWrite(0, 256, stamped, byQueue)
	data := make([]byte, 256*512)
	require.NoError(b, j.fill(data, nil, w))
	j.model.acknowledge(w)
	for b.Loop() {
		v, err := j.read(0, 256, j.model.beginRead(0, 256), data, 0, nil)
		if err != nil || v.verified != 256 {
			b.Fatal(v, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/256, "ns/block")
}
