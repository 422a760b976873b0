/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * args.c - the command line: argp finds the options, one switch stores them.
 * argp's own messages are off, so that every usage error is one line of the
 * same form as all others, also as JSON.
 */
#include "cli/cli.h"
#include "compile/compile.h"

#include <errno.h>
#include <string.h>

static const struct argp_option general_options[] = {
    { "json", KEY_JSON, NULL, 0, "Answer with one JSON object", 0 },
    { "help", KEY_HELP, NULL, 0, "Print this help", 0 },
    { 0 },
};

static const struct argp_option set_options[] = {
    { "set", KEY_SET, "KEY=VALUE", 0,
      "Set an option of the library; `hull options` lists them", 0 },
    { "backend", KEY_BACKEND, "LIST", 0,
      "Backends in order of preference: --set backends=LIST", 0 },
    { 0 },
};

static const struct argp_option cache_options[] = {
    { "cache", KEY_CACHE, "DIR", 0,
      "Folder of the engine cache (default: $HULL_CACHE_DIR, else "
      "$XDG_CACHE_HOME/hull, else ~/.cache/hull)", 0 },
    { "no-cache", KEY_NO_CACHE, NULL, 0, "Use no cache", 0 },
    { 0 },
};

static const struct argp_option save_options[] = {
    { "output", KEY_OUTPUT, "FILE", 0, "The module file to write", 0 },
    { "prepared", KEY_PREPARED, NULL, 0,
      "Save the filled slots too: loading is a mmap on the same target", 0 },
    { "link", KEY_LINK, NULL, 0,
      "Save the checkpoint's digest instead of its tensors; loading needs "
      "the checkpoint again", 0 },
    { 0 },
};

static const struct argp_option names_options[] = {
    { "map", KEY_MAP, "RULES", 0,
      "File of rules from the checkpoint's names to the model's: --set "
      "map=RULES", 0 },
    { "key", KEY_DICT, "KEY", 0,
      "Which dictionary of a nested .pt holds the tensors: --set "
      "checkpoint_key=KEY", 0 },
    { 0 },
};

static hull_status set_pair(cli *c, const char *arg)
{
    const char *sign = strchr(arg, '=');
    hull_status st;
    char *k;

    if (!sign || sign == arg)
        return fail(HULL_EINVAL, "--set %s, want KEY=VALUE", arg);
    k = mem_strndup(arg, (size_t)(sign - arg));
    if (!k)
        return fail_oom((size_t)(sign - arg));
    st = hull_options_set(c->options, k, sign + 1);
    c->fill_set = c->fill_set || strcmp(k, "fill") == 0;
    mem_free(k);
    return st;
}

static hull_status set_number(double *out, const char *option, const char *arg)
{
    if (!str_to_f64(out, str_of(arg)) || !(*out >= 0))
        return fail(HULL_EINVAL, "--%s %s, want a number >= 0", option, arg);
    return HULL_OK;
}

static hull_status set_count(uint64_t *out, const char *option,
                             const char *arg)
{
    if (!str_to_u64(out, str_of(arg)) || *out == 0 || *out > 1000000000)
        return fail(HULL_EINVAL, "--%s %s, want a count from 1 to 1000000000",
                    option, arg);
    return HULL_OK;
}

static hull_status set_text(const char **out, const char *arg)
{
    *out = arg;
    return HULL_OK;
}

static hull_status set_flag(bool *out)
{
    *out = true;
    return HULL_OK;
}

static hull_status add_size(cli *c, const char *arg)
{
    if (c->n_sizes == SIZES_MAX)
        return fail(HULL_EINVAL, "--size %s is one too many, want %d", arg,
                    SIZES_MAX);
    c->sizes[c->n_sizes++] = arg;
    return HULL_OK;
}

static hull_status add_model(cli *c, const char *arg)
{
    if (c->n_models == SIZES_MAX)
        return fail(HULL_EINVAL, "--model %s is one too many, want %d", arg,
                    SIZES_MAX);
    c->models[c->n_models++] = arg;
    return HULL_OK;
}

static hull_status add_argument(cli *c, const char *arg)
{
    if (c->n_args == c->command->max_args)
        return fail(HULL_EINVAL, "argument '%s' is one too many, want %u", arg,
                    c->command->max_args);
    c->args[c->n_args++] = arg;
    return HULL_OK;
}

/* One row per option: a dispatch, longer than a function should be. */
static hull_status store(cli *c, int key, const char *arg)
{
    switch (key) {
    case KEY_HELP: return set_flag(&c->help);
    case KEY_JSON: return set_flag(&c->json);
    case KEY_OUTPUT: return set_text(&c->output, arg);
    case KEY_INPUT: return set_text(&c->input, arg);
    case KEY_WEIGHTS: return set_text(&c->weights, arg);
    case KEY_CACHE: return set_text(&c->cache_dir, arg);
    case KEY_EXPECT: return set_text(&c->expect, arg);
    case KEY_EXPECT_PREFIX: return set_text(&c->expect_prefix, arg);
    case KEY_SUFFIX: return set_text(&c->suffix, arg);
    case KEY_PASS: return set_text(&c->pass, arg);
    case KEY_KIND: return set_text(&c->kind, arg);
    case KEY_LIMIT: return set_text(&c->limit, arg);
    case KEY_OLDER_THAN: return set_text(&c->older_than, arg);
    case KEY_OTHER_VERSIONS: return set_flag(&c->other_versions);
    case KEY_MODEL: return add_model(c, arg);
    case KEY_ALL: return set_flag(&c->all);
    case KEY_PREBUILD: return set_text(&c->prebuild, arg);
    case KEY_STAGE: return set_text(&c->stage, arg);
    case KEY_NO_CACHE: return set_flag(&c->no_cache);
    case KEY_PREPARED: return set_flag(&c->prepared);
    case KEY_LINK: return set_flag(&c->link);
    case KEY_PRINT_KEY: return set_flag(&c->print_key);
    case KEY_TEXT: return set_flag(&c->text);
    case KEY_GRAPHVIZ: return set_flag(&c->graphviz);
    case KEY_CANONICAL: return set_flag(&c->canonical);
    case KEY_SPLIT: return set_flag(&c->split);
    case KEY_STRIP: return hull_options_set(c->options, "strip_weights", "on");
    case KEY_LEARN: return hull_options_set(c->options, "learn", "on");
    case KEY_MAP: return hull_options_set(c->options, "map", arg);
    case KEY_DICT: return hull_options_set(c->options, "checkpoint_key", arg);
    case KEY_SET: return set_pair(c, arg);
    case KEY_BACKEND: return hull_options_set(c->options, "backends", arg);
    case KEY_ATOL: return set_number(&c->atol, "atol", arg);
    case KEY_RTOL: return set_number(&c->rtol, "rtol", arg);
    case KEY_REPEAT: return set_count(&c->repeat, "repeat", arg);
    case KEY_SIZE: return add_size(c, arg);
    case KEY_THREADS: return hull_options_set(c->options, "threads", arg);
    case KEY_ROUNDS: return set_count(&c->rounds, "rounds", arg);
    case KEY_SECONDS: return set_number(&c->seconds, "seconds", arg);
    case KEY_SESSIONS: return set_text(&c->sessions, arg);
    case KEY_REFIT: return set_text(&c->refit, arg);
    case KEY_PROFILE: return set_flag(&c->profile);
    case KEY_ROOFLINE: return set_flag(&c->roofline);
    case KEY_SAVE_PROFILE: return set_flag(&c->save_profile);
    case KEY_TRACE: return set_text(&c->trace, arg);
    case KEY_SERVE: return set_flag(&c->serve);
    case ARGP_KEY_ARG: return add_argument(c, arg);
    default: return HULL_EINTERNAL;
    }
}

/* ---- what getopt refused ------------------------------------------------- */

static const struct argp_option *find_option(const struct argp *a, str name)
{
    const struct argp_option *o = a->options;

    for (; o && (o->name || o->key); o++)
        if (name.n == 1 ? o->key == name.p[0]
                        : o->name && str_is(name, o->name))
            return o;
    for (const struct argp_child *k = a->children; k && k->argp; k++) {
        o = find_option(k->argp, name);
        if (o)
            return o;
    }
    return NULL;
}

/* The option whose name is at most TYPO_MAX letters away. */
static const char *similar_option(const struct argp *a, str name)
{
    const struct argp_option *o = a->options;
    const char *found = NULL;

    for (; o && (o->name || o->key); o++)
        if (o->name && str_distance(name, str_of(o->name)) <= TYPO_MAX)
            return o->name;
    for (const struct argp_child *k = a->children; !found && k && k->argp; k++)
        found = similar_option(k->argp, name);
    return found;
}

static hull_status unknown_option(const struct argp *a, const char *text,
                                  str name)
{
    const char *similar = name.n > TYPO_MAX ? similar_option(a, name) : NULL;

    if (similar)
        return fail(HULL_EINVAL, "unknown option '%s', did you mean '--%s'?",
                    text, similar);
    return fail(HULL_EINVAL, "unknown option '%s'", text);
}

static hull_status bad_option(const struct argp_state *s)
{
    const char *text = s->next > 0 ? s->argv[s->next - 1] : "";
    const struct argp_option *o;
    str given, name;

    if (text[0] != '-' && s->next < s->argc)
        text = s->argv[s->next];
    name = (str){ text, strlen(text) };
    while (name.n > 0 && name.p[0] == '-') {
        name.p++;
        name.n--;
    }
    name = str_split(name, '=', &given);
    o = find_option(s->root_argp, name);
    if (!o)
        return unknown_option(s->root_argp, text, name);
    if (o->arg)
        return fail(HULL_EINVAL, "option '%s' needs a value, %s", text, o->arg);
    return fail(HULL_EINVAL, "option '%s' takes no value", text);
}

/* ---- argp ---------------------------------------------------------------- */

/* argp hands its parsers nothing but this. */
typedef struct parse {
    cli *c;
    hull_status st;
} parse;

static error_t shared_key(int key, char *arg, struct argp_state *s)
{
    parse *p = s->input;

    if (key >= ARGP_KEY_END)
        return ARGP_ERR_UNKNOWN; /* argp's own events */
    p->st = store(p->c, key, arg);
    return p->st == HULL_OK ? 0 : EINVAL;
}

static error_t root_key(int key, char *arg, struct argp_state *s)
{
    parse *p = s->input;

    if (key == ARGP_KEY_INIT) {
        for (uint32_t i = 0; s->root_argp->children[i].argp; i++)
            s->child_inputs[i] = s->input;
        return 0;
    }
    if (key == ARGP_KEY_ERROR && p->st == HULL_OK)
        p->st = bad_option(s);
    return shared_key(key, arg, s);
}

typedef struct parser {
    struct argp shared[5], root;
    struct argp_child children[6];
} parser;

static void parser_init(parser *p, const command *cmd)
{
    uint32_t n = 0;

    memset(p, 0, sizeof(*p));
    if (cmd->shared & SHARED_SAVE)
        p->shared[n++].options = save_options;
    if (cmd->shared & SHARED_NAMES)
        p->shared[n++].options = names_options;
    if (cmd->shared & SHARED_SET)
        p->shared[n++].options = set_options;
    if (cmd->shared & SHARED_CACHE)
        p->shared[n++].options = cache_options;
    p->shared[n++].options = general_options;
    for (uint32_t i = 0; i < n; i++) {
        p->shared[i].parser = shared_key;
        p->children[i] = (struct argp_child){ &p->shared[i], 0, NULL, 0 };
    }
    p->root = (struct argp){ .options = cmd->options, .parser = root_key,
                             .args_doc = cmd->arguments, .doc = cmd->doc,
                             .children = p->children };
}

void args_help(const command *cmd, FILE *to)
{
    parser p;
    char name[64];

    parser_init(&p, cmd);
    snprintf(name, sizeof(name), "hull %s", cmd->name);
    argp_help(&p.root, to,
              ARGP_HELP_SHORT_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC, name);
}

hull_status args_parse(cli *c, const command *cmd, int argc, char **argv)
{
    parser p;
    parse state = { c, HULL_OK };

    parser_init(&p, cmd);
    c->command = cmd;
    c->usage = true;
    if (argp_parse(&p.root, argc, argv, ARGP_NO_ERRS | ARGP_NO_HELP |
                   ARGP_NO_EXIT, NULL, &state) != 0 &&
        state.st == HULL_OK)
        state.st = fail(HULL_EINVAL, "the command line cannot be understood");
    if (c->help)
        return HULL_OK;
    TRY(note(state.st, "%s", cmd->name));
    TRY(note(backends_check(option_str(c->options, OPT_backends)), "%s",
             cmd->name));
    c->strip = option_on(c->options, OPT_strip_weights);
    if (c->n_args < cmd->min_args)
        return fail(HULL_EINVAL, "%s: want %s", cmd->name, cmd->arguments);
    if (c->no_cache && c->cache_dir)
        return fail(HULL_EINVAL, "%s: --cache and --no-cache exclude each "
                    "other", cmd->name);
    if (c->strip && (c->prepared || c->link))
        return fail(HULL_EINVAL, "%s: --strip-weights excludes --prepared and "
                    "--link", cmd->name);
    c->usage = false;
    return HULL_OK;
}
