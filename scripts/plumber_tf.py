#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The bridge between plumber and stock TensorFlow (2.17 or later).

    plumber_tf.py trace PIPELINE.py:make --arg data_dir=DIR --seconds 10 -o trace.pb
    plumber_tf.py calibrate
    plumber_tf.py load tuned.pb
    plumber_tf.py compare PIPELINE.py:make tuned.pb --arg data_dir=DIR
    plumber_tf.py tune PIPELINE.py:make --arg data_dir=DIR -o tuned.pb

The same from Python:

    with plumber_tf.trace(dataset, "trace.pb") as dataset:
        model.fit(dataset, steps_per_epoch=100)
    dataset = plumber_tf.load("tuned.pb")

    @plumber_tf.optimize(cores=8, mem="16G")
    def make(data_dir): ...

A trace holds the serialised program, the counters of tf.data's own performance model (every node
of every iterator, the finished ones too) and the facts of the machine. Its format is
schemas/trace.proto; this file needs TensorFlow and the standard library only.
"""
import argparse
import ast
import collections
import contextlib
import ctypes
import functools
import hashlib
import importlib.util
import inspect
import itertools
import json
import math
import os
import platform
import random
import re
import select
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import uuid
import weakref



@contextlib.contextmanager
def _quiet_stderr():
    """TensorFlow greets on stderr from C++ while it is imported; a failure is shown in full."""
    saved = os.dup(2)
    with tempfile.TemporaryFile() as sink:
        os.dup2(sink.fileno(), 2)
        try:
            yield
        except Exception:
            sink.seek(0)
            os.write(saved, sink.read())
            raise
        finally:
            os.dup2(saved, 2)
            os.close(saved)


os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3" if __name__ == "__main__" else "2")
NEEDS = f"plumber_tf.py needs TensorFlow 2.17 or later, which {sys.executable} does not have"
TO_GET_IT = ("pip install 'tensorflow>=2.17', or run it with the Python that plumber's "
             "scripts/tensorflow_python.sh makes and prints")
try:
    with _quiet_stderr() if __name__ == "__main__" else contextlib.nullcontext():
        import tensorflow as tf
    from google.protobuf import descriptor_pb2, descriptor_pool, message
    from google.protobuf import message_factory, text_format
    from tensorflow.core.framework import dataset_options_pb2, graph_pb2, model_pb2, types_pb2
    from tensorflow.python.framework import op_def_registry
except ModuleNotFoundError as _missing:
    if _missing.name != "tensorflow":
        raise
    if __name__ != "__main__":
        raise ModuleNotFoundError(f"{NEEDS}\nhint: {TO_GET_IT}", name="tensorflow") from None
    tf = None  # --help works, commands say it
except KeyboardInterrupt:  # seconds go by before main(), which says it otherwise
    if __name__ != "__main__":
        raise
    print("plumber_tf: interrupted", file=sys.stderr)
    sys.exit(130)

RECORDER_VERSION = "plumber_tf 1"
POLL_S = 0.020
# What only fills a buffer at the start is gone after it: the first iterators are looked at closely.
FIRST_POLL_S, FIRST_S, FIRST_ITERATORS = 0.002, 0.040, 8
GAPS_KEPT = 100  # what one iterator of TensorFlow keeps, too
LEAST_START_NS = 1_000_000  # a start that took less is not worth its bytes
EXIT_NO, EXIT_USAGE, EXIT_INPUT, EXIT_BUG, EXIT_INTERRUPTED = 1, 2, 3, 70, 130


class Error(Exception):
    """What was asked cannot be done: what, where, and a way out."""

    def __init__(self, message, hint=None):
        super().__init__(message if hint is None else f"{message}\nhint: {hint}")
        self.message, self.hint = message, hint


# ---- trace format -------------------------------------------------------------------------------
# schemas/trace.proto without the messages that only the original's dialect uses. A test compares.
_SCHEMA = {
    "MachineInfo": "1 int64 num_cores, 2 int64 memory_free, 3 int64 memory_total,"
                   "4 double estimated_disk_bandwidth, 5 int64 num_hyperthreads_per_core,"
                   "6 double nominal_cpu_frequency_mhz, 7 string model",
    "FileSize": "1 string name, 2 int64 size_bytes",
    "CtxInfo": "1 int64 shared_threadpool_size, 2 int64 udf_threadpool_size,"
               "3 repeated FileSize file_sizes",
    "SnapshotInfo": "1 int64 start_time, 2 int64 current_time, 3 int64 process_start_time,"
                    "4 int64 process_current_time",
    "Calibration": "1 double dispatch_base_s, 2 double dispatch_deep_s, 3 double dispatch_tau_s,"
                   "4 double dispatch_cpu_base_s, 5 double dispatch_cpu_deep_s,"
                   "6 double node_overcount_s, 7 double node_overcount_op_s,"
                   "8 double parallel_overcount_s, 9 double parallel_wall_s,"
                   "10 double parallel_inline_wall_s, 11 double parallel_cpu_s,"
                   "12 double parallel_inline_cpu_s, 13 double handover_base_s,"
                   "14 double handover_slope, 15 double handover_max_s, 16 double next_s,"
                   "17 int32 cores",
    "BufferFill": "1 int64 node_id, 2 string node_name, 3 double mean_elements,"
                  "4 double max_elements",
    "Recorder": "1 string tensorflow_version, 2 string mode, 3 double polling_interval_s,"
                "4 int32 cores_allowed, 5 double cgroup_cpu_cores, 6 int64 cgroup_memory_bytes,"
                "7 double pipeline_cpu_s, 8 repeated BufferFill buffer_fill,"
                "9 Calibration calibration, 10 repeated FileSize source_files,"
                "11 string element_spec, 12 bytes user_options, 13 int64 memory_total_bytes,"
                "14 double inline_probe_cpu_s, 15 string recorder_version,"
                "16 repeated string warnings, 17 int64 epochs_completed, 18 int64 epochs_elements,"
                "19 repeated int64 ended_iterators, 20 repeated IteratorStart starts,"
                "21 repeated LostIterator lost, 22 int64 first_element_time,"
                "23 int64 first_element_process_time, 24 double run_queue_wait_s",
    "IteratorStart": "1 int64 node_id, 2 int64 processing_time, 3 int64 elements,"
                     "4 int64 buffered_elements",
    "LostIterator": "1 int64 node_id, 2 int64 consumer_elements",
    "PipelineSnapshot": "1 tensorflow.GraphDef graph, 3 MachineInfo machine_info,"
                        "4 CtxInfo ctx_info, 6 SnapshotInfo snapshot_info,"
                        "100 tensorflow.data.model.ModelProto model, 101 Recorder recorder",
}


def _trace_file_descriptor():
    """The schema above as a protobuf file descriptor."""
    scalar = descriptor_pb2.FieldDescriptorProto
    types = {"int64": scalar.TYPE_INT64, "int32": scalar.TYPE_INT32, "double": scalar.TYPE_DOUBLE,
             "string": scalar.TYPE_STRING, "bytes": scalar.TYPE_BYTES}
    file = descriptor_pb2.FileDescriptorProto(
        name="plumber/bridge/trace.proto", package="plumber.bridge", syntax="proto3",
        dependency=[graph_pb2.DESCRIPTOR.name, model_pb2.DESCRIPTOR.name])
    for message_name, text in _SCHEMA.items():
        entries = file.message_type.add(name=message_name)
        for words in (entry.split() for entry in text.split(",")):
            kind, name = words[-2:]
            field = entries.field.add(name=name, number=int(words[0]))
            field.label = scalar.LABEL_REPEATED if words[1] == "repeated" else scalar.LABEL_OPTIONAL
            if kind in types:
                field.type = types[kind]
            else:
                field.type = scalar.TYPE_MESSAGE
                field.type_name = f".{kind}" if "." in kind else f".plumber.bridge.{kind}"
    return file


def _trace_messages():
    pool = descriptor_pool.Default()
    descriptor = pool.AddSerializedFile(_trace_file_descriptor().SerializeToString())
    descriptor = descriptor or pool.FindFileByName("plumber/bridge/trace.proto")
    # The name of protobuf before 4.22.
    message_class = getattr(message_factory, "GetMessageClass", None) or \
        message_factory.MessageFactory(pool).GetPrototype
    return {name: message_class(entry) for name, entry in descriptor.message_types_by_name.items()}


MESSAGES = _trace_messages() if tf else {}


def read_trace(path):
    """A trace file (one PipelineSnapshot, binary)."""
    snapshot = MESSAGES["PipelineSnapshot"]()
    with _reading(path):
        with open(path, "rb") as file:
            snapshot.ParseFromString(file.read())
    return snapshot


@contextlib.contextmanager
def _reading(path):
    try:
        yield
    except OSError as error:
        raise Error(f"{path}: {error.strerror}") from error
    except Exception as error:
        if isinstance(error, Error):
            raise
        raise Error(f"{path}: not readable: {error}") from error


def _write(path, data):
    """Beside the target, then renamed: on any failure the target is as before."""
    path = os.path.realpath(path)
    folder = os.path.dirname(path)
    if os.path.exists(path) and not os.path.isfile(path):
        with _writing(path), open(path, "wb") as file:
            file.write(data)
        return
    with _writing(path):
        handle, part = tempfile.mkstemp(prefix=os.path.basename(path) + ".", dir=folder)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            mode = os.stat(path).st_mode & 0o7777 if os.path.exists(path) else 0o666 & ~_umask()
            os.chmod(part, mode)
            os.replace(part, path)
        except BaseException:
            os.unlink(part)
            raise


@contextlib.contextmanager
def _writing(path):
    try:
        yield
    except OSError as error:
        raise Error(f"{path}: cannot write: {error.strerror}") from error


@functools.lru_cache(maxsize=None)
def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


# ---- element_spec as text -----------------------------------------------------------------------
# JSON, one object a node: {"tensor": {...}}, {"sparse": ...}, {"ragged": ...}, {"tuple": [...]},
# {"dict": [[key, node], ...]} ("ordered": an OrderedDict), {"dataset": ...}, {"optional": ...},
# {"none": true}. Never eval.

def spec_to_text(spec):
    return json.dumps(_spec_to_json(spec), separators=(",", ":"))


def spec_from_text(text):
    try:
        return _spec_from_json(json.loads(text))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Error(f"element_spec not understood: {text[:120]!r}: {error}",
                    "pass element_spec to load()") from error


def _spec_to_json(spec):
    if isinstance(spec, tf.RaggedTensorSpec):
        return {"ragged": {**_shape_and_dtype(spec), "ragged_rank": spec.ragged_rank,
                           "row_splits_dtype": spec.row_splits_dtype.name}}
    if isinstance(spec, tf.SparseTensorSpec):
        return {"sparse": _shape_and_dtype(spec)}
    if isinstance(spec, tf.TensorSpec):
        return {"tensor": _shape_and_dtype(spec)}
    if isinstance(spec, tf.data.DatasetSpec):
        return {"dataset": _spec_to_json(spec._element_spec),  # no public name for it
                "shape": _shape_to_json(spec._dataset_shape)}
    if isinstance(spec, tf.OptionalSpec):
        return {"optional": _spec_to_json(spec._element_spec)}
    if spec is None or type(spec).__name__ == "NoneTensorSpec":
        return {"none": True}
    if isinstance(spec, tuple):
        items = [_spec_to_json(item) for item in spec]
        if hasattr(spec, "_fields"):
            return {"tuple": items, "name": type(spec).__name__, "fields": list(spec._fields)}
        return {"tuple": items}
    if isinstance(spec, collections.abc.Mapping):
        items = [[key, _spec_to_json(value)] for key, value in spec.items()]
        ordered = isinstance(spec, collections.OrderedDict)
        return {"dict": items, **({"ordered": True} if ordered else {})}
    raise Error(f"element_spec holds a {type(spec).__name__}, which has no text form here",
                "pass element_spec to load()")


def _spec_from_json(node):
    if "tensor" in node:
        return tf.TensorSpec(*_shape_from_json(node["tensor"]))
    if "sparse" in node:
        return tf.SparseTensorSpec(*_shape_from_json(node["sparse"]))
    if "ragged" in node:
        ragged = node["ragged"]
        return tf.RaggedTensorSpec(*_shape_from_json(ragged), ragged_rank=ragged["ragged_rank"],
                                   row_splits_dtype=tf.as_dtype(ragged["row_splits_dtype"]))
    if "dataset" in node:
        return tf.data.DatasetSpec(_spec_from_json(node["dataset"]), tf.TensorShape(node["shape"]))
    if "optional" in node:
        return tf.OptionalSpec(_spec_from_json(node["optional"]))
    if "none" in node:
        return tf.data.Dataset.from_tensors((0, None)).element_spec[1]
    if "tuple" in node:
        items = [_spec_from_json(item) for item in node["tuple"]]
        if "name" in node:
            return collections.namedtuple(node["name"], node["fields"])(*items)
        return tuple(items)
    items = {key: _spec_from_json(value) for key, value in node["dict"]}
    return collections.OrderedDict(items) if node.get("ordered") else items


def _shape_to_json(shape):
    return None if shape.rank is None else shape.as_list()


def _shape_and_dtype(spec):
    return {"shape": _shape_to_json(spec.shape), "dtype": spec.dtype.name}


def _shape_from_json(node):
    return tf.TensorShape(node["shape"]), tf.as_dtype(node["dtype"])


# ---- programs -----------------------------------------------------------------------------------
# Where a program carries its element_spec: attributes that begin with "_" are free, and survive a
# rewrite, so a rewritten program loads without a file beside it.
SPEC_ATTRIBUTE = "_plumber_element_spec"
LENGTH_ATTRIBUTE = "_plumber_length"  # elements, where TensorFlow knows it
ENVIRONMENT_ATTRIBUTE = "_plumber_environment"  # JSON: what tune measured the program with


def serialize(dataset):
    """The data set's own program, as a GraphDef that carries its element_spec."""
    try:
        data = tf.raw_ops.DatasetToGraphV2(
            input_dataset=tf.data.experimental.to_variant(dataset),
            external_state_policy=1).numpy()  # IGNORE
    except tf.errors.OpError as error:
        raise Error(f"TensorFlow cannot write this data set as a program: {error.message}",
                    "leave out what is tied to this process, such as prefetch_to_device or "
                    "copy_to_device, and add it to the loaded data set") from error
    graph = graph_pb2.GraphDef.FromString(data)
    # TensorFlow's own strip_device_assignment leaves "/device::0" where a device had no type (as
    # py_function's), which it then refuses to load.
    for node in all_nodes(graph):
        node.device = ""
    with contextlib.suppress(Error):  # a structure without a text form: load() will ask for it
        _return_node(graph).attr[SPEC_ATTRIBUTE].s = spec_to_text(dataset.element_spec).encode()
    length = int(dataset.cardinality())
    if length >= 0:
        _return_node(graph).attr[LENGTH_ATTRIBUTE].i = length
    return graph


def load(program, element_spec=None, *, trace=None, traced=False):
    """The data set of a GraphDef file (binary, or text when named .pbtxt) or GraphDef message.

    element_spec: by order of the argument, the program's own, the trace's, FILE.spec.json beside
    it, else a flat tuple rebuilt from the output types. traced: FILE may be a trace, and gives the
    program as it was.
    """
    graph, name = _read_graph(program, traced)
    spec = element_spec if element_spec is not None else _find_spec(graph, name, trace)
    try:
        variant = tf.raw_ops.DatasetFromGraph(graph_def=_with_own_state(graph).SerializeToString())
    except tf.errors.OpError as error:
        raise Error(f"{name}: TensorFlow does not load it: {error.message}") from error
    _compare_environment(graph, name)
    dataset = _with_length(tf.data.experimental.from_variant(variant, spec), graph)
    dataset._plumber_python_functions = python_functions(graph)
    return dataset


def _with_own_state(graph):
    """A copy whose shuffles and memory caches find no state of that name in this process: another
    data set's generator of seeds has the same number as soon as it was the first one, too."""
    own = graph_pb2.GraphDef()
    own.CopyFrom(graph)
    prefix = f"plumber_tf.load/{uuid.uuid4().hex}/"
    for value in _handle_values(all_nodes(own)):
        if re.search(r"(SeedGenerator|MemoryCache)_\d+$", value.name):
            value.name = prefix + value.name
    return own


def _with_length(dataset, graph):
    """A rewrite may hide from TensorFlow how many elements there are: Keras would not know its
    steps."""
    own = _return_node(graph).attr
    if LENGTH_ATTRIBUTE not in own or int(dataset.cardinality()) >= 0:
        return dataset
    return dataset.apply(tf.data.experimental.assert_cardinality(own[LENGTH_ATTRIBUTE].i))


def check(dataset, name="program"):
    """Pulls one element; explains the failures that a loaded program can have."""
    try:
        next(iter(dataset), None)
    except Exception as error:  # TensorFlow raises PyFunc failures as several classes
        raise _failure(error, name, "its first element") from error


def _failure(error, name, element):
    """The Error of a data set that raised one at some element."""
    if "Could not find callback" in str(error):
        return Error(
            f"{name}: it calls Python functions (numpy_function, py_function, from_generator),"
            " which live in the process that made the program and cannot be loaded in another",
            "build the original data set first in this process (the functions are found by the"
            " order of their making), or apply the plan's Python lines to the source")
    text = _said(error)
    if "Single-threaded executor does not support" in text:
        return Error(f"{name}: a function with control flow can't run inline: {text}")
    missing = re.search(r"(\S+); No such file or directory", text)
    relative = missing and not _is_absolute(missing.group(1))
    return Error(f"{name}: fails at {element}: {text}",
                 f"{missing.group(1)} is relative to the folder of the process that reads it (now "
                 f"{os.getcwd()}): run in the folder where the program was made, or make it with "
                 "absolute names" if relative else None)


def _said(error):
    """What TensorFlow says of a fault, without the names of its own nodes."""
    text = re.sub(r"\{\{\w+ [^}]*\}\}\s*|\[\[\]\]|\s*\[Op:\w+\].*", "", str(error)).strip()
    return f"{type(error).__name__}: {text.partition(chr(10))[0].strip()}"


def _is_absolute(name):
    return os.path.isabs(name) or re.match(r"[a-z0-9]+://", name) is not None


def _compare_environment(graph, name):
    """What tune measured with variables of the environment is another program without them."""
    own = _return_node(graph).attr
    text = own[ENVIRONMENT_ATTRIBUTE].s if ENVIRONMENT_ATTRIBUTE in own else b"{}"
    for variable, value in json.loads(text).items():
        if os.environ.get(variable) != value:
            print(f"plumber_tf: warning: {name} was tuned with {variable}={value}: set it before "
                  "TensorFlow is imported", file=sys.stderr)


def _read_graph(program, traced=False):
    if isinstance(program, graph_pb2.GraphDef):
        return program, "program"
    name = os.fspath(program)
    with _reading(name), open(name, "rb") as file:
        data = file.read()
    graph = _parse_graph(data, name, traced)
    if not any(node.op == "_Retval" for node in graph.node):
        raise Error(f"{name}: not a serialised data set (a GraphDef with one _Retval)",
                    "plumber optimize --rewrite FILE writes one")
    return graph, name


def _parse_graph(data, name, traced):
    graph = graph_pb2.GraphDef()
    try:
        if name.endswith(".pbtxt"):
            return text_format.Parse(data, graph)
        graph.ParseFromString(data)
    except (message.DecodeError, text_format.ParseError, UnicodeDecodeError) as error:
        graph = graph_pb2.GraphDef()
        with contextlib.suppress(Error):
            graph = read_trace(name).graph
        if graph.node and traced:
            return graph
        if graph.node:
            raise Error(f"{name}: a trace, not a rewritten program",
                        f"plumber optimize {name} --rewrite tuned.pb writes one; "
                        "load(FILE, traced=True) gives the program as it was") from error
        raise Error(f"{name}: not a GraphDef: {error}") from error
    return graph


def _return_node(graph):
    return next(node for node in graph.node if node.op == "_Retval")


def _find_spec(graph, name, trace):
    own = _return_node(graph).attr
    if SPEC_ATTRIBUTE in own:
        return spec_from_text(own[SPEC_ATTRIBUTE].s.decode())
    if trace is not None:
        text = read_trace(trace).recorder.element_spec
        if not text:
            raise Error(f"{trace}: no element_spec recorded")
        return spec_from_text(text)
    if os.path.exists(name + ".spec.json"):
        with _reading(name), open(name + ".spec.json", encoding="utf-8") as file:
            return spec_from_text(file.read())
    return _flat_spec(graph, name)


def _flat_spec(graph, name):
    """What output types and shapes say: a tensor, or a flat tuple of tensors."""
    nodes = {node.name: node for node in graph.node}
    root = nodes.get(_return_node(graph).input[0].split(":")[0])
    attrs = {} if root is None else root.attr
    types = next((attrs[key].list.type for key in ("output_types", "Toutput_types")
                  if key in attrs), None)
    if types is None or "output_shapes" not in attrs or types_pb2.DT_VARIANT in types:
        raise Error(f"{name}: the structure of its elements cannot be told from the program",
                    'pass it: load(FILE, element_spec) or load(FILE, trace="trace.pb")')
    specs = tuple(tf.TensorSpec(tf.TensorShape(shape), tf.as_dtype(dtype))
                  for shape, dtype in zip(attrs["output_shapes"].list.shape, types))
    return specs[0] if len(specs) == 1 else specs


def all_nodes(graph):
    """Nodes of the main graph, then of every function."""
    return itertools.chain(graph.node, *(f.node_def for f in graph.library.function))


_PYTHON = {"PyFunc", "EagerPyFunc", "PyFuncStateless"}


def python_functions(graph):
    return any(node.op in _PYTHON for node in all_nodes(graph))


def source_files(graph):
    """Name and size of every file that a string constant of the program names."""
    sizes = {}
    for name in sorted(_names(graph)):
        with contextlib.suppress(UnicodeDecodeError, OSError, ValueError, tf.errors.OpError):
            text = name.decode()
            size = _file_size(text)
            if size is not None:
                sizes[text] = size
    return sizes


def relative_files(graph):
    """Names of files that mean other ones, or none, in another folder."""
    texts = (name.decode(errors="replace") for name in sorted(_names(graph)))
    return [text for text in texts if not _is_absolute(text) and os.path.isfile(text)]


def _names(graph):
    """What may be file names among the constants of a program."""
    return set(itertools.chain.from_iterable(
        _file_names(node.attr["value"].tensor) for node in all_nodes(graph)
        if node.op == "Const" and node.attr["dtype"].type == types_pb2.DT_STRING))


def _file_names(tensor):
    """What may be file names among the strings of a constant; texts of a data set are not."""
    sample = 100
    with contextlib.suppress(tf.errors.OpError):  # several strings stand packed in one field
        values = tf.io.parse_tensor(tensor.SerializeToString(), tf.string)
        values = tf.reshape(values, [-1]).numpy().tolist()
        names = [value for value in values if 0 < len(value) < 4096]
        if len(names) <= sample or any(_is_file(name) for name in names[:sample]):
            return names
    return []


def _is_file(name):
    with contextlib.suppress(UnicodeDecodeError, OSError, ValueError, tf.errors.OpError):
        return _file_size(name.decode()) is not None
    return False


def _file_size(name):
    if "://" in name and _is_absolute(name):
        status = tf.io.gfile.stat(name)
        return None if status.is_directory else status.length
    return os.path.getsize(name) if os.path.isfile(name) else None


# ---- the machine --------------------------------------------------------------------------------

def machine_info():
    memory = _proc_table("/proc/meminfo")
    cpu = _proc_table("/proc/cpuinfo")
    siblings, cores = _number(cpu.get("siblings")), _number(cpu.get("cpu cores"))
    return MESSAGES["MachineInfo"](
        num_cores=os.cpu_count() or 1,
        memory_free=int(_number(memory.get("MemAvailable"))) * 1024,
        memory_total=int(_number(memory.get("MemTotal"))) * 1024,
        num_hyperthreads_per_core=int(siblings / cores) if cores else 0,
        nominal_cpu_frequency_mhz=_number(cpu.get("cpu MHz")),
        model=cpu.get("model name", platform.machine()))


def cores_allowed():
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cgroup_limits():
    """CPU cores and bytes of memory that this process may use; 0: no limit."""
    cores = [_cpu_quota(folder) for folder in _cgroup_folders("cpu")]
    memory = [_memory_limit(folder) for folder in _cgroup_folders("memory")]
    return (min((c for c in cores if c), default=0.0), min((m for m in memory if m), default=0))


def _cgroup_folders(controller, root="/sys/fs/cgroup", membership="/proc/self/cgroup"):
    """Folders from this process's group up to the root, version 2 then 1: each may limit."""
    for line in _text(membership).splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            base = root
        elif controller in controllers.split(","):
            base = os.path.join(root, controller)
            base = base if os.path.isdir(base) else os.path.join(root, controllers)
        else:
            continue
        parts = [part for part in path.split("/") if part not in ("", "..")]
        for depth in range(len(parts), -1, -1):
            yield os.path.join(base, *parts[:depth])


def _cpu_quota(folder):
    quota, _, period = _text(os.path.join(folder, "cpu.max")).strip().partition(" ")
    if not quota:
        quota = _text(os.path.join(folder, "cpu.cfs_quota_us")).strip()
        period = _text(os.path.join(folder, "cpu.cfs_period_us")).strip()
    if not quota.isdigit() or _number(period) <= 0:  # "max", "-1", no such file
        return 0.0
    return int(quota) / _number(period)


def _memory_limit(folder):
    for name in ("memory.max", "memory.limit_in_bytes"):
        text = _text(os.path.join(folder, name)).strip()
        if text.isdigit() and int(text) < 1 << 60:  # version 1 says "none" by a huge number
            return int(text)
    return 0


def _text(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def _proc_table(path):
    """First value of each "name: value" line."""
    table = {}
    for line in _text(path).splitlines():
        name, colon, value = line.partition(":")
        if colon:
            table.setdefault(name.strip(), value.strip())
    return table


def _number(text):
    match = re.match(r"[-+]?[0-9.]+", text or "")
    return float(match.group()) if match else 0.0


# ---- recording ----------------------------------------------------------------------------------

class _IteratorRecord:
    """What polling has seen of one iterator's model: its last state, and every node that died."""

    def __init__(self):
        self.model = None
        self.ended = False  # pulled to the end of the data: all counts of living nodes are whole
        self.dead = {}  # id -> last state of a node that is gone
        self.lost_inputs = collections.defaultdict(set)  # id of a node -> inputs it once had
        self.consumed = {}  # id of a node that is gone -> elements its consumer had made by then
        self.fill = {}  # id -> [name, polls, sum, max] of the elements it held while it lived
        self.starts = {}  # id -> (time, elements, buffered) of a node when first seen at work

    def update(self, model):
        if self.model is not None:
            self._keep_dead(self.model, model)
        self.model = model
        for number, node in model.nodes.items():
            fill = self.fill.setdefault(number, [node.name, 0, 0, 0])
            held = node.buffered_elements
            if number not in self.starts and node.processing_time:
                self.starts[number] = (node.processing_time, node.num_elements, held)
            fill[1] += 1
            fill[2] += held
            if held > fill[3]:
                fill[3] = held

    def _keep_dead(self, before, now):
        gone = {number for number in before.nodes if number not in now.nodes}
        if not gone:
            return
        for number, node in before.nodes.items():
            lost = gone.intersection(node.inputs)
            if lost:
                self.lost_inputs[number] |= lost
                self.consumed.update((child, node.num_elements) for child in lost)
            if number in gone:  # a copy: a reference would keep the whole message alive
                copy = model_pb2.ModelProto.Node()
                copy.CopyFrom(node)
                self.dead[number] = copy

    def merged(self):
        """The last model with the dead nodes back in their places (ids grow in order of making)."""
        merged = model_pb2.ModelProto()
        merged.CopyFrom(self.model)
        for number, node in self.dead.items():
            merged.nodes[number].CopyFrom(node)
        for number, lost in self.lost_inputs.items():
            node = merged.nodes[number]
            node.inputs[:] = sorted(lost.union(node.inputs))
        return merged

    def add_facts(self, facts, merged, offset):
        """What the counts of the merged model, its ids moved by offset, do not say themselves."""
        for number, (name, polls, total, most) in sorted(self.fill.items()):
            if most:
                facts.buffer_fill.add(node_id=number + offset, node_name=name,
                                      mean_elements=total / polls, max_elements=most)
        for number, (busy, elements, held) in sorted(self.starts.items()):
            if busy >= LEAST_START_NS:
                facts.starts.add(node_id=number + offset, processing_time=busy, elements=elements,
                                 buffered_elements=held)
        for number, node in sorted(merged.nodes.items()):
            for child in sorted(self.lost_inputs.get(number, ())):
                if self.consumed[child] < node.num_elements:
                    facts.lost.add(node_id=child + offset, consumer_elements=self.consumed[child])
        if self.ended:
            facts.epochs_completed += 1
            facts.epochs_elements += self.model.nodes[self.model.output].num_elements
            facts.ended_iterators.extend(number + offset for number in sorted(self.model.nodes)
                                         if number != self.model.output)


class Recorder:
    """Sees the iterators of one data set, polls their models, and writes the trace."""

    def __init__(self, mode, program, options):
        self.mode, self.program, self.options = mode, program, options
        self.records = []
        self.warnings = []
        self.start_ns = self.start_cpu_ns = 0
        self.now_ns = self.now_cpu_ns = 0
        self.first_ns = self.first_cpu_ns = 0  # when the first element was there
        self.poll_times = [0, 0.0, 0.0]  # polls, time of the first, time of the last
        self.poller_cpu_s = 0.0
        self.probe_cpu_s = 0.0
        self.queue_wait_s = 0.0
        self._queued_ns = {}
        self.calibration = None
        self._live = []       # (weak reference to an iterator, its record)
        self._lock = threading.RLock()  # an iterator's __del__ may run while this thread polls
        self._finished = False
        self._newest = 0.0  # when the last iterator was made
        self._added = threading.Event()
        self._stop = threading.Event()
        self._threads = _PipelineThreads()
        self._thread = threading.Thread(target=self._run, name="plumber-poll", daemon=True)

    def calibrated(self, calibration, warning):
        self.calibration = calibration
        if warning:
            self.warnings.append(warning)

    def add(self, iterator):
        with self._lock:
            if not self.records:
                self.start_ns, self.start_cpu_ns = time.time_ns(), time.process_time_ns()
                self._threads.sample()
                self._queued_ns = _run_queue_waits()
                self._thread.start()
            record = _IteratorRecord()
            self.records.append(record)
            self._newest = time.monotonic()
            self._added.set()
            self._live.append((weakref.ref(iterator), record))
            return record

    def finish(self):
        self._stop.set()
        self._added.set()
        if self._thread.is_alive():
            self._thread.join()
        self.poll()
        now = _run_queue_waits()
        self.queue_wait_s = sum(max(0, ns - self._queued_ns.get(task, 0))
                                for task, ns in now.items()) / 1e9
        self._finished = True
        self._threads.sample()

    def poll(self):
        with self._lock:
            self._live = [pair for pair in self._live if pair[0]() is not None]
            for reference, record in self._live:
                iterator = reference()
                if iterator is not None:
                    self.poll_one(iterator, record)

    def first_element(self):
        self.first_ns, self.first_cpu_ns = time.time_ns(), time.process_time_ns()

    def poll_one(self, iterator, record, ended=False):
        if self._finished:
            return
        with self._lock, contextlib.suppress(tf.errors.NotFoundError):  # made, nothing pulled yet
            record.update(tf.data.experimental.get_model_proto(iterator))
            record.ended = record.ended or ended
            self.now_ns, self.now_cpu_ns = time.time_ns(), time.process_time_ns()

    def _pause(self):
        """Until the next poll; True at the end of the recording."""
        if len(self.records) <= FIRST_ITERATORS and time.monotonic() < self._newest + FIRST_S:
            return self._stop.wait(FIRST_POLL_S)
        if len(self.records) >= FIRST_ITERATORS:
            return self._stop.wait(POLL_S)
        self._added.wait(POLL_S)
        self._added.clear()
        return self._stop.is_set()

    def _run(self):
        began = time.monotonic()
        self.poll_times = [0, began, began]
        next_sample = began + 1
        while not self._pause():
            self.poll()
            now = time.monotonic()
            self.poll_times = [self.poll_times[0] + 1, began, now]
            if now >= next_sample:
                self._threads.sample()
                next_sample = now + 1
            self.poller_cpu_s = time.thread_time()

    # ---- what was seen, as a trace

    def elements(self):
        return sum(record.model.nodes[record.model.output].num_elements
                   for record in self.records if record.model is not None)

    def elapsed_s(self):
        return (self.now_ns - self.start_ns) / 1e9

    def snapshot(self):
        with self._lock:
            if not any(record.model is not None for record in self.records):
                raise Error(
                    "nothing was recorded: the traced data set was never iterated",
                    "iterate the data set that the with statement gives, eagerly and unchanged: "
                    "ds.map(...) of it, a loop inside tf.function or a distribution strategy make "
                    "iterators that cannot be seen")
            trace = MESSAGES["PipelineSnapshot"](machine_info=machine_info())
            trace.graph.CopyFrom(self.program)
            trace.snapshot_info.start_time = self.start_ns
            trace.snapshot_info.current_time = self.now_ns
            trace.snapshot_info.process_start_time = self.start_cpu_ns
            trace.snapshot_info.process_current_time = self.now_cpu_ns
            self._add_models(trace)
            self._add_facts(trace.recorder)
        for name, size in source_files(self.program).items():
            trace.recorder.source_files.add(name=name, size_bytes=size)
        trace.ctx_info.file_sizes.extend(trace.recorder.source_files)
        return trace

    def _add_models(self, trace):
        """One tree: several iterators (epochs of a training loop) become inputs of one Root."""
        offset = 0
        for record in self.records:
            if record.model is None:
                continue
            model = record.merged()
            _add_model(trace.model, model, offset)
            record.add_facts(trace.recorder, model, offset)
            offset += max(model.nodes, default=0)

    def _add_facts(self, facts):
        facts.tensorflow_version = tf.__version__
        facts.recorder_version = RECORDER_VERSION
        facts.mode = self.mode
        polls, began, ended = self.poll_times
        facts.polling_interval_s = (ended - began) / polls if polls else POLL_S
        facts.cores_allowed = cores_allowed()
        facts.cgroup_cpu_cores, facts.cgroup_memory_bytes = cgroup_limits()
        facts.memory_total_bytes = int(_number(_proc_table("/proc/meminfo").get("MemTotal"))) * 1024
        facts.pipeline_cpu_s = self._pipeline_cpu_s()
        facts.inline_probe_cpu_s = self.probe_cpu_s
        facts.run_queue_wait_s = self.queue_wait_s
        if self.calibration is not None:
            facts.calibration.CopyFrom(self.calibration)
        own = _return_node(self.program).attr
        if SPEC_ATTRIBUTE in own:
            facts.element_spec = own[SPEC_ATTRIBUTE].s.decode()
        facts.first_element_time = self.first_ns
        facts.first_element_process_time = self.first_cpu_ns
        facts.user_options = self.options._to_proto().SerializeToString(deterministic=True)
        facts.warnings.extend(self.warnings)

    def _pipeline_cpu_s(self):
        """Bare: the process is the pipeline, but for this poller. Training: only threads of a
        private pool can be told from the training step's; 0 (unknown) without one."""
        if self.mode == "bare":
            return max(0.0, (self.now_cpu_ns - self.start_cpu_ns) / 1e9 - self.poller_cpu_s)
        if (self.options.threading.private_threadpool_size or 0) <= 0:
            return 0.0
        return self._threads.cpu_s()


def _add_model(into, model, offset):
    """Adds a tree of nodes, ids moved by offset; all Roots are one."""
    root = model.nodes[model.output]
    for number, node in model.nodes.items():
        if number == model.output and into.output:
            continue
        copy = into.nodes[number + offset]
        copy.CopyFrom(node)
        copy.id = number + offset
        copy.inputs[:] = [i + offset for i in node.inputs]
    if into.output:
        first = into.nodes[into.output]
        first.inputs.extend(i + offset for i in root.inputs)
        for field in ("num_elements", "bytes_consumed", "bytes_produced", "processing_time",
                      "buffered_bytes", "buffered_elements"):
            setattr(first, field, getattr(first, field) + getattr(root, field))
    else:
        into.output = model.output + offset
    into.id_counter = max(into.id_counter, model.id_counter + offset)
    into.optimization_params.CopyFrom(model.optimization_params)
    into.dataset_name = model.dataset_name
    into.gap_times[:] = [*into.gap_times, *model.gap_times][-GAPS_KEPT:]


def _run_queue_waits():
    """Nanoseconds that each living thread was ready to run and had no core, where Linux says so."""
    waits = {}
    with contextlib.suppress(OSError, ValueError, IndexError):
        for task in os.listdir("/proc/self/task"):
            fields = _text(f"/proc/self/task/{task}/schedstat").split()
            waits[task] = int(fields[1]) if len(fields) > 1 else 0
    return waits


class _PipelineThreads:
    """CPU seconds of the threads that tf.data names (tf_data_...), dead ones included."""

    def __init__(self):
        self.first, self.last = {}, {}

    def sample(self):
        began = not self.last
        with contextlib.suppress(OSError):
            for task in os.listdir("/proc/self/task"):
                fields = _text(f"/proc/self/task/{task}/stat")
                name = fields[fields.find("(") + 1:fields.rfind(")")]
                if name.startswith("tf_data"):
                    times = fields[fields.rfind(")") + 2:].split()
                    self.last[task] = (int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK")
        if began:
            self.first = dict(self.last)

    def cpu_s(self):
        return sum(cpu - self.first.get(task, 0.0) for task, cpu in self.last.items())


# ---- calibration --------------------------------------------------------------------------------
# What the analysis must know of the machine: the price of handing a function call to TensorFlow's
# pool (dispatch), of a ParallelMap's call, and of an element over a prefetch. Micro pipelines whose
# work is known give it: the same function dispatched and inline differ by the hand-off only.

# Lowest and highest value believed, microseconds (slope: a number). Values of a small virtual
# machine lie in the middle; an outlier is a disturbed run, not a machine.
_BOUNDS = {
    "dispatch_base_s": (2, 200), "dispatch_deep_s": (4, 600), "dispatch_tau_s": (5, 300),
    "dispatch_cpu_base_s": (2, 200), "dispatch_cpu_deep_s": (4, 600),
    "node_overcount_s": (0.1, 40), "node_overcount_op_s": (0.01, 2),
    "parallel_overcount_s": (1, 120),
    "parallel_wall_s": (4, 400), "parallel_inline_wall_s": (3, 400),
    "parallel_cpu_s": (2, 400), "parallel_inline_cpu_s": (2, 400),
    "handover_base_s": (0.2, 30), "handover_slope": (0.02, 1.5), "handover_max_s": (1, 80),
    "next_s": (2, 2000),
}
_CALIBRATION_BATCH = 256
_TURN_S = 0.002
_MOST_RUNS = 4  # of each case
_QUIET = 1.2  # wall over CPU of work that has a core for itself
_HASH_BYTES_PER_S = 2e9  # about; the work itself is measured


def calibrate(seconds=6.0, progress=None):
    """Measures the machine's constants (all but next_s, which belongs to a pipeline); returns them
    and whether other processes disturbed it. A disturbed one takes up to twice as long: the
    least of more runs counts, each as long as before, because short ones find threads awake."""
    cases = {name: make() for name, make in _calibration_cases().items()}
    share = seconds * 0.8 / len(cases) / 2  # the rest is building the pipelines
    runs = collections.defaultdict(list)
    disturbed = True
    while disturbed and len(runs["source"]) < _MOST_RUNS:
        for _ in range(2):
            for name, dataset in cases.items():
                runs[name].append(_measure(dataset, share, _CALIBRATION_BATCH))
                if progress is not None:
                    progress(time.monotonic())
        seen = {name: _Cost(*map(min, zip(*costs))) for name, costs in runs.items()}
        # A chain on one thread is never idle: wall time beyond its CPU is waiting for a core.
        disturbed = _QUIET < statistics.median(
            cost.wall / cost.cpu for name, cost in seen.items()
            if "inline" in name and "parallel" not in name)
    result = MESSAGES["Calibration"](cores=cores_allowed())
    for name, value in _constants(seen).items():
        low, high = _BOUNDS[name]
        unit = 1.0 if name == "handover_slope" else 1e-6
        setattr(result, name, min(max(value, low), high) * unit)
    return result, disturbed


_Cost = collections.namedtuple("_Cost", "wall cpu nodes")  # microseconds an element


def _calibration_cases():
    numbers = tf.data.Dataset.range(1 << 60)

    def few(x):
        return tf.sin(tf.cast(x, tf.float32))

    def many(x):
        y = few(x)
        y = tf.strings.as_string(y)
        for _ in range(18):
            y = tf.strings.lower(y)
        return y

    def map_case(source, function, inline, calls=None, prefetch=0):
        def make():
            dataset = source.map(function, num_parallel_calls=calls)
            dataset = _run_maps_inline(dataset, keep_parallel=True) if inline else dataset
            dataset = dataset.prefetch(prefetch) if prefetch else dataset
            return dataset.batch(_CALIBRATION_BATCH)
        return make

    cases = {"source": lambda: numbers.batch(_CALIBRATION_BATCH)}
    for name, function in (("few", few), ("many", many)):
        cases[name + " dispatched"] = map_case(numbers, function, False)
        cases[name + " inline"] = map_case(numbers, function, True)
    cases["few parallel"] = map_case(numbers, few, False, calls=2)
    cases["few parallel inline"] = map_case(numbers, few, True, calls=2)
    for work in (3, 10, 20, 40, 200):
        source, function = _hash_work(work)
        cases[f"hash {work} inline"] = map_case(source, function, True)
        if work in (10, 40, 200):
            cases[f"hash {work} dispatched"] = map_case(source, function, False)
        if work == 10:
            cases[f"hash {work} parallel"] = map_case(source, function, False, calls=2)
        if work in (3, 20, 200):
            cases[f"hash {work} prefetch"] = map_case(source, function, True, prefetch=64)
    return cases


def _hash_work(microseconds):
    """A strong hash of a text: no lock, no pool, no memory, and no way to fold it."""
    text = "alpha Beta, gamma " * max(1, int(microseconds * 1e-6 * _HASH_BYTES_PER_S / 18))
    source = tf.data.Dataset.from_tensors(tf.constant(text)).repeat()
    return source, lambda s: tf.strings.to_hash_bucket_strong(s, 1000, [1, 2])


def _measure(dataset, seconds, batch=1):
    """Wall, CPU and node time an element, after a fifth of the time as warm-up."""
    iterator = iter(dataset.with_options(_bare_options()))
    end = time.monotonic() + seconds / 5
    next(iterator)
    while time.monotonic() < end:
        next(iterator)
    before = tf.data.experimental.get_model_proto(iterator)
    began, cpu, count = time.monotonic(), time.process_time(), 0
    while time.monotonic() < began + seconds * 0.8:
        next(iterator)
        count += batch
    wall, cpu = time.monotonic() - began, time.process_time() - cpu
    after = tf.data.experimental.get_model_proto(iterator)
    nodes = (_node_time_s(after) - _node_time_s(before)) / count
    return _Cost(wall / count * 1e6, cpu / count * 1e6, nodes * 1e6)


def _node_time_s(model):
    return sum(node.processing_time for node in model.nodes.values()) / 1e9


def _constants(seen):
    """The constants, in microseconds, from the costs of the cases. An inline chain is one thread
    that never waits: its CPU is its time, undisturbed by other processes."""
    inline = {w: seen[f"hash {w} inline"].cpu for w in (3, 10, 20, 40, 200)}
    work = {w: max(0.1, cpu - seen["source"].cpu) for w, cpu in inline.items()}
    wait = {w: seen[f"hash {w} dispatched"].wall - inline[w] for w in (10, 40, 200)}
    spin = {w: seen[f"hash {w} dispatched"].cpu - inline[w] for w in (10, 40, 200)}
    base = seen["few dispatched"].wall - seen["few inline"].cpu
    base_cpu = seen["few dispatched"].cpu - seen["few inline"].cpu
    deep = max(wait[200], wait[40], base)
    over = {name: seen[name + " dispatched"].nodes - seen[name + " inline"].cpu
            for name in ("few", "many")}
    per_op = (over["many"] - over["few"]) / 19
    constants = {
        "dispatch_base_s": base, "dispatch_deep_s": deep,
        "dispatch_tau_s": _growth_constant(base, deep, {work[w]: wait[w] for w in (10, 40)}),
        "dispatch_cpu_base_s": base_cpu, "dispatch_cpu_deep_s": max(spin[200], spin[40], base_cpu),
        "node_overcount_op_s": per_op, "node_overcount_s": over["few"] - 2 * per_op,
        "parallel_overcount_s":
            seen["hash 10 parallel"].nodes - seen["source"].nodes - work[10],
    }
    constants.update(_parallel_constants(seen))
    constants.update(_handover_constants(seen, work))
    return constants


def _growth_constant(base, deep, points):
    """tau of base + (deep - base)(1 - e^(-x/tau)), the median over points x: y between both."""
    found = [-x / math.log(1 - (y - base) / (deep - base)) for x, y in points.items()
             if deep > base and 0.02 < (y - base) / (deep - base) < 0.98]
    return statistics.median(found) if found else 30.0


def _parallel_constants(seen):
    """Of two calls at a time: period = (work + wall of a call) / 2."""
    work = max(0.1, seen["few inline"].cpu - seen["source"].cpu)
    constants = {}
    for name, case in (("parallel", "few parallel"), ("parallel_inline", "few parallel inline")):
        constants[f"{name}_wall_s"] = 2 * seen[case].wall - work
        constants[f"{name}_cpu_s"] = seen[case].cpu - seen["few inline"].cpu
    return constants


def _handover_constants(seen, work):
    """Prefetch above work x costs c0 + c1 x on both sides, at most cmax."""
    cost = {w: seen[f"hash {w} prefetch"].wall - work[w] for w in (3, 20, 200)}
    slope = (cost[20] - cost[3]) / max(1.0, work[20] - work[3])
    return {"handover_slope": slope, "handover_base_s": cost[3] - max(0.0, slope) * work[3],
            "handover_max_s": max(cost[20], min(cost[200], 30.0))}


def _run_maps_inline(dataset, keep_parallel=False, eligible=lambda node: True):
    """The data set with every map's function run on the thread that asks for the element."""
    graph = serialize(dataset)
    for node in filter(eligible, all_nodes(graph)):
        if node.op == "ParallelMapDatasetV2" and not keep_parallel:
            node.op = "MapDataset"
            del node.input[-1]
            for name in ("deterministic", "use_unbounded_threadpool"):
                node.attr.pop(name, None)
        if node.op == "MapDataset":
            node.attr["force_synchronous"].b = True  # else the default rewrites undo it
        if node.op in ("MapDataset", "ParallelMapDatasetV2"):
            node.attr["use_inter_op_parallelism"].b = False
    return load(graph, dataset.element_spec)


def empty_next_s(element_spec, seconds=0.4):
    """Seconds that Python needs for one next() on elements of this structure, without any work: the
    least of many turns shorter than a time slice, because whoever takes the core only adds."""
    try:
        element = tf.nest.map_structure(_empty_value, element_spec)
        iterator = iter(tf.data.Dataset.from_tensors(element).repeat().with_options(
            _bare_options()))
        _turn_us(iterator, seconds / 5)
        end = time.monotonic() + seconds * 0.8
        wall = _turn_us(iterator, _TURN_S)
        while time.monotonic() < end:
            wall = min(wall, _turn_us(iterator, _TURN_S))
    except (ValueError, TypeError, NotImplementedError, tf.errors.OpError):
        return 0.0  # a structure without constant values: unknown
    low, high = _BOUNDS["next_s"]
    return min(max(wall, low), high) * 1e-6


def _turn_us(iterator, seconds):
    """Microseconds of one next(), over so many seconds."""
    began, count = time.monotonic(), 0
    while (elapsed := time.monotonic() - began) < seconds or not count:
        next(iterator)
        count += 1
    return elapsed / count * 1e6


def _empty_value(spec):
    if not isinstance(spec, tf.TensorSpec):
        raise NotImplementedError
    shape = [1 if size is None else size for size in _shape_to_json(spec.shape) or []]
    return tf.fill(shape, "") if spec.dtype == tf.string else tf.zeros(shape, spec.dtype)


def machine_calibration(again=False, progress=None):
    """The machine's constants, measured at the first use and then read from the cache folder, and
    a warning or None. What was measured on a busy machine is not kept."""
    path = _calibration_path()
    calibration = MESSAGES["Calibration"]()
    if not again and os.path.exists(path):
        with contextlib.suppress(OSError, ValueError, text_format.ParseError):
            text_format.Parse(_text(path), calibration)
            return calibration, None
    calibration, disturbed = calibrate(progress=progress)
    if disturbed:
        return calibration, ("other processes ran during the calibration: its constants are not "
                             "kept")
    with contextlib.suppress(OSError, Error):  # no cache folder: measured again next time
        os.makedirs(os.path.dirname(path), exist_ok=True)
        _write(path, text_format.MessageToString(calibration).encode())
    return calibration, None


def _calibration_path():
    machine = f"{machine_info().model}/{cores_allowed()}/{tf.__version__}/{platform.node()}"
    name = hashlib.sha256(machine.encode()).hexdigest()[:16]
    return os.path.join(cache_folder(), f"calibration-{name}.txt")


def cache_folder():
    folder = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(folder, "plumber")


def calibration_for(element_spec, again=False, progress=None):
    """The machine's constants with next_s of elements of this structure, and a warning or None."""
    calibration, warning = machine_calibration(again, progress)
    calibration.next_s = empty_next_s(element_spec)
    return calibration, warning


# ---- tracing ------------------------------------------------------------------------------------

def _watched(dataset, recorder):
    """The same data set; each iterator it makes is shown to the recorder. The class of the object
    is replaced because Keras and user code test for tf.data.Dataset and call iter() themselves."""
    base = type(dataset)

    class WatchedDataset(base):
        def __iter__(self):
            if not tf.executing_eagerly():
                raise Error("the traced data set is iterated inside a graph (tf.function)",
                            "trace an eager loop: its model cannot be read in graph mode")
            iterator = base.__iter__(self)
            iterator.__class__ = _watched_iterator(type(iterator))
            iterator._plumber_recorder = recorder
            iterator._plumber_record = recorder.add(iterator)
            return iterator

    dataset.__class__ = WatchedDataset
    return dataset


@functools.lru_cache(maxsize=None)
def _watched_iterator(base):
    """Polls once more when an iterator ends or goes: short epochs would be lost between polls."""

    class WatchedIterator(base):
        def __next__(self):
            try:
                element = base.__next__(self)
                if not self._plumber_recorder.first_ns:
                    self._plumber_recorder.first_element()
                return element
            except StopIteration:
                self._plumber_recorder.poll_one(self, self._plumber_record, ended=True)
                raise

        def __del__(self):
            with contextlib.suppress(Exception):  # at exit of Python anything may be gone
                self._plumber_recorder.poll_one(self, self._plumber_record)

    return WatchedIterator


def _bare_options():
    """For the recorder's own loop: the program as written, with counters."""
    options = _no_rewrites()
    options.autotune.enabled = True
    return options


def _no_rewrites():
    """Not the user's fusion of maps and filters either: without the default rewrites TensorFlow
    dies of it (SIGSEGV) where a map has two filters above it."""
    options = tf.data.Options()
    options.experimental_optimization.apply_default_optimizations = False
    options.experimental_optimization.map_and_filter_fusion = False
    return options


def _autotune_on():
    options = tf.data.Options()
    options.autotune.enabled = True
    return options


def _prepare(dataset, mode):
    """The recorder of a data set, and the data set to iterate."""
    _refuse(dataset)
    recorder = Recorder(mode, serialize(dataset), dataset.options())
    if dataset.options().autotune.enabled is False:
        recorder.warnings.append("autotune was off in the options; it was on during the trace, "
                                 "because the counters need it")
    rewrites = dataset.options().experimental_optimization
    if rewrites.map_and_filter_fusion and rewrites.apply_default_optimizations is False:
        recorder.warnings.append("map_and_filter_fusion was off during the trace: stock TensorFlow "
                                 "may die of it (SIGSEGV) without the default rewrites, which this "
                                 "program switches off; leave the option out")
    if SPEC_ATTRIBUTE not in _return_node(recorder.program).attr:
        recorder.warnings.append("element_spec has no text form: load() needs it as an argument")
    if any(node.op.startswith("DataServiceDataset") for node in all_nodes(recorder.program)):
        recorder.warnings.append("a tf.data service does part of the work: the counters hold only "
                                 "what this process does")
    relative = relative_files(recorder.program)
    if relative:
        recorder.warnings.append(f"the program names files relative to {os.getcwd()}, such as "
                                 f"{relative[0]}: what is made of it runs in this folder only")
    options = _bare_options() if mode == "bare" else _autotune_on()
    return recorder, _watched(dataset.with_options(options), recorder)


def _refuse(dataset):
    if not hasattr(tf.data.experimental, "get_model_proto"):
        raise Error(f"TensorFlow {tf.__version__} cannot show an iterator's model",
                    "tracing needs TensorFlow 2.17 or later")
    if not tf.executing_eagerly():
        raise Error("TensorFlow is in graph mode: an iterator's model can only be read eagerly",
                    "trace the input pipeline in a program of its own, without "
                    "tf.compat.v1.disable_eager_execution()")
    if isinstance(dataset, (tf.distribute.DistributedDataset, tf.distribute.DistributedIterator)):
        raise Error("a distributed data set cannot be traced: its workers' iterators are hidden",
                    "trace the data set before experimental_distribute_dataset()")
    if tf.distribute.has_strategy():
        raise Error("tracing inside a distribution strategy's scope is not supported: the strategy "
                    "makes data sets of its own, whose iterators are hidden",
                    "trace the data set outside of the scope")
    if not isinstance(dataset, tf.data.Dataset):
        raise Error(f"not a tf.data.Dataset but a {type(dataset).__name__}")


@contextlib.contextmanager
def trace(dataset, path, *, calibrate=True, every=None):
    """Records a training loop's use of a data set into PATH:

        with plumber_tf.trace(dataset, "trace.pb") as dataset:
            model.fit(dataset, epochs=2)

    every: seconds between dumps; PATH is then a folder of numbered dumps. The constants of the
    machine are measured once (6 s, before the loop) and kept in the user's cache folder.
    """
    recorder, watched = _prepare(dataset, "training")
    if calibrate:
        recorder.calibrated(*calibration_for(dataset.element_spec))
    for warning in recorder.warnings:
        print(f"plumber_tf: warning: {warning}", file=sys.stderr)
    dumps = _Dumps(recorder, path, every)
    try:
        yield watched
    except BaseException:  # what was recorded until then is a trace, too
        recorder.finish()
        with contextlib.suppress(Error):
            dumps.finish()
        raise
    recorder.finish()
    dumps.finish()


class _Dumps:
    """Writes one trace at the end or, with a period, numbered ones on the way."""

    def __init__(self, recorder, path, every):
        self.recorder, self.path, self.count = recorder, os.fspath(path), 0
        self._written_ns = -1
        self._stop = threading.Event()
        self._thread = None
        if every is None:
            return
        with _writing(self.path):
            os.makedirs(self.path, exist_ok=True)
        self._thread = threading.Thread(target=self._run, args=(every,), daemon=True)
        self._thread.start()

    def _run(self, every):
        while not self._stop.wait(every):
            if self.recorder.elements():
                self._write()

    def _write(self):
        if self.recorder.now_ns == self._written_ns:  # nothing seen since the last one
            return
        self._written_ns = self.recorder.now_ns
        data = self.recorder.snapshot().SerializeToString(deterministic=True)
        if self._thread is None:
            _write(self.path, data)
        else:
            _write(os.path.join(self.path, f"{self.count:04d}.pb"), data)
        self.count += 1

    def finish(self):
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        self._write()


def record(dataset, seconds, path, *, every=None, progress=None, setup=None):
    """Pulls elements for some seconds and writes the trace; a finite data set begins again."""
    recorder, watched = _prepare(dataset, "bare")
    if setup is not None:
        setup(recorder)
    dumps = _Dumps(recorder, path, every)
    began = time.monotonic()
    end = began + seconds
    with contextlib.suppress(KeyboardInterrupt):  # what was recorded until then is a trace, too
        while time.monotonic() < end:
            if not _pull_epoch(watched, end, progress):
                raise Error("the data set is empty")
    took = time.monotonic() - began
    if took > 2 * seconds + 1:
        recorder.warnings.append(f"recorded for {took:.3g} s instead of {seconds:g}: an element "
                                 "was waited for; if others used this machine, trace again")
    recorder.finish()
    dumps.finish()
    return recorder


def _pull_epoch(dataset, end, progress):
    """True if the epoch had elements."""
    count = 0
    try:
        for _ in dataset:
            count += 1
            now = time.monotonic()
            if progress is not None:
                progress(now)
            if now >= end:
                break
    except tf.errors.OpError as error:
        raise _failure(error, "the data set", f"element {count}") from error
    return count > 0


# ---- one program in a process of its own --------------------------------------------------------

class Program:
    """A data set that runs in a child process: PIPELINE.py:function or a rewritten program.

    environment: variables of the child; functions_from: PIPELINE.py:function to build before a
    program with Python functions is loaded; rewrites: False switches the default rewrites off;
    traced: a recorder polls it; patience_s: seconds that it may take for an answer.
    The child starts at once, what it says about the side is heard at the first request.
    """

    def __init__(self, side, arguments=(), *, environment=None, patience_s=None, **how):
        self.side, self.patience_s = side, patience_s
        self._again = functools.partial(Program, side, arguments, environment=environment,
                                        patience_s=patience_s, **how)
        self._process = subprocess.Popen(
            [sys.executable, os.path.abspath(__file__), "serve"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True, env={
                **os.environ, "CUDA_VISIBLE_DEVICES": "-1",  # the trainer has its memory
                SWITCH: "off", **(environment or {})})
        self._opened = False
        self._send({"side": side, "arguments": [list(pair) for pair in arguments], **how})

    def again(self):
        """Another process of the same."""
        return self._again()

    def digests(self, **limits):
        """See _digests: one list of component digests an element."""
        return self._ask({"do": "digests", **limits})

    def write(self, path):
        """Writes the program as it is."""
        return self._ask({"do": "write", "path": path})

    def cardinality(self):
        """What the data set says itself; -1: endless, -2: unknown."""
        return self._ask({"do": "cardinality"})

    def fixed_form(self):
        """See fixed_form()."""
        return self._ask({"do": "fixed_form"})

    def record(self, path, seconds):
        """Traces it into a file; returns warnings."""
        return self._ask({"do": "record", "path": path, "seconds": seconds})

    def pull(self, elements=None, seconds=None):
        """Pulls some more elements of one running iterator; returns (elements, seconds, CPU s)."""
        return self._ask({"do": "pull", "elements": elements, "seconds": seconds})

    def rate(self, seconds):
        count, elapsed, _ = self.pull(seconds=seconds)
        return count / elapsed

    def open(self):
        """Waits until the side is loaded."""
        if not self._opened:
            self._opened = True
            self._answer()

    def pause(self):
        """Stops all its threads: what fills buffers would take the cores from another program."""
        self._process.send_signal(signal.SIGSTOP)

    def resume(self):
        self._process.send_signal(signal.SIGCONT)

    def close(self, kill=False):
        self.resume()
        if kill:
            self._process.kill()
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.close(kill=kind is not None)  # what failed need not end its work

    def _ask(self, request):
        self.open()
        self._send(request)
        return self._answer()

    def _send(self, request):
        with contextlib.suppress(BrokenPipeError):  # reading the answer tells the end of it
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()

    def _answer(self):
        if not select.select([self._process.stdout], [], [], self.patience_s)[0]:
            self._process.kill()
            raise ProgramError(self, f"{self.side}: no answer within {self.patience_s:g} s")
        line = self._process.stdout.readline()
        if not line:
            raise ProgramError(self, f"{self.side}: its process {_ended(self._process.wait())}")
        answer = json.loads(line)
        if "error" in answer:
            raise ProgramError(self, answer["error"])
        return answer["value"]


def _ended(code):
    if code >= 0:
        return f"ended (exit {code})"
    name = signal.Signals(-code).name
    crashed = ", inside TensorFlow: run it alone to see whether it dies there, too"
    return f"was killed ({name})" + (crashed if name in ("SIGSEGV", "SIGABRT", "SIGBUS") else "")


class ProgramError(Error):
    """A program in a process of its own failed, and which one."""

    def __init__(self, program, message):
        super().__init__(message)
        self.program = program


def _command_serve(_):
    """The child: one request a line on stdin, one answer a line on the stdout it was given."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is the parent's, who ends this process
    _die_with_parent()
    server = _Server()
    for line in sys.stdin:
        try:
            answer = {"value": server.answer(json.loads(line))}
        except Error as error:
            answer = {"error": str(error)}
        except tf.errors.OpError as error:
            answer = {"error": str(_failure(error, server.name, "an element"))}
        except Exception as error:
            answer = {"error": f"{server.name}: {type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _die_with_parent():
    """Even one that is stopped while others are measured ends with its parent (on Linux)."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


class _Server:
    def __init__(self):
        self.name, self.dataset, self.iterator, self._keep = "", None, None, None
        self.arguments = ()

    def answer(self, request):
        if "side" in request:
            return self._open(**request)
        if request["do"] == "digests":
            return _digests(self.dataset, request)
        if request["do"] == "write":
            return _write(request["path"], serialize(self.dataset).SerializeToString())
        if request["do"] == "cardinality":
            return int(self.dataset.cardinality())
        if request["do"] == "fixed_form":
            return fixed_form(self.dataset)
        if request["do"] == "record":
            recorder = record(self.dataset, request["seconds"], request["path"],
                              setup=_recorder_setup(self.dataset, self.name, self.arguments))
            return recorder.warnings
        return self._pull(request["elements"], request["seconds"])

    def _open(self, side, arguments, functions_from=None, trace=None, rewrites=True, inline=False,
              traced=False):
        self.name, self.arguments = side, arguments
        if functions_from is not None:
            self._keep = build(functions_from, arguments)
        dataset = open_side(side, arguments, trace)
        if inline:
            dataset = _run_eligible_maps_inline(dataset)
        if not rewrites:
            dataset = dataset.with_options(_no_rewrites())
        if traced:
            self._keep, dataset = _prepare(dataset, "bare")
        self.dataset = dataset
        return {"element_spec": str(dataset.element_spec)}

    def _pull(self, elements, seconds):
        """Goes on where the last pull ended; a finite data set begins again."""
        began, cpu, count = time.monotonic(), time.process_time(), 0
        end = began + (seconds or math.inf)
        limit = elements or math.inf
        empty = False
        while count < limit and time.monotonic() < end:
            if self.iterator is None:
                self.iterator = iter(self.dataset)
            if next(self.iterator, None) is None:
                if empty:
                    raise Error(f"{self.name}: no elements")
                self.iterator, empty = None, True
                continue
            count, empty = count + 1, False
        return count, time.monotonic() - began, time.process_time() - cpu


def open_side(side, arguments=(), trace=None):
    """PIPELINE.py:function, or a program's file."""
    if re.search(r"\.py:[^:/]*$", side):
        return build(side, arguments)
    return load(side, trace=trace, traced=True)


# ---- comparing ----------------------------------------------------------------------------------

def _digests(dataset, request):
    """Elements (or rows of one epoch) as lists of digests, one a component, with a time limit."""
    if request.get("one_epoch"):
        dataset = one_epoch(dataset)
    limit, end = request["elements"], time.monotonic() + request["seconds"]
    found, complete, fault = [], True, None
    by_row = request.get("one_epoch") or request.get("rows")
    try:
        for element in dataset:
            if len(found) >= limit or time.monotonic() > end:
                complete = False
                break
            found.append([[_digest(part) for part in row] for row in _rows(element)] if by_row else
                         [_digest(part) for part in _tensors(element)])
    except tf.errors.OpError as error:
        failure = _failure(error, "it", f"element {len(found)}")
        text = failure.message.removeprefix("it: ")
        text += f" ({failure.hint})" if failure.hint else ""
        complete, fault = False, [type(error).__name__, text]
    return {"digests": found, "complete": complete, "fault": fault}


def _tensors(element):
    return [part.numpy() for part in tf.nest.flatten(element, expand_composites=True)
            if part is not None]


def _digest(value):
    """Type, shape and bytes of a tensor's value; of a tuple, of all that it holds."""
    if isinstance(value, tuple):
        head, body = b"tuple", "".join(map(_digest, value)).encode()
    elif isinstance(value, (bytes, str)):
        head, body = b"string", value if isinstance(value, bytes) else value.encode()
    else:
        head = f"{value.dtype}{value.shape}".encode()
        body = repr(value.tolist()).encode() if value.dtype == object else value.tobytes()
    return hashlib.blake2b(head + b"\0" + body, digest_size=8).hexdigest()


def _rows(element):
    """A batch as its rows, without what depends on the other rows of the batch: the zeros that
    padded_batch added, the offsets of ragged rows and the common shape of sparse ones. An element
    that is no batch is one row."""
    parts = []
    for part in tf.nest.flatten(element):
        if isinstance(part, tf.RaggedTensor):
            parts.append(_ragged_rows(part))
        elif isinstance(part, tf.SparseTensor):
            parts.append(_sparse_rows(part))
        else:
            parts += _tensors(part)
    sizes = {len(part) if isinstance(part, tuple) else part.shape[0] if getattr(part, "ndim", 0)
             else None for part in parts}
    if len(sizes) != 1 or None in sizes:
        return [parts]
    return [[_without_padding(part[i]) for part in parts] for i in range(sizes.pop())]


def _ragged_rows(part):
    """For each row the lengths of what it holds, level by level, and its values."""
    splits, values, rows = [one.numpy() for one in part.nested_row_splits], part.flat_values, []
    values = values.numpy()
    for row in range(len(splits[0]) - 1):
        start, end, lengths = row, row + 1, []
        for split in splits:
            ends = split[start:end + 1]
            lengths.append((ends[1:] - ends[:-1]).tolist())
            start, end = ends[0], ends[-1]
        rows.append((repr(lengths), values[start:end]))
    return tuple(rows)


def _sparse_rows(part):
    """For each row the places of its values within it, and the values."""
    places, values = part.indices.numpy(), part.values.numpy()
    if len(part.dense_shape) < 2:
        return ((repr(places.tolist()), values),)
    rows = [places[:, 0] == row for row in range(int(part.dense_shape[0]))]
    return tuple((repr(places[row, 1:].tolist()), values[row]) for row in rows)


def _without_padding(row):
    if getattr(row, "ndim", 0) != 1:
        return row
    length = len(row)
    while length and not row[length - 1]:
        length -= 1
    return row[:length]


def one_epoch(dataset):
    """The data set with each endless repeat of its main program done once."""
    graph = serialize(dataset)
    nodes = {node.name: node for node in graph.node}
    for node in list(graph.node):
        if node.op == "RepeatDataset":
            count = nodes[node.input[1].split(":")[0]]
            if count.op == "Const" and tf.make_ndarray(count.attr["value"].tensor) < 0:
                once = graph.node.add(name=f"{node.name}/once", op="Const")
                once.CopyFrom(count)
                once.name = f"{node.name}/once"
                once.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(1, tf.int64))
                node.input[1] = once.name
    return load(graph, dataset.element_spec)


Sameness = collections.namedtuple("Sameness", "verdict text")
# equal: bit for bit, in order. multiset: the first is random itself, and what does not change from
# run to run is the same multiset. order: the first has one order, the second another.
SAME = ("equal", "multiset")


def judge(ones, others):
    """Sameness of two programs from runs of the first and of the second, each {"elements": digests,
    "rows": those of an epoch, or None if it is too long}. Only what all runs of the first agree on
    and no run of the second has is a difference."""
    first, other = ones[0]["elements"], others[0]["elements"]
    in_order = all(one["elements"] == first for one in ones)
    if any(side["rows"] is None for side in (*ones, *others)):
        if in_order and all(side["elements"] != first for side in others):
            return Sameness("different", _first_difference(first, other))
        return Sameness("unknown", "not comparable: random, and an epoch is too long to count")
    sameness = _judge_rows(*([_all_rows(run["rows"]) for run in runs] for runs in (ones, others)))
    if sameness.verdict == "different" and in_order:
        return Sameness("different", _first_difference(first, other))
    if sameness.verdict != "multiset" or not in_order:
        return sameness
    if any(side["elements"] == first for side in others):
        return Sameness("unknown", "not comparable: the order changes from run to run")
    return Sameness("order", sameness.text.replace("equal as a multiset; random by nature",
                                                   "the same elements in another order"))


def _all_rows(elements):
    return [row for element in elements for row in element]


def _judge_rows(ones, others):
    """The same from the rows of each run, in whatever order: multiset, different or unknown."""
    first, other = ones[0], others[0]
    groups = _stable_groups(ones)
    if not groups:
        if all(len(rows) == len(first) for rows in ones) and all(
                len(rows) != len(first) for rows in others):
            return Sameness("different", f"different: {len(first)} rows of an epoch against "
                                         f"{len(other)}")
        return Sameness("unknown", "not comparable: every component changes from run to run")
    names = f"{sum(map(len, groups))} of {_width(first)} components, {len(first)} rows of an epoch"
    same = [[_counts(rows, group) == _counts(first, group) for rows in others] for group in groups]
    if not all(map(any, same)):
        return Sameness("different", f"different elements ({names})")
    if not all(map(all, same)):
        return Sameness("unknown", "not comparable: the second one changes from run to run")
    return Sameness("multiset", f"equal as a multiset; random by nature ({names})")


def _stable_groups(runs):
    """Components whose values, taken together, are the same multiset in all runs: two random orders
    side by side have the same values each, but not the same pairs."""
    def stable(group):
        return all(_counts(rows, group) == _counts(runs[0], group) for rows in runs[1:])
    alone = [c for c in range(_width(runs[0])) if stable([c])]
    if stable(alone):
        return [alone] if alone else []
    groups = []
    for c in alone:
        group = next((one for one in groups if stable([*one, c])), None)
        if group is None:
            groups.append([c])
        else:
            group.append(c)
    return groups


def _width(rows):
    return max((len(row) for row in rows), default=0)


def _counts(rows, components):
    return collections.Counter(tuple(row[c] for c in components if c < len(row)) for row in rows)


def _first_difference(one, two):
    if len(one) != len(two):
        return f"different: {len(one)} elements against {len(two)}"
    for index, (a, b) in enumerate(zip(one, two)):
        if a != b:
            parts = [str(c) for c, (x, y) in enumerate(itertools.zip_longest(a, b)) if x != y]
            return f"different: element {index}, component {', '.join(parts)}"
    return "equal"


def judge_faults(first, fault, other, other_fault):
    """The same of two programs of which one at least failed at an element: digests until there,
    and each one's [kind, text] or None."""
    if other_fault is None:
        return Sameness("different", f"only the first one {fault[1]}")
    if fault is None:
        return Sameness("fails", f"only the second one {other_fault[1]}")
    if fault[0] != other_fault[0] or len(first) != len(other):
        return Sameness("different", f"both fail, differently: the first one {fault[1]}; the "
                        f"second one {other_fault[1]}")
    if first != other:
        return Sameness("different", f"{_first_difference(first, other)}; then both fail alike")
    if not first:
        return Sameness("unknown", f"not comparable: each one {fault[1]}")
    return Sameness("equal", f"equal, bit for bit and in order ({len(first)} elements); then both "
                    f"fail alike: it {fault[1]}")


def _judge_ends(ones, others):
    """The same from runs, each as digests() gives it, of which the first of a program failed."""
    one, other = ones[0], others[0]
    sameness = judge_faults(one["digests"], one["fault"], other["digests"], other["fault"])
    if sameness.verdict not in _GRAVE:
        return sameness

    def end(run):
        return run["fault"] and (run["fault"][0], len(run["digests"]))

    def seen(run):
        return end(run) if end(one) != end(other) else run["digests"]
    if all(seen(run) == seen(one) for run in ones) and all(seen(run) != seen(one)
                                                           for run in others):
        return sameness
    which, fault = ("first", one["fault"]) if one["fault"] else ("second", other["fault"])
    return Sameness("unknown", f"not comparable: random, and the {which} one {fault[1]}")


# Runs of a program that is left to chance may agree by chance. Where n runs of each disagree, and p
# is the chance of what those of the first gave, chance explains it p^n (1-p)^n: once in 4096.
RUNS = 6
_GRAVE = ("different", "order", "fails")


def _decided(a, b, sides, look, judged):
    """What is judged of one run of each program (sides); where it says that they differ and the
    first is left to chance, of more runs in other processes."""
    ones, others = ([side] for side in sides)
    for _ in range(RUNS - 1):
        if judged(ones, others).verdict not in _GRAVE:
            break
        with a.again() as one:
            if _is_fixed(a, one):
                break
            ones.append(look(one))
        if judged(ones, others).verdict in _GRAVE:
            with b.again() as other:
                others.append(look(other))
    return judged(ones, others)


def _is_fixed(program, again):
    form = program.fixed_form()
    return form is not None and form == again.fixed_form()


class _OutOfTime(Exception):
    pass


def same_elements(a, b, *, elements=256, epoch_elements=5000, seconds=60, within=None,
                  progress=None):
    """Judges whether two Programs give the same elements. Each has a process of its own, because
    the seeds of shuffles and memory caches belong to a process. One look at a program takes up to
    `seconds`, all of them up to `within` if it is given; progress(text) is told what is done."""
    end = math.inf
    if within is not None:  # a first judgement takes four looks
        end, seconds = time.monotonic() + within, min(seconds, within / 4)
    say = progress or (lambda text: None)

    def again(look):
        def look_in_time(program):
            if time.monotonic() > end:
                raise _OutOfTime
            say("they differ, which may be chance: running each once more")
            found = look(program)
            if time.monotonic() > end:
                raise _OutOfTime
            return found
        return look_in_time

    try:
        return _same_elements(a, b, elements, epoch_elements, seconds, say, again)
    except _OutOfTime:
        return Sameness("unknown", "not comparable: random, and too slow to run it often enough "
                        f"within {within:g} s")


def _same_elements(a, b, elements, epoch_elements, seconds, say, again):
    say(f"comparing {elements} elements of each")
    one = a.digests(elements=elements, seconds=seconds)
    count = max(1, len(one["digests"]))
    limit = count + 1 if one["fault"] else count
    other = b.digests(elements=limit, seconds=seconds)
    if one["fault"] or other["fault"]:
        return _decided(a, b, (one, other), again(lambda program: program.digests(
            elements=limit, seconds=seconds)), _judge_ends)
    first, second = one["digests"], other["digests"]
    if not other["complete"] and 0 < len(second) < count:  # slower, which is no difference
        count, first = len(second), first[:len(second)]
    if not first and not one["complete"] or not second and not other["complete"]:
        return Sameness("unknown", f"not comparable: no element within {seconds:g} s")
    if first == second:
        return Sameness("equal", f"equal, bit for bit and in order ({len(first)} elements)")

    def side(program, found=None):
        if found is None:
            found = program.digests(elements=count, seconds=seconds)["digests"]
        rows = program.digests(elements=epoch_elements, seconds=seconds, one_epoch=True)
        return {"elements": found, "rows": rows["digests"] if rows["complete"] else None}

    say(f"they differ in order or by chance: looking for an epoch of up to {epoch_elements} "
        f"rows in each, at most {seconds:g} s")
    return _decided(a, b, (side(a, first), side(b, second)), again(side), judge)


# Ops with a state, or that read a file, which give the same each time. Others may not.
_SAME_EACH_TIME = {
    "_Arg", "_Retval", "AnonymousMemoryCache", "AnonymousSeedGenerator", "Assert", "CacheDatasetV2",
    "DummyMemoryCache", "DummySeedGenerator", "FixedLengthRecordDataset",
    "FixedLengthRecordDatasetV2", "If", "MatchingFilesDataset", "PrintV2", "RangeDataset",
    "SparseTensorSliceDataset", "StatefulPartitionedCall", "TFRecordDataset", "TFRecordDatasetV2",
    "TensorDataset", "TensorSliceDataset", "TextLineDataset", "While"}
_SLOPPY = {"ExperimentalParallelInterleaveDataset", "ParallelInterleaveDataset"}


def fixed_form(dataset):
    """A hash of what a data set does if nothing in it is left to chance; else None."""
    try:
        graph = serialize(dataset)
    except Error:
        return None
    for nodes in (graph.node, *(function.node_def for function in graph.library.function)):
        by_name = {node.name: node for node in nodes}
        if any(_left_to_chance(node, by_name) for node in nodes):
            return None
    return graph_hash(graph)


def _left_to_chance(node, by_name):
    """Whether it may give something else, or in another order, in another run."""
    if "deterministic" in node.attr and node.attr["deterministic"].s == b"false":
        return True
    if node.op == "OptionsDataset":
        options = dataset_options_pb2.Options.FromString(node.attr["serialized_options"].s)
        return options.HasField("deterministic") and not options.deterministic
    if node.op.startswith("Shuffle"):
        return not _has_seed(node, by_name)
    definition = op_def_registry.get(node.op)
    stateful = definition is not None and definition.is_stateful
    return node.op in _PYTHON | _SLOPPY or stateful and node.op not in _SAME_EACH_TIME


def _has_seed(node, by_name):
    """Whether one of a shuffle's seeds, its third and fourth input, is a constant other than 0."""
    seeds = [by_name.get(_source(name)) for name in node.input[2:4]]
    return all(seed is not None and seed.op == "Const" for seed in seeds) and any(
        tf.make_ndarray(seed.attr["value"].tensor) for seed in seeds)


def _is_source(side):
    return re.search(r"\.py:[^:/]*$", side) is not None


def rates_in_turn(programs, rounds, seconds, warm_elements=0, warm_seconds=1.0):
    """Rates of running programs, one list a program: round by round, so that what disturbs the
    machine disturbs all of them. A program whose turn it is not stands still."""
    for program in programs:
        if warm_elements:
            program.pull(elements=warm_elements)
        program.pull(seconds=warm_seconds)
        program.pause()
    found = [[] for _ in programs]
    for _ in range(rounds):
        for rates, program in zip(found, programs):
            program.resume()
            rates.append(program.rate(seconds))
            program.pause()
    return found


def spread(values):
    return f"{statistics.median(values):.4g} ({min(values):.4g} .. {max(values):.4g})"


def _how_to_run(program, original, plan):
    """How the rewritten program of an original runs: under the plan's environment, and with the
    original's Python functions where it calls them."""
    how = {} if plan is None else {"environment": _read_json(plan).get("environment")}
    if _is_source(original) and not _is_source(program):
        graph, _ = _read_graph(program, traced=True)
        if python_functions(graph):
            how["functions_from"] = original
    return how


def too_noisy(ratios):
    """True where rounds contradict each other by more than what a quiet machine scatters."""
    return min(ratios) < 1 < max(ratios) and max(ratios) > 1.25 * min(ratios)


def _command_compare(options):
    def say(text):
        print(f"plumber_tf: {text}", file=sys.stderr, flush=True)

    how = {"trace": options.trace}
    how.update(_how_to_run(options.b, options.a, options.plan))
    rates = []
    with Program(options.a, options.arg) as a, Program(options.b, options.arg, **how) as b:
        sameness = same_elements(a, b, elements=options.elements, within=options.limit,
                                 progress=say)
        print(f"elements: {sameness.text}", flush=True)
        if options.rounds:
            say(f"measuring both in turn: {options.rounds} rounds of {options.seconds:g} s each")
            rates = rates_in_turn([a, b], options.rounds, options.seconds)
    if rates:
        for name, side, values in zip("AB", (options.a, options.b), rates):
            print(f"rate {name}:   {spread(values)} /s  {side}")
        ratios = [y / x for x, y in zip(*rates)]
        print(f"B / A:    {spread(ratios)}  "
              f"({options.rounds} rounds of {options.seconds:g} s in turn)")
        if too_noisy(ratios):
            print("too noisy to tell which is faster: run again when others use this machine less")
    return 0 if sameness.verdict in SAME else EXIT_NO


# ---- inline probe -------------------------------------------------------------------------------
# The same program with every function that can run inline doing so: nothing is handed over, so its
# CPU an element is the sum of the work, which node times only estimate.

_CONTROL_FLOW = {"If", "StatelessIf", "While", "StatelessWhile", "Case", "StatelessCase", "Switch",
                 "Merge", "Enter", "Exit", "NextIteration", "For"}


def inline_probe_cpu_s(source, arguments, seconds=1.5):
    """CPU seconds an element, or 0 with the reason."""
    try:
        with Program(source, arguments, inline=True,
                     environment={"TF_NUM_INTRAOP_THREADS": "1"}) as program:
            program.pull(seconds=seconds / 3)
            count, _, cpu = program.pull(seconds=seconds)
            return cpu / count, None
    except Error as error:
        return 0.0, error.message


def _run_eligible_maps_inline(dataset):
    functions = _functions_by_name(serialize(dataset))
    return _run_maps_inline(dataset, eligible=lambda node: _can_run_inline(node, functions))


def _functions_by_name(graph):
    return {function.signature.name: function for function in graph.library.function}


def _can_run_inline(node, functions):
    return node.op in ("MapDataset", "ParallelMapDatasetV2") and not _reaches(
        node, functions, _CONTROL_FLOW | _PYTHON)


def _worth_a_probe(graph):
    functions = _functions_by_name(graph)
    return any(_can_run_inline(node, functions) for node in all_nodes(graph))


def _reaches(node, functions, ops):
    """Whether a function of this node, or one that it calls, holds one of these ops."""
    waiting, seen = [node], set()
    while waiting:
        for name in _called(waiting.pop()):
            if name in functions and name not in seen:
                seen.add(name)
                nodes = functions[name].node_def
                if any(inner.op in ops for inner in nodes):
                    return True
                waiting.extend(nodes)
    return False


def _called(node):
    for value in node.attr.values():
        if value.HasField("func"):
            yield value.func.name
        yield from (function.name for function in value.list.func)


# ---- plans --------------------------------------------------------------------------------------
# The bridge asks the program `plumber` for plans; what it does with them is decided by what runs.

def plumber_program(given=None):
    """The path of plumber: the one given, else what PLUMBER names, else the one on PATH, else this
    checkout's build."""
    built = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "build",
                         "release", "apps", "plumber")
    named = given or os.environ.get("PLUMBER")
    found = shutil.which(named) if named else shutil.which("plumber") or shutil.which(built)
    if found is None:
        who = "--plumber " if given else "PLUMBER="
        where = f"{who}{named} names no program" if named else "no program `plumber` on the PATH"
        raise Error(where, "build and install plumber, or name it: PLUMBER=/path/to/plumber")
    return found


def run_plumber(*words, program=None):
    """True if it was done, False if the answer is no."""
    program = plumber_program(program)
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, check=False)
    if done.returncode > EXIT_NO:
        raise Error(done.stderr.strip().removeprefix("plumber: error: ")
                    or f"plumber {words[0]} ended with {done.returncode}")
    return done.returncode == 0


class Limits(collections.namedtuple("Limits", "cores mem no_cache allow", defaults=(None,) * 4)):
    """What a plan may use, as `plumber optimize` takes it; allow is a comma-separated list."""

    def words(self):
        words = ["--no-cache"] if self.no_cache else []
        for name in ("cores", "mem", "allow"):
            value = getattr(self, name)
            words += [] if value in (None, "") else [f"--{name}", str(value)]
        return words


_UPKEEP = ("set_options", "rehome_cache")  # edits that follow from others or from the recorder
CACHES = ("insert_cache", "insert_partial_cache")
MODES = ("inline", "parallel_inline", "pass_through_filter")
MOVES = ("reorder", "remove", "move_into_function", "balance")
# What the next best plans leave out, when a plan's program is wrong, hangs or is slower.
LEFT_OUT = ((), CACHES, MOVES, MODES, MOVES + MODES, CACHES + MOVES + MODES)


def changes(plan):
    """The edits that are there for speed."""
    return [edit for edit in plan["edits"] if edit["edit"] not in _UPKEEP]


def optimized(trace, file, limits, without=()):
    """The plan for a trace and its program in FILE; None if nothing fits the limits."""
    plan = file + ".plan.json"
    words = ["optimize", trace, *limits.words(), "-q", "-o", plan, "--rewrite", file]
    if without:
        words += ["--without", ",".join(without)]
    return _read_json(plan) if run_plumber(*words) else None


def with_edit(plan, edit, trace, file):
    """The plan with one of its edits only; its program in FILE."""
    keeps = [e for e in plan["edits"] if e["edit"] in _UPKEEP
             and (e["value"] is None or edit["edit"] in MODES)]
    one = {**plan, "edits": [edit, *keeps]}
    _write(file + ".plan.json", json.dumps(one).encode())
    run_plumber("rewrite", trace, "--plan", file + ".plan.json", "-o", file)
    return one


def _read_json(path):
    with _reading(path), open(path, encoding="utf-8") as file:
        return json.load(file)


def analysis_of(trace, file):
    run_plumber("analyze", trace, "-q", "--format", "json", "-o", file)
    return _read_json(file)


def by_bottleneck(edits, analysis):
    """Edits in the order in which their nodes limit the rate: lowest bound first, and in it the
    node of the largest share."""
    order = {}
    for bound in analysis["bounds"]:
        for node in bound["nodes"]:
            order.setdefault(node, len(order))
    return sorted(edits, key=lambda edit: order.get(edit["node"], len(order)))


def elements_to_fill(plan, analysis):
    """Root elements after which every memory cache of the plan's program is full; 0: it has none,
    None: unknown."""
    cached = {edit["node"] for edit in plan["edits"] if edit["edit"] == "insert_cache"}
    most = 0
    for node in analysis["nodes"]:
        if node["name"] in cached or node["op"].startswith("CacheDataset"):
            count, visits = node["elements_per_epoch"], node["visit_ratio"]
            if not isinstance(count, (int, float)) or not visits:
                return None
            most = max(most, math.ceil(count / visits) + 1)
    return most


# ---- verifying ----------------------------------------------------------------------------------

PATIENCE_S = 120.0  # for one answer of a program: a function can hang for ever
# Who allows these has asked for other elements, or for another order of them.
_OTHER_ELEMENTS = {"unfreeze", "stateful-parallel"}
_OTHER_ORDER = {"frozen-order", "reshuffle", "nondeterministic"}


def verify(a, b, *, allow="", elements=256, seconds=10.0):
    """Sameness of two Programs, of which the second may fail or hang (verdict "fails")."""
    try:
        sameness = same_elements(a, b, elements=elements, seconds=seconds)
        if sameness.verdict == "equal" and not _same_again(a, b, elements, seconds):
            sameness = Sameness("different", "different elements in the second epoch")
    except ProgramError as error:
        if error.program is not b:
            raise
        return Sameness("fails", str(error))
    allowed = set((allow or "").split(","))
    other = "order different" if allowed & _OTHER_ELEMENTS else "order"
    if sameness.verdict in other.split() and allowed & (_OTHER_ELEMENTS | _OTHER_ORDER):
        return Sameness("allowed", f"{sameness.text}, as --allow says")
    return sameness


def _same_again(a, b, elements, seconds):
    """Whether the second epoch, which a cache serves, has the same rows; in any order, because a
    cache may stand below a shuffle."""
    if a.cardinality() == tf.data.INFINITE_CARDINALITY:
        return True  # the first pass has seen what there was time for

    def second(program):
        return program.digests(elements=elements + 1, seconds=seconds, rows=True)

    def second_of_two(program):
        program.digests(elements=elements, seconds=seconds)
        return second(program)

    one = second(a)
    return not one["complete"] or _decided(a, b, (one, second(b)), second_of_two,
                                           _judge_second_epochs).verdict != "different"


def _judge_second_epochs(ones, others):
    if all(run["fault"] for run in others):
        return Sameness("different" if all(run["complete"] for run in ones) else "unknown", "")
    if not all(run["complete"] for run in (*ones, *others)):
        return Sameness("unknown", "")
    return _judge_rows(*([_all_rows(run["digests"]) for run in runs] for runs in (ones, others)))


def _command_verify(options):
    how = _how_to_run(options.program, options.original, options.plan)
    with Program(options.original, options.arg, patience_s=options.limit) as a, \
            Program(options.program, options.arg, patience_s=options.limit, **how) as b:
        a.open()
        sameness = verify(a, b, elements=options.elements)
    print(f"elements: {sameness.text}")
    return 0 if sameness.verdict in SAME else EXIT_NO


# ---- tuning -------------------------------------------------------------------------------------

ROUNDS, STEPS = 3, 20  # at most, all edits at once and one at a time
LEAST_GAIN = 0.02  # less is not told from noise, whatever the spread of the rates

# fill: root elements after which its caches are full; held_bytes: of its plan.
Candidate = collections.namedtuple("Candidate", "side environment edits fill held_bytes",
                                   defaults=({}, (), 0, 0))
Round = collections.namedtuple("Round", "number rate gain edits fate")


def gain_of(before, after):
    """Gain of rates that were measured in turn, as a share, and what of it may be noise: twice the
    standard error of the median ratio."""
    ratios = [b / a for a, b in zip(before, after)]
    middle = statistics.median(ratios)
    deviation = 1.4826 * statistics.median(abs(ratio - middle) for ratio in ratios)
    return middle - 1, max(LEAST_GAIN, 2 * 1.2533 * deviation / math.sqrt(len(ratios)))


class Tuner:
    """Traces, plans, verifies and measures, round by round. The best program so far is always in
    the output's file, and only what ran faster beside the best so far takes its place: predictions
    only say what to try. (After functions went inline, a trace shows no work for them.)

    one_step: one edit a round, that of the bottleneck; "random": of any node, for comparison.
    use_environment: False measures programs without the variables that their plans ask for, for a
    process where TensorFlow runs already.
    """

    def __init__(self, source, output, limits=Limits(), *, arguments=(), trace_s=5.0, rate_s=1.0,
                 repeats=5, fill_s=60.0, patience_s=PATIENCE_S, verify_s=5.0, one_step=None,
                 use_environment=True, say=lambda _: None):
        self.source, self.output, self.limits = source, output, limits
        self.arguments, self.trace_s, self.rate_s = arguments, trace_s, rate_s
        self.repeats, self.fill_s = repeats, fill_s
        self.patience_s, self.verify_s = patience_s, verify_s
        self.one_step, self.use_environment, self.say = one_step, use_environment, say
        self.best = Candidate(source)
        self.rounds, self.left_out = [], []
        self.others_cores = 0.0  # the most that other processes took while rates were measured
        self.written = False
        self._functions_from = None
        self._files = itertools.count()
        self._folder = None

    def run(self, rounds):
        """Returns the rounds; the last best is self.best."""
        with tempfile.TemporaryDirectory(prefix="plumber-tune-") as folder:
            self._folder = folder
            plans = iter(())
            fresh = True  # the best so far has no plans yet
            for number in range(1, rounds + 1):
                plans, left_out = self._plans() if fresh else plans, len(self.left_out)
                row = self._round(number, plans)
                if row is None:
                    none = fresh and left_out == len(self.left_out)
                    self._stopped(rounds, "the plan for the best so far changes nothing" if none
                                  else "no other plan is left to try")
                    break
                self.rounds.append(row)
                self.say(row)
                fresh = row.fate == "kept"
                if row.fate == "noise":
                    self._stopped(rounds, "the gain is within noise")
                    break
        return self.rounds

    def _stopped(self, rounds, why):
        done = len(self.rounds)
        if done < rounds:
            self.say(f"stopped after {done} of {rounds} round{'s' * (rounds > 1)}: {why}")

    def _round(self, number, plans):
        """The first of these plans that verifies, measured and kept if it is faster."""
        for candidate in plans:
            rates, why = self.measure(candidate)
            if why is not None:
                self.left_out.append(why)
                self.say(f"round {number}: left out: {why}")
                continue
            gain, noise = gain_of(*rates)
            least = -noise if self.one_step else noise  # the second of two bottlenecks shows it
            fate = "kept" if gain > least else "undone" if gain < -noise else "noise"
            rate = statistics.median(rates[1])
            if not self.rounds:
                self.say(Round(0, statistics.median(rates[0]), 0.0, [], "as written"))
            if fate == "kept":
                self.keep(candidate)
            return Round(number, rate, gain, candidate.edits, fate)
        return None

    def keep(self, candidate):
        """Makes a candidate the best so far, here and on disk."""
        file = os.path.join(self._folder, "best.pb")
        graph, _ = _read_graph(candidate.side)
        if candidate.environment:
            text = json.dumps(candidate.environment, sort_keys=True)
            _return_node(graph).attr[ENVIRONMENT_ATTRIBUTE].s = text.encode()
        data = graph.SerializeToString()
        self._write_output(data)
        _write(file, data)
        self.best = candidate._replace(side=file)

    def _write_output(self, data):
        _write(self.output, data)
        self.written = True

    # ---- programs

    def _file(self, ending):
        return os.path.join(self._folder, f"{next(self._files)}{ending}")

    def open(self, candidate):
        """The candidate in a process of its own."""
        behind = candidate.side != self.source and self._functions_from
        return Program(candidate.side, self.arguments, environment=candidate.environment,
                       patience_s=self.patience_s, functions_from=behind or None)

    def trace(self):
        """A trace of the best so far. The first one also shows the program as written, which is the
        best until a faster one is found."""
        path = self._file(".trace.pb")
        with self.open(self.best._replace(environment={})) as program:
            for warning in program.record(path, self.trace_s):
                self.say(f"warning: {warning}")
        if self.best.side == self.source and not self.rounds:
            graph = read_trace(path).graph
            self._functions_from = self.source if python_functions(graph) else None
            self._write_output(graph.SerializeToString())
        return path

    def _plans(self):
        """Candidates after a trace of the best so far, the most promising first."""
        trace = self.trace()
        analysis = analysis_of(trace, self._file(".analysis.json"))
        if self.one_step:
            yield from self._single_steps(trace, analysis)
            return
        seen = []
        for without in LEFT_OUT:
            file = self._file(".pb")
            plan = optimized(trace, file, self.limits, without)
            if plan and changes(plan) and changes(plan) not in seen:
                seen.append(changes(plan))
                yield self._candidate(file, plan, analysis)

    def _single_steps(self, trace, analysis):
        plan = optimized(trace, self._file(".pb"), self.limits)
        edits = changes(plan) if plan else []
        if self.one_step == "random":
            random.shuffle(edits)
        else:
            edits = by_bottleneck(edits, analysis)
        for edit in edits:
            file = self._file(".pb")
            yield self._candidate(file, with_edit(plan, edit, trace, file), analysis)

    def _candidate(self, file, plan, analysis):
        environment = {**self.best.environment, **plan["environment"]}
        environment = environment if self.use_environment else {}
        return Candidate(file, environment, changes(plan), elements_to_fill(plan, analysis),
                         plan["memory"]["planned_bytes"])

    # ---- measuring

    def measure(self, candidate):
        """Rates of the best so far and of the candidate, in turn; or why there are none."""
        with self.open(Candidate(self.source)) as a, self.open(candidate) as b:
            a.open()
            sameness = verify(a, b, allow=self.limits.allow, seconds=self.verify_s)
        if sameness.verdict not in (*SAME, "unknown", "allowed"):
            return None, sameness.text
        others = OthersCores()
        try:
            rates = self.rates([self.best, candidate])
        except ProgramError as error:  # the best has run before
            return None, str(error)
        self.others_cores = max(self.others_cores, others.since())
        if rates is None:
            return None, (f"its caches need more than {self.fill_s:g} s to fill (--fill, fill_s)"
                          if candidate.fill else "it is not known when its caches are full")
        return rates, None

    def rates(self, candidates):
        """Rates of candidates, in turn; None if a cache takes too long to fill. Caches that have
        no room beside each other are measured one after the other."""
        free_bytes = machine_info().memory_free
        if len(candidates) > 1 and sum(one.held_bytes for one in candidates) > 0.8 * free_bytes:
            alone = [self.rates([one]) for one in candidates]
            return None if None in alone else [rates[0] for rates in alone]
        with contextlib.ExitStack() as stack:
            programs = [stack.enter_context(self.open(one)) for one in candidates]
            for program in programs:
                program.open()
            return self._rates(programs, [one.fill for one in candidates])

    def _rates(self, programs, fills):
        """The same of programs, of which each fills its caches first (None: unknown when)."""
        for program, fill in zip(programs, fills):
            if fill != 0:
                count, _, _ = program.pull(elements=fill, seconds=self.fill_s)
                if fill is None or count < fill:
                    return None
            program.pause()
        for program in programs:
            program.resume()
        return rates_in_turn(programs, self.repeats, self.rate_s)


class OthersCores:
    """Cores that processes other than this one and its children take; 0 where Linux does not say.
    Children count once they have ended."""

    def __init__(self):
        self._began, self._busy, self._own = time.monotonic(), *self._seconds()

    def since(self):
        busy, own = self._seconds()
        cores = (busy - self._busy - (own - self._own)) / (time.monotonic() - self._began)
        return max(0.0, cores)

    @staticmethod
    def _seconds():
        """CPU seconds of the machine and of this process with its children."""
        fields = _text("/proc/stat").partition("\n")[0].split()[1:]
        ticks = [int(fields[place]) for place in (0, 1, 2, 5, 6, 7)] if len(fields) > 7 else [0]
        return sum(ticks) / os.sysconf("SC_CLK_TCK"), sum(os.times()[:4])


def edits_in_words(edits):
    counts = collections.Counter(edit["edit"] for edit in edits)
    return ", ".join(kind if n == 1 else f"{n} {kind}" for kind, n in counts.items()) or "-"


def _print_round(row):
    if isinstance(row, str):
        print(f"plumber_tf: {row}", file=sys.stderr)
        return
    if row.number == 0:
        print(f"{'round':>5}  {'rate':>10}  {'gain':>8}  {'':10}  edits")
    fate = {"noise": "no gain"}.get(row.fate, row.fate)
    gain = f"{row.gain:+8.1%}" if row.number else f"{'':8}"
    print(f"{row.number:5}  {row.rate:>8.4g}/s  {gain}  {fate:10}  {edits_in_words(row.edits)}",
          flush=True)


def tune(source, output="tuned.pb", limits=Limits(), *, rounds=3, **how):
    """Tunes PIPELINE.py:function or a program's file into OUTPUT; returns the Tuner."""
    tuner = Tuner(source, output, limits, **how)
    tuner.run(rounds)
    return tuner


def _command_tune(options):
    limits = Limits(options.cores, options.mem, options.no_cache, options.allow)
    one_step = "random" if options.random else options.one_step
    tuner = Tuner(options.pipeline, options.output, limits, arguments=options.arg,
                  trace_s=options.seconds, rate_s=options.rate_seconds, fill_s=options.fill,
                  patience_s=options.limit, one_step=one_step, say=_print_round)
    try:
        tuner.run(options.rounds or (STEPS if one_step else ROUNDS))
    finally:
        if tuner.written:
            what = "the best measured" if tuner.best.edits else "the program as it was"
            print(f"plumber_tf: wrote {options.output}: {what}", file=sys.stderr)
    for name, value in sorted(tuner.best.environment.items()):
        print(f"plumber_tf: set {name}={value} in the environment where it runs", file=sys.stderr)


# ---- annotation ---------------------------------------------------------------------------------

SWITCH = "PLUMBER_OPTIMIZE"  # "off": annotated functions run as they are written


def optimize(function=None, *, cores=None, mem=None, allow=None, no_cache=False, pick_best=None,
             rounds=1, **how):
    """For a function that returns data sets (one, or a tuple, list or dict of them):

        @plumber_tf.optimize(cores=8, mem="16G", pick_best={"cache": [True, False]})
        def make(data_dir, cache=True): ...

    The first call tunes each data set, as `tune` does, and keeps the programs in the user's cache
    folder; later calls, in any process, find them there by the hash of the program as written.
    pick_best: values of keywords to try, all combinations; the fastest first data set wins.
    Where tuning fails the function's own data sets are returned, with a warning;
    PLUMBER_OPTIMIZE=off in the environment leaves all as it is. More keywords are Tuner's.
    """
    limits = Limits(cores, mem, no_cache, allow if allow is None or isinstance(allow, str)
                    else ",".join(allow))

    def annotate(function):
        @functools.wraps(function)
        def call(*arguments, **keywords):
            if os.environ.get(SWITCH, "").lower() in ("off", "0", "no", "false"):
                return function(*arguments, **keywords)
            annotation = _Annotation(function.__name__, limits, rounds, how)
            return annotation.best_of([
                functools.partial(function, *arguments, **choice)
                for choice in _grid(pick_best or {}, keywords)])
        return call
    return annotate if function is None else annotate(function)


def _grid(values, keywords):
    """The keywords of each call: a keyword that the caller gives is not tried."""
    tried = {name: list(choices) for name, choices in values.items() if name not in keywords}
    for choice in itertools.product(*tried.values()):
        yield {**keywords, **dict(zip(tried, choice))}


_BUSY_SHARE = 0.1  # of the cores, taken by others: then "no gain" may be theirs
BUSY_LIFE_S = 3600.0  # and is believed for so long

Tuned = collections.namedtuple("Tuned", "dataset key file fill")


class _Annotation:
    """Tuned data sets of one call of an annotated function."""

    def __init__(self, name, limits, rounds, how):
        self.name, self.limits, self.rounds, self.how = name, limits, rounds, how
        self.folder = os.path.join(cache_folder(), "tuned")

    def best_of(self, calls):
        """What the fastest of these calls returns, tuned."""
        variants = [self._tuned_all(call()) for call in calls]
        specs = [tf.nest.map_structure(_spec_of, result) for result, _ in variants]
        if any(spec != specs[0] for spec in specs):
            raise Error(f"{self.name}: pick_best gives data sets of different elements",
                        "try keywords that change how the data set is made, not what is in it")
        place = self._fastest([first for _, first in variants]) if len(variants) > 1 else 0
        return variants[place][0]

    def _tuned_all(self, result):
        """The result with its data sets tuned, and the first of those (None: as written)."""
        tuned = [self._tuned(leaf) if isinstance(leaf, tf.data.Dataset) else leaf
                 for leaf in tf.nest.flatten(result)]
        leaves = [leaf.dataset if isinstance(leaf, Tuned) else leaf for leaf in tuned]
        first = next((leaf for leaf in tuned if isinstance(leaf, Tuned)), None)
        return tf.nest.pack_sequence_as(result, leaves), first

    def _say(self, text):
        if isinstance(text, str):
            print(f"plumber_tf: {self.name}: {text}", file=sys.stderr)

    def _tuned(self, dataset):
        """From the cache folder, or by tuning it now; as it is where that fails."""
        try:
            graph = serialize(dataset)
            if python_functions(graph):
                raise Error("it calls Python functions, which no other process can verify")
            key = self._key(graph)
            file = os.path.join(self.folder, key + ".pb")
            found = self._found(file) or self._tune(graph, file)
            if found["edits"]:
                tuned, _ = _read_graph(file)
                _rename_handles(tuned, dict(zip(found["handles"], handles(graph))))
                dataset = load(tuned, dataset.element_spec)
            return Tuned(dataset, key, file, found["fill"])
        except (Error, OSError) as error:
            self._say(f"warning: left as written: {error}")
            return Tuned(dataset, None, None, 0)

    def _key(self, graph):
        text = f"{graph_hash(graph)} {self.limits} {tf.__version__} {cores_allowed()}"
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def _found(self, file):
        """What an earlier call noted beside the program; None if there is none, or half of one."""
        with contextlib.suppress(Error, ValueError, KeyError, TypeError):
            found = _read_json(file + ".json")
            if os.path.getsize(file) == found["bytes"] and \
                    time.time() < found.get("until", math.inf):
                return found
        return None

    def _tune(self, graph, file):
        self._say(f"tuning its data set, once ({SWITCH}=off: leave it)")
        os.makedirs(self.folder, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="plumber-tune-") as folder:
            source = os.path.join(folder, "original.pb")
            _write(source, graph.SerializeToString())
            tuner = Tuner(source, file, self.limits, say=self._say,
                          **{"use_environment": False, **self.how})
            tuner.run(self.rounds)
        edits = edits_in_words(tuner.best.edits)
        gain = math.prod(1 + row.gain for row in tuner.rounds if row.fate == "kept")
        self._say(f"{gain:.3g} times as fast ({edits})" if tuner.best.edits else "fastest as it is")
        found = {"edits": tuner.best.edits, "gain": gain, "fill": tuner.best.fill,
                 "handles": handles(graph), "left_out": tuner.left_out,
                 "bytes": os.path.getsize(file)}
        busy = tuner.others_cores
        if not tuner.best.edits and busy > _BUSY_SHARE * cores_allowed():
            found["until"] = time.time() + BUSY_LIFE_S
            self._say(f"other processes took {busy:.1f} cores meanwhile: it is tuned again in "
                      f"{BUSY_LIFE_S / 3600:g} h")
        _write(file + ".json", json.dumps(found).encode())
        return found

    def _fastest(self, variants):
        """The place of the fastest variant, measured in turn once and then from the folder."""
        if any(variant is None or variant.key is None for variant in variants):
            return 0  # one of them could not be tuned: nothing to compare
        keys = " ".join(variant.key for variant in variants)
        choice = os.path.join(self.folder, hashlib.sha256(keys.encode()).hexdigest()[:32] + ".best")
        with contextlib.suppress(Error, ValueError, KeyError, TypeError):
            return _read_json(choice)["place"]
        tuner = Tuner(variants[0].file, None, self.limits, **{"use_environment": False, **self.how})
        rates = tuner.rates([Candidate(variant.file, fill=variant.fill) for variant in variants])
        medians = [statistics.median(values) for values in rates]
        place = medians.index(max(medians))
        _write(choice, json.dumps({"place": place, "rates": medians}).encode())
        return place


def _spec_of(leaf):
    return leaf.element_spec if isinstance(leaf, tf.data.Dataset) else type(leaf)


# ---- hash of a program --------------------------------------------------------------------------
# TensorFlow numbers nodes, functions, tables, caches and states of shuffles in the order of their
# making, which is another one in the next call or process. What a program does is left: operations,
# attributes, constants, and who reads whom.

_NAMES = {"metadata", "shared_name", "container", "_class", "_gradient_op_type",
          "_user_specified_name"}  # attributes without any other meaning


def graph_hash(graph):
    """The same for programs that differ in names only, and in the order of what has no order."""
    names = handles(graph)
    shared = [names.index(name) for name in names]  # who shares a state with whom
    return hashlib.sha256(f"{_Canonical(graph).main.digest} {shared}".encode()).hexdigest()


def handles(graph):
    """Names of the resources that a program shares with its process, such as the state of a seeded
    shuffle: the same program made again has others, in the same places."""
    return [value.name for value in _handle_values(_Canonical(graph).nodes())]


def _rename_handles(graph, names):
    for value in _handle_values(all_nodes(graph)):
        value.name = names.get(value.name, value.name)


def _handle_values(nodes):
    for node in nodes:
        if _is_handle(node):
            yield from node.attr["value"].tensor.resource_handle_val


def _is_handle(node):
    return node.op == "Const" and node.attr["dtype"].type == types_pb2.DT_RESOURCE


_Body = collections.namedtuple("_Body", "digest nodes")


class _Canonical:
    """The main graph and each function of a program: the digest of its content, and its nodes in
    an order that follows from the content."""

    def __init__(self, graph):
        self._functions = _functions_by_name(graph)
        self._bodies = {}
        self.main = self._body(graph.node, {}, [n.name for n in graph.node if n.op == "_Retval"])

    def nodes(self):
        """Those of the main graph, then of every function in the order of first use."""
        bodies, seen = [self.main], set()
        for body in bodies:  # grows as functions call others
            for node in body.nodes:
                yield node
                for name in self._called(node):
                    if name not in seen:
                        seen.add(name)
                        bodies.append(self._function(name))

    def _called(self, node):
        return [name for name in (node.op, *_called(node)) if name in self._functions]

    def _function(self, name):
        if name not in self._bodies:
            function = self._functions[name]
            arguments = {argument.name: f"argument {place} {argument.type}"
                         for place, argument in enumerate(function.signature.input_arg)}
            self._bodies[name] = self._body(
                function.node_def, arguments,
                [function.ret[output.name] for output in function.signature.output_arg])
        return self._bodies[name]

    def _body(self, nodes, arguments, outputs):
        """By first need of the outputs, inputs before; what must only run, or run before (control
        inputs), has no order but that of its content."""
        nodes = {node.name: node for node in nodes}
        own = {name: self._own(node) for name, node in nodes.items()}

        def data(name):
            return [text for text in nodes[name].input if text[0] != "^"]

        def control(name):
            return [text for text in nodes[name].input if text[0] == "^"]

        def digest(name, known):
            return _sha256(own[name], *(_read(text, known) for text in data(name)),
                           *sorted(_read(text, known) for text in control(name)))

        contents = dict(arguments)
        for name in _inputs_first(nodes, nodes, lambda name: data(name) + control(name)):
            contents[name] = digest(name, contents)
        in_order = _inputs_first(
            nodes, [*map(_source, outputs), *sorted(nodes, key=contents.get)],
            lambda name: data(name) + sorted(control(name), key=lambda t: contents[_source(t)]))
        places, digests = dict(arguments), []
        for place, name in enumerate(in_order):
            digests.append(digest(name, places))
            places[name] = str(place)
        digests.extend(_read(output, places) for output in outputs)
        return _Body(_sha256(*digests), [nodes[name] for name in places if name in nodes])

    def _own(self, node):
        """What a node is without its inputs."""
        parts = [self._operation(node.op)]
        for name in sorted(set(node.attr) - _NAMES):
            value = node.attr[name]
            functions = [value.func] if value.HasField("func") else value.list.func
            if name == "value" and _is_handle(node):
                continue
            parts.append(name)
            parts += [self._of_function(function) for function in functions]
            parts += [] if functions else [value.SerializeToString(deterministic=True)]
        return _sha256(*parts)

    def _of_function(self, function):
        """Of a function's use: its name or content, and the attributes that it is given."""
        attributes = [part for name in sorted(function.attr) for part in
                      (name, function.attr[name].SerializeToString(deterministic=True))]
        return _sha256(self._operation(function.name), *attributes)

    def _operation(self, name):
        return self._function(name).digest if name in self._functions else name


def _source(text):
    """The node of an input: NAME, NAME:PORT or ^NAME."""
    return text.lstrip("^").split(":", maxsplit=1)[0]


def _read(text, known):
    """An input with what is known of its node in place of the name."""
    return f"{text[:1] == '^'} {known.get(_source(text), '')} {text.partition(':')[2]}"


def _inputs_first(nodes, roots, inputs):
    """Names reached from the roots, each once and after its inputs (but for loops)."""
    opened, done = set(), set()
    for root in roots:
        waiting = [root]
        while waiting:
            name = waiting[-1]
            if name in opened or name not in nodes:
                waiting.pop()
                if name in opened and name not in done:
                    done.add(name)
                    yield name
                continue
            opened.add(name)
            waiting += [source for source in map(_source, reversed(inputs(name)))
                        if source not in opened]


def _sha256(*parts):
    digest = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else part.encode()
        digest.update(b"%d:" % len(data))
        digest.update(data)
    return digest.hexdigest()


# ---- command line -------------------------------------------------------------------------------

def build(source, arguments=()):
    """The data set that PIPELINE.py:function returns, called with NAME=VALUE arguments."""
    path, colon, function = source.rpartition(":")
    if not colon or not path.endswith(".py"):
        raise Error(f"{source}: not of the form PIPELINE.py:function")
    if not os.path.isfile(path):
        raise Error(f"{path}: no such file")
    module = _import(path)
    maker = getattr(module, function, None)
    if not callable(maker):
        known = ", ".join(sorted(k for k, v in vars(module).items()
                                 if callable(v) and k.startswith("make")))
        raise Error(f"{path}: no function {function!r}", f"it has {known}" if known else None)
    _check_arguments(source, maker, dict(arguments))
    dataset = _user_code(source, lambda: maker(**dict(arguments)))
    if not isinstance(dataset, tf.data.Dataset):
        _refuse(dataset)
    return dataset


def _check_arguments(source, maker, given):
    """A call that does not fit the function is the caller's fault, not the function's."""
    try:
        parameters = inspect.signature(maker).parameters.values()
    except (TypeError, ValueError):  # not told, as of some built in C
        return
    names = [one.name for one in parameters if one.kind in (one.POSITIONAL_OR_KEYWORD,
                                                            one.KEYWORD_ONLY)]
    missing = [one.name for one in parameters if one.default is one.empty and one.name in names
               and one.name not in given]
    if missing:
        raise Error(f"{source}: called without {', '.join(missing)}",
                    " ".join(f"--arg {name}=…" for name in missing))
    unknown = [name for name in given if name not in names]
    if unknown and all(one.kind is not one.VAR_KEYWORD for one in parameters):
        raise Error(f"{source}: it takes no {', '.join(unknown)}",
                    f"it takes {', '.join(names)}" if names else "it takes no --arg")


def _import(path):
    name = "plumber_pipeline_" + re.sub(r"\W", "_", os.path.splitext(os.path.basename(path))[0])
    specification = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module
    folder = os.path.dirname(os.path.abspath(path))
    if folder not in sys.path:
        sys.path.insert(0, folder)
    _user_code(path, lambda: specification.loader.exec_module(module))
    return module


def _user_code(where, call):
    try:
        return call()
    except Exception as error:
        raise Error(f"{where}: {type(error).__name__}: {error}\n"
                    + "".join(traceback.format_exc()).rstrip()) from error


def _argument(text):
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise argparse.ArgumentTypeError(f"not of the form NAME=VALUE: {text}")
    with contextlib.suppress(ValueError, SyntaxError):
        return name, ast.literal_eval(value)  # 4, 0.5, True, None, ('a', 'b')
    return name, value


class _Progress:
    """A bar on a terminal, nothing elsewhere."""

    WIDTH = 30

    def __init__(self, what, seconds, stream=None):
        self.what, self.seconds, self.stream = what, seconds, stream or sys.stderr
        self.began = None
        self.shown = 0.0 if self.stream.isatty() else math.inf
        self.used = False

    def __call__(self, now):
        if now < self.shown + 0.1:
            return
        self.began = self.began or now
        self.shown, self.used = now, True
        part = min(1.0, (now - self.began) / self.seconds)
        bar = "#" * round(part * self.WIDTH)
        self.stream.write(f"\r{self.what} [{bar:{self.WIDTH}}] {now - self.began:4.1f} s")
        self.stream.flush()

    def clear(self):
        if self.used:
            self.stream.write("\r\033[K")
            self.stream.flush()


def _command_trace(options):
    dataset = build(options.pipeline, options.arg)
    setup = _recorder_setup(dataset, options.pipeline, options.arg, calibrate=options.calibrate,
                            probe=options.inline_probe)
    progress = _Progress("tracing", options.seconds)
    recorder = record(dataset, options.seconds, options.output, every=options.every,
                      progress=progress, setup=setup)
    progress.clear()
    for warning in recorder.warnings:
        print(f"plumber_tf: warning: {warning}", file=sys.stderr)
    elapsed = recorder.elapsed_s()
    print(f"wrote {options.output}: {recorder.elements()} elements in {elapsed:.1f} s "
          f"({recorder.elements() / elapsed:.4g}/s)", file=sys.stderr)


def _recorder_setup(dataset, source, arguments, *, calibrate=None, probe=None):
    """What a recorder is told before it begins: the machine's constants (calibrate: True measures
    again, False leaves them out), and the inline probe's cost of an element."""
    calibration = (None, None)
    if calibrate is not False:
        calibration = _calibrate_with_bar(lambda progress: calibration_for(
            dataset.element_spec, again=calibrate is True, progress=progress))

    def setup(recorder):
        recorder.calibrated(*calibration)
        wanted = probe
        if wanted is None:
            wanted = calibrate is not False and _worth_a_probe(serialize(dataset))
        if wanted:
            recorder.probe_cpu_s, problem = inline_probe_cpu_s(source, arguments)
            if problem:
                recorder.warnings.append(f"inline probe: {problem}")
    return setup


def _command_calibrate(options):
    calibration, warning = _calibrate_with_bar(
        lambda progress: machine_calibration(True, progress))
    if warning:
        print(f"plumber_tf: warning: {warning}", file=sys.stderr)
    text = text_format.MessageToString(calibration)
    if options.output is None:
        print(text, end="")
    else:
        _write(options.output, text.encode())


def _calibrate_with_bar(measure):
    progress = _Progress("calibrating this machine, once", 7)
    try:
        return measure(progress)
    finally:
        progress.clear()


def _command_load(options):
    dataset = load(options.program, trace=options.trace)
    check(dataset, options.program)
    print(f"{options.program}: loads, elements {dataset.element_spec}")


# --- disk: what the program's own source reads a second with more and more readers

DISK_READERS = (1, 2, 4, 8, 16, 32)
_DISK_STABLE = 0.01  # of the rate, between two looks
_DISK_LOOK_S, _DISK_LEAST_S = 0.5, 2.0


def measure_disk(trace, plumber, readers=DISK_READERS, seconds=15.0, progress=None, node=None):
    """[{"readers", "bytes_per_s"}]: a source of the traced program alone, with so many readers.
    `node` names it, where there are several."""
    which = ["--source", node] if node else []
    points = []
    files = [name for name in source_files(read_trace(trace).graph) if os.path.isfile(name)]
    with tempfile.TemporaryDirectory(prefix="plumber-disk-") as folder:
        for number in readers:
            source = os.path.join(folder, f"{number}.pb")
            try:
                run_plumber("rewrite", trace, "--source-only", "--parallelism", number,
                            *which, "-o", source, program=plumber)
            except Error:
                if points:  # the source takes no more readers
                    break
                raise
            points.append({"readers": number,
                           "bytes_per_s": _read_bytes_per_s(source, files, seconds)})
            if progress is not None:
                progress(points[-1])
    return points


def _read_bytes_per_s(source, files, seconds):
    """Cumulative rate once it is stable to 1 %; the files leave the page cache again and again."""
    graph, _ = _read_graph(source)
    try:
        spec = _flat_spec(graph, source)
    except Error:  # a bare reader: TensorFlow gives its elements no attributes
        spec = tf.TensorSpec([], tf.string)
    dataset = load(source, spec)
    strings = isinstance(spec, tf.TensorSpec) and spec.dtype == tf.string and spec.shape.rank == 0
    iterator = iter((dataset.batch(16) if strings else dataset).repeat())
    began = payload = start_bytes = 0
    rate, look = 0.0, _DISK_LOOK_S
    first = time.monotonic()
    _forget(files)
    while True:
        element = next(iterator)
        now = time.monotonic()
        if not began:
            if now - first < _DISK_LOOK_S:
                continue  # buffers fill
            began, start_bytes = now, _bytes_read()
            continue
        if strings:
            payload += int(tf.reduce_sum(tf.strings.length(element)))
        if now - began < look:
            continue
        # Where the kernel does not see the bytes (a remote file system) the records tell.
        before, rate = rate, max(_bytes_read() - start_bytes, payload) / (now - began)
        stable = abs(rate - before) <= _DISK_STABLE * rate and now - began >= _DISK_LEAST_S
        if stable or now - began >= seconds:
            return rate
        look += _DISK_LOOK_S
        _forget(files)


def _bytes_read():
    """Bytes that this process took from files so far, cached or not; 0 where that is unknown."""
    with contextlib.suppress(OSError, ValueError), open("/proc/self/io", encoding="ascii") as file:
        return int(file.readline().split()[1])
    return 0


def _forget(files):
    """Asks the kernel to drop the files from its page cache: the disk is measured, not memory."""
    for name in files:
        with contextlib.suppress(OSError):
            file = os.open(name, os.O_RDONLY)
            try:
                os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(file)


def _command_disk(options):
    def show(point):
        print(f"{point['readers']:3d} readers  {point['bytes_per_s'] / 1e6:8.1f} MB/s",
              file=sys.stderr)
    readers = [number for number in DISK_READERS if number <= options.most]
    points = measure_disk(options.trace, options.plumber, readers, options.seconds, show,
                          options.source)
    text = json.dumps({"schema_version": 1, "points": points}, indent=2) + "\n"
    if options.output:
        _write(options.output, text.encode())
    else:
        print(text, end="")


def _add_disk_command(commands):
    command = commands.add_parser("disk", help="measure what a trace's source reads a second")
    command.add_argument("trace", metavar="trace.pb")
    command.add_argument("-o", "--output", metavar="FILE",
                         help="a curve for plumber optimize --disk FILE (default: standard output)")
    command.add_argument("--source", metavar="NODE",
                         help="the source to measure, where the program has several")
    command.add_argument("--most", type=int, default=DISK_READERS[-1], metavar="N",
                         help="most readers (default: 32)")
    command.add_argument("--seconds", type=_positive, default=15.0, metavar="S",
                         help="a run at most; it ends when the rate is stable to 1 %%")
    command.add_argument("--plumber", metavar="FILE",
                         help="the plumber program (default: $PLUMBER, else the one on the PATH)")
    command.set_defaults(run=_command_disk)


def _parser():
    parser = argparse.ArgumentParser(prog="plumber_tf.py", description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    command = commands.add_parser("trace", help="record PIPELINE.py:function into a trace")
    command.add_argument("pipeline", metavar="PIPELINE.py:function")
    _add_arg(command)
    command.add_argument("--seconds", type=_positive, default=10.0, metavar="S")
    command.add_argument("-o", "--output", default="trace.pb", metavar="FILE",
                         help="trace file; with --every a folder (default: trace.pb)")
    command.add_argument("--every", type=_positive, metavar="S", help="numbered dumps every S s")
    command.add_argument("--calibrate", action=argparse.BooleanOptionalAction,
                         help="measure the machine's constants again, or leave them out "
                              "(default: measured once, then from the cache folder)")
    command.add_argument("--inline-probe", action=argparse.BooleanOptionalAction,
                         help="also run the program for 2 s with its maps inline, which tells work "
                              "from handing it over (default: where any map can run inline)")
    command.set_defaults(run=_command_trace)
    command = commands.add_parser("calibrate", help="measure the machine's constants (6 s)")
    command.add_argument("-o", "--output", metavar="FILE", help="default: standard output")
    command.set_defaults(run=_command_calibrate)
    command = commands.add_parser("load", help="check that a rewritten program loads and runs")
    command.add_argument("program", metavar="tuned.pb")
    command.add_argument("--trace", metavar="trace.pb", help="take the element_spec from it")
    command.set_defaults(run=_command_load)
    command = commands.add_parser("compare", help="same elements? and rates, in turn")
    command.add_argument("a", metavar="A", help="PIPELINE.py:function or a program's file")
    command.add_argument("b", metavar="B")
    _add_arg(command)
    command.add_argument("--trace", metavar="trace.pb", help="take the element_spec from it")
    command.add_argument("--plan", metavar="plan.json", help="run B with the plan's environment")
    command.add_argument("--elements", type=int, default=256, metavar="N",
                         help="elements compared in order (default: 256)")
    command.add_argument("--limit", type=_positive, default=120.0, metavar="S",
                         help="for comparing the elements, rates not included (default: 120)")
    command.add_argument("--rounds", type=int, default=5, metavar="N", help="0: no rates")
    command.add_argument("--seconds", type=_positive, default=2.0, metavar="S",
                         help="a run of the rates, of which there are two a round (default: 2)")
    command.set_defaults(run=_command_compare)
    command = commands.add_parser("verify", help="same elements, in a child with a time limit?")
    command.add_argument("original", metavar="TRACE|PIPELINE.py:function")
    command.add_argument("program", metavar="tuned.pb")
    _add_arg(command)
    command.add_argument("--plan", metavar="plan.json", help="run it with the plan's environment")
    command.add_argument("--elements", type=int, default=256, metavar="N",
                         help="elements compared in order (default: 256)")
    _add_limit(command)
    command.set_defaults(run=_command_verify)
    _add_tune(commands)
    _add_disk_command(commands)
    command = commands.add_parser("serve")  # the child of Program; not for people
    command.set_defaults(run=_command_serve)
    return parser


def _add_tune(commands):
    command = commands.add_parser("tune", help="trace, plan, verify, measure; keep the best")
    add = command.add_argument
    add("pipeline", metavar="PIPELINE.py:function", help="or a program's file")
    _add_arg(command)
    add("-o", "--output", default="tuned.pb", metavar="FILE",
        help="the best program so far, at any time (default: tuned.pb)")
    add("--rounds", type=int, metavar="N", help=f"at most (default: {ROUNDS}; --one-step: {STEPS})")
    add("--one-step", action="store_true", help="change the one bottleneck a round")
    add("--random", action="store_true",
        help="change any one node a round instead, for comparison")
    add("--cores", metavar="N", help="as for plumber optimize; so are the next three")
    add("--mem", metavar="SIZE")
    add("--allow", metavar="LIST")
    add("--no-cache", action="store_true")
    add("--seconds", type=_positive, default=5.0, metavar="S", help="of a trace (default: 5)")
    add("--rate-seconds", type=_positive, default=1.0, metavar="S",
        help="of each of the five runs that measure a rate (default: 1)")
    add("--fill", type=_positive, default=60.0, metavar="S",
        help="leave out caches that take longer to fill (default: 60)")
    _add_limit(command)
    command.set_defaults(run=_command_tune)


def _add_limit(command):
    command.add_argument("--limit", type=_positive, default=PATIENCE_S, metavar="S",
                         help="a program that takes longer for an answer hangs (default: 120)")


def _add_arg(command):
    command.add_argument("--arg", action="append", type=_argument, default=[], metavar="NAME=VALUE",
                         help="argument of the function (repeatable)")


def _positive(text):
    value = float(text)
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"not a positive number: {text}")
    return value


def main(arguments=None):
    options = _parser().parse_args(arguments)  # exits with 2 on bad usage
    try:
        if tf is None:
            raise Error(NEEDS, TO_GET_IT)
        return options.run(options) or 0
    except Error as error:
        print(f"plumber_tf: error: {error}", file=sys.stderr)
        return EXIT_INPUT
    except KeyboardInterrupt:
        print("plumber_tf: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED


if __name__ == "__main__":
    os.environ[SWITCH] = "off"  # commands see a pipeline as it is written
    sys.exit(main())
