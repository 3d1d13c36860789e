"""The study file ``study.toml``: one place that says what is public about a study."""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from barrow.errors import ParameterError
from barrow.numerics import exact_text
from barrow.policy import Policy, Promise
from barrow.privacy import Model
from barrow.privacy.definitions import positive, probability, to_model
from barrow.spaces import Space, space_from_spec

_KEYS = ("dataset", "users", "model", "space", "privacy", "promise")
_PRIVACY_KEYS = ("alpha", "delta")
_PROMISE_KEYS = ("share", "distance", "epsilon")


@dataclass(frozen=True)
class Study:
    """What a study says: the space, the promises (or alpha), and what is public about the data.

    Args:
        space: The space of items.
        promises: Promises that alpha has to keep; or
        alpha: alpha itself.
        delta: The probability with which promises may fail.
        dataset: A public name of the data set.
        users: n, how many people the data are about; public.
        model: Who adds the noise.

    >>> from barrow.spaces import Earth
    >>> Study(Earth(), promises=(Promise("1", "100 mi", "0.2"),), delta=Fraction(0)).policy.alpha > 24.8
    True
    """

    space: Space
    promises: tuple[Promise, ...] = ()
    alpha: Fraction | None = None
    delta: Fraction = Fraction(0)
    dataset: str | None = None
    users: int | None = None
    model: Model = Model.CENTRAL

    @property
    def policy(self) -> Policy:
        """The promises as a policy; a study that gives alpha itself has none."""
        if not self.promises:
            raise ParameterError(
                "The study makes no promises.", allowed="[[promise]] tables", fix="barrow choose … --save study.toml"
            )
        return Policy(self.space, self.promises, delta=self.delta)

    @property
    def alpha_exact(self) -> Fraction:
        """Alpha as given, or the largest one that keeps the promises."""
        return self.policy.alpha_exact if self.alpha is None else self.alpha

    def to_spec(self) -> dict[str, Any]:
        """Plain data that :func:`study_from_spec` reads back."""
        spec: dict[str, Any] = {}
        if self.dataset is not None:
            spec["dataset"] = self.dataset
        if self.users is not None:
            spec["users"] = self.users
        spec["model"] = self.model.value
        spec["space"] = self.space.to_spec()
        spec["privacy"] = {"delta": exact_text(self.delta)}
        if self.alpha is not None:
            spec["privacy"]["alpha"] = exact_text(self.alpha)
        if self.promises:
            spec["promise"] = [
                {"share": p.share_text, "distance": p.distance, "epsilon": exact_text(p.epsilon)} for p in self.promises
            ]
        return spec


def study_from_spec(data: Mapping[str, Any]) -> Study:
    """The study that plain data describe; unknown keys are refused.

    >>> study_from_spec({"space": {"kind": "earth"}, "privacy": {"alpha": 25}}).alpha_exact
    Fraction(25, 1)
    """
    _refuse_unknown(data, _KEYS, "the study")
    if "space" not in data:
        raise ParameterError("The study names no space.", allowed="a [space] table", fix='[space]\nkind = "earth"')
    privacy = _table(data.get("privacy", {}), "[privacy]")
    _refuse_unknown(privacy, _PRIVACY_KEYS, "[privacy]")
    rows = data.get("promise", [])
    if not isinstance(rows, list):
        raise ParameterError("promise is not a list of tables.", allowed="[[promise]]", fix="write [[promise]] twice")
    promises = []
    for row in rows:
        _refuse_unknown(_table(row, "[[promise]]"), _PROMISE_KEYS, "[[promise]]")
        missing = [key for key in _PROMISE_KEYS if key not in row]
        if missing:
            raise ParameterError(
                f"A promise lacks {', '.join(missing)}.", allowed="share, distance, epsilon", fix='share = "1/30"'
            )
        promises.append(Promise(row["share"], row["distance"], row["epsilon"]))
    alpha = None if "alpha" not in privacy else positive(privacy["alpha"], "alpha")
    if alpha is not None and promises:
        raise ParameterError("The study gives alpha and promises.", allowed="one of them", fix="remove alpha")
    users = data.get("users")
    if users is not None and (isinstance(users, bool) or not isinstance(users, int) or users < 1):
        raise ParameterError(f"users is {users!r}.", allowed="a whole number, 1 or more", fix="users = 100000")
    dataset = data.get("dataset")
    return Study(
        space=space_from_spec(_table(data["space"], "[space]")),
        promises=tuple(promises),
        alpha=alpha,
        delta=probability(privacy.get("delta", 0)),
        dataset=None if dataset is None else str(dataset),
        users=users,
        model=to_model(data.get("model", "central")),
    )


def read_study(path: str | Path) -> Study:
    """The study in the TOML file ``path``.

    >>> read_study("nowhere.toml")
    Traceback (most recent call last):
    ...
    barrow.errors.ParameterError: There is no study file 'nowhere.toml'.
      fix:     barrow choose … --save nowhere.toml
    """
    file = Path(path)
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ParameterError(
            f"There is no study file {str(path)!r}.", fix=f"barrow choose … --save {file.name}"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ParameterError(f"The study file {str(path)!r} cannot be read: {error}.", fix="check the path") from None
    except tomllib.TOMLDecodeError as error:
        raise ParameterError(
            f"The study file {str(path)!r} is not TOML: {error}.", allowed="TOML", fix="mend that line"
        ) from None
    return study_from_spec(data)


def write_study(study: Study, path: str | Path) -> None:
    """Write ``study`` to a new TOML file, whole or not at all; an existing file is never overwritten.

    >>> import tempfile
    >>> from barrow.spaces import Earth
    >>> file = Path(tempfile.mkdtemp()) / "study.toml"
    >>> write_study(Study(Earth(), alpha=Fraction(25)), file)
    >>> read_study(file).alpha
    Fraction(25, 1)
    """
    import tomli_w

    file = Path(path)
    partial = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        partial.write_text(tomli_w.dumps(study.to_spec()), encoding="utf-8")
        try:
            os.link(partial, file)  # unlike a rename, this fails if the file exists
        finally:
            partial.unlink()
    except FileExistsError:
        raise ParameterError(
            f"The file {str(path)!r} exists.", allowed="a new file", fix="choose another name, or remove it first"
        ) from None
    except OSError as error:
        raise ParameterError(
            f"The file {str(path)!r} cannot be written: {error.strerror}.", fix="choose another folder"
        ) from None


def _table(value: Any, name: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ParameterError(f"{name} is {value!r}.", allowed="a table", fix=f"{name} on a line of its own")
    return value


def _refuse_unknown(data: Mapping[str, Any], known: Iterable[str], where: str) -> None:
    allowed = list(known)
    for key in data:
        if key not in allowed:
            close = difflib.get_close_matches(key, allowed, n=1)
            raise ParameterError(
                f"The key {key!r} in {where} is not known." + (f" Did you mean {close[0]!r}?" if close else ""),
                allowed=", ".join(allowed),
                fix=f"rename it to {close[0]!r}" if close else f"remove {key!r}",
            )
