/* Program as a Python object, and how it is run. What it is given is checked in Python; here only what would crash. */
#include <stdlib.h>
#include <string.h>

#include "execute.h"
#include "fold.h"
#include "python_channel.h"

#define CHECK_SIGNALS 50000000 /* ns between two looks for Ctrl-C while waiting */

static PyTypeObject *program_type;

typedef struct {
    PyObject_HEAD
    PyObject *channel;
    od_program *program;
    Py_buffer buffers[3];
} Program;

static void program_free(PyObject *object) {
    Program *self = (Program *)object;
    PyTypeObject *type = Py_TYPE(object);
    od_program_free(self->program);
    for (int i = 0; i < 3; i++)
        if (self->buffers[i].obj) PyBuffer_Release(&self->buffers[i]);
    Py_XDECREF(self->channel);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

/* Program(channel, words, (send, recv, scratch), dtype, operator, divisor, signature, count, footprint,
 * name in the ring)
 *
 * A buffer that lies in this rank's region can be seen by peers; that is found out here. */
static PyObject *program_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    (void)keywords;
    PyObject *channel, *given[3];
    const char *words;
    Py_ssize_t bytes;
    int dtype, operator_;
    unsigned long long divisor, signature, count, footprint;
    unsigned int name;
    if (!PyArg_ParseTuple(arguments, "O!y#(OOO)iiKKKKI", od_channel_type, &channel, &words, &bytes, &given[0], &given[1],
                          &given[2], &dtype, &operator_, &divisor, &signature, &count, &footprint, &name))
        return NULL;
    if (dtype < 0 || dtype >= OD_DTYPES || operator_ < 0 || operator_ >= OD_OPERATORS || !divisor)
        return PyErr_Format(PyExc_ValueError, "dtype %d, operator %d", dtype, operator_);
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Program *self = (Program *)allocate(type, 0);
    if (!self) return NULL;
    self->channel = Py_NewRef(channel);
    od_channel *within = ((Channel *)channel)->channel;
    const unsigned char *region = within->world->regions[within->world->rank];
    od_buffer buffers[3] = {{NULL, 0, -1}, {NULL, 0, -1}, {NULL, 0, -1}};
    for (int i = 0; i < 3; i++) {
        if (given[i] == Py_None) continue;
        if (PyObject_GetBuffer(given[i], &self->buffers[i], i ? PyBUF_WRITABLE : PyBUF_SIMPLE)) {
            Py_DECREF(self);
            return NULL;
        }
        unsigned char *base = self->buffers[i].buf;
        bool seen = base >= region && base < region + within->world->length;
        buffers[i] = (od_buffer){base, (size_t)self->buffers[i].len, seen ? base - region : -1};
    }
    const char *reason;
    /* The words are copied while being read, so their alignment does not matter to anybody later. */
    int64_t *aligned = malloc((size_t)bytes + sizeof *aligned);
    if (aligned) {
        memcpy(aligned, words, (size_t)bytes);
        self->program =
            od_program_read(within, aligned, (size_t)bytes / sizeof *aligned, buffers, divisor, &reason);
        free(aligned);
    }
    if (!self->program) {
        Py_DECREF(self);
        if (!aligned || !reason) return PyErr_NoMemory();
        return PyErr_Format(PyExc_ValueError, "%s", reason);
    }
    self->program->dtype = dtype;
    self->program->operator_ = operator_;
    self->program->signature = signature;
    self->program->count = count;
    self->program->footprint = footprint;
    self->program->name = name;
    return (PyObject *)self;
}

/* Ctrl-C in the thread that Python gives signals to; the exception stays set. */
typedef struct {
    PyThreadState *thread;
    int64_t next;
} watch;

static bool interrupted(void *context) {
    watch *state = context;
    int64_t now = od_now();
    if (now < state->next) return false;
    state->next = now + CHECK_SIGNALS;
    PyEval_RestoreThread(state->thread);
    bool stop = PyErr_CheckSignals() != 0;
    state->thread = PyEval_SaveThread();
    return stop;
}

static PyObject *members_where(const od_channel *channel, const od_program *program, int step,
                               bool (*what)(const od_program *, int, const od_peer *)) {
    PyObject *members = PyList_New(0);
    for (int member = 0; members && member < channel->size; member++) {
        if (!what(program, step, &channel->peers[member])) continue;
        PyObject *number = PyLong_FromLong(member);
        if (!number || PyList_Append(members, number)) Py_CLEAR(members);
        Py_XDECREF(number);
    }
    return members;
}

static PyObject *call(const od_call *of) {
    return Py_BuildValue("(KKk)", (unsigned long long)of->signature, (unsigned long long)of->count,
                         (unsigned long)of->sequence);
}

/* None, or a tuple that tells how it ended. */
static PyObject *told(const od_result *result, const od_channel *channel, const od_program *program) {
    switch (result->outcome) {
    case OD_FINE:
        Py_RETURN_NONE;
    case OD_INTERRUPTED:
        return NULL;
    case OD_CLOSED:
        return Py_BuildValue("(s)", "closed");
    case OD_LOST:
        return Py_BuildValue("(sNii)", "lost", call(&result->mine), result->step, result->member);
    case OD_MISMATCH:
        return Py_BuildValue("(sNiKiNIK)", "mismatch", call(&result->mine), result->step,
                             (unsigned long long)result->my_length, result->member, call(&result->theirs),
                             (unsigned int)result->their_step, (unsigned long long)result->their_length);
    default:
        return Py_BuildValue("(sNiNN)", "timeout", call(&result->mine), result->step,
                             members_where(channel, program, result->step, od_owes),
                             members_where(channel, program, result->step, od_refuses));
    }
}

/* run(sequence, timeout in seconds, frame) */
static PyObject *program_run(PyObject *object, PyObject *arguments) {
    Program *self = (Program *)object;
    unsigned long sequence;
    unsigned int frame;
    double timeout;
    if (!PyArg_ParseTuple(arguments, "kdI", &sequence, &timeout, &frame)) return NULL;
    watch state = {NULL, 0};
    od_runner runner = {((Channel *)self->channel)->channel, (int64_t)(timeout * 1e9), interrupted, &state, frame};
    state.thread = PyEval_SaveThread();
    od_result result = od_run(&runner, self->program, (uint32_t)sequence);
    PyEval_RestoreThread(state.thread);
    return told(&result, runner.channel, self->program);
}

static PyObject *program_streaming(PyObject *self, void *unused) {
    (void)unused;
    return PyBool_FromLong(((Program *)self)->program->streaming);
}

static PyGetSetDef program_fields[] = {{"streaming", program_streaming, NULL, NULL, NULL}, {0}};
static PyMethodDef program_methods[] = {
    {"run", program_run, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};
static PyType_Slot program_slots[] = {
    {Py_tp_new, program_new},
    {Py_tp_dealloc, program_free},
    {Py_tp_methods, program_methods},
    {Py_tp_getset, program_fields},
    {0, NULL},
};
static PyType_Spec program_spec = {"collectives.native._core.Program", sizeof(Program), 0, Py_TPFLAGS_DEFAULT,
                                   program_slots};

/* time(programs, barrier or None, iterations, batch, stamps, sequence, timeout, frame) -> (next sequence, how it ended) */
PyObject *od_python_time(PyObject *module, PyObject *arguments) {
    (void)module;
    PyObject *programs, *barrier;
    long long iterations, batch;
    Py_buffer stamps;
    unsigned long first;
    unsigned int frame;
    double timeout;
    if (!PyArg_ParseTuple(arguments, "O!OLLw*kdI", &PyList_Type, &programs, &barrier, &iterations, &batch, &stamps,
                          &first, &timeout, &frame))
        return NULL;
    PyObject *answer = NULL;
    od_program **bound = NULL;
    Py_ssize_t number = PyList_Size(programs);
    if (number < 1 || iterations < 1 || batch < 1 ||
        stamps.len < (iterations + batch - 1) / batch * 2 * (long long)sizeof(int64_t)) {
        PyErr_SetString(PyExc_ValueError, "stamps: an entry and an exit for every batch");
        goto out;
    }
    bound = malloc((size_t)number * sizeof *bound);
    if (!bound) {
        PyErr_NoMemory();
        goto out;
    }
    for (Py_ssize_t i = 0; i < number; i++) {
        PyObject *program = PyList_GetItem(programs, i);
        if (Py_TYPE(program) != program_type) {
            PyErr_SetString(PyExc_TypeError, "programs");
            goto out;
        }
        bound[i] = ((Program *)program)->program;
    }
    if (barrier != Py_None && Py_TYPE(barrier) != program_type) {
        PyErr_SetString(PyExc_TypeError, "barrier");
        goto out;
    }
    watch state = {NULL, 0};
    const Program *one = (Program *)PyList_GetItem(programs, 0);
    od_runner runner = {((Channel *)one->channel)->channel, (int64_t)(timeout * 1e9), interrupted, &state, frame};
    uint32_t sequence = (uint32_t)first;
    od_program *before = barrier == Py_None ? NULL : ((Program *)barrier)->program;
    const od_program *last = NULL;
    state.thread = PyEval_SaveThread();
    od_result result = od_time(&runner, bound, (int)number, before, iterations, batch, stamps.buf, &sequence, &last);
    PyEval_RestoreThread(state.thread);
    PyObject *ended = told(&result, runner.channel, last);
    if (ended) answer = Py_BuildValue("(kN)", (unsigned long)sequence, ended);
out:
    free(bound);
    PyBuffer_Release(&stamps);
    return answer;
}

/* overhead(iterations, stamps): the timed loop around nothing */
PyObject *od_python_overhead(PyObject *module, PyObject *arguments) {
    (void)module;
    long long iterations;
    Py_buffer stamps;
    if (!PyArg_ParseTuple(arguments, "Lw*", &iterations, &stamps)) return NULL;
    int64_t *at = stamps.buf;
    if (stamps.len < iterations * 2 * (long long)sizeof *at) {
        PyBuffer_Release(&stamps);
        return PyErr_Format(PyExc_ValueError, "stamps: an entry and an exit for every iteration");
    }
    for (long long i = 0; i < iterations; i++) {
        *at++ = od_now();
        *at++ = od_now();
    }
    PyBuffer_Release(&stamps);
    Py_RETURN_NONE;
}

int od_python_add_program(PyObject *module) {
    program_type = od_python_add_type(module, "Program", &program_spec);
    return program_type ? 0 : -1;
}
