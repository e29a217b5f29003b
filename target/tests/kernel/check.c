/* Holds a capture of the application against the application's own log: check capture.bin log.txt [all|switches|losses]
 *
 * The application numbers its notes with a value marker in the trace. At each one, what the trace says so far must be what the
 * note says. With `all`, every event that the library can send must occur; with `switches`, there are no notes, and only switches are
 * looked at; with `losses`, events may be lost, and only who runs is. A switch to the task that runs already does not count. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../decode.h"

#define IDS 256
#define UNKNOWN UINT64_MAX

static char task_name[IDS][32], queue_name[IDS][32], stream_name[IDS][32], group_name[IDS][32];
static uint64_t priority[IDS], base_priority[IDS], level[IDS], stream_level[IDS], bits[IDS], holder[IDS];
static uint64_t kind[IDS];
static const char *waits_for[IDS];
static uint64_t current = UNKNOWN;
static unsigned int seen[128];
static unsigned int checked, unknown, wrong, waits;
static uint64_t last_time;
static bool is_superset;
/* Whether events may be lost. Then only who runs is looked at, which has to be known again soon. */
static bool may_lose;
static unsigned int since_loss;

static uint8_t *read_file(const char *path, size_t *len) {
    FILE *const file = fopen(path, "rb");
    static const size_t most = 1u << 24;
    uint8_t *const data = malloc(most);
    if (file == NULL || data == NULL) {
        perror(path);
        exit(2);
    }
    *len = fread(data, 1, most, file);
    fclose(file);
    return data;
}

static unsigned int id_of(char names[IDS][32], const char *name) {
    for (unsigned int i = 0; i < IDS; i++) {
        if (strcmp(names[i], name) == 0) {
            return i;
        }
    }
    return 0;
}

static void compare(const char *line, uint64_t has, uint64_t says) {
    if (has == UNKNOWN) {
        unknown++;
    } else {
        checked++;
        if (has != says) {
            wrong++;
            printf("the log says `%s`, the trace %llu at %llu\n", line, (unsigned long long)has, (unsigned long long)last_time);
        }
    }
}

static void compare_task(const char *line, uint64_t has, const char *name) {
    if (has == UNKNOWN) {
        unknown++;
    } else {
        checked++;
        const char *const is = has == 0 ? "-" : task_name[has % IDS];
        if (strcmp(is, name) != 0) {
            wrong++;
            printf("the log says `%s`, the trace `%s` at %llu\n", line, is, (unsigned long long)last_time);
        }
    }
}

static void check_note(const char *line) {
    char what[16] = "", name[32] = "", detail[48] = "";
    (void)sscanf(line, "%15s %31s %47s", what, name, detail);
    const uint64_t number = strtoull(detail, NULL, 10);
    /* Names get lost too. */
    if (may_lose && (strcmp(what, "run") != 0 || current == UNKNOWN || task_name[current % IDS][0] == '\0')) {
        unknown++;
        if (current == UNKNOWN && since_loss > 4) {
            wrong++;
            printf("%u events after a loss nobody is known to run, at %llu\n", since_loss, (unsigned long long)last_time);
        }
    } else if (strcmp(what, "run") == 0) {
        compare_task(line, current, name);
        if (current != UNKNOWN) {
            waits_for[current % IDS] = NULL;
        }
    } else if (strcmp(what, "level") == 0) {
        compare(line, level[id_of(queue_name, name)], number);
    } else if (strcmp(what, "hold") == 0) {
        compare_task(line, holder[id_of(queue_name, name)], detail);
    } else if (strcmp(what, "stream") == 0) {
        compare(line, stream_level[id_of(stream_name, name)], number);
    } else if (strcmp(what, "bits") == 0) {
        compare(line, bits[id_of(group_name, name)], number);
    } else if (strcmp(what, "priority") == 0) {
        compare(line, priority[id_of(task_name, name)], number);
    } else if (strcmp(what, "wait") == 0) {
        compare_task(line, current, name);
        /* The event's name lives as long as the log does. */
        waits_for[id_of(task_name, name)] = strstr(line, "curtask");
    } else {
        wrong++;
        printf("unknown note `%s`\n", line);
    }
}

static void note_wait(const struct event *e) {
    if (may_lose) {
        return;
    }
    /* The application waits for ever, or for some ticks. */
    const uint64_t ticks = e->field[e->fields - 1];
    if (e->id != 0x5a && ticks > 1000 && ticks != UINT32_MAX) {
        wrong++;
        printf("%s for %llu ticks at %llu\n", event_name(e->id), (unsigned long long)ticks, (unsigned long long)e->time);
    }
    if (current != UNKNOWN && waits_for[current % IDS] != NULL) {
        waits++;
        if (strcmp(waits_for[current % IDS], event_name(e->id)) != 0) {
            wrong++;
            printf("%s waits: the log says `%s`, the trace `%s`\n", task_name[current % IDS], waits_for[current % IDS],
                   event_name(e->id));
        }
        waits_for[current % IDS] = NULL;
    }
}

/* Of an object that was deleted nothing is known any more: what a hook reads of it then is the memory of something else. */
static void check_deleted(const struct event *e) {
    static bool deleted[2][IDS];
    const unsigned int a = (unsigned int)(e->field[0] % IDS);
    const bool is_timer = e->id >= 0x48 && e->id <= 0x4e && e->id != 0x49;
    const bool is_group = (e->id >= 0x38 && e->id <= 0x41) && e->id != 0x39;
    if (!is_timer && !is_group) {
        return;
    }
    if (e->field[0] >= IDS || deleted[is_timer][a]) {
        wrong++;
        printf("%s of %llu, which does not live, at %llu\n", event_name(e->id), (unsigned long long)e->field[0],
               (unsigned long long)e->time);
    }
    deleted[is_timer][a] |= e->id == 0x40 || (e->id == 0x4b && e->field[1] == 5);
}

static void set_name(char names[IDS][32], const struct event *e) {
    memcpy(names[e->field[0] % IDS], e->text, e->text_len < 31 ? e->text_len + 1 : 31);
}

static void apply(const struct event *e) {
    const unsigned int a = (unsigned int)(e->field[0] % IDS);
    const bool mutex = kind[a] == 3 || kind[a] == 4;
    switch (e->id) {
    case 0x5f: set_name(task_name, e); break;
    case 0x64: set_name(queue_name, e); break;
    case 0x21: set_name(stream_name, e); break;
    case 0x39: set_name(group_name, e); break;
    case 0x65: kind[a] = e->field[1]; break;
    case 0x54: case 0x16: current = a; break;
    case 0x10:
        if (e->field[1] == 0 && a != current) {
            /* Who runs was told before. */
            wrong++;
            printf("task_state: %s runs, at %llu\n", task_name[a], (unsigned long long)e->time);
        }
        priority[a] = e->field[2];
        break;
    case 0x15: base_priority[a] = e->field[1]; break;
    case 0x5b: base_priority[a] = priority[a] = e->field[1]; break;
    case 0x5c: case 0x5d:
        /* The plain format does not say what a task returns to. */
        if (e->id == 0x5d && is_superset && !may_lose && base_priority[a] != UNKNOWN && base_priority[a] != e->field[1]) {
            wrong++;
            printf("%s returns to %llu, not to %llu, at %llu\n", task_name[a], (unsigned long long)e->field[1],
                   (unsigned long long)base_priority[a], (unsigned long long)e->time);
        }
        priority[a] = e->field[1]; break;
    case 0x63: level[a] = 0; holder[a] = 0; break;
    case 0x11: holder[a] = e->field[1]; break;
    case 0x70:
        level[a] = e->field[1];
        if (level[a] == 1) {
            holder[a] = 0;
        }
        break;
    case 0x66: case 0x67: case 0x68: case 0x69: case 0x6a: case 0x6b:
        level[a] = e->field[1];
        if (mutex) {
            holder[a] = level[a] == 0 ? current : 0;
        }
        break;
    case 0x6c: level[a] = 0; break;
    case 0x0e:
        if (a != 0) {
            wrong++;
            printf("%u objects found no place in the library's table\n", a);
        }
        break;
    case 0x20: stream_level[a] = 0; break;
    case 0x22: case 0x23: case 0x24: case 0x25: stream_level[a] = e->field[2]; break;
    case 0x26: stream_level[a] = 0; break;
    case 0x2a: stream_level[a] = e->field[1]; break;
    case 0x38: bits[a] = 0; break;
    case 0x3a: case 0x3c: bits[a] = e->field[2]; break;
    case 0x3f: case 0x41: bits[a] = e->field[1]; break;
    case 0x28: case 0x29: case 0x32: case 0x3e: case 0x59: case 0x5a: case 0x6d: case 0x6e: case 0x6f: note_wait(e); break;
    default: break;
    }
}

/* Ids count from 1 and are never given again, so what an id is called, or its kind, never changes: what comes again is the same. */
static void check_name(const struct event *e) {
    static struct {
        bool known;
        uint64_t kind;
        char text[64];
    } names[128][IDS];
    const unsigned int a = (unsigned int)(e->field[0] % IDS);
    const uint64_t is_kind = e->id == 0x65 ? e->field[1] : 0;
    const char *const text = e->id == 0x65 ? "" : (const char *)e->text;
    if (e->field[0] == 0 || e->field[0] >= IDS ||
        (names[e->id][a].known && (names[e->id][a].kind != is_kind || strncmp(names[e->id][a].text, text, 63) != 0))) {
        wrong++;
        printf("%s of %llu: `%s`, %llu; before it was `%s`, %llu\n", event_name(e->id), (unsigned long long)e->field[0], text,
               (unsigned long long)is_kind, names[e->id][a].text, (unsigned long long)names[e->id][a].kind);
    }
    names[e->id][a].known = true;
    names[e->id][a].kind = is_kind;
    (void)snprintf(names[e->id][a].text, sizeof names[e->id][a].text, "%.63s", text);
}

/* Names hold for the whole recording, wherever they are. */
static void gather_names(const uint8_t *data, size_t len) {
    static struct event e;
    struct decoder d = {0};
    size_t at = 0;
    while (decode_next(&d, data, len, &at, &e)) {
        if (e.id == 0x5f || e.id == 0x64 || e.id == 0x21 || e.id == 0x39 || e.id == 0x65) {
            check_name(&e);
            apply(&e);
        }
    }
}

static unsigned int missing_events(void) {
    /* Not from this application: other cores, the plain format, losses, traced functions, log messages, and calls it does not make. */
    static const uint8_t spared[] = {0x00, 0x01, 0x02, 0x0d, 0x0f, 0x15, 0x16, 0x25, 0x28, 0x3d, 0x4d, 0x57, 0x69, 0x6b, 0x6e,
                                     0x71, 0x72, 0x73, 0x74};
    unsigned int missing = 0;
    for (unsigned int id = 0; id < 128; id++) {
        if (seen[id] == 0 && strcmp(event_name((uint8_t)id), "?") != 0 && memchr(spared, (int)id, sizeof spared) == NULL) {
            printf("no %s (0x%02x) in the capture\n", event_name((uint8_t)id), id);
            missing++;
        }
    }
    return missing;
}

int main(int argc, char **argv) {
    if (argc < 3) {
        return 2;
    }
    size_t len, log_len;
    const uint8_t *const data = read_file(argv[1], &len);
    char *const log = (char *)read_file(argv[2], &log_len);
    static char *lines[65536];
    unsigned int count = 0;
    log[log_len] = '\0';
    for (char *line = strtok(log, "\n"); line != NULL && count < 65536; line = strtok(NULL, "\n")) {
        lines[count++] = line;
    }
    for (unsigned int i = 0; i < IDS; i++) {
        priority[i] = base_priority[i] = level[i] = stream_level[i] = bits[i] = holder[i] = UNKNOWN;
    }
    gather_names(data, len);
    static struct event e;
    struct decoder d = {0};
    size_t at = 0;
    may_lose = argc > 3 && strcmp(argv[3], "losses") == 0;
    uint32_t dropped_before = 0;
    unsigned int events = 0, timed = 0, backwards = 0, switches = 0, repeats = 0;
    uint64_t switched_to = UNKNOWN;
    while (decode_next(&d, data, len, &at, &e)) {
        events++;
        if (e.id > 127) {
            continue;
        }
        seen[e.id]++;
        is_superset = d.syncs > 0;
        since_loss++;
        if (d.dropped != dropped_before) {
            dropped_before = d.dropped;
            current = UNKNOWN;
            since_loss = 0;
        }
        if (!may_lose) {
            check_deleted(&e);
        }
        if (e.id == 0x54) {
            switches++;
            /* The plain format has no other event to say who runs. */
            repeats += e.field[0] == switched_to && d.syncs > 0;
            switched_to = e.field[0];
        }
        if (e.time != 0) {
            timed++;
            backwards += e.time < last_time;
            last_time = e.time;
        }
        if (e.id == 0x0b && e.field[0] == 99 && e.value >= 0 && e.value < count) {
            check_note(lines[e.value]);
        } else {
            apply(&e);
        }
    }
    printf("%u events, %.2f bytes each; %u notes and %u waits compared, %u with unknown state; %u wrong, %u malformed, %u lost, "
           "%u dropped, %u bytes left\n",
           events, (double)len / events, checked, waits, unknown, wrong, d.malformed, d.lost_frames, d.dropped,
           (unsigned int)(len - at));
    const bool only_switches = argc > 3 && strcmp(argv[3], "switches") == 0;
    const unsigned int missing = argc > 3 && !only_switches && !may_lose ? missing_events() : 0;
    if (repeats > 0 || only_switches) {
        printf("%u switches, %u of them to the task that ran already\n", switches, repeats);
    }
    return wrong + d.malformed + d.lost_frames + missing + backwards + (may_lose ? d.dropped == 0 : d.dropped + repeats) == 0 &&
                   at == len && (only_switches ? switches > 100 : checked > 100)
               ? 0
               : 1;
}
