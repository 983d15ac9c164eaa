/* The Python module: a table of functions, each defined in the file of its subject. */
#include "python.h"

static PyMethodDef methods[] = {
    {"fold", od_python_fold, METH_VARARGS, "Combine operands element by element."},
    {"copy", od_python_copy, METH_VARARGS, "Copy bytes."},
    {"features", od_python_features, METH_NOARGS, "The instruction set in use."},
    {"choose", od_python_choose, METH_VARARGS, "Use another instruction set."},
    {"traffic", od_python_traffic, METH_VARARGS, "Read and write memory."},
    {"time", od_python_time, METH_VARARGS, "The timed loop."},
    {"overhead", od_python_overhead, METH_VARARGS, "The timed loop around nothing."},
    {"inbox_length", od_python_inbox_length, METH_VARARGS, "Bytes of an inbox."},
    {"ticks", od_python_ticks, METH_NOARGS, "The counter that records are stamped with."},
    {"time_foreign", od_time_foreign, METH_VARARGS, "Time calls of a C function, given by its address."},
    {"foreign_functions", od_foreign_functions, METH_NOARGS, "Addresses of functions to use with time_foreign."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "collectives.native._core", "The native core of opsdist.", 0, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__core(void) {
    PyObject *module = PyModule_Create(&definition);
    if (module && (od_python_add_channel(module) || od_python_add_program(module))) Py_CLEAR(module);
    return module;
}
