/* Reading and writing memory with the core's own loops: what the ceiling is measured with. */
#include "python.h"

#include <stdlib.h>

#include "fold.h"
#include "wait.h"

/* traffic(memory, starts, part, reads, writes, times, streaming) -> ns
 *
 * `times` times, at the starts in turn: read `reads` parts that lie one after the other, write the `writes` parts after
 * them. Offsets and the length of a part are in bytes, multiples of 8. */
PyObject *od_python_traffic(PyObject *module, PyObject *arguments) {
    (void)module;
    Py_buffer memory;
    PyObject *starts;
    Py_ssize_t part, times;
    int reads, writes, streaming;
    if (!PyArg_ParseTuple(arguments, "w*O!niinp", &memory, &PyList_Type, &starts, &part, &reads, &writes, &times,
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
    if (number < 1 || part < 8 || part % 8 || reads < 1 || writes < 1 || memory.len / (reads + writes) < part) {
        PyErr_SetString(PyExc_ValueError, "no parts of whole words that fit");
        goto out;
    }
    for (Py_ssize_t i = 0; i < number; i++) {
        at[i] = PyLong_AsSsize_t(PyList_GetItem(starts, i));
        if (at[i] < 0 || at[i] % 8 || at[i] > memory.len - part * (reads + writes)) {
            if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "a start outside the memory");
            goto out;
        }
    }
    int64_t begin, end;
    Py_BEGIN_ALLOW_THREADS
    begin = od_now();
    for (Py_ssize_t i = 0; i < times; i++) {
        unsigned char *base = (unsigned char *)memory.buf + at[i % number];
        for (int j = 0; j < reads; j++) sources[j] = base + j * part;
        for (int j = 0; j < writes; j++) targets[j] = base + (reads + j) * part;
        if (reads == 1 && writes == 1)
            od_copy(targets[0], sources[0], (size_t)part, streaming);
        else
            od_fold(OD_UINT64, OD_SUM, (size_t)part / 8, sources, reads, targets, writes, 1, streaming);
    }
    end = od_now();
    Py_END_ALLOW_THREADS
    answer = PyLong_FromLongLong(end - begin);
out:
    free(at);
    free(sources);
    free(targets);
    PyBuffer_Release(&memory);
    return answer;
}
