#!/usr/bin/env python3
"""conda.py SDIST BUILD - the recipe for conda, read and followed by rattler-build's own library, as PyPI has it.

Rendered for both machines as it is. Built from SDIST (make dist) with the compiler and the libraries of this machine, for conda's channels may be out of
reach: the requirements alone are left out. rattler, the library of pixi, installs the package into an environment of its own. A recording is made there on
the stand-in GPU of BUILD. The answer is that of BUILD's memana. Ends with "N passed, N failed, N skipped".
"""
import asyncio
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import rattler
from rattler_build.render import RenderConfig
from rattler_build.stage0 import Stage0Recipe
from rattler_build.tool_config import PlatformConfig, ToolConfiguration
from rattler_build.variant_config import VariantConfig

ROOT = pathlib.Path(__file__).resolve().parent.parent
RECIPE = ROOT / "packaging" / "conda" / "recipe.yaml"
HEADERS = {"zstd", "yaml", "xxhash", "libsqlite", "jansson", "elfutils", "zlib", "ncurses", "libunwind"}  # of tools/packages.txt, by conda's names
counts = {"passed": 0, "failed": 0}


def check(name, function, *arguments):
    """Runs it; anything raised is a failure."""
    try:
        result = function(*arguments)
    except Exception as error:  # pylint: disable=broad-except
        print(f"not ok {name}\n# {type(error).__name__}: {str(error)[-2000:]}", flush=True)
        counts["failed"] += 1
        return None
    print(f"ok {name}", flush=True)
    counts["passed"] += 1
    return result


def platform(name):
    return RenderConfig(PlatformConfig(target_platform=name, build_platform=name, host_platform=name))


def render(name):
    """The recipe of a machine, with conda-forge's compilers: every library that the build needs is asked for."""
    variants = VariantConfig({"c_stdlib": ["sysroot"], "c_stdlib_version": ["2.28"]})
    (variant,) = Stage0Recipe.from_file(RECIPE).render(variants, platform(name))
    wants = variant.recipe.requirements.to_dict()
    assert {str(word) for word in wants["host"]} == HEADERS, wants
    text = json.dumps(wants["build"])
    assert f"gcc_{name}" in text and f"gxx_{name}" in text and f"sysroot_{name}" in text, wants
    assert "libunwind" in json.dumps(wants["run"]), wants


def build(work, sdist, version):
    """The package, by the recipe's own script, with nothing but a PATH."""
    os.environ.update(MEMREC_SOURCE=str(sdist), MEMREC_VERSION=version)
    text = RECIPE.read_text(encoding="utf-8")
    head, rest = text.split("\nrequirements:\n")
    recipe = Stage0Recipe.from_yaml(head + "\n\n" + rest[rest.index("\ntests:"):], recipe_dir=work / "recipe")
    (result,) = recipe.run_build(tool_config=ToolConfiguration(test_strategy="skip"), output_dir=work / "channel", channels=[], render_config=platform("linux-64"))
    return result.packages[0]


def test(work, package):
    """The tests of the recipe."""
    from rattler_build.package import Package
    results = Package.from_file(package).run_tests(channel=[(work / "channel").as_uri()])
    assert results and all(result.success for result in results), [result.output for result in results]


def install(work):
    channel = rattler.Channel((work / "channel").as_uri())

    async def put():
        records = await rattler.solve(sources=[channel], specs=["memrec"], platforms=["linux-64", "noarch"])
        await rattler.install(records, target_prefix=str(work / "env"))
        return [record.name.normalized for record in records]
    assert asyncio.run(put()) == ["memrec"]
    assert f"prefix={work / 'env'}\n" in (work / "env/share/pkgconfig/memrec.pc").read_text()  # conda puts its place in


def answer(memana, trace):
    said = subprocess.run([memana, "top", "--json", trace], stdout=subprocess.PIPE, check=True).stdout
    return json.loads(said)


def record(work, built):
    trace = work / "trace.zst"
    subprocess.run([work / "env/bin/memrec", "-q", "-o", trace, "--", built / "samples/rl_step", "--steps", "2", "--quiet"],
                   env={**os.environ, "LD_LIBRARY_PATH": str(built / "standin")}, check=True)
    subprocess.run([work / "env/bin/memana", "verify", trace], stdout=subprocess.DEVNULL, check=True)
    mine = answer(work / "env/bin/memana", trace)
    assert mine == answer(built / "memana", trace) and mine["devices"][0]["peak"]["bytes"] > 0, mine


def main():
    sdist, built = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    version = sdist.name[len("memrec-"):-len(".tar.gz")]
    for name in ("linux-64", "linux-aarch64"):
        check(f"the recipe for {name}, with all libraries", render, name)
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        os.environ["RATTLER_CACHE_DIR"] = str(work / "cache")  # the user's may have a package of that name
        package = check("the package, built by the recipe's script", build, work, sdist, version)
        if package:
            check("the recipe's own tests", test, work, package)
            check("an environment with the package alone", install, work)
            check("a recording and its answer there", record, work, built)
    print(f"{counts['passed']} passed, {counts['failed']} failed, 0 skipped")
    return counts["failed"] > 0


sys.exit(main())
