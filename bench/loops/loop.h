// What both loops share: arguments, measured time, the result line. Included
// once by each program, hence the definitions.
#ifndef LOOP_H
#define LOOP_H

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

__attribute__((noreturn, format(printf, 1, 2), cold)) static void die(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	fprintf(stderr, "%s: ", program_invocation_short_name);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	exit(1);
}

enum op { OP_NOP, OP_URING_CMD };

struct options {
	unsigned qd, batch;
	double seconds;
	enum op op;
	int cpu;
};

static double number(const char *text, const char *name, double low, double high)
{
	char *end;
	errno = 0;
	double v = strtod(text, &end);
	if (end == text || *end || errno || !(v >= low && v <= high))
		die("%s \"%s\": need a number from %g to %g", name, text, low, high);
	return v;
}

// Arguments: qd batch seconds op cpu. The process is pinned to the CPU.
static struct options parse_options(int argc, char **argv)
{
	if (argc != 6)
		die("need five arguments: QD BATCH SECONDS nop|uring-cmd CPU");
	struct options o = {
		.qd = (unsigned)number(argv[1], "QD", 1, 4096),
		.seconds = number(argv[3], "SECONDS", 0.001, 3600),
		.cpu = (int)number(argv[5], "CPU", 0, CPU_SETSIZE - 1),
	};
	o.batch = (unsigned)number(argv[2], "BATCH", 1, o.qd);
	if (o.qd & (o.qd - 1))
		die("QD %u: need a power of two, because slots are numbered round the submission queue", o.qd);
	if (!strcmp(argv[4], "nop"))
		o.op = OP_NOP;
	else if (!strcmp(argv[4], "uring-cmd"))
		o.op = OP_URING_CMD;
	else
		die("operation \"%s\": need nop or uring-cmd", argv[4]);
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(o.cpu, &set);
	if (sched_setaffinity(0, sizeof set, &set))
		die("pin to CPU %d: %s", o.cpu, strerror(errno));
	return o;
}

// The clock is read once in so many turns, which is less than a tenth of a
// millisecond.
enum { TURNS_PER_LOOK = 64 };

// window counts turns (each is one system call) and completions, first for a
// warm-up of a tenth of the time, then for the time that is reported.
struct window {
	uint64_t done, calls;
	double seconds, began, took;
	double cpu_began, cpu; // processor time of this thread
	int measuring;
};

static double clock_seconds(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static struct window start_window(const struct options *o)
{
	return (struct window){ .seconds = o->seconds, .began = clock_seconds(CLOCK_MONOTONIC) };
}

__attribute__((noinline, cold)) static int look(struct window *w)
{
	double t = clock_seconds(CLOCK_MONOTONIC);
	w->took = t - w->began;
	if (!w->measuring && w->took >= w->seconds / 10) {
		w->measuring = 1;
		w->done = w->calls = 0;
		w->cpu_began = clock_seconds(CLOCK_THREAD_CPUTIME_ID);
		w->began = clock_seconds(CLOCK_MONOTONIC);
		return 1;
	}
	if (!w->measuring || w->took < w->seconds)
		return 1;
	w->cpu = clock_seconds(CLOCK_THREAD_CPUTIME_ID) - w->cpu_began;
	return 0;
}

// turn_window is to be called before each turn: it counts it, or ends the loop.
static inline int turn_window(struct window *w)
{
	if (__builtin_expect(w->calls % TURNS_PER_LOOK == TURNS_PER_LOOK - 1, 0) && !look(w))
		return 0;
	w->calls++;
	return 1;
}

static void report(const char *loop, const struct options *o, const struct window *w)
{
	printf("{\"loop\":\"%s\",\"op\":\"%s\",\"qd\":%u,\"batch\":%u,\"seconds\":%.6f,\"commands\":%llu,\"calls\":%llu,\"iops\":%.1f,\"cpu_seconds\":%.6f}\n",
	       loop, o->op == OP_NOP ? "nop" : "uring-cmd", o->qd, o->batch, w->took, (unsigned long long)w->done,
	       (unsigned long long)w->calls, (double)w->done / w->took, w->cpu);
	if (fflush(stdout) || ferror(stdout))
		die("write the result: %s", strerror(errno));
}

// Numbers for addresses, as cheap as they come: xorshift, and a multiplication in
// place of a division.
struct random_state {
	uint64_t x;
};

static inline uint64_t random_below(struct random_state *s, uint64_t limit)
{
	s->x ^= s->x << 13;
	s->x ^= s->x >> 7;
	s->x ^= s->x << 17;
	return (uint64_t)(((unsigned __int128)s->x * limit) >> 64);
}

#endif
