/* What the files of Python objects share. */
#ifndef OPSDIST_PYTHON_CHANNEL_H
#define OPSDIST_PYTHON_CHANNEL_H

#include "channel.h"
#include "python.h"

typedef struct {
    PyObject_HEAD
    PyObject *world; /* kept for as long as the channel */
    od_channel *channel;
} Channel;

extern PyTypeObject *od_channel_type;

/* Make a type and put it into the module. It is kept for good, as the module is. NULL with an exception set. */
PyTypeObject *od_python_add_type(PyObject *module, const char *name, PyType_Spec *spec);

#endif
