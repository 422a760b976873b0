/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * cpu.h - inside the cpu backend. A kernel has the contract of a reference
 * kernel (op_eval_fn: shapes and memory of results are there; operands fit the
 * shape rule) and one row in kernels.def. It computes the same values as the
 * reference within the row's tolerance, for hostile values too; tests/cpu
 * checks every row at every level that the machine has.
 *
 * Levels are instruction sets, chosen when the device opens. A file of kernels
 * is compiled for its level (CMakeLists.txt) and must not be entered below it.
 */
#ifndef HULL_CPU_H
#define HULL_CPU_H

#include "backend/host.h"
#include "ops/op.h"

typedef enum cpu_level {
    CPU_ANY,     /* portable C */
    CPU_AVX2,    /* AVX2, FMA, F16C */
    CPU_AVX512,  /* F, BW, DQ, VL */
    CPU_LEVELS,
    /* what some CPUs of the last level have besides; for kernels.def alone */
    CPU_VNNI = CPU_LEVELS,
    CPU_BF16
} cpu_level;

typedef struct cpu_features {
    cpu_level level;
    bool vnni, bf16;        /* AVX512_VNNI, AVX512_BF16 */
    uint64_t l1, l2, l3;    /* bytes of data cache, as one core sees them */
    char brand[64];         /* the CPU's own name, or "unknown" */
} cpu_features;

/* What CPUID says, cut by HULL_CPU_ISA=none|avx2|avx512 (HULL_EINVAL for
 * another word). isa.c */
hull_status cpu_features_get(cpu_features *out) MUST_CHECK;
const char *cpu_level_name(cpu_level l);
/* Level and extensions become those of the option target: LEVEL[+vnni][+bf16],
 * the extensions with avx512 alone. HULL_EINVAL for another word. */
hull_status cpu_features_set(cpu_features *f, str target) MUST_CHECK;
/* May this CPU enter kernels of level l? */
bool cpu_runs(const cpu_features *f, cpu_level l);

typedef struct cpu_device {
    device d;
    cpu_features has;       /* what code is made for */
    bool foreign;           /* not for this machine (option target): */
    cpu_features machine;   /* kernels that it lacks are never entered */
} cpu_device;

/* May the kernel run this node? Types and attributes only, sizes may be
 * symbolic. */
typedef bool cpu_takes_fn(const graph *g, const node *n);

typedef struct cpu_kernel {
    host_kernel k;      /* name, run */
    op_code op;
    cpu_level level;
    cpu_takes_fn *takes;
    const char *wants;  /* what takes asks for: takes.def */
} cpu_kernel;

/* Rows of kernels.def; the first that fits is taken. */
extern const cpu_kernel cpu_kernels[];
extern const size_t cpu_n_kernels;

#define KERNEL(name, op, level, takes, run) \
    op_eval_fn run;                         \
    cpu_takes_fn takes;
#include "backend/cpu/kernels.def"
#undef KERNEL

/* The kernel of a node; NULL: the reference's. enter: one that this machine
 * can run, which for a foreign target is not the one it will have there. */
const host_kernel *cpu_kernel_for(const cpu_device *c, const graph *g,
                                  const node *n, bool enter);

/* Rewrites of a block for this device: packed weights, NHWC, epilogues. */
hull_status cpu_lower(device *d, graph *g, const options *o,
                      const notebook *notes) MUST_CHECK;

/* ---- for kernels (work.c) ------------------------------------------------ */

/* Columns of a weight panel at each level: [ceil(n / tile), k, tile]. */
int64_t cpu_tile(cpu_level l);

/* In how many pieces to do n items that take `total` nanoseconds together: 1,
 * or up to four for each thread. */
int64_t cpu_pieces(const eval_ctx *cx, int64_t n, double total);

/* Calls fn(user, begin, end) for pieces of [0, n), a multiple of `grain` long
 * but for the last; on the caller alone when the work is below about 10
 * microseconds: `cost` is an estimate of one item in nanoseconds. */
typedef void cpu_range_fn(void *user, int64_t begin, int64_t end);
void cpu_parallel(eval_ctx *cx, int64_t n, int64_t grain, double cost,
                  cpu_range_fn *fn, void *user);

/* The node's operand types all have dtype dt; result 0 as well. */
bool cpu_all_dtype(const graph *g, const node *n, hull_dtype dt);

#endif
