"""Reads every test vector with msgpack and compares it with its JSON."""

import json
import pathlib
import sys

import msgpack


def plain(value):
    """Writes a decoded value as the vectors' JSON does."""
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return {"$bin": value.hex()}
    if isinstance(value, list):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {plain(k): plain(v) for k, v in value.items()}
    return value


for file in sorted(pathlib.Path(sys.argv[1]).glob("*.json")):
    for vector in json.loads(file.read_text()):
        if "json" not in vector:
            continue
        name = f"{file.stem}/{vector['name']}"
        # As bytes, so that the decoder accepts text that is not UTF-8.
        got = plain(msgpack.unpackb(bytes.fromhex(vector["hex"]), raw=True, strict_map_key=False))
        # In Python 3 == 3.0, as the vectors require, but also True == 1, which they do not allow.
        same = got == vector["json"] and json.dumps(got).replace(".0", "") == json.dumps(vector["json"])
        print(f"ok {name}" if same else f"not ok {name}: {got!r} is not {vector['json']!r}")
