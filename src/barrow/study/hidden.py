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


def check_hidden(study: Study) -> None:
    """Refuse hidden groups where they have no meaning, and promises about groups where there are none."""
    hidden = [grouping for grouping in study.groups if grouping.hidden]
    about = [promise for promise in study.promises if promise.another_group]
    if about and not hidden and study.space.geometry.within is None:
        raise ParameterError(
            f"The promise {about[0].text!r} is about another group, and the study has no hidden groups.",
            allowed="such promises beside a [[group]] with labels and distance",
            fix='[[group]]\nname = "department"\nlabels = ["a", "b"]\ndistance = "1/2 of the largest distance"',
        )
    if not hidden:
        return
    if study.alpha_given is not None:
        raise ParameterError(
            "The study gives alpha, and has hidden groups, on which alpha would mean something else.",
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
            f"outside is {study.data.outside!r}, and the study has hidden groups: a record without a group is in none.",
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
