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

#include "record.h"

enum { WORDS = 12 };

typedef uintptr_t Word;
typedef int (*Function)(Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word);

typedef struct {
    Function function;
    Word words[WORDS];
    od_names names; /* what it is called in the ring of records */
    uint64_t signature, count;
} Call;

/* Where calls are recorded, or NULL, and the number that the next one has in its group. */
typedef struct {
    od_ring_of_records *ring;
    uint32_t sequence;
} Book;

static inline int invoke(const Call *call) {
    const Word *w = call->words;
    return call->function(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11]);
}

static inline od_record *enter(Book *book, const Call *call) {
    od_call recorded = {call->signature, call->count, book->sequence++};
    return od_enter(book->ring, &call->names, &recorded);
}

/* Outcomes as in collectives/ring.py: done, or interrupted. */
static inline void leave(const Book *book, od_record *record, int code) {
    od_leave(book->ring, record, code ? 5 : 1);
}

static inline int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* `number` calls in turn, `iterations` of them in all; `batch` make a sample, an incomplete batch too. `before`, if any,
 * stands before every sample. Stops at the first code that is not 0, and returns it. The first call of a sample is
 * recorded before its time begins, and the last one's end after it: where each call is a sample, no record is timed. */
static int measure(const Call *calls, size_t number, int64_t iterations, int64_t batch, const Call *before, Book *book,
                   int64_t *stamps) {
    size_t turn = 0;
    for (int64_t done = 0; done < iterations; stamps += 2) {
        int64_t stop = iterations - done < batch ? iterations : done + batch;
        int code = 0;
        if (before) {
            od_record *record = enter(book, before);
            code = invoke(before);
            leave(book, record, code);
        }
        if (code)
            return code;
        od_record *record = enter(book, &calls[turn]);
        stamps[0] = now();
        for (;;) {
            code = invoke(&calls[turn]);
            turn = turn + 1 == number ? 0 : turn + 1;
            if (code || ++done == stop)
                break;
            leave(book, record, code);
            record = enter(book, &calls[turn]);
        }
        stamps[1] = now();
        leave(book, record, code);
        if (code)
            return code;
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

/* What a call is recorded as: (group, program, frame, signature, count). False with an exception set. */
static bool label(Call *call, PyObject *told) {
    unsigned long long signature, count;
    od_names *names = &call->names;
    if (!PyTuple_Check(told))
        return PyErr_SetString(PyExc_TypeError, "what a call is recorded as: a tuple"), false;
    if (!PyArg_ParseTuple(told, "IIIKK", &names->group, &names->program, &names->frame, &signature, &count))
        return false;
    call->signature = signature, call->count = count;
    return true;
}

/* Where and as what to record: (ring, number of the first call, what the calls are recorded as, and what stands before
 * them). False with an exception set; else `ring` is to be released. */
static bool open_book(Book *book, Py_buffer *ring, PyObject *told, Call *calls, Py_ssize_t number, Call *before) {
    PyObject *memory, *labels, *label_before;
    if (!PyTuple_Check(told))
        return PyErr_SetString(PyExc_TypeError, "where to record: a tuple or None"), false;
    if (!PyArg_ParseTuple(told, "OIO!O", &memory, &book->sequence, &PyList_Type, &labels, &label_before))
        return false;
    if (PyList_Size(labels) != number)
        return PyErr_SetString(PyExc_ValueError, "as many calls are recorded as there are"), false;
    for (Py_ssize_t index = 0; index < number; index++)
        if (!label(&calls[index], PyList_GetItem(labels, index)))
            return false;
    if (before && !label(before, label_before))
        return false;
    if (PyObject_GetBuffer(memory, ring, PyBUF_WRITABLE))
        return false;
    if (ring->len < (Py_ssize_t)sizeof(od_ring_of_records)) {
        PyBuffer_Release(ring);
        return PyErr_SetString(PyExc_ValueError, "a ring of records is longer"), false;
    }
    book->ring = ring->buf;
    return true;
}

PyObject *od_time_foreign(PyObject *module, PyObject *arguments) {
    (void)module;
    unsigned long long function, before_function = 0;
    long long iterations, batch;
    PyObject *list, *before, *before_words = NULL, *into, *record = Py_None;
    if (!PyArg_ParseTuple(arguments, "KO!LLOO|O", &function, &PyList_Type, &list, &iterations, &batch, &before, &into,
                          &record))
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
        Call *calls = fill_all((Word)function, list, number), *barrier = before_words ? &first : NULL;
        Book book = {NULL, 0};
        Py_buffer ring;
        if (calls && (record == Py_None || open_book(&book, &ring, record, calls, number, barrier))) {
            int code;
            Py_BEGIN_ALLOW_THREADS
            code = measure(calls, (size_t)number, iterations, batch, barrier, &book, stamps.buf);
            Py_END_ALLOW_THREADS
            if (book.ring)
                PyBuffer_Release(&ring);
            result = PyLong_FromLong(code);
        }
        free(calls);
    }
    PyBuffer_Release(&stamps);
    return result;
}

PyObject *od_foreign_functions(PyObject *module, PyObject *arguments) {
    (void)module, (void)arguments;
    return Py_BuildValue("KK", (unsigned long long)(uintptr_t)nothing, (unsigned long long)(uintptr_t)call_then_copy);
}
