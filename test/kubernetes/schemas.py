"""Checks manifests against the schemas of Kubernetes: schemas.py kubernetes FILE...

Strictly (an unknown field is an error), for the oldest version that the manifests are for and the
newest one that is known. Objects of cert-manager are left out: `schemas.py cert-manager FILE...`
prints them, a JSON object a line, for cert-manager.mjs.
"""
import json
import sys

from kubernetes_validate import SchemaNotFoundError, ValidationError, latest_version, validate
from kubernetes_validate.utils import resources_from_file

OLDEST = "1.29"  # the first one that has sidecars


def problems(document):
    for version in (OLDEST, latest_version()):
        try:
            validate(document, version, strict=True)
        except ValidationError as e:
            yield f"{version}: {'.'.join(str(part) for part in e.path)}: {e.message}"
        except SchemaNotFoundError as e:
            yield e.message


def main(what, files):
    checked = failed = 0
    for file in files:
        for document in resources_from_file(file):
            if document["apiVersion"].startswith("cert-manager.io/"):
                if what == "cert-manager":
                    print(json.dumps({"file": file, "document": document}))
                continue
            checked += 1
            for problem in problems(document) if what == "kubernetes" else ():
                failed += 1
                print(f"{file}: {document['kind']} {document['metadata']['name']}: {problem}", file=sys.stderr)
    if what == "kubernetes":
        print(f"{checked} objects, Kubernetes {OLDEST} and {latest_version()}")
    sys.exit(failed > 0 or checked == 0)


main(sys.argv[1], sys.argv[2:])
