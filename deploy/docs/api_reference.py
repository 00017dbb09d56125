#!/usr/bin/env python3
"""Prints the reference of the API, from the protos and their comments: api_reference.py > api.md.

Needs protoc and Python's protobuf.
"""

import pathlib
import subprocess
import sys
import tempfile

from google.protobuf import descriptor_pb2

PROTO = pathlib.Path(__file__).resolve().parents[2] / "proto"
TITLE = """# Reference of the API

Generated from proto/mdh/v1 by deploy/docs/api_reference.py. Errors are google.rpc.Status with details; a
method's comment names the codes that it gives of its own.
"""
# Messages between processes of the daemon are no part of the API.
INTERNAL = {"mdh/v1/runner.proto"}

TYPES = {value: name.removeprefix("TYPE_").lower()
         for name, value in descriptor_pb2.FieldDescriptorProto.Type.items()}


def read_files():
    names = sorted(str(path.relative_to(PROTO)) for path in PROTO.glob("mdh/v1/*.proto"))
    with tempfile.TemporaryDirectory() as folder:
        output = pathlib.Path(folder) / "set"
        subprocess.run(["protoc", "-I", PROTO, "--include_source_info", f"--descriptor_set_out={output}",
                        *names], check=True)
        files = descriptor_pb2.FileDescriptorSet.FromString(output.read_bytes()).file
    return [file for file in files if file.name not in INTERNAL]


def comments_of(file):
    """What stands before an element, by its path in the descriptor."""
    return {tuple(location.path): " ".join(location.leading_comments.split())
            for location in file.source_code_info.location if location.leading_comments}


def cell(text):
    return text.replace("|", "\\|")


def short(type_name):
    return type_name.removeprefix(".mdh.v1.").removeprefix(".")


def type_of(field, maps):
    """`maps`: the entries of map fields that the message has, by their names."""
    if entry := maps.get(field.type_name.split(".")[-1]):
        key, value = (type_of(part, {}) for part in entry.field)
        return f"map of {key} to {value}"
    name = short(field.type_name) if field.type_name else TYPES[field.type]
    if field.type_name.startswith(".mdh.v1."):
        name = f"[{name}](#{name.split('.')[-1].lower()})"
    return f"repeated {name}" if field.label == field.LABEL_REPEATED else name


def print_service(service, path, comments, out):
    out.append(f"### {service.name}\n\n{comments.get(path, '')}\n")
    for n, method in enumerate(service.method):
        request = short(method.input_type)
        response = short(method.output_type)
        stream = ["stream " if on else "" for on in (method.client_streaming, method.server_streaming)]
        out.append(f"**{method.name}**({stream[0]}[{request}](#{request.lower()})) returns "
                   f"({stream[1]}[{response}](#{response.lower()})): {comments.get(path + (2, n), '')}\n")


def print_message(message, path, comments, out):
    out.append(f"### {message.name}\n\n{comments.get(path, '')}\n")
    maps = {inner.name: inner for inner in message.nested_type if inner.options.map_entry}
    if message.field:
        out.append("| field | type | |\n|---|---|---|")
        for n, field in enumerate(message.field):
            out.append(f"| {field.name} = {field.number} | {cell(type_of(field, maps))} | "
                       f"{cell(comments.get(path + (2, n), '')) or '-'} |")
        out.append("")
    for n, inner in enumerate(message.nested_type):
        if not inner.options.map_entry:
            print_message(inner, path + (3, n), comments, out)


def print_enum(enum, path, comments, out):
    out.append(f"### {enum.name}\n\n{comments.get(path, '')}\n\n| value | |\n|---|---|")
    for n, value in enumerate(enum.value):
        out.append(f"| {value.name} = {value.number} | {cell(comments.get(path + (2, n), '')) or '-'} |")
    out.append("")


def main():
    files = read_files()
    out = [TITLE]
    for kind, heading, number, print_one in (("service", "Services", 6, print_service),
                                             ("message_type", "Messages", 4, print_message),
                                             ("enum_type", "Enumerations", 5, print_enum)):
        out.append(f"## {heading}\n")
        found = [(element, (number, n), comments_of(file)) for file in files
                 for n, element in enumerate(getattr(file, kind))]
        for element, path, comments in sorted(found, key=lambda entry: entry[0].name):
            print_one(element, path, comments, out)
    sys.stdout.write("\n".join(out).rstrip() + "\n")


if __name__ == "__main__":
    main()
