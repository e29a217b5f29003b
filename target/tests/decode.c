#include "decode.h"

#include <string.h>

struct shape {
    const char *name;
    const char *fields;
    bool timed;
    bool known;
};

#define EVENT(id, name, timed, fields) [id] = {#name, fields, timed, true},
static const struct shape shapes[128] = {
#include "event_table.h"
};
#undef EVENT

const char *event_name(uint8_t id) {
    const char *const name = shapes[id & 0x7f].name;
    return name != NULL && id < 0x80 ? name : "?";
}

/* Payload length, or SIZE_MAX. */
static size_t uncobs(const uint8_t *frame, size_t len, uint8_t *out) {
    size_t n = 0;
    size_t i = 0;
    while (i < len) {
        const uint8_t code = frame[i];
        if (code == 0 || i + code > len) {
            return SIZE_MAX;
        }
        memcpy(out + n, frame + i + 1, (size_t)code - 1);
        n += (size_t)code - 1;
        i += code;
        if (code != 0xff && i < len) {
            out[n++] = 0;
        }
    }
    return n;
}

static bool varint(const uint8_t *payload, size_t len, size_t *at, unsigned int bits, uint64_t *value) {
    uint64_t v = 0;
    unsigned int shift = 0;
    while (*at < len && shift < bits) {
        const uint8_t byte = payload[(*at)++];
        const uint64_t part = byte & 0x7f;
        if (bits - shift < 7 && part >> (bits - shift) != 0) {
            return false;
        }
        v |= part << shift;
        if (byte < 0x80) {
            *value = v;
            return true;
        }
        shift += 7;
    }
    return false;
}

static unsigned int core_bits(uint32_t cores) {
    unsigned int bits = 0;
    while ((UINT32_C(1) << bits) < cores) {
        bits++;
    }
    return bits;
}

static bool decode(struct decoder *d, const uint8_t *payload, size_t len, struct event *e) {
    memset(e, 0, sizeof *e);
    if (len == 0) {
        return false;
    }
    const bool delta = payload[0] >= 0x80;
    const struct shape *const shape = &shapes[payload[0] & 0x7f];
    size_t at = 1;
    e->id = payload[0] & 0x7f;
    if (!shape->known) {
        return false;
    }
    if (delta) {
        uint64_t v;
        if (!d->synced || !shape->timed || !varint(payload, len, &at, 32, &v) || v == 0) {
            return false;
        }
        v--;
        if ((v & 3) != (d->seq & 3)) {
            d->lost_frames += (uint32_t)((v - d->seq) & 3);
            d->seq += (uint32_t)((v - d->seq) & 3);
        }
        v >>= 2;
        d->core = (uint32_t)(v & ((1u << core_bits(d->cores)) - 1u));
        d->time += v >> core_bits(d->cores);
    } else if (shape->timed && !varint(payload, len, &at, 64, &d->time)) {
        return false;
    }
    e->time = d->time;
    for (const char *f = shape->fields; *f != '\0'; f++) {
        uint64_t v = 0;
        if (*f == 'T' || *f == 'A') {
            e->text_len = len - at;
            memcpy(e->text, payload + at, e->text_len);
            at = len;
            continue;
        }
        if (*f == 'B') {
            if (at >= len) {
                return false;
            }
            v = payload[at++];
        } else if (!varint(payload, len, &at, *f == 'U' ? 32 : 64, &v)) {
            return false;
        }
        if (*f == 'S') {
            e->value = v == 1 ? INT64_MIN : (v & 1) != 0 ? -(int64_t)(v >> 1) : (int64_t)(v >> 1);
        } else {
            e->field[e->fields++] = v;
        }
    }
    if (e->id == 0x0c) {
        d->syncs++;
        if (e->field[0] != 0x54 || e->field[1] != 1) {
            return false;
        }
        if ((e->field[2] & 2) != 0 || !d->synced) {
            d->seq = (uint32_t)e->field[5];
        }
        d->lost_frames += (uint32_t)e->field[5] - d->seq;
        d->synced = true;
        d->cores = (uint32_t)e->field[3];
        d->core = (uint32_t)e->field[4];
        d->seq = (uint32_t)e->field[5];
        d->dropped = (uint32_t)e->field[6];
        d->time = e->field[9];
        e->time = d->time;
    } else if (e->id == 0x00) {
        d->core = (uint32_t)e->field[0];
    } else if (e->id == 0x01) {
        d->dropped = (uint32_t)e->field[0];
    }
    e->core = d->core;
    d->seq++;
    return at == len;
}

bool decode_next(struct decoder *d, const uint8_t *data, size_t len, size_t *at, struct event *event) {
    const uint8_t *const end = *at < len ? memchr(data + *at, 0, len - *at) : NULL;
    if (end == NULL) {
        return false;
    }
    static uint8_t payload[4096];
    const size_t frame_len = (size_t)(end - (data + *at));
    const size_t n = frame_len > sizeof payload ? SIZE_MAX : uncobs(data + *at, frame_len, payload);
    *at += frame_len + 1;
    if (n == SIZE_MAX || !decode(d, payload, n, event)) {
        d->malformed++;
        event->id = 0xff;
    }
    return true;
}
