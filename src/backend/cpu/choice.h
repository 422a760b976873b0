/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * choice.h - where lowering has several ways for one node, and which it takes.
 * A site is what the answer depends on: sizes, types, level. The ways are rows
 * of choices.def, each with a test and a predicted time; the least time wins,
 * so that equal sites always get the same way, whatever machine asks. With
 * tune=on the ways are timed instead (tune.c).
 *
 * A symbolic size counts as what the model is tuned for; without that, as its
 * least size or, where that is below 2, as 1 when it is the first size of one
 * of the block's inputs (a batch) and as 64 elsewhere.
 */
#ifndef HULL_CPU_CHOICE_H
#define HULL_CPU_CHOICE_H

#include "backend/cpu/cpu.h"
#include "ops/family.h"

typedef enum cpu_question {
    ASK_CONV,    /* a convolution: value m of Winograd, 0: direct with panels,
                  * -1: direct on planes, channels first */
    ASK_WEIGHT,  /* weights of a product: value 1: as they are, 0: panels */
    ASK_QUESTIONS
} cpu_question;

typedef struct cpu_site {
    cpu_question ask;
    cpu_level level;
    hull_dtype dtype;      /* of the weight */
    /* ASK_CONV: of x and w; sizes and the window per spatial axis */
    uint32_t axes;
    int64_t batch, channels, columns, groups;
    int64_t in[SPATIAL_MAX], out[SPATIAL_MAX], kernel[SPATIAL_MAX];
    window w;
    bool winograd;         /* the option allows it */
    /* ASK_WEIGHT: x [rows, depth], w [depth, columns] */
    int64_t rows, depth;
    bool fixed_rows;       /* rows are plain sizes */
    bool as_stored;        /* the checkpoint has [columns, depth] */
} cpu_site;

typedef struct cpu_choice {
    cpu_question ask;
    const char *name;
    int64_t value;         /* what lowering does with it */
    bool (*fits)(const cpu_site *s);
    double (*cost)(const cpu_site *s); /* ns of one thread */
    /* What a predicted time is multiplied by before it is compared: less than
     * 1 where the way is good for more than the time of a run. */
    double (*favour)(const cpu_site *s);
} cpu_choice;

/* Rows of choices.def. The first row of each question always fits. */
extern const cpu_choice cpu_choices[];
extern const size_t cpu_n_choices;

/* Sizes of a graph's symbols, as said above. */
hull_status cpu_typical_sizes(dim_env *out, const graph *g) MUST_CHECK;

/* The site of a conv before it is lowered, and of x times a weight. */
void cpu_site_conv(cpu_site *s, const dim_env *typical, const graph *g,
                   const node *n, cpu_level level, bool winograd);
void cpu_site_weight(cpu_site *s, const dim_env *typical, const type *x,
                     const type *w, bool trans, cpu_level level);
/* The site of a node that lowering made, and the value that it took; false:
 * nothing was asked for it. Whether the checkpoint has a weight as the product
 * wants it cannot be seen in panels: then it counts as no. */
bool cpu_site_lowered(cpu_site *s, int64_t *answer, const dim_env *typical,
                      const graph *g, const node *n, cpu_level level,
                      bool winograd) MUST_CHECK;

/* The way with the least predicted time, favours counted. */
const cpu_choice *cpu_choose(const cpu_site *s);
/* Predicted ns, by one thread, of a node that no question is about. */
double cpu_predict(const dim_env *typical, const graph *g, const node *n,
                   cpu_level level);


/* ---- tune.c -------------------------------------------------------------- */

#define CPU_TUNE_FORMAT "hull-tune 1"

/* Under what the times of a site are kept. */
hull_status cpu_tune_key(buf *out, device *d, const cpu_site *s) MUST_CHECK;
/* ns of a way in the lines under that key; 0 when it is in none. */
double cpu_tuned_ns(str lines, const char *name);
/* The way with the least time in `notes`, which is made there when a time is
 * missing and notes may be written; the predicted one when notes is NULL or
 * nothing can be timed. */
const cpu_choice *cpu_tuned(device *d, const options *o, const notebook *notes,
                            const cpu_site *s);
/* Lowers with one question decided: its answer is `way` wherever it is asked.
 * lower.c */
hull_status cpu_lower_as(device *d, graph *g, const options *o,
                         const cpu_choice *way) MUST_CHECK;
/* backend.report, report.c */
hull_status cpu_report(device *d, const graph *g, const options *o,
                       const notebook *notes, report_fn *fn, void *user)
    MUST_CHECK;

#endif
