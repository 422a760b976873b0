/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * host.h - the functions of a backend on host memory (host.c), as entries for
 * its table. Such a backend adds open, close, target, why_not, lower and, where
 * it has kernels of its own, kernel.
 */
#ifndef HULL_HOST_H
#define HULL_HOST_H

#include "backend/backend.h"

hull_status host_buffer_new(device_buffer **out, device *d, uint64_t size);
hull_status host_buffer_wrap(device_buffer **out, device *d, const void *host,
                             uint64_t size);
void host_buffer_free(device_buffer *b);
const void *host_buffer_view(place p);
hull_status host_stream_new(stream **out, device *d);
void host_stream_free(stream *s);
void host_stream_random(stream *s, random_state *random);
void host_stream_profile(stream *s, const profiler *p);
hull_status host_upload(stream *s, place dst, const void *src);
hull_status host_upload_from(stream *s, place dst, upload_reader *read,
                             void *user, bool cold);
hull_status host_download(stream *s, void *dst, place src);
hull_status host_stream_sync(stream *s);
hull_status host_load(program **out, device *d, const graph *g);
void host_unload(program *p);
hull_status host_plan_shapes(program_plan **out, const program *p,
                             const shape *params, uint32_t n_params,
                             shape *results, uint64_t *scratch);
void host_forget_plan(program_plan *pl);
hull_status host_run(stream *s, const program *p, const program_plan *pl,
                     const place *params, const place *results, place scratch);
hull_status host_run_part(stream *s, const program *p, const program_plan *pl,
                          const place *params, const place *results,
                          place scratch, node_range part);
node_range host_reads(const program *p, uint32_t param);
bool host_copies(const program *p, uint32_t param);
hull_status host_run_boxes(stream *s, const program *p, const shape *shapes,
                           const place *params, box *const *boxes,
                           box **results, arena *texts);

#define HOST_BACKEND                                                       \
    .reads_host = true, .buffer_new = host_buffer_new,                     \
    .buffer_wrap = host_buffer_wrap, .buffer_free = host_buffer_free,      \
    .buffer_view = host_buffer_view,                                       \
    .stream_new = host_stream_new, .stream_free = host_stream_free,        \
    .stream_random = host_stream_random,                                   \
    .stream_profile = host_stream_profile, .upload = host_upload,          \
    .upload_from = host_upload_from, .download = host_download,            \
    .stream_sync = host_stream_sync, .program_load = host_load,            \
    .program_free = host_unload, .program_plan = host_plan_shapes,         \
    .plan_free = host_forget_plan, .program_run = host_run,                \
    .program_reads = host_reads, .program_run_part = host_run_part,        \
    .program_copies = host_copies,                                         \
    .program_run_boxes = host_run_boxes

#endif
