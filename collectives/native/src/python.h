/* What the module's files share: the stable ABI of CPython 3.11, and the functions they put into its table. */
#ifndef OPSDIST_PYTHON_H
#define OPSDIST_PYTHON_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

/* foreign.c */
PyObject *od_time_foreign(PyObject *module, PyObject *arguments);
PyObject *od_foreign_functions(PyObject *module, PyObject *arguments);

#endif
