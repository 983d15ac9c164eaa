/* The Python module: a table of functions, each defined in the file of its subject. */
#include "python.h"

static PyMethodDef methods[] = {
    {"time_foreign", od_time_foreign, METH_VARARGS, "Time calls of a C function, given by its address."},
    {"foreign_functions", od_foreign_functions, METH_NOARGS, "Addresses of functions to use with time_foreign."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "collectives.native._core", "The native core of opsdist.", 0, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__core(void) { return PyModule_Create(&definition); }
