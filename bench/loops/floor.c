// What the kernel itself costs: the submission entries are filled once, and each
// turn moves the tail, enters the kernel and moves the head. Nothing is prepared,
// and results are looked at only before and after the measured time, so
// that no program that sends different commands can be faster.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/nvme_ioctl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "loop.h"

struct ring {
	int fd, enter_fd;
	unsigned *array;
	_Atomic unsigned *sq_tail, *cq_head, *cq_tail;
	char *sqes, *cqes;
	size_t sqe_size, cqe_size;
	unsigned sq_entries, cq_entries;
};

static void *map(int fd, size_t length, off_t offset)
{
	void *p = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, offset);
	if (p == MAP_FAILED)
		die("mmap of the ring, %zu bytes at %#llx: %s", length, (unsigned long long)offset, strerror(errno));
	return p;
}

static void enlist(const struct ring *r, unsigned opcode, void *arg, unsigned n, const char *what)
{
	if (syscall(__NR_io_uring_register, r->fd, opcode, arg, n) < 0)
		die("io_uring_register of the %s: %s", what, strerror(errno));
}

static struct ring set_up(const struct options *o)
{
	struct io_uring_params p = {
		.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_SUBMIT_ALL,
	};
	if (o->op == OP_URING_CMD)
		p.flags |= IORING_SETUP_SQE128 | IORING_SETUP_CQE32;
	struct ring r = {
		.sqe_size = o->op == OP_URING_CMD ? 128 : 64,
		.cqe_size = o->op == OP_URING_CMD ? 32 : 16,
	};
	r.fd = (int)syscall(__NR_io_uring_setup, o->qd, &p);
	if (r.fd < 0)
		die("io_uring_setup of %u entries: %s", o->qd, strerror(errno));
	r.sq_entries = p.sq_entries;
	r.cq_entries = p.cq_entries;
	size_t sq_bytes = p.sq_off.array + p.sq_entries * sizeof(unsigned);
	size_t cq_bytes = p.cq_off.cqes + p.cq_entries * r.cqe_size;
	if (!(p.features & IORING_FEAT_SINGLE_MMAP))
		die("the kernel maps the two rings apart: need Linux 5.4 or later");
	char *rings = map(r.fd, sq_bytes > cq_bytes ? sq_bytes : cq_bytes, IORING_OFF_SQ_RING);
	r.sqes = map(r.fd, p.sq_entries * r.sqe_size, IORING_OFF_SQES);
	r.array = (unsigned *)(rings + p.sq_off.array);
	r.sq_tail = (_Atomic unsigned *)(rings + p.sq_off.tail);
	r.cq_head = (_Atomic unsigned *)(rings + p.cq_off.head);
	r.cq_tail = (_Atomic unsigned *)(rings + p.cq_off.tail);
	r.cqes = rings + p.cq_off.cqes;

	struct io_uring_rsrc_update self = { .offset = -1u, .data = (unsigned)r.fd };
	enlist(&r, IORING_REGISTER_RING_FDS, &self, 1, "ring");
	r.enter_fd = (int)self.offset;
	if (o->op == OP_URING_CMD) {
		int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
		if (fd < 0)
			die("open /dev/null: %s", strerror(errno));
		enlist(&r, IORING_REGISTER_FILES, &fd, 1, "file");
	}
	return r;
}

static void fill(struct ring *r, const struct options *o)
{
	for (unsigned i = 0; i < r->sq_entries; i++) {
		struct io_uring_sqe *sqe = (struct io_uring_sqe *)(r->sqes + i * r->sqe_size);
		r->array[i] = i;
		sqe->user_data = i;
		if (o->op == OP_NOP) {
			sqe->opcode = IORING_OP_NOP;
			sqe->fd = -1;
			continue;
		}
		sqe->opcode = IORING_OP_URING_CMD;
		sqe->flags = IOSQE_FIXED_FILE;
		sqe->cmd_op = NVME_URING_CMD_IO;
		struct nvme_uring_cmd *cmd = (struct nvme_uring_cmd *)((char *)sqe + offsetof(struct io_uring_sqe, addr3));
		cmd->opcode = 0x02; // read
		cmd->nsid = 1;
		cmd->cdw10 = i;
	}
}

// Every place of the completion queue that was written holds the result of a
// request; the others are zero.
static void check_results(const struct ring *r)
{
	for (unsigned i = 0; i < r->cq_entries; i++) {
		const struct io_uring_cqe *cqe = (const struct io_uring_cqe *)(r->cqes + i * r->cqe_size);
		if (cqe->res)
			die("request %llu: result %d", (unsigned long long)cqe->user_data, cqe->res);
	}
}

int main(int argc, char **argv)
{
	struct options o = parse_options(argc, argv);
	struct ring r = set_up(&o);
	fill(&r, &o);

	struct window w = start_window(&o);
	unsigned tail = 0, head = 0, in_flight = 0;
	while (turn_window(&w)) {
		unsigned n = o.qd - in_flight < o.batch ? o.qd - in_flight : o.batch;
		tail += n;
		in_flight += n;
		atomic_store_explicit(r.sq_tail, tail, memory_order_release);
		unsigned wait = in_flight == o.qd ? o.batch : 0;
		unsigned flags = IORING_ENTER_REGISTERED_RING | (wait ? IORING_ENTER_GETEVENTS : 0);
		long sent = syscall(__NR_io_uring_enter, r.enter_fd, n, wait, flags, NULL, 0);
		if (sent != (long)n)
			die("io_uring_enter: sent %ld of %u: %s", sent, n, sent < 0 ? strerror(errno) : "short submit");
		unsigned there = atomic_load_explicit(r.cq_tail, memory_order_acquire);
		in_flight -= there - head;
		w.done += there - head;
		head = there;
		atomic_store_explicit(r.cq_head, head, memory_order_release);
		if (w.calls == 1)
			check_results(&r);
	}
	check_results(&r);
	report("floor", &o, &w);
	return 0;
}
