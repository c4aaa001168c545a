# SPDX-License-Identifier: Apache-2.0
"""The part of JSON Schema (draft 2020-12) that our schemas use; an unknown keyword is an error, so
that no part of a schema goes unchecked."""

import re

TYPES = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
}
NOTES = {"$schema", "$comment", "$defs", "title", "description"}


def resolve(reference, root):
    target = root
    for part in reference.removeprefix("#/").split("/"):
        target = target[part]
    return target


def check_type(value, names, root, place):
    names = [names] if isinstance(names, str) else names
    if not any(TYPES[name](value) for name in names):
        yield f"{place}: {value!r} is not of type {' or '.join(names)}"


def check_required(value, names, root, place):
    if isinstance(value, dict):
        yield from (f"{place}: no {name!r}" for name in names if name not in value)


def check_properties(value, properties, root, place):
    if isinstance(value, dict):
        for name, schema in properties.items():
            if name in value:
                yield from errors(value[name], schema, root, f"{place}.{name}")


def check_items(value, schema, root, place):
    if isinstance(value, list):
        for number, item in enumerate(value):
            yield from errors(item, schema, root, f"{place}[{number}]")


def check_any_of(value, schemas, root, place):
    found = [list(errors(value, schema, root, place)) for schema in schemas]
    if all(found):
        yield f"{place}: {value!r} is none of the alternatives: {found[0][0]}"


def check_that(holds, says):
    """A keyword that compares the value with its argument."""
    def check(value, argument, root, place):
        if not holds(value, argument):
            yield f"{place}: {value!r} {says} {argument!r}"
    return check


def is_number(value):
    return TYPES["number"](value)


KEYWORDS = {
    "type": check_type,
    "required": check_required,
    "properties": check_properties,
    "items": check_items,
    "anyOf": check_any_of,
    "$ref": lambda value, name, root, place: errors(value, resolve(name, root), root, place),
    "const": check_that(lambda value, wanted: value == wanted, "is not"),
    "enum": check_that(lambda value, words: value in words, "is none of"),
    "minimum": check_that(lambda value, least: not is_number(value) or value >= least, "is below"),
    "maximum": check_that(lambda value, most: not is_number(value) or value <= most, "is above"),
    "pattern": check_that(lambda value, pattern: not isinstance(value, str)
                          or re.search(pattern, value), "does not match"),
    "minItems": check_that(lambda value, least: not isinstance(value, list)
                           or len(value) >= least, "is shorter than"),
    "maxItems": check_that(lambda value, most: not isinstance(value, list)
                           or len(value) <= most, "is longer than"),
}


def check_additional(value, schema, root, place):
    additional = schema["additionalProperties"]
    if not isinstance(value, dict):
        return
    for name in value.keys() - schema.get("properties", {}).keys():
        if additional is False:
            yield f"{place}: unknown key {name!r}"
        else:
            yield from errors(value[name], additional, root, f"{place}.{name}")


def errors(value, schema, root=None, place="$"):
    """Every way in which the value breaks the schema."""
    root = root or schema
    unknown = schema.keys() - KEYWORDS.keys() - NOTES - {"additionalProperties"}
    if unknown:
        raise ValueError(f"keywords that are not checked here: {sorted(unknown)}")
    for keyword, argument in schema.items():
        if keyword in KEYWORDS:
            yield from KEYWORDS[keyword](value, argument, root, place)
    if "additionalProperties" in schema:
        yield from check_additional(value, schema, root, place)
