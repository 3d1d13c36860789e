"""A release in the formats that others read: Croissant, Frictionless, CITATION.cff, the registry of deployments.

All of them say again what the statement says; nothing here sees records or draws noise.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping

from barrow.errors import ParameterError
from barrow.numerics.exact import at_most
from barrow.promises import Model
from barrow.questions.answer import Rows
from barrow.questions.statement import Publication, Statement
from barrow.study.claim import claim_of

CROISSANT, PACKAGE, CITATION, REGISTRY = "croissant.json", "datapackage.json", "CITATION.cff", "registry.yaml"
CATALOGUES = (CROISSANT, PACKAGE, CITATION, REGISTRY)
"""The files, by what they are called in the folder of a release."""
_REGISTRY_NEEDS = ("curator", "purpose", "region", "date")
_MEDIA = {
    "csv": "text/csv", "parquet": "application/vnd.apache.parquet", "geoparquet": "application/vnd.apache.parquet",
    "geojson": "application/geo+json", "html": "text/html",
}  # fmt: skip
_LICENCES = (
    "Apache-2.0", "CC-BY-3.0", "CC-BY-4.0", "CC-BY-NC-4.0", "CC-BY-NC-ND-4.0", "CC-BY-NC-SA-4.0", "CC-BY-ND-4.0",
    "CC-BY-SA-4.0", "CC0-1.0", "CDLA-Permissive-1.0", "CDLA-Sharing-1.0", "MIT", "ODC-By-1.0", "ODbL-1.0",
    "OGL-UK-3.0", "PDDL-1.0", "etalab-2.0",
)  # fmt: skip
"""Licences of data that version 1.2.0 of the citation format knows by name; any other makes a file invalid."""
_MODELS = {Model.CENTRAL: "Central", Model.LOCAL: "Local", Model.SHUFFLE: "Shuffle"}
"""The registry's names; people who share their answers among aggregators are its "Federated"."""
_CROISSANT_CONTEXT: dict[str, object] = {
    "@language": "en", "@vocab": "https://schema.org/", "arrayShape": "cr:arrayShape", "citeAs": "cr:citeAs",
    "column": "cr:column", "conformsTo": "dct:conformsTo", "containedIn": "cr:containedIn",
    "cr": "http://mlcommons.org/croissant/", "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"}, "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/", "description": {"@container": "@language"},
    "equivalentProperty": "cr:equivalentProperty", "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract", "field": "cr:field", "fileProperty": "cr:fileProperty", "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet", "format": "cr:format", "includes": "cr:includes", "isArray": "cr:isArray",
    "isLiveDataset": "cr:isLiveDataset", "jsonPath": "cr:jsonPath", "key": "cr:key", "md5": "cr:md5",
    "name": {"@container": "@language"}, "parentField": "cr:parentField", "path": "cr:path",
    "recordSet": "cr:recordSet", "references": "cr:references", "regex": "cr:regex", "repeated": "cr:repeated",
    "replace": "cr:replace", "samplingRate": "cr:samplingRate", "sc": "https://schema.org/",
    "separator": "cr:separator", "source": "cr:source", "subField": "cr:subField", "transform": "cr:transform",
}  # fmt: skip


def format_files(statement: Statement, tables: Mapping[str, Rows], files: Mapping[str, bytes]) -> dict[str, bytes]:
    """What every release writes for catalogues; CITATION.cff and the registry's record where the study says enough.

    Args:
        statement: The statement, without its list of files.
        tables: The released values.
        files: The files that were written so far.
    """
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    sizes = {name: len(content) for name, content in files.items()}
    told = statement.publication or Publication()
    types = {name: _types(rows) for name, rows in tables.items()}
    result = {
        CROISSANT: _json(_croissant(statement, told, types, digests, sizes)),
        PACKAGE: _json(_package(statement, told, types, digests, sizes)),
    }
    if told.curator:
        result[CITATION] = _yaml(_citation(statement, told)).encode()
    if not missing_for_registry(told):
        result[REGISTRY] = registry_record(statement, told).encode()
    return result


def missing_for_registry(told: Publication) -> list[str]:
    """The fields that the registry asks for and a study has not said.

    >>> missing_for_registry(Publication(curator="City of Example", date="2026-11-18"))
    ['purpose', 'region']
    """
    return [name for name in _REGISTRY_NEEDS if not getattr(told, name)]


def registry_record(statement: Statement, told: Publication) -> str:
    """The record of a release for the public registry of differential privacy deployments, as YAML."""
    lacking = missing_for_registry(told)
    if lacking:
        raise ParameterError(
            f"The registry needs more than the release says: {', '.join(lacking)}.",
            allowed="all of curator, purpose, region and date, in the study's [publication] or as options",
            fix=" ".join(f"--{name} TEXT" for name in lacking),
        )
    claim, worst, about = statement.claim or claim_of(statement), statement.worst_case, statement.answer.about
    many = about is not None and bool(about.reads)
    distance = f"{statement.diameter:,.6g} {statement.unit}".strip()
    relation = (
        f"Privacy relation of {statement.definition}: input metric: the earth mover's distance (largest distance "
        f"{distance}, scaled to 1) between the data of the one person in whom two neighbouring data sets differ; "
        "output measure: the (ε, δ) of approximate differential privacy; relation: for every distance w in (0, 1], "
        f"ε = α w and δ = {at_most(statement.delta) if statement.delta else 0}. {'; '.join(claim.parameters)}."
        if statement.alpha is not None
        else f"Privacy relation of {statement.definition}: input metric: neighbouring data sets differ in the data of "
        f"one person, in any way; output measure: (ε, δ). {'; '.join(claim.parameters)}."
    )
    ordinary = "Approximate DP" if statement.delta else "Pure DP"
    return _yaml(
        {
            "url_slug": _slug(statement),
            "status": "Draft",
            "tier": 3,
            "deployment": {
                "basic": {
                    "name": _title(statement, told),
                    "data_curators": [told.curator],
                    "description": _sentence(statement.released),
                    "intended_use": told.purpose,
                    "data_product_type": "Summary statistics",
                    "data_product_region": told.region,
                    "publication_date": told.date,
                },
                "dp_variant": {
                    "variant_name": "Custom" if statement.alpha is not None else ordinary,
                    "data_domain": _domain(statement),
                    "unprotected_quantities": "; ".join(statement.not_hidden),
                },
                "privacy_loss": {
                    "privacy_unit": "one person",
                    "privacy_unit_details": claim.unit,
                    "privacy_parameters": {"epsilon": worst.epsilon, "delta": worst.delta},
                    "privacy_parameters_details": "epsilon and delta are the worst case, if everything about a person "
                    f"had been different. {relation}",
                },
                "deployment_model": {
                    "model_name": _MODELS.get(statement.model, "Federated"),
                    "model_name_details": claim.trust,
                    "actors": "; ".join(claim.actors),
                    "release_type": "Many releases" if many else "One release",
                    "release_type_details": "A ledger adds up all releases about the data set; releases that do not "
                    "fit its promises are refused.",
                    "data_source_type": "Dynamic" if many else "Static",
                    "access_type": "Non-interactive",
                },
                "accounting": {
                    "post_processing": "Values are decoded and drawn from the noisy ones alone.",
                    "composition": "Sequential: losses of releases about the same people add up"
                    + (", in quadrature" if statement.parameters.get("squares") else "")
                    + "; groups that share nobody, and periods of promises about periods, are composed in parallel.",
                },
                "implementation": {
                    "preprocessing_and_hyperparameter_tuning": _sentence("; ".join(claim.preprocessing)),
                    "mechanisms": f"{_sentence(_noise(statement))} Implemented by {statement.library}. "
                    + _sentence("; ".join(claim.side_channels)),
                    "justification": f"The guarantee follows from {statement.theorem} and depends on public parameters "
                    "only; statement.json has them all, and barrow verify computes it again.",
                },
                "administrative": {
                    **({"sources": told.url} if told.url else {}),
                    "notes": f"Known bias: {'; '.join(claim.bias)}.",
                    "registry_authors": [told.contact or told.curator],
                },
            },
        }
    )  # fmt: skip


def _croissant(
    statement: Statement,
    told: Publication,
    types: Mapping[str, Mapping[str, str]],
    digests: Mapping[str, str],
    sizes: Mapping[str, int],
) -> dict[str, object]:
    named = {"number": "sc:Float", "integer": "sc:Integer", "string": "sc:Text"}
    claim = statement.claim or claim_of(statement)
    return {
        "@context": _CROISSANT_CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.1",
        "name": _slug(statement),
        "description": f"{_sentence(statement.released)} Released with {statement.definition}; see statement.txt.",
        **({"license": told.license} if told.license else {}),
        **({"creator": {"@type": "sc:Organization", "name": told.curator}} if told.curator else {}),
        **({"datePublished": told.date} if told.date else {}),
        **({"url": told.url} if told.url else {}),
        "citeAs": _cited(statement, told),
        "version": "1.0.0",
        "rai:dataUseCases": told.purpose or "summary statistics",
        "rai:dataBiases": "; ".join(claim.bias),
        "rai:dataPreprocessingProtocol": "; ".join(claim.preprocessing),
        "rai:personalSensitiveInformation": "; ".join(claim.parameters),
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": name,
                "name": name,
                "contentUrl": name,
                "contentSize": f"{sizes[name]} B",
                "encodingFormat": _MEDIA.get(name.rpartition(".")[2], "application/octet-stream"),
                "sha256": digest,
            }
            for name, digest in digests.items()
        ],
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": f"{table}-rows",
                "name": table,
                "field": [
                    {
                        "@type": "cr:Field",
                        "@id": f"{table}-rows/{column}",
                        "name": column,
                        "dataType": named[kind],
                        "source": {"fileObject": {"@id": f"{table}.csv"}, "extract": {"column": column}},
                    }
                    for column, kind in columns.items()
                ],
            }
            for table, columns in types.items()
        ],
    }


def _package(
    statement: Statement,
    told: Publication,
    types: Mapping[str, Mapping[str, str]],
    digests: Mapping[str, str],
    sizes: Mapping[str, int],
) -> dict[str, object]:
    """A Frictionless data package of the CSV tables."""
    contributors = [{"title": told.curator, "role": "publisher"}] if told.curator else []
    return {
        "profile": "tabular-data-package",
        "name": _slug(statement),
        "title": _title(statement, told),
        "description": f"{_sentence(statement.released)} Released with {statement.definition}.",
        "version": "1.0.0",
        **({"licenses": [{"name": told.license}]} if told.license else {}),
        **({"contributors": contributors} if contributors else {}),
        **({"created": f"{told.date}T00:00:00Z"} if told.date else {}),
        "resources": [
            {
                "profile": "tabular-data-resource",
                "name": re.sub(r"[^a-z0-9._-]", "-", table.lower()),
                "path": f"{table}.csv",
                "format": "csv",
                "mediatype": "text/csv",
                "encoding": "utf-8",
                "bytes": sizes[f"{table}.csv"],
                "hash": f"sha256:{digests[f'{table}.csv']}",
                "schema": {"fields": [{"name": column, "type": kind} for column, kind in columns.items()]},
            }
            for table, columns in types.items()
            if f"{table}.csv" in digests
        ],
    }


def _citation(statement: Statement, told: Publication) -> dict[str, object]:
    return {
        "cff-version": "1.2.0",
        "message": "If you use these values, please cite them as below.",
        "type": "dataset",
        "title": _title(statement, told),
        "authors": [{"name": told.curator}],
        "abstract": f"{_sentence(statement.released)} Released with {statement.definition}.",
        **({"date-released": told.date} if told.date else {}),
        **({"license": told.license} if told.license in _LICENCES else {}),
        **({"url": told.url} if re.fullmatch(r"https?://\S+", told.url) else {}),
        "keywords": ["differential privacy", "earth mover's distance"],
    }


def _types(rows: Rows) -> dict[str, str]:
    """The type of each column: integer, number or string."""
    kinds = {name: {type(row[name]) for row in rows} - {type(None)} for name in rows[0]}
    return {
        name: "integer" if held == {int} else "number" if held <= {int, float} and held else "string"
        for name, held in kinds.items()
    }


def _title(statement: Statement, told: Publication) -> str:
    about = statement.answer.about
    reads = f", {about.reads}" if about is not None and about.reads else ""
    named = statement.title or f"{statement.dataset or 'data'}: {statement.name}"
    return told.title or f"{named}{reads}"


def _slug(statement: Statement) -> str:
    about = statement.answer.about
    parts = [statement.dataset or "data", statement.name, about.reads if about is not None else ""]
    return re.sub(r"[^a-z0-9]+", "-", " ".join(parts).lower()).strip("-") or "release"


def _cited(statement: Statement, told: Publication) -> str:
    year = told.date[:4] or "n.d."
    return f"{told.curator or 'Unknown curator'} ({year}). {_title(statement, told)} [data set]."


def _domain(statement: Statement) -> str:
    space = next((text for text in statement.not_hidden if text.startswith("the space: ")), "the space: items")
    return f"multisets of items of {space}, one for each person".replace("of the space: ", "of the public space: ")


def _noise(statement: Statement) -> str:
    noise = statement.answer.noise
    return "randomised items" if noise is None else f"{noise.distribution} noise"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "."


def _json(data: object) -> bytes:
    return json.dumps(data, indent=1, ensure_ascii=False).encode() + b"\n"


def _yaml(data: Mapping[str, object], indent: str = "") -> str:
    """Block YAML; texts are written as JSON, which YAML reads alike whatever they hold."""
    lines = []
    for name, value in data.items():
        if isinstance(value, Mapping):
            lines.append(f"{indent}{name}:\n{_yaml(value, indent + '  ')}")
        elif isinstance(value, list):
            items = (_item(item, indent) for item in value)
            lines.append(f"{indent}{name}:\n{''.join(items)}")
        else:
            lines.append(f"{indent}{name}: {_scalar(value)}\n")
    return "".join(lines)


def _item(item: object, indent: str) -> str:
    if isinstance(item, Mapping):
        return f"{indent}  - {_yaml(item, indent + '    ').lstrip()}"
    return f"{indent}  - {_scalar(item)}\n"


def _scalar(value: object) -> str:
    """A number with a point in it, or a text in quotes."""
    if isinstance(value, float):
        text = repr(value)
        return text if "." in text or "e" not in text else text.replace("e", ".0e")
    return json.dumps(value, ensure_ascii=False)
