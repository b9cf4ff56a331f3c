/* The board as a program: it speaks on a pseudo-terminal, and its pins are a socket. docs/firmware.md says how to use it. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "../boards/free_flyer.h"
#include "../core/world.h"
#include "layout_file.h"

struct options {
    const char *port, *world, *layout;
    int priority, fresh_ms;
    bool with_parent;
};

static volatile sig_atomic_t ended;

static void end(int signal)
{
    (void)signal;
    ended = 1;
}

static void refuse(const char *what, const char *path)
{
    fprintf(stderr, "granite-board: %s %s: %s\n", what, path, strerror(errno));
    exit(2);
}

/* The monotonic clock: other processes on this computer read the same one. */
static uint64_t clock_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u;
}

/* A pseudo-terminal without any translation of bytes, under a name of its own; the board's end of it. */
static int open_port(const char *path)
{
    int board = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
    if (board < 0 || grantpt(board) || unlockpt(board))
        refuse("no pseudo-terminal for", path);
    /* Held open, so that the board's end does not hang up whenever the host closes its own. */
    int other = open(ptsname(board), O_RDWR | O_NOCTTY);
    struct termios raw;
    if (other < 0 || tcgetattr(other, &raw))
        refuse("no pseudo-terminal for", path);
    cfmakeraw(&raw);
    tcsetattr(other, TCSANOW, &raw);
    unlink(path);
    if (symlink(ptsname(board), path))
        refuse("can't make", path);
    return board;
}

static int listen_at(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int server = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (strlen(path) >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        refuse("can't make", path);
    }
    strcpy(address.sun_path, path);
    unlink(path);
    if (server < 0 || bind(server, (struct sockaddr *)&address, sizeof address) || listen(server, 1))
        refuse("can't make", path);
    return server;
}

static struct options parse(int n, char **words)
{
    struct options options = {0};
    bool is_known = true;
    for (int i = 1; i < n; i++) {
        const char *value = i + 1 < n ? words[i + 1] : NULL;
        if (strcmp(words[i], "--with-parent") == 0) {
            options.with_parent = true;
            continue;
        }
        if (value && strcmp(words[i], "--port") == 0)
            options.port = value;
        else if (value && strcmp(words[i], "--world") == 0)
            options.world = value;
        else if (value && strcmp(words[i], "--layout") == 0)
            options.layout = value;
        else if (value && strcmp(words[i], "--priority") == 0)
            options.priority = atoi(value);
        else if (value && strcmp(words[i], "--fresh-ms") == 0)
            options.fresh_ms = atoi(value);
        else
            is_known = false;
        i++;
    }
    if (!is_known || !options.port || !options.world) {
        fprintf(stderr, "usage: granite-board --port LINK --world SOCKET [--layout FILE] [--priority N] [--fresh-ms N] "
                        "[--with-parent]\n");
        exit(2);
    }
    return options;
}

static void prepare(const struct options *options)
{
    struct sigaction action = {.sa_handler = end};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    if (options->with_parent)
        prctl(PR_SET_PDEATHSIG, SIGTERM);
    struct sched_param parameter = {.sched_priority = options->priority};
    if (options->priority > 0) {
        mlockall(MCL_CURRENT | MCL_FUTURE);
        if (sched_setscheduler(0, SCHED_FIFO, &parameter))
            fprintf(stderr, "granite-board: priority %d is refused, it runs without\n", options->priority);
    }
}

/* Waits until a byte comes or the board must be stepped. */
static void wait_for(struct pollfd *lines, nfds_t n, uint64_t due)
{
    uint64_t now = clock_us();
    uint64_t us = due > now ? due - now : 0;
    struct timespec rest = {.tv_sec = (time_t)(us / 1000000u), .tv_nsec = (long)(us % 1000000u) * 1000};
    if (ppoll(lines, n, due == NEVER ? NULL : &rest, NULL) < 0)
        for (nfds_t i = 0; i < n; i++)
            lines[i].revents = 0;
}

/* A report dates its sensors now. While the outside is late, that would be wrong: its answers are lost instead. */
static bool is_late(const struct options *options, uint64_t inputs_at)
{
    return options->fresh_ms > 0 && clock_us() - inputs_at > (uint64_t)options->fresh_ms * 1000u;
}

int main(int n, char **words)
{
    static struct board board;
    static struct world world;
    static struct layout read_layout;
    struct options options = parse(n, words);
    if (options.layout && layout_read(options.layout, &read_layout))
        return 2;
    prepare(&options);
    struct pollfd lines[3] = {
        {.fd = open_port(options.port), .events = POLLIN},
        {.fd = listen_at(options.world), .events = POLLIN},
        {.fd = -1, .events = POLLIN},
    };
    struct pollfd *port = &lines[0], *server = &lines[1], *plant = &lines[2];
    uint32_t seed = 0;
    if (getrandom(&seed, sizeof seed, 0) != sizeof seed)
        refuse("no seed for", options.port);
    board_init(&board, options.layout ? &read_layout : &FREE_FLYER, clock_us(), seed);
    uint64_t inputs_at = clock_us();

    while (!ended) {
        uint8_t in[512], out[MAX_SENT_BYTES];
        wait_for(lines, 3, board_next(&board, board.stepped_at));
        if (server->revents & POLLIN && plant->fd < 0) {
            plant->fd = accept4(server->fd, NULL, NULL, SOCK_NONBLOCK);
            world.greeted = false;
        }
        if (plant->fd >= 0 && plant->revents) {
            ssize_t got;
            /* All of them: a board that was suspended must not answer with the oldest that wait. */
            while ((got = read(plant->fd, in, sizeof in)) > 0)
                for (ssize_t i = 0; i < got; i++)
                    if (world_push(&world, &board, in[i]))
                        inputs_at = clock_us();
            if (got == 0 || (got < 0 && errno != EAGAIN)) {
                close(plant->fd);
                plant->fd = -1;
            }
        }
        board_step(&board, clock_us(), world.emergency_stop);
        ssize_t got = port->revents ? read(port->fd, in, sizeof in) : 0;
        for (ssize_t i = 0; i < got; i++) {
            if (board_push(&board, in[i])) {
                size_t answer = board_answer(&board, clock_us(), out);
                if (plant->fd >= 0 && is_late(&options, inputs_at))
                    continue;
                if (write(port->fd, out, answer) < 0)
                    continue; /* nobody reads: the answer is lost, as on a wire */
            }
        }
        size_t changed = plant->fd >= 0 ? world_outputs(&world, &board, board.stepped_at, out) : 0;
        if (changed && write(plant->fd, out, changed) != (ssize_t)changed) {
            close(plant->fd); /* a plant that does not read must not stall the board */
            plant->fd = -1;
        }
    }
    unlink(options.port);
    unlink(options.world);
    return 0;
}
