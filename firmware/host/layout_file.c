#include "layout_file.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    enum channel_kind kind;
} KINDS[] = {
    {"valve", VALVE}, {"motor", MOTOR}, {"wheel", WHEEL},       {"grip", GRIP}, {"encoder", ENCODER},
    {"rate", RATE},   {"gauge", GAUGE}, {"pressure", PRESSURE}, {"gyro", GYRO},
    {"accelerometer", ACCELEROMETER},
};

static uint8_t kind_of(const char *word)
{
    for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++)
        if (strcmp(word, KINDS[i].name) == 0)
            return (uint8_t)KINDS[i].kind;
    return 0;
}

/* The sentence that is wrong with a line, or NULL. */
static const char *read_line(char *line, struct layout *layout)
{
    char kind[NAME_BYTES], name[NAME_BYTES], unit[UNIT_BYTES], rest[2];
    struct channel channel = {0};
    line[strcspn(line, "#\n")] = 0;
    if (sscanf(line, "%1s", rest) != 1)
        return NULL;
    if (sscanf(line, "board %15s %1s", name, rest) == 1) {
        strcpy(layout->name, name);
        return NULL;
    }
    int low, high;
    if (sscanf(line, "%15s %15s %7s %f %d %d %1s", kind, name, unit, &channel.scale, &low, &high, rest) != 6)
        return "expected `board NAME` or `KIND NAME UNIT SCALE LOW HIGH`";
    channel.kind = kind_of(kind);
    if (channel.kind == 0)
        return "expected valve, motor, wheel, grip, encoder, rate, gauge, pressure, gyro or accelerometer";
    if (low > high || (channel.kind == VALVE && (low < 0 || high > UINT16_MAX)))
        return "expected LOW <= HIGH, of valves within 0 and 65535";
    if (layout->channels == MAX_CHANNELS)
        return "too many channels for one frame";
    strcpy(channel.name, name);
    for (size_t i = 0; unit[i]; i++)
        channel.unit[i] = (char)(unit[i] == '_' ? ' ' : unit[i]);
    channel.low = low;
    channel.high = high;
    layout->channel[layout->channels++] = channel;
    return NULL;
}

int layout_read(const char *path, struct layout *layout)
{
    char line[256];
    int number = 0;
    const char *wrong = NULL;
    FILE *file = fopen(path, "r");
    if (!file) {
        fprintf(stderr, "granite-board: %s: it can't be read\n", path);
        return -1;
    }
    memset(layout, 0, sizeof *layout);
    while (!wrong && fgets(line, sizeof line, file)) {
        number++;
        wrong = read_line(line, layout);
    }
    fclose(file);
    if (!wrong && (!layout->name[0] || !layout->channels))
        wrong = "expected `board NAME` and at least one channel";
    if (wrong)
        fprintf(stderr, "granite-board: %s, line %d: %s\n", path, number, wrong);
    return wrong ? -1 : 0;
}
