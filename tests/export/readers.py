"""readers.py FORMAT FILE TOP: an export of one moment in the format's official reader, against `memana top --json` of the moment."""
import gzip
import json
import sys
from collections import defaultdict

FORMAT, FILE, TOP = sys.argv[1:]

with open(TOP, encoding="utf-8") as top:
    DEVICES = json.load(top)["devices"]
PEAKS = {("cpu" if d["kind"] == "cpu" else str(d["id"])): d["peak"]["bytes"] for d in DEVICES}
PEAKS = {device: held for device, held in PEAKS.items() if held}


def profile_class():
    """The messages of pprof's profile.proto: name, number, type, repeated."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    kinds = descriptor_pb2.FieldDescriptorProto
    messages = {
        "ValueType": [("type", 1), ("unit", 2)],
        "Label": [("key", 1), ("str", 2), ("num", 3), ("num_unit", 4)],
        "Sample": [("location_id", 1, "u*"), ("value", 2, "i*"), ("label", 3, "Label*")],
        "Mapping": [("id", 1, "u"), ("memory_start", 2, "u"), ("memory_limit", 3, "u"), ("file_offset", 4, "u"), ("filename", 5), ("build_id", 6)],
        "Line": [("function_id", 1, "u"), ("line", 2), ("column", 3)],
        "Location": [("id", 1, "u"), ("mapping_id", 2, "u"), ("address", 3, "u"), ("line", 4, "Line*")],
        "Function": [("id", 1, "u"), ("name", 2), ("system_name", 3), ("filename", 4), ("start_line", 5)],
        "Profile": [("sample_type", 1, "ValueType*"), ("sample", 2, "Sample*"), ("mapping", 3, "Mapping*"), ("location", 4, "Location*"),
                    ("function", 5, "Function*"), ("string_table", 6, "s*"), ("drop_frames", 7), ("keep_frames", 8), ("time_nanos", 9),
                    ("duration_nanos", 10), ("period_type", 11, "ValueType"), ("period", 12), ("comment", 13, "i*"), ("default_sample_type", 14)],
    }
    file = descriptor_pb2.FileDescriptorProto(name="profile.proto", package="p", syntax="proto3")
    for name, fields in messages.items():
        message = file.message_type.add(name=name)
        for field, number, *kind in fields:
            kind = kind[0] if kind else "i"
            added = message.field.add(name=field, number=number, label=kinds.LABEL_REPEATED if "*" in kind else kinds.LABEL_OPTIONAL)
            kind = kind.rstrip("*")
            added.type = {"i": kinds.TYPE_INT64, "u": kinds.TYPE_UINT64, "s": kinds.TYPE_STRING}.get(kind, kinds.TYPE_MESSAGE)
            if added.type == kinds.TYPE_MESSAGE:
                added.type_name = f".p.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("p.Profile"))


def unknown(message):
    """Fields that profile.proto does not have, in the message and inside of it."""
    from google.protobuf.unknown_fields import UnknownFieldSet
    found = len(UnknownFieldSet(message))
    for field, value in message.ListFields():
        if field.message_type:
            found += sum(unknown(one) for one in value) if hasattr(value, "__len__") else unknown(value)
    return found


def pprof():
    with gzip.open(FILE) as file:
        profile = profile_class().FromString(file.read())
    texts = list(profile.string_table)
    assert unknown(profile) == 0 and texts[0] == "" and len(set(texts)) == len(texts)
    assert [(texts[t.type], texts[t.unit]) for t in profile.sample_type] == [("inuse_objects", "count"), ("inuse_space", "bytes")]
    assert texts[profile.default_sample_type] == "inuse_space"
    functions = {function.id: texts[function.name] for function in profile.function}
    locations = {location.id: [functions[line.function_id] for line in location.line] for location in profile.location}
    assert len(functions) == len(profile.function) and len(locations) == len(profile.location) and 0 not in functions and 0 not in locations
    held, phases = defaultdict(int), defaultdict(int)
    for sample in profile.sample:
        frames = [name for at in sample.location_id for name in locations[at]]
        assert frames and len(sample.value) == 2 and sample.value[1] > 0
        device = {f"GPU {d['id']}" if d["kind"] != "cpu" else "CPU": d for d in DEVICES}.get(frames[-1])
        held["cpu" if device and device["kind"] == "cpu" else str(device["id"]) if device else next(iter(PEAKS))] += sample.value[1]
        phases[[texts[label.str] for label in sample.label if texts[label.key] == "phase"][0]] += sample.value[1]
    assert sum(phases.values()) == sum(PEAKS.values())
    return dict(held)


def openmetrics():
    from prometheus_client.openmetrics.parser import text_string_to_metric_families
    with open(FILE, encoding="utf-8") as file:
        families = {family.name: family for family in text_string_to_metric_families(file.read())}
    assert all(family.type == "gauge" and family.documentation for family in families.values())
    assert all(family.unit == ("bytes" if name.endswith("_bytes") else "") for name, family in families.items())
    parts = {(sample.labels["device"], sample.labels["phase"]): sample.value for sample in families["memana_peak_by_phase_bytes"].samples}
    assert parts == {("cpu" if d["kind"] == "cpu" else str(d["id"]), part["phase"]): part["bytes"] for d in DEVICES for part in d["by_phase"]}
    return {sample.labels["device"]: int(sample.value) for sample in families["memana_peak_bytes"].samples if sample.value}


def csv():
    import duckdb
    rows = duckdb.sql(f"SELECT if(device_kind = 'cpu', 'cpu', device::VARCHAR), sum(bytes)::BIGINT FROM read_csv('{FILE}', header = true) GROUP BY 1").fetchall()
    types = dict(duckdb.sql(f"SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM read_csv('{FILE}', header = true))").fetchall())
    assert types["bytes"] == types["count"] == "BIGINT" and types["stack"] == "VARCHAR", types
    return dict(rows)


def main():
    found = {"pprof": pprof, "openmetrics": openmetrics, "csv": csv}[FORMAT]()
    assert found == PEAKS, f"{found} is not {PEAKS}"


main()
