/* What the module's files share: the stable ABI of CPython 3.11, and the functions they put into its table. */
#ifndef OPSDIST_PYTHON_H
#define OPSDIST_PYTHON_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

/* python_fold.c; signatures in _core.pyi. */
PyObject *od_python_fold(PyObject *module, PyObject *arguments);
PyObject *od_python_copy(PyObject *module, PyObject *arguments);
PyObject *od_python_features(PyObject *module, PyObject *arguments);
PyObject *od_python_choose(PyObject *module, PyObject *arguments);

/* python_traffic.c */
PyObject *od_python_traffic(PyObject *module, PyObject *arguments);

/* python_channel.c: World and Channel, and the constants of the core */
int od_python_add_channel(PyObject *module);
PyObject *od_python_inbox_length(PyObject *module, PyObject *arguments);
PyObject *od_python_ticks(PyObject *module, PyObject *nothing);

/* python_program.c: Program */
int od_python_add_program(PyObject *module);
PyObject *od_python_time(PyObject *module, PyObject *arguments);
PyObject *od_python_overhead(PyObject *module, PyObject *arguments);

/* foreign.c */
PyObject *od_time_foreign(PyObject *module, PyObject *arguments);
PyObject *od_foreign_functions(PyObject *module, PyObject *arguments);

#endif
