package passthru

import (
	"errors"
	"fmt"

	"github.com/nvmepass/nvmepass/fixedbuf"
	"github.com/nvmepass/nvmepass/internal/nvmeioctl"
)

// withoutRing is the error of a Device that may not do without io_uring.
func withoutRing(err error) error {
	return fmt.Errorf("%w; set Config.AllowIoctl to use the driver's ioctls instead", err)
}

// prepareIoctl makes the buffers for commands that go without a ring.
func (e *engine) prepareIoctl(size int) (err error) {
	host := e.dev.layout.UnderPRACT()
	e.blocks = uint32(size) / host.Unit()
	if e.ioctl, err = fixedbuf.New(fixedbuf.Config{Slots: len(e.slots), SlotSize: size}); err != nil {
		return err
	}
	if n := host.MetadataLen(e.blocks); n > 0 {
		if e.meta, err = fixedbuf.New(fixedbuf.Config{Slots: len(e.slots), SlotSize: int(n)}); err != nil {
			return errors.Join(err, e.ioctl.Close())
		}
	}
	return nil
}

// byIoctl carries one command by a synchronous ioctl.
func (e *engine) byIoctl(i int) {
	s := &e.slots[i]
	cmd := s.cmd
	if cmd.DataLen != 0 {
		cmd.Addr = fixedbuf.AddressOf(e.data(i))
	}
	if cmd.MetadataLen != 0 {
		if s.more != nil {
			cmd.Metadata = metadataAddr(s.more, 0, &cmd)
		} else {
			cmd.Metadata = metadataAddr(e.meta, i, &cmd)
		}
	}
	s.res, s.result = nvmeioctl.Raw(e.fd, cmd)
	e.finish(i)
}
