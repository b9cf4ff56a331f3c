/* The main loop of every microcontroller: step the board, answer frames, drive the outputs, sleep until something comes. */
#include "../boards/free_flyer.h"
#include "../core/counter.h"
#include "port.h"

int main(void)
{
    static struct layout layout;
    static struct board board;
    struct counter counter = {0};
    uint8_t byte, out[MAX_SENT_BYTES];

    machine_init();
    outside_init();
    layout = FREE_FLYER;
    outside_serial(layout.serial);
    board_init(&board, &layout, counter_extend(&counter, machine_counter()), machine_seed());
    for (;;) {
        bool busy = false;
        for (enum line line = LINE_HOST; line < LINES; line++)
            busy |= machine_serve(line);
        board_step(&board, counter_extend(&counter, machine_counter()), outside_emergency_stop(&board));
        while (line_take(LINE_HOST, &byte)) {
            if (board_push(&board, byte)) {
                outside_sample(&board);
                size_t n = board_answer(&board, counter_extend(&counter, machine_counter()), out);
                line_put(LINE_HOST, out, n);
                busy = true;
            }
        }
        outside_drive(&board);
        if (!busy)
            machine_wait();
    }
}
