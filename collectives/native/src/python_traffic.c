/* Reading and writing memory with the core's own loops: what the ceiling is measured with. */
#include "python.h"

#include <stdlib.h>

#include "fold.h"

#define BLOCK ((size_t)64 << 10) /* bytes: what stays in a core's caches from the first of its copies to the last */

/* Read one part and write it to several places, or fold several. */
static void move(void **targets, int writes, const void *const *sources, int reads, size_t part, bool streaming) {
    if (reads > 1 || (writes > 1 && streaming)) {
        od_fold(OD_UINT64, OD_SUM, part / 8, sources, reads, targets, writes, 1, streaming);
        return;
    }
    for (size_t at = 0; at < part; at += BLOCK)
        for (int i = 0; i < writes; i++)
            od_copy((char *)targets[i] + at, (const char *)sources[0] + at, part - at < BLOCK ? part - at : BLOCK, streaming);
}

/* traffic(memory, starts, part, reads, writes, apart, times, streaming)
 *
 * `times` times, at the starts in turn: read `reads` parts that lie one after the other, write `writes` parts, of which
 * the first is `apart` parts after the first that is read: `reads` or more, or 0 to fold several over what was read.
 * Offsets and the length of a part are in bytes, multiples of 8. */
PyObject *od_python_traffic(PyObject *module, PyObject *arguments) {
    (void)module;
    Py_buffer memory;
    PyObject *starts;
    Py_ssize_t part, times;
    int reads, writes, apart, streaming;
    if (!PyArg_ParseTuple(arguments, "w*O!niiinp", &memory, &PyList_Type, &starts, &part, &reads, &writes, &apart, &times,
                          &streaming))
        return NULL;
    PyObject *answer = NULL;
    Py_ssize_t number = PyList_Size(starts);
    Py_ssize_t *at = malloc((size_t)(number + 1) * sizeof *at);
    const void **sources = malloc((size_t)(reads + 1) * sizeof *sources);
    void **targets = malloc((size_t)(writes + 1) * sizeof *targets);
    if (!at || !sources || !targets) {
        PyErr_NoMemory();
        goto out;
    }
    int parts = apart + writes > reads ? apart + writes : reads;
    if (number < 1 || part < 8 || part % 8 || reads < 1 || writes < 1 || apart < (reads > 1 && !apart ? 0 : reads) ||
        memory.len / parts < part) {
        PyErr_SetString(PyExc_ValueError, "no parts of whole words that fit");
        goto out;
    }
    for (Py_ssize_t i = 0; i < number; i++) {
        at[i] = PyLong_AsSsize_t(PyList_GetItem(starts, i));
        if (at[i] < 0 || at[i] % 8 || at[i] > memory.len - part * parts) {
            if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "a start outside the memory");
            goto out;
        }
    }
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0; i < times; i++) {
        unsigned char *base = (unsigned char *)memory.buf + at[i % number];
        for (int j = 0; j < reads; j++) sources[j] = base + j * part;
        for (int j = 0; j < writes; j++) targets[j] = base + (apart + j) * part;
        move(targets, writes, sources, reads, (size_t)part, streaming);
    }
    Py_END_ALLOW_THREADS
    answer = Py_NewRef(Py_None);
out:
    free(at);
    free(sources);
    free(targets);
    PyBuffer_Release(&memory);
    return answer;
}
