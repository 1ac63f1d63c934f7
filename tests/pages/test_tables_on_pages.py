"""What a form proposes when the table beside it is another one: columns and values that the new table has."""

from __future__ import annotations

import io
from hashlib import sha256
from pathlib import Path

import openpyxl
import pytest
from streamlit.testing.v1 import AppTest

APP = Path(__file__).parents[2] / "app.py"
VALUE = "query-map:ask.one.value"


@pytest.fixture
def app() -> AppTest:
    """Open the map of questions beside a table."""
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.run()
    app.query_params["study"] = "query-map"
    app.switch_page("pages/predictability.py").run()
    return app.selectbox(key="query-map:data").set_value("table").run()


def upload(app: AppTest, name: str, more: str, *towns: str) -> None:
    """Drop a table of 60 people with a column of towns and one further column."""
    rows = [f"{towns[i % len(towns)]},{20 + i},{(7 * i) % 31},{(5 * i) % 17}\n" for i in range(60)]
    table = "".join([f"town,age,pay,{more}\n", *rows])
    app.get("file_uploader")[0].upload(name, table.encode(), "text/csv").run()
    assert not app.exception
    assert not app.error


def test_no_column_is_proposed_twice(app: AppTest) -> None:
    """The clinic's features include an age, and so does the table: it must not explain itself."""
    outcome, features = app.selectbox(key="query-map:outcome").value, app.multiselect(key="query-map:features").value
    assert features
    assert outcome not in features
    assert not {outcome, *features} & set(app.multiselect(key="query-map:also").value)
    assert not app.error


def test_a_value_that_a_new_table_lacks_is_exchanged(app: AppTest) -> None:
    """The column is in both tables, the value is not: the form takes the new table's most usual value."""
    upload(app, "one.csv", "rent", "Oslo", "Bergen", "Oslo")
    app.selectbox(key="query-map:ask.one.column").set_value("town").run()
    app.selectbox(key=VALUE).set_value("Bergen").run()
    upload(app, "two.csv", "food", "Lund", "Bergen", "Lund")
    assert app.selectbox(key=VALUE).value == "Bergen", "what both tables have stays"
    upload(app, "three.csv", "fuel", "Lund", "Umea", "Umea")
    assert app.selectbox(key="query-map:ask.one.column").value == "town"
    assert app.selectbox(key=VALUE).value == "Umea"
    assert app.selectbox(key=VALUE).options == ["Lund", "Umea"]


def test_a_value_is_exchanged_where_the_columns_have_the_same_names(app: AppTest) -> None:
    upload(app, "one.csv", "rent", "Oslo", "Bergen", "Oslo")
    app.selectbox(key="query-map:ask.one.column").set_value("town").run()
    app.selectbox(key=VALUE).set_value("Oslo").run()
    upload(app, "two.csv", "rent", "Lund", "Umea", "Umea")
    assert app.selectbox(key=VALUE).value == "Umea"


def test_a_value_follows_the_column_that_a_visitor_chooses(app: AppTest) -> None:
    upload(app, "one.csv", "rent", "Oslo", "Bergen", "Oslo")
    column, sign = app.selectbox(key="query-map:ask.one.column"), app.selectbox(key="query-map:ask.one.sign")
    column.set_value("town").run()
    assert app.selectbox(key=VALUE).value == "Oslo"
    assert sign.value == "="
    app.selectbox(key="query-map:ask.one.column").set_value("age").run()
    assert app.text_input(key=VALUE).value == "49.5", "the middle of the ages 20 to 79"
    assert app.selectbox(key="query-map:ask.one.sign").value == ">"
    assert not app.error
    app.text_input(key=VALUE).set_value("30").run()
    app.selectbox(key="query-map:ask.one.column").set_value("pay").run()
    assert app.text_input(key=VALUE).value == "30", "a number fits another column of numbers"
    app.selectbox(key="query-map:ask.one.column").set_value("town").run()
    assert app.selectbox(key=VALUE).value == "Oslo"
    assert not app.error


# --- what is said of a table, once --------------------------------------------------------------------------------


def beside(*parts: tuple[str, str]) -> AppTest:
    """Open the study of an own table, with an address."""
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.run()
    for name in dict(parts):
        app.query_params[name] = [value for key, value in parts if key == name]
    app.query_params["study"] = app.query_params["study"] if "study" in dict(parts) else "unseen-in-data"
    return app.switch_page("pages/unseen.py").run()


def drop(app: AppTest, name: str, data: bytes) -> AppTest:
    """Drop a file on the page."""
    return app.get("file_uploader")[0].upload(name, data, "text/csv").run()


def told(app: AppTest) -> list[str]:
    """Everything that is said of faults and of what is missing; not what is said of an answer."""
    assert not app.exception
    missing = [item for item in app.info if item.proto.title in ("The table is not here", "One more thing is needed")]
    faults = [item for item in app.warning if not item.proto.title.startswith("Each")]
    return [line.removeprefix("- ") for item in (*app.error, *faults, *missing) for line in item.value.split("\n")]


def address(app: AppTest) -> dict[str, str]:
    """Last value of each part of the address."""
    return {key: value if isinstance(value, str) else value[-1] for key, value in app.query_params.items()}


def captions(app: AppTest) -> str:
    return "\n".join(caption.value for caption in app.caption)


def workbook(**sheets: str) -> bytes:
    """Sheets with one column of letters each, named like the sheet."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, letters in sheets.items():
        sheet = book.create_sheet(title)
        sheet.append([f"in {title}"])
        for letter in letters:
            sheet.append([letter])
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


SHEET = "unseen-in-data:table.read.sheet"


def test_the_sheets_of_a_workbook_are_named_and_offered() -> None:
    two = workbook(first="aabbc" * 4, second="ddeef")
    app = drop(beside(), "two.xlsx", two)
    assert "The sheet “first” was read; “second” was not." in captions(app)
    assert "Excel, sheet “first”, 20 rows, 1 column." in captions(app)
    assert app.selectbox(key=SHEET).options == ["first", "second"]
    assert "table.read.sheet" not in app.query_params
    assert not [box for box in app.text_input if box.label == "Sheet"]
    app.selectbox(key=SHEET).set_value("second").run()
    assert "Excel, sheet “second”, 5 rows, 1 column." in captions(app)
    assert address(app)["table.column"] == "in second", "the column follows the sheet"
    assert address(app)["table.read.sheet"] == "second"
    assert not app.error
    drop(app, "three.xlsx", workbook(alpha="xxy", beta="z", gamma="z"))
    assert "The sheet “alpha” was read; “beta” and “gamma” were not." in captions(app)
    assert app.selectbox(key=SHEET).options == ["alpha", "beta", "gamma"]
    assert not app.error
    drop(app, "one.xlsx", workbook(alpha="xxy"))
    assert SHEET not in [box.key for box in app.selectbox]
    assert "Excel, sheet “alpha”, 3 rows, 1 column." in captions(app)


def test_a_sheet_of_a_link_that_the_workbook_lacks_can_be_exchanged() -> None:
    two = workbook(first="aabbc" * 4, second="ddeef")
    ref = [("table.data", sha256(two).hexdigest()[:16]), ("table.counts", "")]
    app = beside(*ref, ("table.column", "in second"), ("table.read.sheet", "second"))
    drop(app, "two.xlsx", two)
    assert (told(app), app.selectbox(key=SHEET).value) == ([], "second")
    app = drop(beside(*ref, ("table.read.sheet", "third")), "two.xlsx", two)
    assert told(app) == ["The workbook has no sheet “third”; it has “first”, “second”."]
    app.selectbox(key=SHEET).set_value("second").run()
    assert (told(app), address(app)["table.column"]) == ([], "in second")


def test_a_wrong_encoding_is_named_once_and_can_be_taken_back() -> None:
    app = drop(beside(), "cp1252.csv", "größe;n\nä;7\nö;2\nä;3\n".encode("cp1252"))
    assert "encoding\\: Windows-1252" in captions(app)
    app.selectbox(key="unseen-in-data:table.read.enc").set_value("utf-16").run()
    [said] = told(app)
    assert "is not valid UTF-16" in said
    app.selectbox(key="unseen-in-data:table.read.enc").set_value("auto").run()
    assert told(app) == []


def test_a_file_without_rows_is_told_once_while_it_lies_there() -> None:
    empty = b"pet\n"
    parts = ("table.data", sha256(empty).hexdigest()[:16]), ("table.column", "pet")
    app = drop(beside(*parts), "pets.csv", empty)
    for _ in range(2):
        [said] = told(app)
        assert "has a header but no rows" in said
        app.run()
    app = drop(beside(("table.data", "0" * 16), ("table.column", "pet")), "pets.csv", empty)
    assert len(told(app)) == 2, "another file than the link's: its fault, and that the link's is not here"


def test_another_file_without_the_links_column_is_told_once() -> None:
    app = drop(beside(("table.data", "0" * 16), ("table.column", "dog")), "pets.csv", b"pet,n\na,1\nb,2\nb,5\n")
    [said] = told(app)
    assert "is not the table that the link was made with\\: it has no column “dog”, so another one is shown." in said


def test_a_missing_table_is_told_before_anything_about_its_columns() -> None:
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.run()
    for name, value in (("study", "private-effect"), ("data", "table"), ("data.table.table.data", "0" * 16)):
        app.query_params[name] = value
    app.switch_page("pages/effects.py").run()
    [said] = told(app)
    assert "drop the same file here" in said


def test_doubled_parts_of_the_page_are_named() -> None:
    app = beside(("study", "twins"), ("study", "unseen-in-data"), ("view", "coverage"), ("view", "entropy"))
    assert told(app)[:2] == [
        "“study” stands 2 times in the link; the last one counts.",
        "“view” stands 2 times in the link; the last one counts.",
    ]
    assert len(app.warning) == 1, "one box for the whole link"
    assert told(beside(("view", "entropy"), ("view", "entropy"))) == []


def test_what_turns_the_line_around_is_shown_as_an_escape() -> None:
    app = beside(("eps", "a\u202eb"), ("view", "x\u202e"), ("q\u202e", "1"))
    assert len(told(app)) == 3
    for said in told(app):
        assert "\u202e" not in said
        assert "u202e" in said
    app = drop(beside(), "p\u202e.csv", "v\u202ew\na\nb\nb\n".encode())
    drop(app, "e\u202e.csv", b"")
    shown = [*told(app), captions(app), *(str(option) for box in app.selectbox for option in box.options)]
    assert not any("\u202e" in words for words in shown)


def test_only_whole_numbers_are_offered_as_counts() -> None:
    rows = "".join(f"{'abc'[i % 3]},{i % 2},{'yes' if i % 2 else 'no'},{i / 4},{3 + i % 40}\n" for i in range(80))
    app = drop(beside(), "survey.csv", ("town,smoker,owner,income,age\n" + rows).encode())
    assert app.selectbox(key="unseen-in-data:table.counts").options == [
        "one record",
        "a value, counted by “smoker”",
        "a value, counted by “age”",
    ]


def test_beside_a_file_that_cannot_be_read_the_page_says_what_it_shows() -> None:
    app = drop(beside(), "pets.csv", b"pet,n\na,1\nb,2\nb,5\n")
    app = drop(app, "empty.csv", b"")
    [error] = app.error
    assert error.proto.title == "empty.csv could not be read; the page still shows pets.csv"
