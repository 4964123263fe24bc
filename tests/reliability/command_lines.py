"""Command lines of every subcommand over tables and folders that may be broken."""

import random
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from broken_tables import write_table_file

__all__ = ["CommandLine", "command_line"]

_NUMBERS = (
    "0", "-1", "1", "2", "0.5", "1.5", "nan", "inf", "-inf", "1e400", "1e-400", "abc", "", "1e9",
    "99999999999999999999999999", "0x10", "٣", "1,2", " 1", "1e308", "5e-324",
)  # fmt: skip
_LISTS = (
    "0,1", "1,0", "0,0", "a,b", "0", "", ",", "0,1,2", "nan,1", "0,inf", "-5,1e3", "1,2,3",
    "3,2,1", "1,1,2", "0,1e400", "-1e308,1e308", "0,200", "-100,100",
)  # fmt: skip
_FORMULAS = (
    "~ 1", "~ x", "~ g", "~ x + g", "~ x * g", "~ 0", "~ 0 + g", "~ x - 1", "~ y", "y ~ x", "~ .",
    "~", "", "~ ~", "~ x |g", "~ log(x)", "~ sqrt(x)", "~ I(x^2)", "~ poly(x, 2)", "~ poly(x, 99)",
    "~ missing", "~ factor(x)", "~ C(g)", "~ x:x", "~ (x + g)^2", "~ (x", "~ x)", "~ x +", "~ x^",
    "~ x^-1", "~ x^99", "~ `x`", "~ `a b`", "~ code", "~ 1/x", "~ np.log(x)", "~ x/0",
    "~ __import__('os').getcwd()", "~ x.real", "~ lambda: x", "~ x[0]", "~ 'x'", "~ x # y", "~ x;g",
    "~ cut(x, 3)", "~ scale(x)", "~ exp(x * 1e9)", "~ x\0", "~ x\nx", "~ größe", "~ 1e400",
    "~ ((x))",
    "~ x + x", "~ -x", "~ !x", "~ x == 1", "~ ifelse(x > 0, 1, 0)", "~ bs(x)", "~ log(g)",
    "~ x:g:code", "~ 2", "~ x ** 2", "~ factor()", "~ log(x, 0)", "~ poly(x)",
)  # fmt: skip
_TEXTS = ("", "y", "x", "g", "person", "y,x", "missing", "g,g", "all", ",", "'", "\n", "y ", "Y")
_WORDS: dict[str, Sequence[str]] = {
    "--model": (
        "negative-binomial", "poisson", "normal", "gamma", "logistic", "ordinal", "beta",
        "normal-mixture", "nope", "",
    ),
    "--mechanism": (
        "unweighted", "lw", "cw", "marginal", "pairwise", "sw", "weighted-epsilon", "censored",
        "perturbed-histogram", "nope",
    ),
    "--outcome-scale": ("identity", "log", "signed-log", "nope"),
    "--labels": ("full-conditional", "prior", "nope"),
    "--weights": ("lw", "cw", "none", "nope"),
    "--neighbours": ("replace", "loo", "nope"),
    "--noise": ("secret", "seeded-float", "nope"),
    "--radius-kind": ("percentage", "absolute", "nope"),
    "--engine": ("native", "nope"),
    "--match": ("lw", "0", "2", "nan", "nope"),
    "--memory": ("1B", "1KB", "0", "-1", "1PB", "2GB", "x", "", "1e3", "0.0001kb"),
    "--kind": ("partial", "full", "nope", ""),
    "--formula": _FORMULAS,
    "--outcome": _TEXTS,
    "--known": _TEXTS,
    "--keep": _TEXTS,
    "--range": _LISTS,
    "--levels": _LISTS,
}  # fmt: skip
_NUMERIC = (
    "--c", "--g", "--k", "--tolerance", "--radius", "--epsilon", "--bins",
    "--components", "--threshold", "--datasets", "--chains", "--warmup", "--draws", "--seed",
    "--target-accept",
)  # fmt: skip
_FLAGS = (
    *("--round", "--reweight", "--downscale", "--edges-from-data", "--allow-outside"),
    *("--overwrite", "--json"),
)
_SMALL = {"--draws": "20", "--warmup": "100", "--chains": "1", "--datasets": "2", "--seed": "1"}
_FITTING: dict[str, tuple[str, dict[str, str]]] = {
    "poisson": ("count", {}),
    "negative-binomial": ("count", {}),
    "normal": ("real", {}),
    "gamma": ("positive", {}),
    "logistic": ("binary", {}),
    "ordinal": ("level", {"--levels": "1,2,3"}),
    "beta": ("share", {"--range": "0,1"}),
    "normal-mixture": ("real", {"--components": "2"}),
}
_MECHANISMS: tuple[tuple[str, dict[str, str]], ...] = (
    ("unweighted", {}),
    ("unweighted", {}),
    ("lw", {}),
    ("lw", {"--epsilon": "5"}),
    ("lw", {"--threshold": "0.9"}),
    ("inverse", {"--t": "2"}),
    ("cw", {}),
    ("marginal", {"--known": "g"}),
    ("pairwise", {"--known": "g"}),
    ("sw", {"--match": "lw"}),
    ("weighted-epsilon", {"--epsilon": "5"}),
    ("censored", {"--epsilon": "20"}),
    ("perturbed-histogram", {"--range": "0,200", "--epsilon": "3"}),
)


@dataclass(frozen=True, slots=True)
class CommandLine:
    """Words after `pyvws`; `out` is the folder that must be whole or as it was afterwards."""

    words: list[str]
    out: Path | None
    prints_data: bool = False  # What it prints on stdout is about the data it reads.

    @property
    def command(self) -> str:
        return self.words[0]


def command_line(rng: random.Random, folder: Path, finished: Path) -> CommandLine:
    """One command line in a folder of its own; `finished` is an output folder to take copies of."""
    makers: tuple[Callable[[random.Random, Path, Path], CommandLine], ...] = (
        _synthesize, _config, _compared, _combine, _report, _other,
    )  # fmt: skip
    return rng.choices(makers, [64, 6, 13, 7, 7, 3])[0](rng, folder, finished)


def _synthesize(rng: random.Random, folder: Path, _finished: Path) -> CommandLine:
    model, (outcome, own) = rng.choice(list(_FITTING.items()))
    mechanism, needed = rng.choice(_MECHANISMS)
    table, header = write_table_file(
        rng, folder, "table", outcome=outcome if rng.random() < 0.85 else None
    )
    out = _out(rng, folder)
    options = {
        **_SMALL,
        "--outcome": rng.choices(["y", rng.choice(header or ["y"]), "missing"], [40, 2, 1])[0],
        "--formula": rng.choice(["~ 1", "~ x", "~ x + g", "~ x * g", rng.choice(_FORMULAS)]),
        "--model": model,
        "--mechanism": mechanism,
        **own,
        **needed,
        "--memory": rng.choices(["2GB", "1B"], [3, 1])[0],
    }
    for name in rng.sample([*_WORDS, *_NUMERIC], rng.choices([0, 1, 2], [14, 4, 1])[0]):
        if name != "--kind":
            options[name] = rng.choice(_WORDS.get(name, _NUMBERS))
    words = ["synthesize", str(table), "--out", str(out), *_flat(options)]
    words += rng.sample(_FLAGS, rng.choices([0, 1, 2], [10, 2, 1])[0])
    if rng.random() < 0.02:
        words[1:] = rng.sample(words[1:], len(words) - 1)
    return CommandLine(_settled(words), out)


def _config(rng: random.Random, folder: Path, _finished: Path) -> CommandLine:
    table, _ = write_table_file(rng, folder, "table")
    out, config = _out(rng, folder), folder / "run.toml"
    names = [name.removeprefix("--") for name in (*_WORDS, *_NUMERIC, *_FLAGS)]
    values = (
        "1", "-1", "0.5", "nan", "inf", '"lw"', '"y"', '""', "true", "false", "[1, 2]", '["g"]',
        "{ a = 1 }", "2020-01-01", "12:30:00", "[]", "[[1], [2]]", "0xff", "1e400", '"""a\nb"""',
        "9" * 30, "'~ x'", "[{}]", '"\\u0000"', "99999999999999999999999999999999e9999",
    )  # fmt: skip
    lines = [f"{name} = {rng.choice(values)}" for name in rng.sample(names, rng.randrange(4))]
    lines += rng.choice([[], [], [f"{rng.choice(names)}"], ["= 1"], ["[section]", "a = 1"],
                         ["a = 1", "a = 2"], ["x" * 5000], ["a = " + "[" * 3000], ["a.b.c = 1"],
                         ['"a b" = 1'], ["out = 'elsewhere'"], ["table = 'x.csv'"]])  # fmt: skip
    content = "\n".join(rng.sample(lines, len(lines))).encode()
    if rng.random() < 0.2:
        content = rng.choice([b"", b"\0", b"\xff\xfe", content.decode().encode("utf-16"),
                              b"\xef\xbb\xbf" + content, rng.randbytes(200)])  # fmt: skip
    what = rng.random()
    if what < 0.05:
        config.mkdir()
    elif what > 0.05:
        config.write_bytes(content)
    words = ["synthesize", str(table), "--out", str(out), "--config", str(config)]
    small = {name: value for name, value in _SMALL.items() if rng.random() < 0.97}
    words += _flat({**small, "--outcome": "y", "--model": "poisson", "--mechanism": "lw"})
    return CommandLine(_settled(words), out)


def _compared(rng: random.Random, folder: Path, _finished: Path) -> CommandLine:
    """risk and utility, over files that may be one and the same."""
    first, header = write_table_file(rng, folder, "original")
    second = first if rng.random() < 0.6 else write_table_file(rng, folder, "other")[0]
    command = rng.choice(["risk", "risk", "utility"])
    words = [command, str(first), *[str(second)] * rng.choice([1, 1, 2])]
    words += ["--outcome", rng.choice(["y", "y", "y", rng.choice(header or ["y"]), "missing"])]
    out = None
    if command == "risk":
        if rng.random() < 0.4:
            words += ["--known", rng.choice(["g", "x", "g,x", *_TEXTS])]
        for name in rng.sample(["--radius", "--policy"], rng.choice([0, 0, 1])):
            words += [name, rng.choice(_NUMBERS)]
        if rng.random() < 0.3:
            words += ["--radius-kind", rng.choice(_WORDS["--radius-kind"])]
        if rng.random() < 0.2:
            out = folder / rng.choice(["risks.parquet", "no folder/risks.parquet", "."])
            words += ["--out", str(out)]
    words += rng.choice([[], [], ["--json"], ["--quiet"]])
    return CommandLine(_settled(words), None, prints_data=True)


def _combine(rng: random.Random, folder: Path, _finished: Path) -> CommandLine:
    files = [write_table_file(rng, folder, "1")[0]]
    files.append(files[0] if rng.random() < 0.6 else write_table_file(rng, folder, "2")[0])
    formula = rng.choice(["y ~ x", "y ~ x + g", *(f"y {text}" for text in _FORMULAS), *_FORMULAS])
    words = ["combine", *map(str, files[: rng.choice([1, 2, 2, 2, 2])]), "--formula", formula]
    for name in rng.sample(["--kind", "--level"], rng.choice([0, 0, 1])):
        words += [name, rng.choice(_WORDS.get(name, _NUMBERS))]
    return CommandLine(_settled([*words, *rng.choice([[], ["--json"]])]), None, prints_data=True)


def _report(rng: random.Random, folder: Path, finished: Path) -> CommandLine:
    """Pages of a finished run, one of whose files is missing or broken."""
    out = folder / "out"
    shutil.copytree(finished, out)
    if rng.random() < 0.8:
        path = rng.choice(sorted(path for path in out.rglob("*")))
        content = path.read_bytes() if path.is_file() else b""
        what = rng.randrange(7)
        if path.is_dir() or what == 0:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        elif what == 1:
            path.write_bytes(content[: rng.randrange(len(content) + 1)])
        elif what == 2:
            path.write_bytes(rng.choice([b"", b"{}", b"[]", b"null", b"\0", b"y\n", b"y\n1\n"]))
        elif what == 3:
            changed = bytearray(content)
            changed[rng.randrange(len(changed))] = rng.randrange(256)
            path.write_bytes(bytes(changed))
        elif what == 4:
            path.unlink()
            path.mkdir()
        elif what == 5:
            path.write_bytes(content.replace(b"1", b'"a"'))
        else:
            shutil.copy(rng.choice([p for p in out.rglob("*") if p.is_file()]), folder / "copy")
            path.write_bytes((folder / "copy").read_bytes())
    words = ["report", str(out)]
    if rng.random() < 0.4:
        table, _ = write_table_file(rng, folder, "original")
        words += ["--original", str(table)]
        words += rng.choice([[], [], ["--known", rng.choice(_TEXTS)], ["--outcome", "x"]])
    for name in rng.sample(["--radius", "--policy", "--rise"], rng.choice([0, 0, 1])):
        words += [name, rng.choice(_NUMBERS)]
    return CommandLine(_settled(words), None)


def _other(rng: random.Random, folder: Path, _finished: Path) -> CommandLine:
    """Commands that must stop at their options, or are done at once."""
    (folder / "taken").write_text("1")
    lines = (
        ["init", str(folder / "run.toml")],
        ["init", str(folder)],
        ["init", str(folder / "no" / "run.toml")],
        ["init", str(folder / "taken")],
        ["validate", "--level", rng.choice(["nope", "exact,nope", "paper;"])],
        ["validate", "--authors", str(folder / "missing")],
        ["validate", "--listings", str(folder / "missing")],
        ["validate", "--report", str(folder / "taken"), "--cached", "--level", "exact"],
        ["demo", "--out", str(folder / "taken")],
        ["demo", "--seed", rng.choice(["abc", "1.5", ""])],
        ["study", rng.choice(["nope", "--list", ""])],
        ["study", "risk-efficient", "--out", str(folder / "taken")],
        ["study", "risk-efficient", "--out", str(folder / "s"), "--replicates", "0"],
        ["study", "risk-efficient", "--out", str(folder / "s"), "--jobs", "-1"],
        ["study", "risk-efficient", "--out", str(folder / "s"), "--backend", "ray"],
        ["study", "sdr-2024", "--file", str(folder / "taken")],
        ["study", "sdr", "--range", rng.choice(_LISTS), "--file", str(folder / "taken")],
        ["study", "consumer-expenditure", "--file", str(folder / "missing.csv")],
        ["report", str(folder / "missing")],
        ["nope"],
        ["--nope"],
        [],
        ["synthesize"],
        ["synthesize", "--outcome"],
        ["risk", str(folder / "taken")],
        ["--version"],
    )
    return CommandLine(_settled(rng.choice(lines)) or ["--nope"], None)


def _out(rng: random.Random, folder: Path) -> Path:
    """Nearly always a folder that is not there yet."""
    (folder / "file").write_text("1")
    (folder / "full").mkdir()
    (folder / "full" / "kept").write_text("1")
    (folder / "empty").mkdir()
    odd = ["file", "full", "empty", "file/out", "a/b/out", ".", "full/..", "o\nut", "ü", "o" * 300]
    return folder / (rng.choice(odd) if rng.random() < 0.1 else "out")


def _flat(options: dict[str, str]) -> list[str]:
    return [word for option in options.items() for word in option]


def _settled(words: list[str]) -> list[str]:
    """Words that a process can be given: a NUL cannot be."""
    return [word.replace("\0", "") for word in words]
