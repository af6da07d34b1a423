/*
 * python_layout.h - the byte offsets of CPython's structs that make up a stack, for 64-bit Linux and builds with the
 * GIL.
 *
 * The structs do not change within a minor version. For 3.9 to 3.14 the offsets are offsetof() of each version's
 * headers. tests/cli/test_agent_python.sh compares the result with the interpreter's own answers, for each installed
 * version. 3.13 and 3.14 publish most offsets in _PyRuntime (struct _Py_DebugOffsets), which then replace those of this
 * table.
 */
#ifndef RECORDER_PYTHON_LAYOUT_H
#define RECORDER_PYTHON_LAYOUT_H

#include <stdint.h>

#define PYTHON_NONE 0xffffu /* the version has no such field */

/* X(member): all are byte offsets, except where noted. */
#define PYTHON_MEMBER_LIST(X)                                                                         \
	X(minor)        /* layout of the version 3.minor */                                           \
	X(thread_frame) /* PyThreadState: frame, current_frame, or cframe where there is one */       \
	X(cframe_frame) /* _PyCFrame: current_frame */                                                \
	X(frame_back)   /* f_back, previous */                                                        \
	X(frame_code)   /* f_code, f_executable */                                                    \
	X(frame_instr)  /* f_lasti (int), prev_instr or instr_ptr (pointers) */                       \
	X(frame_owner)  /* char; 3 and up: a shim, not a function */                                  \
	X(code_file)                                                                                  \
	X(code_name)                                                                                  \
	X(code_qualname)                                                                              \
	X(code_line)      /* co_firstlineno, int */                                                   \
	X(code_version)   /* co_version, uint32_t: unique for a code object, except 0 */              \
	X(code_table)     /* co_lnotab, co_linetable: bytes objects */                                \
	X(code_bytes)     /* co_code_adaptive: the instructions */                                    \
	X(unicode_ascii)  /* characters of an ASCII string */                                         \
	X(unicode_wide)   /* characters of any other compact string */                                \
	X(lasti_scale)    /* f_lasti: bytes per unit; 0: frame_instr is a pointer */                  \
	X(frame_locals)   /* f_localsplus, localsplus: the arguments come first */                    \
	X(code_arguments) /* co_argcount, int */                                                      \
	X(code_locals)    /* co_nlocals, int; since 3.11 a cell lies in its argument's place */       \
	X(code_cells)     /* co_cell2arg: Py_ssize_t for each cell, or NULL; co_cellvars is before */ \
	X(tuple_items)    /* ob_item */

struct python_layout {
#define PYTHON_MEMBER(member) uint16_t member;
	PYTHON_MEMBER_LIST(PYTHON_MEMBER)
#undef PYTHON_MEMBER
};

/* One row per version, in the order of PYTHON_MEMBER_LIST. */
#define PYTHON_LAYOUT_LIST(X)                                                                                                   \
	/*  thread cframe      back code instr owner         file name qualname     line version      table bytes      str    \
	    locals arguments nlocals      cells        tuple */ \
	X(9, 24, PYTHON_NONE, 24, 32, 104, PYTHON_NONE, 104, 112, PYTHON_NONE, 40, PYTHON_NONE, 120, PYTHON_NONE, 48,           \
	  72, 1, 360, 16, 28, 96, 24)                                                                                           \
	X(10, 24, PYTHON_NONE, 24, 32, 96, PYTHON_NONE, 104, 112, PYTHON_NONE, 40, PYTHON_NONE, 120, PYTHON_NONE, 48,           \
	  72, 2, 352, 16, 28, 96, 24)                                                                                           \
	X(11, 56, 8, 48, 32, 56, 69, 112, 120, 128, 72, PYTHON_NONE, 136, 184, 48, 72, 0, 72, 56, PYTHON_NONE,                  \
	  PYTHON_NONE, 24)                                                                                                      \
	X(12, 56, 0, 8, 0, 56, 70, 112, 120, 128, 68, 92, 136, 192, 40, 56, 0, 72, 52, PYTHON_NONE, PYTHON_NONE, 24)            \
	X(13, 72, PYTHON_NONE, 8, 0, 56, 70, 112, 120, 128, 68, 92, 136, 200, 40, 56, 0, 72, 52, PYTHON_NONE,                   \
	  PYTHON_NONE, 24)                                                                                                      \
	X(14, 72, PYTHON_NONE, 8, 0, 56, 74, 112, 120, 128, 68, 92, 136, 208, 40, 56, 0, 80, 52, PYTHON_NONE,                   \
	  PYTHON_NONE, 32)

/* Equal in all versions. */
#define PYTHON_OBJECT_TYPE 8   /* PyObject: ob_type */
#define PYTHON_OBJECT_SIZE 16  /* PyVarObject: ob_size; of a code object since 3.11: number of its instructions */
#define PYTHON_BYTES_DATA 32   /* PyBytesObject: ob_sval */
#define PYTHON_CELL_VALUE 16   /* PyCellObject: ob_ref */
#define PYTHON_TYPE_NAME 24    /* PyTypeObject: tp_name, UTF-8 */
#define PYTHON_TYPE_DEALLOC 48 /* tp_dealloc */
#define PYTHON_TYPE_FLAGS 168  /* tp_flags */
#define PYTHON_TYPE_IS_TYPE (1ull << 31) /* Py_TPFLAGS_TYPE_SUBCLASS, of an object's type: the object is a type */
#define PYTHON_TYPE_MRO 344              /* tp_mro: a tuple of types */
#define PYTHON_UNICODE_LENGTH 16         /* characters */
#define PYTHON_UNICODE_HASH 24           /* hash of the text; -1: not known yet */
#define PYTHON_UNICODE_STATE 32          /* from bit 2 on: bytes per character in 3 bits, compact, ASCII */
#define PYTHON_OWNER_GENERATOR 1
#define PYTHON_OWNER_SHIM 3
/* Distance from _co_firsttraceable (int) to co_code_adaptive: a frame before that instruction is not entered yet. */
#define PYTHON_FIRST_TRACEABLE_BACK 16
/*
 * Up to 3.11 PyGILState_GetThisThreadState() returns the thread's first state, even while it runs another interpreter.
 * From 3.12 on it returns the running state.
 */
#define PYTHON_FIRST_STATE_LAST_MINOR 11

/*
 * _Py_DebugOffsets as an array of uint64_t: X(minor, index of thread_state.current_frame, of interpreter_frame.previous
 * - executable, instr_ptr, localsplus, owner follow - and of code_object.filename - name, qualname, linetable,
 * firstlineno follow - and of code_object.co_code_adaptive).
 */
#define PYTHON_DEBUG_LIST(X)  \
	X(13, 23, 29, 35, 43) \
	X(14, 26, 32, 40, 48)

#define PYTHON_DEBUG_COOKIE "xdebugpy" /* [0]; [1]: PY_VERSION_HEX, [2]: 1 in free-threaded builds */

#endif
