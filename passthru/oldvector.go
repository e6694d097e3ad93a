package passthru

// fixedVectors tells whether the kernel takes vectors in fixed buffers. An older
// one is not to be asked: Linux 6.1.176 refuses such a command and forgets its
// request (nvme_map_user_request returns without freeing it), which holds its tag
// and its queue from then on. The next reset of the controller waits for it for
// ever, and so does everything that waits for the reset. 6.12.117 refuses it
// and keeps nothing.
func fixedVectors(release string) bool { return kernelAtLeast(release, 6, 16) }

// noFixedVectors is why the buffers of a vectored queue are plain then.
const noFixedVectors = "vectors in fixed buffers need Linux 6.16"
