/* Timed calls of somebody else's C function, given by its address: what opsdist prints of a foreign library is then what a
 * C benchmark of it would print, without an interpreter between two calls.
 *
 * A call is an address and up to WORDS integers or pointers, each widened to a machine word. One prototype serves all
 * functions, whatever the number of their parameters, which C does not promise, but the ABIs that this is meant for do:
 * x86-64 System V and AAPCS64 (as Linux has it) pass the first 6 or 8 integer-class arguments in registers and the rest in slots of
 * 8 bytes on a stack that the caller cleans up; surplus ones are never looked at; and of a word that holds an int, the
 * callee reads the low half only. Floating-point and by-value structure parameters go other ways: not for such functions.
 */
#include "python.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WORDS = 12 };

typedef uintptr_t Word;
typedef int (*Function)(Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word);

typedef struct {
    Function function;
    Word words[WORDS];
} Call;

static inline int invoke(const Call *call) {
    const Word *w = call->words;
    return call->function(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11]);
}

static inline int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* `number` calls in turn, `iterations` of them in all; `batch` make a sample, an incomplete batch too. `before`, if any,
 * stands before every sample. Stops at the first code that is not 0, and returns it. */
static int measure(const Call *calls, size_t number, int64_t iterations, int64_t batch, const Call *before,
                   int64_t *stamps) {
    size_t turn = 0;
    for (int64_t done = 0; done < iterations; stamps += 2) {
        int64_t stop = iterations - done < batch ? iterations : done + batch;
        int code = before ? invoke(before) : 0;
        if (code)
            return code;
        stamps[0] = now();
        for (; done < stop; done++) {
            code = invoke(&calls[turn]);
            if (code)
                return code;
            turn = turn + 1 == number ? 0 : turn + 1;
        }
        stamps[1] = now();
    }
    return 0;
}

/* Has the loop's own cost measured. */
static int nothing(Word a, Word b, Word c, Word d, Word e, Word f, Word g, Word h, Word i, Word j, Word k, Word l) {
    (void)a, (void)b, (void)c, (void)d, (void)e, (void)f, (void)g, (void)h, (void)i, (void)j, (void)k, (void)l;
    return 0;
}

/* Call a function of at most 6 parameters and then copy: for libraries that leave a result elsewhere than it is wanted. */
static int call_then_copy(Word function, Word a, Word b, Word c, Word d, Word e, Word f, Word to, Word from, Word length,
                          Word unused, Word none) {
    (void)unused, (void)none;
    int code = ((Function)function)(a, b, c, d, e, f, 0, 0, 0, 0, 0, 0);
    if (code == 0)
        memcpy((void *)to, (const void *)from, length);
    return code;
}

/* Fill a call from a tuple of integers. False with an exception set. */
static bool fill(Call *call, Word function, PyObject *words) {
    memset(call, 0, sizeof *call);
    call->function = (Function)function;
    Py_ssize_t number = PyTuple_Check(words) ? PyTuple_Size(words) : -1;
    if (number < 0 || number > WORDS) {
        PyErr_Format(PyExc_ValueError, "the arguments of a call must be a tuple of at most %d integers", WORDS);
        return false;
    }
    for (Py_ssize_t index = 0; index < number; index++)
        call->words[index] = (Word)PyLong_AsUnsignedLongLongMask(PyTuple_GetItem(words, index));
    return !PyErr_Occurred();
}

/* The calls of a list of tuples, to be freed with free. NULL with an exception set. */
static Call *fill_all(Word function, PyObject *list, Py_ssize_t number) {
    Call *calls = calloc((size_t)number, sizeof *calls);
    if (!calls) {
        PyErr_NoMemory();
        return NULL;
    }
    for (Py_ssize_t index = 0; index < number; index++) {
        if (!fill(&calls[index], function, PyList_GetItem(list, index))) {
            free(calls);
            return NULL;
        }
    }
    return calls;
}

PyObject *od_time_foreign(PyObject *module, PyObject *arguments) {
    (void)module;
    unsigned long long function, before_function = 0;
    long long iterations, batch;
    PyObject *list, *before, *before_words = NULL, *into;
    if (!PyArg_ParseTuple(arguments, "KO!LLOO", &function, &PyList_Type, &list, &iterations, &batch, &before, &into))
        return NULL;
    Call first;
    if (before != Py_None) {
        if (!PyTuple_Check(before) || !PyArg_ParseTuple(before, "KO", &before_function, &before_words))
            return PyErr_Occurred() ? NULL : (PyErr_SetString(PyExc_TypeError, "before: a tuple or None"), NULL);
        if (!fill(&first, (Word)before_function, before_words))
            return NULL;
    }
    Py_ssize_t number = PyList_Size(list);
    if (!function || number < 1 || iterations < 0 || batch < 1)
        return PyErr_SetString(PyExc_ValueError, "a function, at least one call and a batch of at least 1 are wanted"), NULL;
    Py_buffer stamps;
    if (PyObject_GetBuffer(into, &stamps, PyBUF_CONTIG))
        return NULL;
    PyObject *result = NULL;
    long long samples = iterations / batch + (iterations % batch != 0);
    if (stamps.itemsize != sizeof(int64_t) || stamps.len / (Py_ssize_t)(2 * sizeof(int64_t)) != samples) {
        PyErr_Format(PyExc_ValueError, "stamps must hold %lld entries and exits of 8 bytes each", samples);
    } else {
        Call *calls = fill_all((Word)function, list, number);
        if (calls) {
            int code;
            Py_BEGIN_ALLOW_THREADS
            code = measure(calls, (size_t)number, iterations, batch, before_words ? &first : NULL, stamps.buf);
            Py_END_ALLOW_THREADS
            free(calls);
            result = PyLong_FromLong(code);
        }
    }
    PyBuffer_Release(&stamps);
    return result;
}

PyObject *od_foreign_functions(PyObject *module, PyObject *arguments) {
    (void)module, (void)arguments;
    return Py_BuildValue("KK", (unsigned long long)(uintptr_t)nothing, (unsigned long long)(uintptr_t)call_then_copy);
}
