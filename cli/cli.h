/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * cli.h - the command line program: one `command` row per command, one struct
 * that holds what was asked for, and the ways to answer. A command returns a
 * status; main.c turns it into one line of error and an exit code. With --json
 * a command prints nothing and fills c->result, which is printed at the end.
 */
#ifndef HULL_CLI_CLI_H
#define HULL_CLI_CLI_H

#include <argp.h>
#include <jansson.h>

#include "base/base.h"
#include "cli/npy.h"

/* ---- exit codes: docs/cli.md --------------------------------------------- */

enum exit_code {
    EXIT_CODE_OK = 0,
    EXIT_CODE_USAGE = 1,
    EXIT_CODE_FILE = 2,
    EXIT_CODE_UNSUPPORTED = 3,
    EXIT_CODE_BIND = 4,
    EXIT_CODE_MISMATCH = 5,
    EXIT_CODE_SYSTEM = 6,
    EXIT_CODE_SHAPE = 7,
    EXIT_CODE_INTERNAL = 8
};

#define EXIT_DOC                                                             \
    "Exit status: 0 done; 1 the command line is wrong; 2 a file is absent, " \
    "malformed or of an unknown version; 3 beyond what Hull supports; 4 "    \
    "weights do not fit or are missing; 5 values differ from the expected "  \
    "ones; 6 the system or a device failed; 7 shapes or dtypes of inputs "   \
    "do not fit; 8 a fault of Hull."

/* ---- what was asked for -------------------------------------------------- */

enum option_key {
    KEY_HELP = 'h',
    KEY_OUTPUT = 'o',
    KEY_INPUT = 'i',
    KEY_WEIGHTS = 'w',
    KEY_JSON = 0x100,
    KEY_SET,
    KEY_BACKEND,
    KEY_CACHE,
    KEY_NO_CACHE,
    KEY_STRIP,
    KEY_LEARN,
    KEY_MAP,
    KEY_DICT,
    KEY_PREPARED,
    KEY_LINK,
    KEY_PRINT_KEY,
    KEY_PREBUILD,
    KEY_KIND,
    KEY_LIMIT,
    KEY_OLDER_THAN,
    KEY_OTHER_VERSIONS,
    KEY_MODEL,
    KEY_ALL,
    KEY_EXPECT,
    KEY_EXPECT_PREFIX,
    KEY_ATOL,
    KEY_RTOL,
    KEY_REPEAT,
    KEY_SUFFIX,
    KEY_TEXT,
    KEY_GRAPHVIZ,
    KEY_PASS,
    KEY_STAGE,
    KEY_CANONICAL,
    KEY_SPLIT,
    KEY_SIZE,
    KEY_THREADS,
    KEY_ROUNDS,
    KEY_SECONDS,
    KEY_SESSIONS,
    KEY_REFIT,
    KEY_PROFILE,
    KEY_ROOFLINE,
    KEY_TRACE,
    KEY_SAVE_PROFILE,
    KEY_SERVE
};

/* Letters by which a name may differ from the one that was meant. */
#define TYPO_MAX 2

#define ARGS_MAX 256
#define SIZES_MAX 32

typedef struct cli {
    const struct command *command; /* NULL until it is known */
    bool json, help;
    bool usage;          /* the failure is one of the command line */
    json_t *result;      /* an object */
    hull_options *options;
    const char *args[ARGS_MAX];
    uint32_t n_args;
    const char *output, *input, *weights, *cache_dir, *expect, *expect_prefix;
    const char *suffix, *pass, *stage, *prebuild;
    bool no_cache, strip, prepared, link, print_key, text, graphviz;
    bool canonical, split;
    bool fill_set;       /* --set fill=... was given */
    double atol, rtol;
    uint64_t repeat;
    /* cache */
    const char *kind, *models[SIZES_MAX];
    uint32_t n_models;
    bool all, other_versions;
    const char *limit, *older_than;
    /* bench */
    const char *sizes[SIZES_MAX], *sessions, *refit, *trace;
    uint32_t n_sizes;
    bool profile, roofline, save_profile, serve;
    uint64_t rounds;
    double seconds;
} cli;

/* Options that several commands share; a bit set in a command's row. */
enum shared_options {
    SHARED_SET = 1,      /* --set, --backend */
    SHARED_CACHE = 2,    /* --cache, --no-cache */
    SHARED_SAVE = 4,     /* --output, --prepared, --link */
    SHARED_NAMES = 8     /* --map, --key */
};

typedef struct command {
    const char *name;
    const char *arguments; /* "MODULE CHECKPOINT" */
    const char *summary;   /* its line in `hull help` */
    const char *doc;       /* argp's: text, \v, text behind the options */
    const struct argp_option *options;
    uint32_t shared;
    uint32_t min_args, max_args;
    hull_status (*run)(cli *c);
} command;

extern const command command_compile, command_refit, command_run,
    command_bench, command_inspect, command_explain, command_cache, command_opt,
    command_options, command_version, command_help;

/* ---- args.c -------------------------------------------------------------- */

/* Parses the arguments behind `hull`; argv[0] is the command's name. */
hull_status args_parse(cli *c, const command *cmd, int argc, char **argv)
    MUST_CHECK;
void args_help(const command *cmd, FILE *to);

/* ---- answer.c ------------------------------------------------------------ */

int exit_code_of(const cli *c, hull_status st);
/* Adds to c->result; `value` is taken. HULL_ENOMEM when it is NULL. */
hull_status answer(json_t *object, const char *key, json_t *value) MUST_CHECK;
hull_status answer_item(json_t *array, json_t *value) MUST_CHECK;
json_t *json_str(str s); /* bytes that are not UTF-8 become '?' */
/* Text of c->result's object, plus an error; then flushes stdout. Returns the
 * exit code. */
int answer_end(cli *c, hull_status st);
/* A warning: a line on stderr; with --json also a member "warning". */
hull_status answer_warning(cli *c, const char *text) MUST_CHECK;
/* A line on stderr with the seconds so far, when that is a terminal, after
 * half a second. One at a time. */
void progress_begin(const cli *c, const char *what, const char *name);
void progress_end(void);

/* ---- build.c: what compile, refit and run share -------------------------- */

/* NULL when it is switched off, or cannot be opened: then a warning says so. */
hull_status open_cache(cli *c, hull_cache **out) MUST_CHECK;
/* What a file is, by its content. */
typedef enum file_kind {
    KIND_MODULE,     /* a .hull module */
    KIND_ENGINE,     /* an entry of the cache */
    KIND_NOTES,      /* likewise: what was measured */
    KIND_PLAN,       /* likewise: a plan without its engines */
    KIND_TENSORS,    /* .npy or .npz */
    KIND_OTHER       /* a model or a checkpoint; weights_kind tells */
} file_kind;
hull_status file_kind_of(file_kind *out, const char *path) MUST_CHECK;
/* A module from a module file or a model; c->weights is poured in. */
hull_status open_module(cli *c, hull_module **out, const char *path)
    MUST_CHECK;
/* Facts of a module as JSON. */
hull_status module_facts(json_t **out, const hull_module *m) MUST_CHECK;
unsigned save_flags(const cli *c);

/* ---- cmd_prebuild.c ------------------------------------------------------ */

/* compile --prebuild: fills the cache. */
hull_status prebuild(cli *c) MUST_CHECK;

/* ---- tolerance.c --------------------------------------------------------- */

typedef struct difference {
    double max_abs, max_rel;
    uint64_t n, n_beyond;  /* elements, those out of tolerance */
    uint64_t first;        /* index of the first one out of tolerance */
} difference;
/* Requires equal dtypes and shapes. Floats agree when |a - b| <= atol +
 * rtol * |b|, NaN equals NaN; integers when |a - b| <= atol. */
void compare_tensors(difference *out, const named_tensor *a,
                     const named_tensor *b, double atol, double rtol);
void print_type(buf *b, hull_dtype dt, uint32_t rank, const int64_t *shape);
/* Element i as text. */
void print_element(buf *b, const named_tensor *t, uint64_t i);

/* ---- inspect_hull.c: module files and cache entries ---------------------- */

hull_status inspect_module(cli *c, const char *path) MUST_CHECK;
hull_status inspect_engine(cli *c, const char *path) MUST_CHECK;
/* An entry of texts: its key and one section. */
hull_status inspect_text(cli *c, const char *path, const char *kind,
                         const char *section) MUST_CHECK;

#endif
