/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: 2026 The Hull authors
 *
 * isa.c - what the CPU can do. A level counts when the CPU has all of it and
 * the system saves its registers (the compiler's cpu_supports asks XGETBV).
 */
#include "backend/cpu/cpu.h"

#include <stdlib.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

static const char *const names[CPU_LEVELS] = {"none", "avx2", "avx512"};

const char *cpu_level_name(cpu_level l)
{
    return l < CPU_LEVELS ? names[l] : "?";
}

bool cpu_runs(const cpu_features *f, cpu_level l)
{
    return l == CPU_VNNI ? f->vnni : l == CPU_BF16 ? f->bf16 : l <= f->level;
}

#if defined(__x86_64__)
/* Not every compiler's cpu_supports knows f16c and AVX512_BF16. */
static bool has_f16c(void)
{
    unsigned a, b, c, d;

    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C) != 0;
}

static bool has_bf16(void)
{
    unsigned a, b, c, d;

    return __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & 1u << 5) != 0;
}
#endif

static cpu_level best_level(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
        !has_f16c())
        return CPU_ANY;
    if (!__builtin_cpu_supports("avx512f") ||
        !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512dq") ||
        !__builtin_cpu_supports("avx512vl"))
        return CPU_AVX2;
    return CPU_AVX512;
#else
    return CPU_ANY;
#endif
}

/* One line of printable bytes. */
static void read_brand(char out[64])
{
    size_t n = 0;
#if defined(__x86_64__)
    unsigned words[12] = {0};
    const char *p = (const char *)words;

    for (unsigned i = 0; i < 3; i++)
        if (!__get_cpuid(0x80000002u + i, &words[4 * i], &words[4 * i + 1],
                         &words[4 * i + 2], &words[4 * i + 3]))
            break;
    for (size_t i = 0; i < sizeof words && p[i] != '\0'; i++)
        if (p[i] > ' ' || (p[i] == ' ' && n > 0 && out[n - 1] != ' '))
            out[n++] = p[i];
    while (n > 0 && out[n - 1] == ' ')
        n--;
#endif
    out[n] = '\0';
    if (n == 0)
        snprintf(out, 64, "unknown");
}

static uint64_t cache_bytes(int name, uint64_t otherwise)
{
    long v = sysconf(name);

    return v > 0 ? (uint64_t)v : otherwise;
}

static bool level_of(cpu_level *out, str word)
{
    *out = CPU_ANY;
    while (*out < CPU_LEVELS && !str_is(word, names[*out]))
        ++*out;
    return *out < CPU_LEVELS;
}

static hull_status forced_level(cpu_level *level)
{
    const char *word = getenv("HULL_CPU_ISA");
    cpu_level want;

    if (word == NULL || word[0] == '\0')
        return HULL_OK;
    if (!level_of(&want, str_of(word)))
        return fail(HULL_EINVAL, "HULL_CPU_ISA is '%s', want none, avx2 or "
                    "avx512", word);
    if (want > *level)
        return fail(HULL_EDEVICE, "HULL_CPU_ISA is '%s', this CPU has '%s'",
                    word, names[*level]);
    *level = want;
    return HULL_OK;
}

hull_status cpu_features_set(cpu_features *f, str target)
{
    str rest;
    bool good = level_of(&f->level, str_split(target, '+', &rest));

    f->vnni = f->bf16 = false;
    while (good && rest.n > 0) {
        str word = str_split(rest, '+', &rest);
        bool *part = str_is(word, "vnni") ? &f->vnni
                     : str_is(word, "bf16") ? &f->bf16 : NULL;

        good = f->level == CPU_AVX512 && part != NULL && !*part;
        if (good)
            *part = true;
    }
    if (!good || str_ends(target, "+"))
        return fail(HULL_EINVAL, "target is '%.*s', want none, avx2, avx512, "
                    "avx512+vnni, avx512+bf16 or avx512+vnni+bf16",
                    STR_ARG(target));
    return HULL_OK;
}

hull_status cpu_features_get(cpu_features *out)
{
    *out = (cpu_features){.level = best_level()};
    TRY(forced_level(&out->level));
#if defined(__x86_64__)
    if (out->level == CPU_AVX512) {
        out->vnni = __builtin_cpu_supports("avx512vnni");
        out->bf16 = has_bf16();
    }
#endif
    read_brand(out->brand);
    out->l1 = cache_bytes(_SC_LEVEL1_DCACHE_SIZE, 32 << 10);
    out->l2 = cache_bytes(_SC_LEVEL2_CACHE_SIZE, 512 << 10);
    out->l3 = cache_bytes(_SC_LEVEL3_CACHE_SIZE, 8 << 20);
    return HULL_OK;
}
