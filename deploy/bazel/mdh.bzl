"""Kernels as inputs of builds.

mdh_kernel: the kernel of an expression, as srcs and hdrs of a cc_library:

    load("//:mdh.bzl", "mdh_kernel")
    mdh_kernel(name = "product", expression = "product.mdh", sizes = {"M": "48"}, bundle = "kernels.mdhb")
    cc_library(name = "product_library", srcs = [":product"], copts = ["-O3", "-march=native", "-fopenmp"])

With a bundle in the source tree (mdh admin export) the action is hermetic: it may run anywhere, and every
cache may keep what it makes. Without one it asks the daemon of MDH_SERVER, on this machine, and no remote
cache keeps the answer, as tomorrow's may be better.

mdh_tuned_records: a search as one action. It starts a daemon of its own, tunes, and gives the bundle of what
was found. What runs beside it disturbs what it measures: build these targets first, with --jobs 1. Where actions
run elsewhere, exec_properties say on which device:

    mdh_tuned_records(name = "records", expression = "product.mdh", sizes = {"M": "48"}, budget = "60s",
                      exec_properties = {"mdh-device": "epyc-9554"})
    mdh_kernel(name = "product", expression = "product.mdh", sizes = {"M": "48"}, bundle = ":records")

`tools` is a program that runs what its arguments say with the wanted installation; //:mdh_tools may be

    #!/bin/sh
    PATH=/opt/mdhd/bin:$PATH exec "$@"
"""

# A file at the root of a workspace has no folder in its path, and would be looked for in PATH.
_TOOLS = """
set -e
tools=$1; shift
case $tools in */*) ;; *) tools=./$tools ;; esac
"""

def _expression_words(ctx, args):
    args.add(ctx.file.expression)
    for name, value in ctx.attr.sizes.items():
        args.add("--set", name + "=" + value)
    if ctx.attr.numerics:
        args.add("--numerics", ctx.attr.numerics)

def _mdh_kernel(ctx):
    suffix = {"C": ".c", "CUDA": ".cu", "OpenCL": ".cl"}.get(ctx.attr.language)
    if not suffix:
        fail("language is C, CUDA or OpenCL, not " + ctx.attr.language)
    source = ctx.actions.declare_file(ctx.label.name + suffix)
    launch = ctx.actions.declare_file(ctx.label.name + ".json")
    files = [source]
    if suffix == ".c":
        files.append(ctx.actions.declare_file(ctx.label.name + ".h"))
    args = ctx.actions.args()
    args.add(ctx.executable.tools).add("kernel")
    _expression_words(ctx, args)
    args.add("--name", ctx.label.name).add("--output", source.dirname)
    inputs = [ctx.file.expression]
    if ctx.file.bundle:
        args.add("--bundle", ctx.file.bundle)
        inputs.append(ctx.file.bundle)
    else:
        args.add("--unmeasured")
    if ctx.file.device:
        args.add("--device", ctx.file.device)
        inputs.append(ctx.file.device)
    ctx.actions.run_shell(
        outputs = files + [launch],
        inputs = inputs,
        tools = [ctx.executable.tools],
        command = _TOOLS + '"$tools" mdh "$@"',
        arguments = [args],
        mnemonic = "MdhKernel",
        progress_message = "Kernel of %s" % ctx.label,
        execution_requirements = {} if ctx.file.bundle else {
            "requires-network": "1",
            "no-remote": "1",
        },
        use_default_shell_env = True,
    )
    return [DefaultInfo(files = depset(files)), OutputGroupInfo(launch = depset([launch]))]

_COMPUTATION = {
    "expression": attr.label(allow_single_file = [".mdh", ".teml"], mandatory = True),
    "sizes": attr.string_dict(doc = "values of the expression's parameters"),
    "numerics": attr.string(doc = "what may change in floating-point results; as --numerics"),
    "tools": attr.label(default = "//:mdh_tools", executable = True, allow_single_file = True, cfg = "exec"),
}

mdh_kernel = rule(
    implementation = _mdh_kernel,
    attrs = dict(
        _COMPUTATION,
        bundle = attr.label(allow_single_file = [".mdhb"], doc = "where the kernel is; else a daemon is asked"),
        device = attr.label(allow_single_file = [".json"], doc = "describes the device; else this machine's CPU"),
        language = attr.string(default = "C"),
    ),
)

_TUNE = _TOOLS + """
out=$1 budget=$2 devices=$3; shift 3
state=$(mktemp -d)
"$tools" mdhd --listen unix:$state/socket --database $state/records --devices "$devices" 2>$state/log &
daemon=$!
trap 'kill $daemon 2>/dev/null; wait $daemon 2>/dev/null || true; rm -rf $state' EXIT
export MDH_SERVER=unix:$state/socket
until [ -S $state/socket ]; do kill -0 $daemon || { cat $state/log >&2; exit 1; }; sleep 0.1; done
"$tools" mdh tune "$@" --budget "$budget" >$state/tuned 2>&1 || { cat $state/tuned $state/log >&2; exit 1; }
"$tools" mdh admin export "$out" >/dev/null
"""

def _mdh_tuned_records(ctx):
    bundle = ctx.actions.declare_file(ctx.label.name + ".mdhb")
    args = ctx.actions.args()
    args.add(ctx.executable.tools).add(bundle).add(ctx.attr.budget).add(ctx.attr.devices)
    _expression_words(ctx, args)
    ctx.actions.run_shell(
        outputs = [bundle],
        inputs = [ctx.file.expression],
        tools = [ctx.executable.tools],
        command = _TUNE,
        arguments = [args],
        mnemonic = "MdhTune",
        progress_message = "Tuning %s" % ctx.label,
        use_default_shell_env = True,
    )
    return [DefaultInfo(files = depset([bundle]))]

mdh_tuned_records = rule(
    implementation = _mdh_tuned_records,
    attrs = dict(
        _COMPUTATION,
        budget = attr.string(default = "60s", doc = "of the search; as --budget"),
        devices = attr.string(default = "cpu", doc = "of the daemon; as mdhd's --devices"),
    ),
)
