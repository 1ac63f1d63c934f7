"""What a form proposes when the table beside it is another one: columns and values that the new table has."""

from __future__ import annotations

from pathlib import Path

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
