/* World and Channel as Python objects. What they are given is checked in Python; here only what would crash. */
#include "python_channel.h"

#include <errno.h>
#include <stdlib.h>

static PyTypeObject *world_type;
PyTypeObject *od_channel_type;

/* ---- World ---- */

typedef struct {
    PyObject_HEAD
    od_world *world;
    Py_buffer ring;
} World;

/* World(rank, regions: addresses in the order of ranks, 0 for those of other hosts, length, spins, yields, cache,
 * ring of records or None) */
static PyObject *world_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    (void)keywords;
    int rank;
    PyObject *regions, *ring;
    unsigned long long length, cache;
    unsigned int spins, yields;
    if (!PyArg_ParseTuple(arguments, "iO!KIIKO", &rank, &PyList_Type, &regions, &length, &spins, &yields, &cache, &ring))
        return NULL;
    Py_ssize_t ranks = PyList_Size(regions);
    if (rank < 0 || rank >= ranks) return PyErr_Format(PyExc_ValueError, "rank %d of %zd", rank, ranks);
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    World *self = (World *)allocate(type, 0);
    if (!self) return NULL;
    self->world = calloc(1, sizeof *self->world + (size_t)ranks * sizeof *self->world->regions);
    if (!self->world) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    self->world->rank = rank;
    self->world->ranks = (int)ranks;
    self->world->length = length;
    self->world->patience = (od_patience){spins, yields};
    self->world->cache = cache;
    if (ring != Py_None) {
        if (PyObject_GetBuffer(ring, &self->ring, PyBUF_WRITABLE) || self->ring.len < (Py_ssize_t)sizeof(od_ring_of_records)) {
            Py_DECREF(self);
            return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_ValueError, "a ring of records is longer");
        }
        self->world->ring = self->ring.buf;
    }
    for (Py_ssize_t i = 0; i < ranks; i++)
        self->world->regions[i] = (unsigned char *)PyLong_AsVoidPtr(PyList_GetItem(regions, i));
    if (PyErr_Occurred()) {
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

static void world_free(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    free(((World *)self)->world);
    if (((World *)self)->ring.obj) PyBuffer_Release(&((World *)self)->ring);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

static PyType_Slot world_slots[] = {
    {Py_tp_new, world_new},
    {Py_tp_dealloc, world_free},
    {0, NULL},
};
static PyType_Spec world_spec = {"collectives.native._core.World", sizeof(World), 0, Py_TPFLAGS_DEFAULT, world_slots};

/* ---- Channel ---- */

/* Channel(world, key, members: ranks, me: index among them, place of the inbox, eager, direct, name in the ring) */
static PyObject *channel_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    (void)keywords;
    PyObject *world, *members;
    unsigned long long key, place;
    int me;
    Py_ssize_t eager, direct;
    unsigned int name;
    if (!PyArg_ParseTuple(arguments, "O!KO!iKnnI", world_type, &world, &key, &PyList_Type, &members, &me, &place, &eager,
                          &direct, &name))
        return NULL;
    if (!key) return PyErr_Format(PyExc_ValueError, "a channel's key is not 0");
    od_world *within = ((World *)world)->world;
    Py_ssize_t size = PyList_Size(members);
    if (size < 1 || me < 0 || me >= size || eager < 1 ||
        place + od_inbox_length((int)size, (size_t)eager) > within->length)
        return PyErr_Format(PyExc_ValueError, "a channel of %zd members does not fit", size);
    int *ranks = malloc((size_t)size * sizeof *ranks);
    if (!ranks) return PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < size; i++) {
        long rank = PyLong_AsLong(PyList_GetItem(members, i));
        if (rank < 0 || rank >= within->ranks) {
            free(ranks);
            return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_ValueError, "rank %ld of %d", rank, within->ranks);
        }
        ranks[i] = (int)rank;
    }
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Channel *self = (Channel *)allocate(type, 0);
    if (self) {
        self->world = Py_NewRef(world);
        self->channel = od_channel_open(within, key, ranks, (int)size, me, place, (size_t)eager, (size_t)direct);
        if (!self->channel) {
            PyErr_SetFromErrno(PyExc_OSError);
            Py_CLEAR(self);
        } else
            self->channel->name = name;
    }
    free(ranks);
    return (PyObject *)self;
}

static void channel_free(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    od_channel_close(((Channel *)self)->channel);
    Py_XDECREF(((Channel *)self)->world);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

/* close(): a run that is under way, and every later one, ends with "closed". */
static PyObject *channel_close(PyObject *self, PyObject *nothing) {
    (void)nothing;
    atomic_store_explicit(&((Channel *)self)->channel->closed, 1, memory_order_relaxed);
    Py_RETURN_NONE;
}

/* connect(member, descriptor): of a connected, non-blocking socket to a member on another host, which is the channel's
 * from now on. */
static PyObject *channel_connect(PyObject *self, PyObject *arguments) {
    od_channel *channel = ((Channel *)self)->channel;
    int member, descriptor;
    if (!PyArg_ParseTuple(arguments, "ii", &member, &descriptor)) return NULL;
    if (member < 0 || member >= channel->size || channel->world->regions[channel->peers[member].rank] ||
        channel->peers[member].wire)
        return PyErr_Format(PyExc_ValueError, "member %d is on this host, or is connected", member);
    if (!od_channel_connect(channel, member, descriptor)) return PyErr_NoMemory();
    Py_RETURN_NONE;
}

static PyMethodDef channel_methods[] = {
    {"connect", channel_connect, METH_VARARGS, NULL},
    {"close", channel_close, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot channel_slots[] = {
    {Py_tp_new, channel_new},
    {Py_tp_dealloc, channel_free},
    {Py_tp_methods, channel_methods},
    {0, NULL},
};
static PyType_Spec channel_spec = {"collectives.native._core.Channel", sizeof(Channel), 0, Py_TPFLAGS_DEFAULT,
                                   channel_slots};

PyObject *od_python_inbox_length(PyObject *module, PyObject *arguments) {
    (void)module;
    int size;
    Py_ssize_t eager;
    if (!PyArg_ParseTuple(arguments, "in", &size, &eager)) return NULL;
    return PyLong_FromSize_t(od_inbox_length(size, (size_t)eager));
}

PyObject *od_python_ticks(PyObject *module, PyObject *nothing) {
    (void)module, (void)nothing;
    static int best = -1; /* to ask the CPU takes a thousand times as long as to read its counter, in a virtual machine */
    if (best < 0) best = (int)od_best_clock();
    if (best == OD_MONOTONIC) Py_RETURN_NONE;
    return PyLong_FromUnsignedLongLong(od_counter());
}

PyTypeObject *od_python_add_type(PyObject *module, const char *name, PyType_Spec *spec) {
    PyObject *type = PyType_FromSpec(spec);
    if (type && PyModule_AddObjectRef(module, name, type)) Py_CLEAR(type);
    return (PyTypeObject *)type; /* kept for good, as the module is */
}

int od_python_add_channel(PyObject *module) {
    world_type = od_python_add_type(module, "World", &world_spec);
    od_channel_type = od_python_add_type(module, "Channel", &channel_spec);
    if (!world_type || !od_channel_type) return -1;
    if (PyModule_AddIntConstant(module, "GROUPS", OD_DIRECTORY)) return -1;
    if (PyModule_AddIntConstant(module, "SLOTS", OD_SLOTS)) return -1;
    return PyModule_AddIntConstant(module, "REGION", (long)((sizeof(od_region) + 4095) / 4096 * 4096));
}
