#ifndef CTHREADSANITIZERSHIM_H
#define CTHREADSANITIZERSHIM_H

// Nothing to call: see MutexLockSlow.c.

#endif
