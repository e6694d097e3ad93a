package inventory

import (
	"fmt"
	"os"

	"github.com/nvmepass/nvmepass/internal/sys"
	"github.com/nvmepass/nvmepass/internal/sysfs"
)

// Rights is what this process may do with a node.
type Rights struct {
	// Path is "" where there is no such node.
	Path string `json:"path"`
	// Mode is as ls prints it, such as "crw-rw----".
	Mode string `json:"mode"`
	UID  uint32 `json:"uid"`
	GID  uint32 `json:"gid"`
	// Read: the node was opened for reading. Write: mode and owner allow
	// writing; it was not tried.
	Read  bool `json:"read"`
	Write bool `json:"write"`
	// Reason says why reading is denied.
	Reason string `json:"reason"`
	// SysAdmin: this process has CAP_SYS_ADMIN, without which the kernel lets
	// it send few admin commands, and before Linux 6.2 none at all.
	SysAdmin bool `json:"cap_sys_admin"`
}

func rightsOf(path string) Rights {
	r := Rights{Path: path, SysAdmin: sys.HaveSysAdmin()}
	if path == "" {
		return r
	}
	if st, err := sys.StatNode(path); err == nil {
		r.Mode, r.UID, r.GID = lsMode(st.Mode), st.UID, st.GID
	}
	if err := sys.CanOpen(path); err != nil {
		r.Reason = Reason(sysfs.OpenError(path, err))
		return r
	}
	r.Read = true
	r.Write = sys.Access(path, true) == nil
	return r
}

// lsMode writes a mode as ls does; Go's own form of a device's is "Dcrw-------".
func lsMode(m os.FileMode) string {
	kind := "b"
	if m&os.ModeCharDevice != 0 {
		kind = "c"
	}
	return kind + m.Perm().String()[1:]
}

// String is one line for people.
func (r Rights) String() string {
	switch {
	case r.Path == "":
		return "there is no such node"
	case !r.Read:
		return fmt.Sprintf("%s, owner %d, group %d: denied: %s", r.Mode, r.UID, r.GID, r.Reason)
	case !r.Write:
		return fmt.Sprintf("%s, owner %d, group %d: readable, not writable", r.Mode, r.UID, r.GID)
	}
	return fmt.Sprintf("%s, owner %d, group %d: readable and writable", r.Mode, r.UID, r.GID)
}
