/* fold, copy, features and choose for Python: buffers are checked here, since od_fold trusts its caller. */
#include <stdbool.h>
#include <stdint.h>

#include "fold.h"
#include "python.h"

/* The buffers of a call, all of one length; those from `writable` on are written to. */
struct buffers {
    Py_buffer *views;
    Py_ssize_t number;
    Py_ssize_t writable;
};

static void release(struct buffers *buffers) {
    for (Py_ssize_t i = 0; i < buffers->number; i++)
        PyBuffer_Release(&buffers->views[i]);
    PyMem_Free(buffers->views);
}

/* Adds a view of `object`, for which there is room. Returns false with an exception set. */
static bool add(struct buffers *buffers, PyObject *object, bool writable) {
    Py_buffer *view = &buffers->views[buffers->number];
    if (PyObject_GetBuffer(object, view, PyBUF_SIMPLE) != 0)
        return false;
    buffers->number++;
    if (writable && view->readonly) {
        PyErr_SetString(PyExc_ValueError, "an output is read-only; give a writable buffer");
        return false;
    }
    if (view->len != buffers->views[0].len) {
        PyErr_Format(PyExc_ValueError, "buffers of %zd and %zd bytes; all must have the same length",
                     buffers->views[0].len, view->len);
        return false;
    }
    return true;
}

static bool add_all(struct buffers *buffers, PyObject *list, bool writable) {
    Py_ssize_t number = PyList_Size(list);
    for (Py_ssize_t i = 0; i < number; i++)
        if (!add(buffers, PyList_GetItem(list, i), writable))
            return false;
    return true;
}

/* What is written overlaps nothing, but where `in_place`, an output may be an operand. */
static bool apart(const struct buffers *buffers, bool in_place) {
    for (Py_ssize_t i = buffers->writable; i < buffers->number; i++)
        for (Py_ssize_t j = 0; j < i; j++) {
            uintptr_t one = (uintptr_t)buffers->views[i].buf, other = (uintptr_t)buffers->views[j].buf;
            uintptr_t distance = one > other ? one - other : other - one;
            if (distance >= (uintptr_t)buffers->views[i].len || (distance == 0 && in_place && j < buffers->writable))
                continue;
            PyErr_SetString(PyExc_ValueError, in_place ? "an output overlaps another buffer; it may be one of the "
                                                         "operands, exactly, or must lie apart from all"
                                                       : "source and destination overlap");
            return false;
        }
    return true;
}

static void fold(const struct buffers *buffers, int dtype, int operator_, uint64_t divisor, bool streaming,
                 void **addresses) {
    size_t count = (size_t)buffers->views[0].len / od_item_size(dtype);
    for (Py_ssize_t i = 0; i < buffers->number; i++)
        addresses[i] = buffers->views[i].buf;
    Py_BEGIN_ALLOW_THREADS
    od_fold(dtype, operator_, count, (const void *const *)addresses, (int)buffers->writable,
            addresses + buffers->writable, (int)(buffers->number - buffers->writable), divisor, streaming);
    Py_END_ALLOW_THREADS
}

PyObject *od_python_fold(PyObject *module, PyObject *arguments) {
    (void)module;
    int dtype, operator_, streaming;
    PyObject *operands, *outputs, *divisor_object;
    if (!PyArg_ParseTuple(arguments, "iiO!O!O!p", &dtype, &operator_, &PyList_Type, &operands, &PyList_Type, &outputs,
                          &PyLong_Type, &divisor_object, &streaming))
        return NULL;
    if (dtype < 0 || dtype >= OD_DTYPES)
        return PyErr_Format(PyExc_ValueError, "dtype %d is not an index of DTYPES, 0 to %d", dtype, OD_DTYPES - 1);
    if (operator_ < 0 || operator_ >= OD_OPERATORS)
        return PyErr_Format(PyExc_ValueError, "operator %d is not an index of OPERATORS, 0 to %d", operator_,
                            OD_OPERATORS - 1);
    unsigned long long divisor = PyLong_AsUnsignedLongLong(divisor_object);
    if (PyErr_Occurred() || divisor == 0) {
        PyErr_Clear();
        return PyErr_Format(PyExc_ValueError, "divisor %S; it must be from 1 to 2**64 - 1", divisor_object);
    }
    Py_ssize_t number = PyList_Size(operands), total = number + PyList_Size(outputs);
    if (number == 0 || total == number || total > INT32_MAX)
        return PyErr_Format(PyExc_ValueError, "%zd operands and %zd outputs; there must be at least one of each",
                            number, total - number);
    PyObject *result = NULL;
    struct buffers buffers = {PyMem_Calloc((size_t)total, sizeof(Py_buffer)), 0, number};
    void **addresses = PyMem_Calloc((size_t)total, sizeof(void *));
    if (buffers.views == NULL || addresses == NULL) {
        PyErr_NoMemory();
    } else if (add_all(&buffers, operands, false) && add_all(&buffers, outputs, true)) {
        if ((size_t)buffers.views[0].len % od_item_size(dtype) != 0) {
            PyErr_Format(PyExc_ValueError, "%zd bytes are no whole number of elements of %zu bytes",
                         buffers.views[0].len, od_item_size(dtype));
        } else if (apart(&buffers, true)) {
            fold(&buffers, dtype, operator_, divisor, streaming, addresses);
            result = Py_NewRef(Py_None);
        }
    }
    PyMem_Free(addresses);
    release(&buffers);
    return result;
}

PyObject *od_python_copy(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *to, *from;
    int streaming;
    if (!PyArg_ParseTuple(arguments, "OOp", &to, &from, &streaming))
        return NULL;
    PyObject *result = NULL;
    struct buffers buffers = {PyMem_Calloc(2, sizeof(Py_buffer)), 0, 1};
    if (buffers.views == NULL) {
        PyErr_NoMemory();
    } else if (add(&buffers, from, false) && add(&buffers, to, true) && apart(&buffers, false)) {
        Py_BEGIN_ALLOW_THREADS
        od_copy(buffers.views[1].buf, buffers.views[0].buf, (size_t)buffers.views[0].len, streaming);
        Py_END_ALLOW_THREADS
        result = Py_NewRef(Py_None);
    }
    release(&buffers);
    return result;
}

PyObject *od_python_features(PyObject *module, PyObject *arguments) {
    (void)module, (void)arguments;
    return PyUnicode_FromString(od_features());
}

PyObject *od_python_choose(PyObject *module, PyObject *arguments) {
    (void)module;
    const char *features;
    if (!PyArg_ParseTuple(arguments, "s", &features))
        return NULL;
    return PyBool_FromLong(od_choose(features) == 0);
}
