/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * backend.h - what a device must offer. The interface fits a GPU: buffers and
 * slots are owned by the backend and only it may look inside them; uploads and
 * runs are queued on a stream; prepare programs run on the device, as main
 * programs do. A new backend starts as a copy of ref/ref.c plus one row in
 * backends.def.
 *
 * Values that enter or leave a program are dense, row-major, in the order the
 * graph says; layouts and padding live inside.
 */
#ifndef HULL_BACKEND_H
#define HULL_BACKEND_H

#include "ir/ir.h"
#include "options/options.h"

typedef struct backend backend;
typedef struct device device;           /* a backend opened */
typedef struct device_buffer device_buffer;
typedef struct stream stream;           /* work in order; of one thread */
typedef struct program program;         /* a graph made executable; immutable */
typedef struct program_plan program_plan; /* for one set of concrete shapes */

/* A range of a buffer. buffer NULL: a missing value. */
typedef struct place {
    device_buffer *buffer;
    uint64_t off, size;                 /* bytes */
} place;

/* Alignment of every place that a program is given, bytes. */
#define PLACE_ALIGN 64

typedef struct shape {
    uint32_t rank;
    int64_t dims[HULL_MAX_RANK];
} shape;

/* Nodes of a program's top level by their number in order, without end. */
typedef struct node_range {
    uint32_t begin, end;
} node_range;
#define ALL_NODES (node_range){0, UINT32_MAX}

/* Is told of every kernel that a run has called, on the running thread: the
 * node, its operands and results, begin and end by time_ns. A node of a body
 * comes before its owner, whose time holds its own. d may be NULL. */
typedef void profile_fn(void *user, const device *d, const graph *g,
                        const node *n, const tensor *in, const tensor *out,
                        uint64_t begin, uint64_t end);
typedef struct profiler {
    profile_fn *note;
    void *user;
} profiler;

/* Texts that may outlive the process: what tuning measured. Lines "NAME REST"
 * under a text as key. get appends them, nothing when there are none; put
 * replaces the lines of the same names. Neither can fail its caller. */
typedef struct notebook {
    void (*get)(void *user, str key, buf *out);
    void (*put)(void *user, str key, str lines);
    void *user;
    bool read_only;     /* nothing is to be measured now */
} notebook;

/* How a node of a lowered graph runs, for explain. A way is one of those that
 * lowering chose from; a node for which it had none has one. */
#define NODE_WAYS_MAX 16
typedef struct node_way {
    const char *name;   /* "" where there was no choice */
    double predicted_ns; /* by one thread */
    double timed_ns;    /* by tune=on; 0: not timed */
    bool taken;
} node_way;
typedef struct node_report {
    const node *n;
    const char *why_not; /* the reference kernel runs it: why; else NULL */
    node_way ways[NODE_WAYS_MAX];
    uint32_t n_ways;
} node_report;
typedef hull_status report_fn(void *user, const node_report *r);

/* A kernel for host memory, with the contract of op_info.eval. */
typedef struct host_kernel {
    const char *name;
    op_eval_fn *run;
} host_kernel;

/* Writes bytes [off, off+n) of the source to dst. */
typedef hull_status upload_reader(void *user, uint64_t off, void *dst,
                                  uint64_t n);

struct backend {
    const char *name;
    bool reads_host;  /* buffer_wrap reads host memory in place */
    bool has_targets; /* open obeys the option target */

    /* HULL_EDEVICE when the device is absent. p may be NULL; it outlives. */
    hull_status (*open)(device **out, const options *o, pool *p);
    void (*close)(device *d);
    /* Everything that decides code: ISA or model, layouts, versions. The text
     * is part of the cache key. */
    void (*target)(buf *out, const device *d);
    /* NULL: takes the node. Else a constant sentence why not. Looks at types
     * and attributes only. */
    const char *(*why_not)(const device *d, const graph *g, const node *n);
    /* Kernel choices and packing: rewrites the block after the LOWER passes.
     * Runs after the key is known, so the key cannot depend on it. notes: with
     * tune=on, where choices are timed; else NULL. */
    hull_status (*lower)(device *d, graph *g, const options *o,
                         const notebook *notes);
    /* Calls fn for each node of a lowered graph, bodies first. notes may be
     * NULL. The pointer is NULL where there is nothing to tell. */
    hull_status (*report)(device *d, const graph *g, const options *o,
                          const notebook *notes, report_fn *fn, void *user);

    /* For backends on host memory (host.h): the kernel of a node; NULL, also as
     * result: the reference's. Looks at types and attributes only. */
    const host_kernel *(*kernel)(const device *d, const graph *g,
                                 const node *n);

    /* Memory. wrap: the device reads host memory in place where it can (ref),
     * or copies it now. */
    hull_status (*buffer_new)(device_buffer **out, device *d, uint64_t size);
    hull_status (*buffer_wrap)(device_buffer **out, device *d, const void *host,
                               uint64_t size);
    void (*buffer_free)(device_buffer *b);
    /* Where the host can read what lies at p, once stream_sync has returned;
     * the pointer is NULL where it cannot. */
    const void *(*buffer_view)(place p);

    hull_status (*stream_new)(stream **out, device *d);
    void (*stream_free)(stream *s);
    /* What random nodes of the next runs draw from; outlives the stream. NULL
     * where why_not refuses them. */
    void (*stream_random)(stream *s, random_state *random);
    /* Tells of the kernels of the next runs; NULL: no more. The pointer is NULL
     * where kernels cannot be told apart. */
    void (*stream_profile)(stream *s, const profiler *p);
    /* Queued. Host memory must stay as it is until stream_sync returns. */
    hull_status (*upload)(stream *s, place dst, const void *src);
    /* The same with bytes that `read` gives, in pieces of any size: straight
     * into the buffer (ref) or through pinned memory (a GPU). Not queued:
     * `read` is not called again after it returns. cold: nobody reads them
     * soon, so that they need not pass through caches. */
    hull_status (*upload_from)(stream *s, place dst, upload_reader *read,
                               void *user, bool cold);
    hull_status (*download)(stream *s, void *dst, place src);
    /* Waits for all queued work; the first failure of any of it. */
    hull_status (*stream_sync)(stream *s);

    /* The graph is checked by the backend (packed sizes, tiles) and stays
     * alive as long as the program. */
    hull_status (*program_load)(program **out, device *d, const graph *g);
    void (*program_free)(program *p);
    /* Binds symbolic dims from the parameters' concrete shapes, checks ranges
     * and guards, gives the results' shapes and the scratch bytes needed.
     * HULL_ESHAPE names parameter and dim. */
    hull_status (*program_plan)(program_plan **out, const program *p,
                                const shape *params, uint32_t n_params,
                                shape *results, uint64_t *scratch);
    void (*plan_free)(program_plan *pl);
    /* Queued. results must not overlap params or scratch. */
    hull_status (*program_run)(stream *s, const program *p,
                               const program_plan *pl, const place *params,
                               const place *results, place scratch);
    /* NULL, as program_run_part is, where programs run as a whole only. The
     * nodes that read a parameter or a view of it, from the first to
     * the last; end UINT32_MAX: it is a result; begin == end: nobody does. */
    node_range (*program_reads)(const program *p, uint32_t param);
    /* Where the device reads host memory in place, else NULL: whether all that
     * read a parameter copy elements of it (gather), so that it may have any
     * alignment. */
    bool (*program_copies)(const program *p, uint32_t param);
    /* A run in parts: from node 0 on, each part where the one before ended, the
     * last with end UINT32_MAX, and nothing else on the stream between them.
     * A parameter need not be there before and after the nodes that read it. */
    hull_status (*program_run_part)(stream *s, const program *p,
                                    const program_plan *pl,
                                    const place *params, const place *results,
                                    place scratch, node_range part);
    /* For a graph_is_dynamic, in place of plan and run; NULL where such graphs
     * are never given. Done when it returns. boxes[i] is parameter i, or NULL:
     * then it is the tensor of shapes[i] at params[i]. Each result is a
     * reference that the caller takes; texts live in `texts`. */
    hull_status (*program_run_boxes)(stream *s, const program *p,
                                     const shape *shapes, const place *params,
                                     box *const *boxes, box **results,
                                     arena *texts);
};

/* ---- backend.c ----------------------------------------------------------- */

/* Every backend in order of preference; ref is the last row of backends.def. */
const backend *backend_at(size_t i); /* NULL past the end */
const backend *backend_find(str name);
/* Every backend's device starts with this. */
struct device {
    const backend *be;
    pool *pool;
};

#define BACKEND(name, help) extern const backend backend_##name;
#include "backend/backends.def"
#undef BACKEND

/* ---- slab.c: offsets in one piece of memory from lifetimes --------------- */

typedef struct slab_range {
    uint64_t off, size;
} slab_range;

typedef struct slab {
    slab_range *live; /* sorted by offset */
    size_t n, cap;
    uint64_t high;    /* bytes that the whole plan needs */
} slab;

/* Lowest free offset, a multiple of PLACE_ALIGN. Size 0 takes one unit. */
hull_status slab_take(slab *s, uint64_t size, uint64_t *out_off) MUST_CHECK;
void slab_give(slab *s, uint64_t off);
void slab_fini(slab *s);

/* ---- ref/interpret.c: a graph run by the reference kernels on host memory  */

typedef struct host_program host_program;
typedef struct host_plan host_plan;

/* g and d must outlive the program; d picks the kernels and may be NULL. */
hull_status host_program_load(host_program **out, const graph *g,
                              const device *d) MUST_CHECK;
void host_program_free(host_program *p);
hull_status host_program_plan(host_plan **out, const host_program *p,
                              const shape *params, uint32_t n_params,
                              shape *results, uint64_t *scratch) MUST_CHECK;
void host_plan_free(host_plan *pl);
/* The kernel that d picks for n, or the reference's. */
op_eval_fn *node_kernel(const device *d, const graph *g, const node *n);
/* Its name; "ref" for the reference's. */
const char *node_kernel_name(const device *d, const graph *g, const node *n);
/* What a run is given besides memory; either may be NULL, and so may the
 * whole. Without random, random nodes are refused. */
typedef struct run_context {
    random_state *random;
    const profiler *profile;
} run_context;
/* One thread at a time per plan. Allocates nothing once it has run before.
 * part: see program_run_part. */
hull_status host_program_run(const host_program *p, host_plan *pl,
                             void *const *params, void *const *results,
                             void *scratch, node_range part,
                             const run_context *rc) MUST_CHECK;
node_range host_program_reads(const host_program *p, uint32_t param);
bool host_program_copies(const host_program *p, uint32_t param);

/* ---- ref/dynamic.c: graphs whose sizes a run decides --------------------- */

#define DYNAMIC_MAX_DEPTH 64 /* nesting of bodies */

typedef struct dynamic_program dynamic_program;

/* g and d must outlive the program; d picks the kernels and may be NULL.
 * HULL_EUNSUPPORTED: node_check_sizes. */
hull_status dynamic_program_load(dynamic_program **out, const graph *g,
                                 const device *d) MUST_CHECK;
void dynamic_program_free(dynamic_program *p);
/* One box per parameter; one reference per result, which own their memory but
 * for texts, which live in `texts`. HULL_ESHAPE names what does not fit. */
hull_status dynamic_program_run(const dynamic_program *p, box *const *params,
                                box **results, arena *texts,
                                const run_context *rc) MUST_CHECK;

#endif
