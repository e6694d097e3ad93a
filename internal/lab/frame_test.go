package lab

import (
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFrames(t *testing.T) {
	var b []byte
	b = appendFrame(b, frameStdout, []byte("hello"))
	b = appendFrame(b, frameReady, nil)
	b = appendSharedFrame(b, frameFiles, 15, slotSize)
	b = appendFrame(b, frameExit, uint32s(3, 0))
	r := bytes.NewReader(b)
	var buf []byte

	ft, p, slot, err := readFrame(r, &buf)
	require.NoError(t, err)
	require.Equal(t, frameStdout, ft)
	require.Equal(t, "hello", string(p))
	require.Equal(t, -1, slot)

	ft, p, _, err = readFrame(r, &buf)
	require.NoError(t, err)
	require.Equal(t, frameReady, ft)
	require.Empty(t, p)

	ft, p, slot, err = readFrame(r, &buf)
	require.NoError(t, err)
	require.Equal(t, frameFiles, ft)
	require.Len(t, p, slotSize)
	require.Equal(t, 15, slot)

	_, p, _, err = readFrame(r, &buf)
	require.NoError(t, err)
	code, ok := uint32At(p, 0)
	require.True(t, ok)
	require.EqualValues(t, 3, code)
	_, ok = uint32At(p, 2)
	require.False(t, ok)

	_, _, _, err = readFrame(r, &buf)
	require.ErrorIs(t, err, io.EOF)
}

func TestFrameErrors(t *testing.T) {
	for name, b := range map[string][]byte{
		"cut header":       {'O', 1},
		"cut payload":      {'O', 5, 0, 0, 0, 'x'},
		"too long":         {'O', 1, 0, 1, 0},
		"shared too short": {'O', 4, 0, 0, 0x80, 0, 0, 0, 0},
		"no such slot":     appendSharedFrame(nil, frameStdout, slotCount, 1),
		"over the slot":    appendSharedFrame(nil, frameStdout, 0, slotSize+1),
		"cut reference":    appendSharedFrame(nil, frameStdout, 0, 1)[:7],
	} {
		t.Run(name, func(t *testing.T) {
			var buf []byte
			_, _, _, err := readFrame(bytes.NewReader(b), &buf)
			require.Error(t, err)
			require.NotErrorIs(t, err, io.EOF, "the end inside a frame must not look like a clean end")
		})
	}
}

func FuzzReadFrame(f *testing.F) {
	f.Add(appendFrame(nil, frameStdout, []byte("x")))
	f.Add(appendSharedFrame(nil, frameFiles, 1, 2))
	f.Add([]byte{'O', 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bytes.NewReader(b)
		var buf []byte
		for {
			_, p, slot, err := readFrame(r, &buf)
			if err != nil {
				return
			}
			require.LessOrEqual(t, len(p), maxFrame)
			require.Less(t, slot, slotCount)
		}
	})
}
