/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * main.c - `hull COMMAND ...`: the table of commands, and the three that only
 * print: help, version, options.
 */
#include <inttypes.h>
#include <string.h>

#include "cli/cli.h"

static const command *const commands[] = {
    &command_compile, &command_refit, &command_run,     &command_bench,
    &command_inspect,
    &command_explain, &command_cache, &command_opt,     &command_options,
    &command_version, &command_help,
};

static const command *find_command(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(commands); i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

static hull_status no_command(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(commands); i++)
        if (str_distance(str_of(name), str_of(commands[i]->name)) <= TYPO_MAX)
            return fail(HULL_EINVAL, "there is no command '%s', did you mean "
                        "'%s'?", name, commands[i]->name);
    return fail(HULL_EINVAL, "there is no command '%s'; `hull help` lists "
                "them", name);
}

/* ---- hull help ----------------------------------------------------------- */

static void print_help(FILE *to)
{
    fprintf(to, "Usage: hull COMMAND [ARGUMENT...]\n"
            "Compile a model's architecture once, pour any checkpoint into "
            "it.\n\n");
    for (size_t i = 0; i < COUNT_OF(commands); i++)
        fprintf(to, "  %-9s%s\n", commands[i]->name, commands[i]->summary);
    fprintf(to, "\n`hull COMMAND --help` tells more; every command takes "
            "--json.\n");
}

static hull_status list_commands(cli *c)
{
    json_t *list = json_object();

    TRY(answer(c->result, "commands", list));
    for (size_t i = 0; i < COUNT_OF(commands); i++)
        TRY(answer(list, commands[i]->name,
                   json_string(commands[i]->summary)));
    return HULL_OK;
}

static hull_status run_help(cli *c)
{
    const command *cmd = NULL;

    if (c->n_args > 0) {
        cmd = find_command(c->args[0]);
        if (!cmd)
            return no_command(c->args[0]);
    }
    if (c->json)
        return list_commands(c);
    if (cmd)
        args_help(cmd, stdout);
    else
        print_help(stdout);
    return HULL_OK;
}

const command command_help = {
    .name = "help", .arguments = "[COMMAND]", .max_args = 1,
    .summary = "list the commands, or explain one",
    .doc = "Lists the commands, or prints the help of one.\v" EXIT_DOC,
    .run = run_help,
};

/* ---- hull version -------------------------------------------------------- */

static hull_status run_version(cli *c)
{
    if (c->json)
        return answer(c->result, "version", json_string(hull_version()));
    printf("hull %s\n", hull_version());
    return HULL_OK;
}

const command command_version = {
    .name = "version", .arguments = "", .summary = "print the version",
    .doc = "Prints the version of the program and its library.\v" EXIT_DOC,
    .run = run_version,
};

/* ---- hull options -------------------------------------------------------- */

static hull_status add_option(json_t *list, const hull_option_info *o)
{
    return answer_item(list, json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}",
                                       "key", o->key, "type", o->type,
                                       "default", o->default_value, "bounds",
                                       o->bounds, "effect", o->effect, "help",
                                       o->help));
}

static hull_status run_options(cli *c)
{
    hull_option_info o;
    json_t *list = json_array();

    TRY(answer(c->result, "options", list));
    if (!c->json)
        printf("%-16s%-8s%-8s%-9s%s\n", "key", "type", "effect", "default",
               "meaning");
    for (size_t i = 0; hull_options_describe(i, &o) == HULL_OK; i++) {
        if (c->json)
            TRY(add_option(list, &o));
        else
            printf("%-16s%-8s%-8s%-9s%s%s%s%s\n", o.key, o.type, o.effect,
                   o.default_value[0] ? o.default_value : "-", o.help,
                   o.bounds[0] ? " (" : "", o.bounds, o.bounds[0] ? ")" : "");
    }
    return HULL_OK;
}

const command command_options = {
    .name = "options", .arguments = "",
    .summary = "list the options that --set understands",
    .doc = "Lists the options that --set KEY=VALUE understands. The effect "
           "says how an option meets the cache key: CODE is part of it, PLAN "
           "acts through what the key digests, RUN never changes what is "
           "compiled.\v" EXIT_DOC,
    .run = run_options,
};

/* ---- main ---------------------------------------------------------------- */

/* The first JSON object comes from json_parse, which decides once which memory
 * jansson uses; every later one agrees with it. */
static hull_status start(cli *c, int argc, char **argv)
{
    memset(c, 0, sizeof(*c));
    c->atol = 1e-4;
    c->rtol = 1e-3;
    c->repeat = 1;
    c->rounds = 5;
    c->seconds = 0.5;
    c->suffix = "";
    c->expect_prefix = "out:";
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        c->json = c->json || strcmp(argv[i], "--json") == 0;
    TRY(json_parse(&c->result, "{}", 2, "the answer"));
    return hull_options_new(&c->options);
}

static hull_status dispatch(cli *c, int argc, char **argv)
{
    const command *cmd;

    c->usage = true;
    if (argc < 2)
        return fail(HULL_EINVAL, "no command; `hull help` lists them");
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        cmd = &command_help;
    else if (strcmp(argv[1], "--version") == 0)
        cmd = &command_version;
    else
        cmd = find_command(argv[1]);
    if (!cmd)
        return no_command(argv[1]);
    TRY(args_parse(c, cmd, argc - 1, argv + 1));
    if (c->help) {
        args_help(cmd, stdout);
        c->json = false;
        return HULL_OK;
    }
    return cmd->run(c);
}

int main(int argc, char **argv)
{
    cli c;
    hull_status st = start(&c, argc, argv);
    int code;

    if (st == HULL_OK)
        st = dispatch(&c, argc, argv);
    code = answer_end(&c, st);
    json_decref(c.result);
    hull_options_free(c.options);
    return code;
}
