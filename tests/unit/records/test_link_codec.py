"""The link codec: nothing lost, bad parts named once, kinds switched cleanly."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qs, urlencode

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from record_data import records
from toys import Even, Flat, Mixed, Plain, Poly, Power, Smooth, Toy, Typed, Window

from privexplorer.errors import ParameterError
from privexplorer.records import Grid, apply, dump, leaves, load, nearest, problems, salvage, settings, text, validated


def query(record: Toy) -> dict[str, list[str]]:
    out: dict[str, list[str]] = {}
    for name, value in dump(record):
        out.setdefault(name, []).append(value)
    return out


def same(one: Any, two: Any) -> bool:
    """Equal to the last bit: 0.0 and -0.0 differ."""
    return one == two and repr(one) == repr(two)


@given(records(Toy))
@example(Toy(delta=-0.0))
@example(Toy(noise=Even(scale=1e15), columns=(), column="none", name="none"))
@example(Toy(noise=Even(scale=5e-324), columns=("",), column="", name=""))
@example(Toy(columns=("none",), column='"none"', name='"a"'))
@example(Toy(noise=Mixed(inner=Power(exponent=1.0)), marks=()))
@example(Toy(shape=Power(exponent=1.0), methods=(Poly(),), extras=(Smooth(rate=0.1 + 0.2),)))
def test_link_round_trip_is_exact(record: Toy) -> None:
    parts = query(record)
    used: set[str] = set()
    again = validated(Toy, load(Toy, parts, used))
    assert same(again, record)
    assert set(parts) <= used
    through_address = parse_qs(urlencode(parts, doseq=True), keep_blank_values=True, strict_parsing=bool(parts))
    assert through_address == parts
    assert salvage(Toy, through_address) == (record, [])


@given(records(Toy))
def test_json_round_trip_is_exact(record: Toy) -> None:
    assert same(validated(Toy, json.loads(json.dumps(record.model_dump(mode="json")))), record)
    assert same(Toy.model_validate_json(record.model_dump_json()), record)


@given(records(Toy), records(Toy))
def test_command_line_turns_any_record_into_any_other(start: Toy, end: Toy) -> None:
    """All leaves of ``end`` by link name, in any order, whatever ``start`` was."""
    full = {name: value for name, value in full_query(end).items()}
    pairs = [(name, value) for name, value in full.items()]
    assert same(apply(start, pairs[::-1]), end)


def full_query(record: Toy) -> dict[str, str]:
    """Everything a form shows, as texts (lists of kinds joined by commas)."""
    words = {name: value if isinstance(value, str) else text(value) for name, value in leaves(record)}
    listed = {setting.name for setting in settings(Toy) if setting.what == "several"}
    from privexplorer.records._link import written

    infos = {setting.name: setting for setting in settings(Toy)}
    for name, value in leaves(record):
        if name in listed:
            words[name] = ",".join(value) or "none"
        elif infos[name].what == "leaf":
            words[name] = written(infos[name].info, value)
    return words


@given(st.lists(st.text(max_size=6), max_size=4))
def test_lists_of_words_survive(words: list[str]) -> None:
    columns = tuple(dict.fromkeys(words))
    assert validated(Toy, load(Toy, query(Toy(columns=columns)), set())).columns == columns


def test_defaults_vanish_from_the_link() -> None:
    assert dump(Toy()) == []
    assert dump(Toy(shape=Power(exponent=2.0))) == []  # the default of the field, not of the class
    assert dump(Toy(shape=Power())) == [("s.power.exponent", "1")]
    assert dump(Toy(shape=Flat())) == [("s", "flat")]
    assert dump(Toy(methods=(Poly(degree=6),))) == [("m", "poly")]
    assert dump(Toy(methods=(Plain(), Poly()))) == [("m.poly.degree", "4")]
    assert dump(Toy(extras=(Poly(degree=6), Plain()))) == [
        ("extras", "plain"),
        ("extras", "poly"),
        ("extras.poly.degree", "6"),
    ]


def test_link_reads_well() -> None:
    record = Toy(
        epsilon=0.05, shape=Power(exponent=1.5), n=Grid(low=50, high=2000, points=3), degrees=(9, 3), unit="bits"
    )
    assert dump(record) == [
        ("eps", "0.05"),
        ("s.power.exponent", "1.5"),
        ("n.high", "2000"),
        ("L", "3,9"),
        ("unit", "bits"),
    ]


# --- salvage -----------------------------------------------------------------------------------------------------


SALVAGED: list[tuple[str, dict[str, list[str]], Toy, list[str]]] = [
    ("nothing", {}, Toy(), []),
    ("a leaf", {"eps": ["banana"], "seed": ["7"]}, Toy(seed=7), ["“banana”"]),
    ("the last of two", {"eps": ["banana", "2"]}, Toy(epsilon=2.0), ["stands 2 times"]),
    ("two leaves", {"eps": ["0"], "seed": ["-1"], "unit": ["bits"]}, Toy(unit="bits"), ["Privacy loss ε", "Seed"]),
    ("a kind", {"s": ["banana"], "seed": ["7"]}, Toy(seed=7), ["“banana”"]),
    ("a kind, but not what is below the default", {"s": ["banana"], "s.power.exponent": ["3"]},
     Toy(shape=Power(exponent=3.0)), ["“banana”"]),
    ("below a kind, which stays", {"s": ["typed"], "s.typed.public": ["maybe"], "s.typed.weights": ["0.2,0.8"]},
     Toy(shape=Typed(weights=(0.2, 0.8))), ["“maybe”"]),
    ("below a default kind: the field's default, not the class's", {"s.power.exponent": ["9"], "s.power.by": ["0.5"]},
     Toy(shape=Power(exponent=2.0, shift=0.5)), ["Exponent"]),
    ("a nested kind", {"noise": ["mixed"], "noise.mixed.inner": ["x"], "noise.mixed.share": ["0.5"]},
     Toy(noise=Mixed(share=0.5)), ["“x”"]),
    ("below a nested kind", {"noise": ["mixed"], "noise.mixed.inner": ["flat"], "noise.mixed.share": ["5"]},
     Toy(noise=Mixed(inner=Flat())), ["Share"]),
    ("one of several", {"m": ["banana", "smooth"], "m.smooth.rate": ["2"]}, Toy(methods=(Smooth(rate=2.0),)),
     ["“banana”"]),
    ("two of several", {"m": ["banana", "smooth", "cherry", "plain"]}, Toy(methods=(Plain(), Smooth())),
     ["“banana”", "“cherry”"]),
    ("all of several", {"m": ["banana"]}, Toy(), ["“banana”"]),
    ("the same one twice", {"m": ["banana", "banana"], "eps": ["banana"]}, Toy(), ["Privacy loss", "Methods"]),
    ("none of at least one", {"m": ["none"], "seed": ["7"]}, Toy(seed=7), ["Methods"]),
    ("one of several twice", {"m": ["plain", "plain"], "eps": ["2"]}, Toy(epsilon=2.0), ["only once"]),
    ("too many", {"extras": ["plain", "poly", "smooth"]}, Toy(), ["Extras"]),
    ("below one of several", {"m": ["poly", "smooth"], "m.poly.degree": ["99"], "m.smooth.rate": ["2"]},
     Toy(methods=(Poly(degree=6), Smooth(rate=2.0))), ["Degree"]),
    ("an item of a list", {"L": ["3,99"], "seed": ["7"]}, Toy(seed=7), ["Degrees"]),
    ("two items of a list: two sentences", {"L": ["x,99"]}, Toy(), ["“x”", "“99”"]),
    ("a list that is too short", {"s": ["typed"], "s.typed.weights": ["1"], "s.typed.public": ["true"]},
     Toy(shape=Typed(public=True)), ["Weights"]),
    ("the rule of a group", {"win.start": ["30"], "win.edge": ["power"]}, Toy(), ["window"]),
    ("inside a group", {"win.start": ["5"], "win.stop": ["x"]}, Toy(window=Window(start=5, stop=20)), ["Stop"]),
    ("a grid the wrong way round", {"n.low": ["900"], "seed": ["7"]}, Toy(seed=7), ["exchange"]),
    ("an unknown name", {"epsilom": ["2"], "eps": ["2"]}, Toy(epsilon=2.0), ["“epsilom”"]),
    ("of another kind", {"s": ["flat"], "s.power.exponent": ["3"]}, Toy(shape=Flat()), ["no effect"]),
    ("all at once", {"eps": ["x"], "s": ["y"], "zz": ["1"], "m": ["z", "plain"]}, Toy(methods=(Plain(),)),
     ["“x”", "“y”", "“z”", "“zz”"]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("parts", "left", "named"), [case[1:] for case in SALVAGED], ids=[case[0] for case in SALVAGED]
)
def test_salvage(parts: dict[str, list[str]], left: Toy, named: list[str]) -> None:
    record, notes = salvage(Toy, parts)
    assert record == left
    assert len(notes) == len(named), notes
    for word, note in zip(named, notes, strict=True):
        assert word in note
        assert note.endswith(".")


@given(st.dictionaries(
    st.sampled_from([setting.name for setting in settings(Toy)]) | st.text(max_size=8),
    st.lists(st.sampled_from(["banana", "", "-1", "0.5", "3", "none", "flat", "power", "typed", "mixed", "plain",
                              "poly", "true", "1e400", "3,x", '"']) | st.text(max_size=8), min_size=1, max_size=3),
    max_size=8,
))  # fmt: skip
def test_salvage_never_fails_and_settles(parts: dict[str, list[str]]) -> None:
    record, notes = salvage(Toy, parts)
    assert len(set(notes)) == len(notes)
    assert salvage(Toy, query(record)) == (record, [])
    assert bool(notes) or set(query(record)) <= set(parts)


@pytest.mark.parametrize(
    ("parts", "first", "last"),
    [
        ({f"q{i}": ["1"] for i in range(400)}, "There is no setting called “q0”",
         "395 more parts of the link name no setting either."),
        ({"L": [",".join(f"x{i}" for i in range(400))]}, "“x0”",
         "395 more values of the link could not be used either."),
        ({"m": [f"x{i}" for i in range(9)]}, "“x0”", "4 more values of the link could not be used either."),
    ],
)  # fmt: skip
def test_of_many_faults_the_first_are_named_and_the_rest_counted(
    parts: dict[str, list[str]], first: str, last: str
) -> None:
    record, notes = salvage(Toy, parts)
    assert record == Toy()
    assert len(notes) == 6
    assert first in notes[0]
    assert notes[-1] == last
    assert len(salvage(Toy, {f"q{i}": ["1"] for i in range(6)})[1]) == 6
    assert "q5" in salvage(Toy, {f"q{i}": ["1"] for i in range(6)})[1][-1]


@pytest.mark.parametrize("sign", ["\u202e", "\u2066", "\u200f", "\x1b", "\u2028", "\n"])
def test_what_would_turn_or_break_a_sentence_is_shown_escaped(sign: str) -> None:
    escaped = sign.encode("unicode_escape").decode()
    parts = {"eps": [f"a{sign}b"], f"q{sign}": ["1"], "s": [f"k{sign}"], "m": [f"m{sign}"]}
    notes = salvage(Toy, parts)[1]
    assert len(notes) == 4
    for note in notes:
        assert sign not in note
        assert escaped in note
    for said in (problems(Toy, {"epsilon": f"a{sign}b"}, "the form")[0].sentence, str(file_refusal(f"a{sign}b"))):
        assert f"says “a{escaped}b”" in said
    assert "naïve ✓ 数" in salvage(Toy, {"eps": ["naïve ✓ 数"]})[1][0]


def file_refusal(value: str) -> ParameterError:
    with pytest.raises(ParameterError) as caught:
        validated(Toy, {"epsilon": value})
    return caught.value


def test_salvage_leaves_the_names_of_others_alone() -> None:
    assert salvage(Toy, {"study": ["toy"], "eps": ["2"]}, ignore=("study",)) == (Toy(epsilon=2.0), [])


# --- apply -------------------------------------------------------------------------------------------------------


APPLIED: list[tuple[str, Toy, list[tuple[str, str]], Toy]] = [
    ("path", Toy(), [("epsilon", "0.5")], Toy(epsilon=0.5)),
    ("link name", Toy(), [("eps", "0.5")], Toy(epsilon=0.5)),
    ("group by path", Toy(), [("n.high", "5000")], Toy(n=Grid(low=50, high=5000, points=3))),
    ("group by both", Toy(), [("window.start", "2"), ("win.stop", "3")], Toy(window=Window(start=2, stop=3))),
    ("kind by path", Toy(), [("shape.kind", "flat")], Toy(shape=Flat())),
    ("kind by field", Toy(), [("shape", "flat")], Toy(shape=Flat())),
    ("kind by link name", Toy(), [("s", "flat")], Toy(shape=Flat())),
    ("below the kind that is chosen", Toy(), [("shape.exponent", "3")], Toy(shape=Power(exponent=3.0))),
    ("below a kind, full path", Toy(), [("shape.power.exponent", "3")], Toy(shape=Power(exponent=3.0))),
    ("below a kind chosen later", Toy(), [("shape.public", "true"), ("shape.kind", "typed")],
     Toy(shape=Typed(public=True))),
    ("inner kind before outer", Toy(), [("noise.inner.public", "true"), ("noise.inner.kind", "typed"),
                                        ("noise.kind", "mixed")], Toy(noise=Mixed(inner=Typed(public=True)))),
    ("kind switch drops what belonged to the old kind", Toy(shape=Power(exponent=3.0)),
     [("shape.kind", "flat")], Toy(shape=Flat())),
    ("and there and back again", Toy(shape=Flat()), [("shape.kind", "power")], Toy(shape=Power(exponent=2.0))),
    ("the same kind keeps its settings", Toy(shape=Power(exponent=3.0)), [("shape.kind", "power")],
     Toy(shape=Power(exponent=3.0))),
    ("several by name", Toy(), [("methods", "smooth, plain")], Toy(methods=(Plain(), Smooth()))),
    ("below one of several", Toy(), [("methods.poly.degree", "9")], Toy(methods=(Plain(), Poly(degree=9)))),
    ("none of several", Toy(extras=(Plain(),)), [("extras", "none")], Toy()),
    ("a list", Toy(), [("degrees", "9, 3")], Toy(degrees=(3, 9))),
    ("an empty list", Toy(), [("L", "")], Toy(degrees=())),
    ("a list of words", Toy(), [("columns", 'age, "a, b"')], Toy(columns=("age", "a, b"))),
    ("nothing", Toy(), [("target", "none"), ("limit", "")], Toy(target=None)),
    ("the same twice", Toy(), [("eps", "2"), ("epsilon", " 2")], Toy(epsilon=2.0)),
    ("over a base that is not the default", Toy(epsilon=5.0, unit="bits"), [("seed", "3")],
     Toy(epsilon=5.0, unit="bits", seed=3)),
    ("blanks", Toy(), [("shape.kind", " flat "), ("eps", " 2 ")], Toy(shape=Flat(), epsilon=2.0)),
]  # fmt: skip


@pytest.mark.parametrize(("base", "pairs", "made"), [case[1:] for case in APPLIED], ids=[case[0] for case in APPLIED])
def test_apply(base: Toy, pairs: list[tuple[str, str]], made: Toy) -> None:
    assert apply(base, pairs) == made


REFUSED: list[tuple[list[tuple[str, str]], str]] = [
    ([("epsilom", "1")], "There is no setting called “epsilom”; the nearest are epsilon"),
    ([("shape.exponnent", "1")], "shape.power.exponent"),
    ([("n", "5")], "n.low"),
    ([("window", "5")], "window.start"),
    ([("shape.typed.public", "true")], "“shape.typed.public” has no effect"),
    ([("shape.kind", "flat"), ("shape.exponent", "2")], "There is no setting called “shape.exponent”"),
    ([("shape.kind", "banana"), ("shape.exponent", "2")], "must be one of flat, power, typed"),
    ([("shape", "")], "must be one of flat, power, typed"),
    ([("methods", "plain,banana")], "must be one of plain, poly, smooth"),
    ([("methods", "plain,plain")], "only once"),
    ([("eps", "0")], "from 0.000001 to 50"),
    ([("", "0")], "There is no setting called “”"),
    ([("eps.low", "0")], "There is no setting called “eps.low”"),
    ([("epsilon", "2"), ("seed", "1"), ("epsilon", "3")],
     "The command line sets “epsilon” to “2” and “3”; leave one of them out."),
    ([("eps", "2"), ("epsilon", "3")],
     "The command line sets “eps” and “epsilon”, which are one setting, to “2” and “3”; leave one of them out."),
    ([("shape.exponent", "2"), ("s.power.exponent", "3")], "“s.power.exponent” and “shape.exponent”, which are one"),
    ([("shape", "flat"), ("shape.kind", "typed")], "to “flat” and “typed”; leave one of them out."),
    ([("methods", "plain"), ("methods", "poly")], "give all of them at once, with commas between."),
    ([("shape.typed.public", "true")],
     "“shape.typed.public” has no effect with the other choices; choose “shape.kind=typed” as well."),
    ([("noise.mixed.inner.typed.public", "true")],
     "choose “noise.kind=mixed” and “noise.mixed.inner.kind=typed” as well."),
    ([("noise.mixed.inner.power.by", "0")], "choose “noise.kind=mixed” as well."),
    ([("noise.kind", "mixed"), ("noise.mixed.inner.typed.public", "true")],
     "choose “noise.mixed.inner.kind=typed” as well."),
    ([("methods.smooth.rate", "2")], "choose “smooth” for “methods” as well."),
    ([("eps", "a\u202eb\x07")], "says “a\\u202eb\\x07”."),
    ([("eps\u2066", "1")], "There is no setting called “eps\\u2066”"),
]  # fmt: skip


@pytest.mark.parametrize(("pairs", "words"), REFUSED)
def test_apply_refuses(pairs: list[tuple[str, str]], words: str) -> None:
    with pytest.raises(ParameterError) as caught:
        apply(Toy(), pairs)
    assert words in str(caught.value)


def test_nearest_names() -> None:
    known = ["epsilon", "delta", "distribution.kind", "n.low", "n.high"]
    assert nearest("epsilom", known)[0] == "epsilon"
    assert nearest("n.hihg", known)[0] == "n.high"
    assert nearest("kind", known)[0] == "distribution.kind"
    assert nearest("zzzzzz", known) == []


def test_a_part_that_stands_twice_is_named() -> None:
    from privexplorer.studies import study

    cls = study("entropy-error").scenario
    record, notes = salvage(cls, {"eps": ["1", "2"]})
    assert (record.epsilon, notes) == (2.0, ["“eps” stands 2 times in the link; the last one counts."])
    assert salvage(cls, {"eps": ["2", "2"]})[1] == []
    assert salvage(cls, {"est": ["plug-in", "poly"]})[1] == []
