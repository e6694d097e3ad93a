// Package consent stands before every command that changes a drive: it shows
// what would be overwritten, refuses where somebody seems to need it, and keeps
// others away meanwhile.
//
// A command asks for two flags of its own: --allow-write, without which it does
// not even open the drive for writing, and --force-overwrite, which overrules
// what Check finds on the drive. See [Required] and [Check].
//
// # Errors
//
// A missing --allow-write is a [*badflag.Error]. What is found on the drive is a
// [*RefusedError] with every reason; the drive has not been written to.
//
// # Limits
//
// Only what the kernel and the first and last blocks tell is found: not a
// database on the raw namespace without a known signature, and not another host
// that shares the drive. The exclusive hold keeps away mounts, swap, device
// mapper and other programs that ask for one; a program that opens the node
// without O_EXCL is not kept away. A namespace without block node cannot be held
// at all, which the text shown says.
package consent
