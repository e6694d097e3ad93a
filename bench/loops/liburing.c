// The loop of a good liburing user: every request is prepared when it is sent,
// results are checked when they come back, and all that liburing and the kernel
// offer to make it cheap is switched on (single issuer, deferred task work,
// registered file and ring). Each read has a buffer of its own, which is free
// again when that read has completed: drives complete in any order. NOPs have
// nothing to keep apart.
#define _GNU_SOURCE
#include <fcntl.h>
#include <liburing.h>
#include <linux/nvme_ioctl.h>
#include <sys/mman.h>

#include "loop.h"

enum { NVME_CMD_READ = 0x02, BLOCK = 512, NSID = 1 };
static const uint64_t blocks = 1ull << 31; // random reads from 1 TiB

static void set_up(struct io_uring *ring, const struct options *o)
{
	struct io_uring_params p = {
		.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_SUBMIT_ALL,
	};
	if (o->op == OP_URING_CMD)
		p.flags |= IORING_SETUP_SQE128 | IORING_SETUP_CQE32;
	int err = io_uring_queue_init_params(o->qd, ring, &p);
	if (err)
		die("io_uring_queue_init_params: %s", strerror(-err));
	err = io_uring_register_ring_fd(ring);
	if (err != 1)
		die("io_uring_register_ring_fd: %s", strerror(-err));
	if (o->op == OP_NOP)
		return;
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		die("open /dev/null: %s", strerror(errno));
	err = io_uring_register_files(ring, &fd, 1);
	if (err)
		die("io_uring_register_files: %s", strerror(-err));
}

static inline void prepare_read(struct io_uring_sqe *sqe, uint64_t slba, void *buf)
{
	io_uring_prep_rw(IORING_OP_URING_CMD, sqe, 0, NULL, 0, 0);
	sqe->cmd_op = NVME_URING_CMD_IO;
	io_uring_sqe_set_flags(sqe, IOSQE_FIXED_FILE);
	*(struct nvme_uring_cmd *)sqe->cmd = (struct nvme_uring_cmd){
		.opcode = NVME_CMD_READ,
		.nsid = NSID,
		.addr = (uintptr_t)buf,
		.data_len = BLOCK,
		.cdw10 = (uint32_t)slba,
		.cdw11 = (uint32_t)(slba >> 32),
		.cdw12 = 0, // one block
	};
}

int main(int argc, char **argv)
{
	struct options o = parse_options(argc, argv);
	struct io_uring ring;
	set_up(&ring, &o);
	char *buffers = mmap(NULL, (size_t)o.qd * BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (buffers == MAP_FAILED)
		die("mmap of %u buffers: %s", o.qd, strerror(errno));

	struct window w = start_window(&o);
	struct random_state rng = { 0x9E3779B97F4A7C15ull };
	unsigned in_flight = 0, available = o.qd;
	unsigned *spare = malloc(o.qd * sizeof *spare); // slots whose buffers no read uses
	if (!spare)
		die("malloc of %u slots", o.qd);
	for (unsigned i = 0; i < o.qd; i++)
		spare[i] = o.qd - 1 - i;
	while (turn_window(&w)) {
		unsigned n = o.qd - in_flight < o.batch ? o.qd - in_flight : o.batch;
		for (unsigned i = 0; i < n; i++) {
			struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);
			if (!sqe)
				die("io_uring_get_sqe: the queue of %u is full with %u in flight", o.qd, in_flight);
			if (o.op == OP_NOP) {
				io_uring_prep_nop(sqe);
				io_uring_sqe_set_data64(sqe, i);
				continue;
			}
			unsigned slot = spare[--available];
			prepare_read(sqe, random_below(&rng, blocks), buffers + (size_t)slot * BLOCK);
			io_uring_sqe_set_data64(sqe, slot);
		}
		in_flight += n;
		int sent = io_uring_submit_and_wait(&ring, in_flight == o.qd ? o.batch : 0);
		if (sent != (int)n)
			die("io_uring_submit_and_wait: sent %d of %u: %s", sent, n, sent < 0 ? strerror(-sent) : "short submit");

		struct io_uring_cqe *cqe;
		unsigned head, reaped = 0;
		io_uring_for_each_cqe(&ring, head, cqe) {
			if (cqe->res)
				die("request %llu: result %d", (unsigned long long)cqe->user_data, cqe->res);
			if (o.op == OP_URING_CMD)
				spare[available++] = (unsigned)cqe->user_data;
			reaped++;
		}
		io_uring_cq_advance(&ring, reaped);
		in_flight -= reaped;
		w.done += reaped;
	}
	report("liburing", &o, &w);
	return 0;
}
