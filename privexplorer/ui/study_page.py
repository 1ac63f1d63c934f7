"""A whole study page: one question chosen, its form, its run, its result."""

from __future__ import annotations

from functools import partial
from typing import Any

import streamlit as st

from privexplorer.data import bundled, inspect, resolve, tables_of
from privexplorer.errors import PrivExplorerError, printable
from privexplorer.records import Scenario, problems
from privexplorer.studies import catalogue
from privexplorer.studies.base import Request, Study, digest
from privexplorer.studies.result import Note, Result
from privexplorer.studies.words import plain_markdown
from privexplorer.ui import early, link, shell, show, state
from privexplorer.ui.form import Form, draw_form
from privexplorer.ui.run import run

PILLS_ON_A_PHONE = 4
"""Questions of a page that a phone shows side by side; more become a list."""
VIEWS_ON_A_PHONE = 2
"""Views of a question that a phone shows side by side."""


def study_page() -> None:
    """Draw the studies of this page: one chosen at a time, so that no hidden one computes."""
    page = str(st.session_state["_here"])
    studies = {name: study for name, study in catalogue().items() if study.theme == page}
    fresh = link.read(page, studies)
    with shell.sheet():
        if early.is_due() and first_paint(page, studies):
            return
        chosen = choose(page, studies, fresh)
        one(page, chosen, fresh, is_first=chosen.id == next(iter(studies)))


def first_paint(page: str, studies: dict[str, Study[Any]]) -> bool:
    """Draw the chart before everything else, if nothing speaks against it."""
    study = studies[st.session_state.get(f"{page}:study") or next(iter(studies))]
    notes = st.session_state.get("_link_notes")
    if (notes and notes[1]) or state.notices() or any(key.startswith(f"{study.id}:") for key in form_values(study)):
        early.skip()
        return False
    scenario, view = early.asked_for(study)
    link.write(scenario, address(study, view, is_first=study.id == next(iter(studies))))
    if len(studies) > 1 and not shell.is_presented():
        st.container()  # the choice of a question
    return early.paint(study, scenario, view)


def form_values(study: Study[Any]) -> list[str]:
    """Names of settings that a form of this session holds already and that the address did not ask for."""
    return [] if st.session_state.get("_arrived", ("",))[0] == study.id else list(st.session_state.get("_held", {}))


def address(study: Study[Any], view: str, is_first: bool) -> dict[str, str]:
    """Return the page's own parts of the address."""
    own = {} if is_first else {"study": study.id}
    if study.views and view != next(iter(study.views)):
        own["view"] = view
    return own


def choose(page: str, studies: dict[str, Study[Any]], fresh: bool) -> Study[Any]:
    """Let the visitor choose a question of this page."""
    if len(studies) == 1:
        return next(iter(studies.values()))
    if shell.is_presented():  # the address decides; the chart needs the room
        return studies[st.session_state.get(f"{page}:study") or next(iter(studies))]
    form = Form(page, fresh)
    first, titles = next(iter(studies)), partial(tab_title, studies)
    if shell.is_phone() and len(studies) > PILLS_ON_A_PHONE:
        name = form.ask("study", first, st.selectbox, "Question", list(studies), format_func=titles)
        return studies[name]
    name = form.ask(
        "study",
        first,
        st.segmented_control,
        "Question",
        list(studies),
        format_func=titles,
        label_visibility="collapsed",
        required=True,
        wrap=True,
    )
    return studies[name]


def tab_title(studies: dict[str, Study[Any]], name: str) -> str:
    """Return the short title of a question."""
    return studies[name].tab or studies[name].question


def one(page: str, study: Study[Any], fresh: bool, is_first: bool) -> None:
    """Draw one study."""
    shell.heading(study.question, study.lead)
    form = Form(study.id, fresh)
    pick_preset = preset_row(study, form)
    data = draw_form(form, study.scenario)
    with st.sidebar:
        st.button(
            "Reset",
            icon=":material/restart_alt:",
            on_click=reset,
            args=(study,),
            key=f"{study.id}:reset",
            type="tertiary",
        )
    for sentence in state.take_notices():
        st.warning(plain_markdown(printable(sentence)))
    if (bad := state.refused()) is not None and shell.is_phone():  # where the form is closed
        show.problem(bad.error, "The file could not be read")
    found = problems(study.scenario, data, "the form")
    if found:
        pick_preset(None)
        st.error(
            plain_markdown(" ".join(dict.fromkeys(item.sentence for item in found))), title="Please change one setting"
        )
        st.button("Use the defaults", on_click=reset, args=(study,), key=f"{study.id}:repair")
        return
    scenario = study.scenario.model_validate(data)
    view = pick_preset(scenario)
    own = address(study, view, is_first)
    link.write(scenario, own)
    seen = st.session_state.get("_link_notes")
    if seen and seen[1] and seen[0] == digest(study, scenario):
        told = [plain_markdown(sentence) for sentence in seen[1]]
        if len(told) == 1:
            st.warning(told[0], title="A part of the link could not be used")
        else:
            st.warning("\n".join(f"- {words}" for words in told), title="Parts of the link could not be used")
    try:
        answer(study, scenario, view)
    except PrivExplorerError as error:
        show.problem(error)
    share(scenario, own)


def lacks_table(scenario: Scenario) -> bool:
    """Whether a scenario names a table that is neither of this session nor of the program."""
    return any(table.data not in state.uploads() and table.data not in public() for table in tables_of(scenario))


def not_here(scenario: Scenario) -> None:
    """Ask for the file that a link was made with, unless it lies here and it is said already why it is of no use."""
    bad = state.refused()
    for table in tables_of(scenario):
        if bad is not None and bad.digest == table.data:
            return
        try:
            resolve(table, state.uploads())
        except PrivExplorerError as error:
            words = f"{error} {error.hint}" if error.hint else str(error)
            st.info(plain_markdown(words), title="The table is not here", icon=":material/upload_file:")
            return


def answer(study: Study[Any], scenario: Scenario, view: str) -> None:
    """Check, run and show."""
    tables = state.uploads()
    if lacks_table(scenario):
        not_here(scenario)
        return
    try:
        for table in tables_of(scenario):
            inspect(resolve(table, tables), table.read)
    except PrivExplorerError as error:
        show.problem(error, "This file could not be read")
        return
    for sentence in study.check(scenario, tables):
        if isinstance(sentence, Request):
            st.info(plain_markdown(printable(sentence)), title="One more thing is needed", icon=":material/edit_note:")
        else:
            st.error(plain_markdown(printable(sentence)), title="This cannot be answered as it stands")
        return
    above, place = st.container(), None
    status = st.container()
    place = st.empty()

    def draw(result: Result, key: str) -> None:
        with place.container():
            show.chart(study, result, view, key)

    with status:
        result = run(study, scenario, tables, state.holds_upload(scenario.model_dump_json()), draw)
    with above:
        for item in result.notes:
            if item.level != "info":
                show.note(item)
    show.words(result)
    for item in result.notes:
        if item.level == "info":
            show.note(item)
    show.bill(result)
    show.details(study, scenario, result, view)


def public() -> set[str]:
    """Names of the tables that come with the program."""
    return {item.id for item in bundled()}


def share(scenario: Scenario, own: dict[str, str]) -> None:
    """Draw the share box, with what a link about a table gives away."""
    table = next(tables_of(scenario), None)
    show.share(
        scenario,
        own,
        (table.data, getattr(table, "column", "")) if table is not None and table.data not in public() else None,
    )


def preset_row(study: Study[Any], form: Form) -> Any:
    """Make room for presets and views; the returned function fills it once the scenario is known."""
    row = st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center")

    def fill(scenario: Scenario | None) -> str:
        key = f"{study.id}:preset"
        known = {preset.title: preset.scenario for preset in study.presets()}
        with row:
            if known and not shell.is_presented():
                # a preset loses its mark as soon as a setting differs
                st.session_state[key] = next((t for t, s in known.items() if s == scenario), None)
                st.pills(
                    "Examples",
                    list(known),
                    key=key,
                    label_visibility="collapsed",
                    wrap=True,
                    on_change=use_preset,
                    args=(study, key, known),
                )
            if len(study.views) > 1:
                ask = partial(form.ask, "view", next(iter(study.views)), format_func=dict(study.views).get)
                if shell.is_phone() and len(study.views) > VIEWS_ON_A_PHONE:
                    return str(ask(st.selectbox, "View", list(study.views)))
                switch = partial(st.segmented_control, label_visibility="collapsed", required=True)
                return str(ask(switch, "View", list(study.views)))
        return next(iter(study.views), "")

    return fill


def use_preset(study: Study[Any], key: str, known: dict[str, Scenario]) -> None:
    """Fill the form with a preset."""
    chosen = st.session_state.get(key)
    if chosen in known:
        link.seed_form(study.id, known[chosen])


def reset(study: Study[Any]) -> None:
    """Fill the form with the defaults."""
    link.seed_form(study.id, study.scenario())


__all__ = ["Note", "study_page"]
