/* A board's layout from a text file: `board NAME`, then one line `KIND NAME UNIT SCALE LOW HIGH` per channel. */
#ifndef GRANITE_LAYOUT_FILE_H
#define GRANITE_LAYOUT_FILE_H

#include "../core/board.h"

/* Returns 0, or prints one sentence and returns -1. A space in a unit is written as `_`; `#` begins a comment. */
int layout_read(const char *path, struct layout *layout);

#endif
