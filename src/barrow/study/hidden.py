"""Hidden groups of records: the same study with the group as a part of each item."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from barrow.errors import ParameterError
from barrow.promises import Grouping
from barrow.spaces import Groups, parse_distance

if TYPE_CHECKING:
    from barrow.questions import Question
    from barrow.study.study import Study


def hidden_groups(study: Study, grouping: Grouping) -> Study:
    """The study about items in hidden groups: promises, people and ledger are the same."""
    data = study.data
    if data is not None:
        data = replace(data, items=(grouping.column, *data.items))
    return study.replace(space=groups_space(study, grouping), data=data)


def groups_space(study: Study, grouping: Grouping) -> Groups:
    """The space of items in hidden groups; a distance in words, or a share of the largest one."""
    if grouping.distance is None:
        raise ParameterError(f"The grouping {grouping.name!r} is not hidden.", fix="labels and distance")
    far = parse_distance(grouping.distance, study.space)
    return Groups(grouping.hidden_labels, study.space, distance=far, name=grouping.name)


def reads_groups(study: Study, by: Grouping | None) -> bool:
    """Whether a release may see something of a record's hidden group; that it cannot is said where it is certain.

    >>> from barrow.study import Study
    >>> department = Grouping("department", labels=["a", "b"], distance="6 h")
    >>> study = Study("hours", ["all, 1 hour, 0.5"], users=1000, groups=[department])
    >>> reads_groups(study, None), reads_groups(study.within(department), department)
    (False, True)
    """
    hidden = {grouping.column for grouping in study.groups if grouping.hidden}
    if not hidden or study.space.geometry.within is not None:
        return True
    data = study.data
    if data is None or data.source is None or data.user is None:
        return by is not None and by.column in hidden
    if data.source.sql is not None:  # what a query makes of the group is not looked at
        return True
    read = {*data.columns.all, data.time, None if by is None else by.column}
    return bool(hidden & read)


def check_hidden(study: Study) -> None:
    """Refuse hidden groups where they have no meaning, and promises about groups where there are none."""
    hidden = [grouping for grouping in study.groups if grouping.hidden]
    about = [promise for promise in study.promises if promise.another_group]
    if about and not hidden and study.space.geometry.within is None:
        raise ParameterError(
            f"The promise {about[0].text!r} is about another group, but the study has no hidden groups.",
            allowed="such promises beside a [[group]] with labels and distance",
            fix='[[group]]\nname = "department"\nlabels = ["a", "b"]\ndistance = "1/2 of the largest distance"',
        )
    if not hidden:
        return
    if study.alpha_given is not None:
        raise ParameterError(
            "The study gives alpha, but has hidden groups: alpha would be about another space.",
            allowed="promises",
            fix='promises such as "1 of 30, another group, 0.5"',
        )
    if study.space.geometry.within is None:
        for grouping in hidden:
            groups_space(study, grouping)  # distances are checked now, not at first use
    for question in study.requests:
        check_asked(study, question)
    if study.data is not None and study.data.outside in ("default", "nearest"):
        raise ParameterError(
            f"outside is {study.data.outside!r}, and the study has hidden groups: a record without a group belongs "
            f"to none of them.",
            allowed="outside = 'error' or 'elsewhere'",
            fix="outside = 'elsewhere'",
        )


def check_asked(study: Study, question: Question) -> None:
    """Refuse a question that is not answered within hidden groups."""
    names = {grouping.name for grouping in study.groups if grouping.hidden}
    if not names & set(question.by):
        return
    if not question.traits.within_groups:
        raise ParameterError(
            f"The question {question.label!r} is asked by hidden groups.",
            allowed="mean, quantile and histogram by hidden groups; every question by public ones",
            fix="mean or histogram, by the same groups",
        )
    if study.data is not None and study.data.number is not None:
        raise study.data.number.refused("it is made of the records of all groups")
