"""``pramble design``: which matrix is best at this privacy, and how do we know."""

from pathlib import Path
from typing import Annotated, Any

import typer

import pramble
from pramble.cli.console import answers, messages, print_json
from pramble.cli.design_records import answer_record, answer_tables, refuse_of_records
from pramble.cli.inputs import (
    AsJson,
    Family,
    Impossible,
    new_file,
    read_distance,
    read_matrix,
    write_json,
)
from pramble.data.crosstab import crosstab
from pramble.data.labels import as_labels
from pramble.data.open import open_records
from pramble.errors import InvalidData, InvalidPrior
from pramble.mechanisms.csv_form import write_csv
from pramble.solvers.problem import ObjectiveName
from pramble.solvers.result import Design

LEAK = (
    "The prior was counted on {file!r}. If that file is confidential, publishing the matrix says "
    "something about it that alpha does not cover: use a public prior, a uniform one, or "
    "`pramble release`, which counts with noise paid from the budget."
)


SHOWN = (
    "alpha", "family", "objective", "value", "bound", "gap", "stopped", "information", "share",
    "kept",
)  # fmt: skip


def design(
    alpha: Annotated[
        float | None, typer.Option(help="Privacy α (the ε of most of the literature).")
    ] = None,
    prior: Annotated[
        str | None, typer.Option(help="Probabilities of the categories: 0.5,0.3,0.2.")
    ] = None,
    uniform: Annotated[
        int | None, typer.Option(help="So many categories, all equally likely.")
    ] = None,
    source: Annotated[
        Path | None, typer.Option("--from", help="Count the prior in this file (with --column).")
    ] = None,
    column: Annotated[str | None, typer.Option(help="The column to count.")] = None,
    categories: Annotated[str | None, typer.Option(help="Labels in order: a,b,c.")] = None,
    family: Family = "uniform",
    objective: Annotated[
        ObjectiveName | None, typer.Option(help="information (default), estimation or loss.")
    ] = None,
    invariant: Annotated[bool, typer.Option("--invariant", help="Keep released shares.")] = False,
    symmetric: Annotated[
        bool, typer.Option("--symmetric", help="One keep probability for all.")
    ] = False,
    keep_at_least: Annotated[
        float | None, typer.Option(help="No category is kept with less than this.")
    ] = None,
    tolerance: Annotated[float, typer.Option(help="Relative gap to prove.")] = 1e-6,
    time_limit: Annotated[float | None, typer.Option(help="Seconds to search at most.")] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", callback=new_file, help="Write the mechanism: a JSON file."),
    ] = None,
    matrix: Annotated[
        Path | None,
        typer.Option(callback=new_file, help="Write the labelled matrix to this CSV file."),
    ] = None,
    loss: Annotated[
        Path | None,
        typer.Option(
            help="With --objective loss: a CSV file of what it costs to release a column's value "
            "for a row's, with labels or plain numbers."
        ),
    ] = None,
    distance: Annotated[
        str | None,
        typer.Option(
            help="With --family general: α is per unit of distance between categories; path for "
            "ordered ones (α per step), or a CSV file of distances. With --columns: of some of "
            "them, as age=path,region=miles.csv."
        ),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(help="Design a record of columns: a,b,c with --from, or sizes a=2,b=5."),
    ] = None,
    tables: Annotated[
        str, typer.Option(help="With --columns: wanted tables, as 2, all, a+b,a+c, or auto.")
    ] = "2",
    whole: Annotated[
        bool, typer.Option("--whole", help="With --columns: every record keeps all columns.")
    ] = False,
    impossible: Impossible = None,
    central: Annotated[
        str | None,
        typer.Option(help="With --columns, for --alpha: protected tables at this ε,δ, as 1,1e-6."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find the best matrix at a given privacy, with a proof that none is better.

    With --columns: the best plan for a record of several columns, for the tables that analysts will
    want; its objective is estimation unless information is asked for. With --central: the least
    noise with which those tables can be published, in people a cell.

    Examples
    --------
      pramble design --alpha 1 --prior 0.5,0.3,0.2 --categories a,b,c

      pramble design --alpha 1 --from people.csv --column region --matrix region.csv

      pramble design --alpha 2 --uniform 40 --family general --objective loss --loss miles.csv

      pramble design --alpha 0.5 --uniform 10 --family general --distance path

      pramble design --alpha 4 --from people.csv --columns sex,age,region --tables 2 --out plan.json

      pramble design --alpha 0.5 --columns age=6,health=3 --distance age=path,health=path

      pramble design --central 1,1e-6 --columns sex=2,age=5,region=9 --tables 2 --out plan.json
    """
    if (alpha is None) == (central is None):
        raise typer.BadParameter(
            "give --alpha, or --central for protected tables", param_hint="--alpha"
        )
    if central is not None:
        of_records = {
            "--prior": prior, "--uniform": uniform, "--column": column,
            "--categories": categories, "--objective": objective, "--invariant": invariant,
            "--symmetric": symmetric, "--keep-at-least": keep_at_least,
            "--time-limit": time_limit, "--matrix": matrix, "--loss": loss,
            "--distance": distance, "--whole": whole, "--impossible": impossible,
        }  # fmt: skip
        refuse_of_records(of_records)
        answer_tables(columns, central, source=source, tables=tables, out=out, as_json=as_json)
        return
    assert alpha is not None, "one of the two is given"
    if columns is not None:
        if loss is not None:
            raise typer.BadParameter("--loss is of one column", param_hint="--columns")
        answer_record(
            columns, alpha, source=source, tables=tables, objective=objective or "estimation",
            whole=whole, distance=distance, impossible=impossible or [], time_limit=time_limit,
            out=out, as_json=as_json,
        )  # fmt: skip
        return
    probabilities, labels = given_prior(prior, uniform, source, column, categories)
    losses = None
    if loss is not None:
        losses, labels = read_matrix(loss, labels, what="losses")
    between, labels = read_distance(distance, labels)
    answer = pramble.design(
        probabilities, alpha, family=family, objective=objective or "information",
        categories=labels, invariant=invariant, symmetric=symmetric, keep_at_least=keep_at_least,
        loss=losses, distance=between, tolerance=tolerance, time_limit=time_limit,
    )  # fmt: skip
    if as_json:
        print_json(design_document(answer))
    else:
        answers().print(repr(answer), soft_wrap=True)
    if out is not None:
        write_json(answer.mechanism, out)
    if matrix is not None:
        write_csv(answer.mechanism, matrix)


def given_prior(
    prior: str | None,
    uniform: int | None,
    source: Path | None,
    column: str | None,
    categories: str | None,
) -> tuple[list[float], list[Any] | None]:
    """Return the probabilities of the categories and their labels, however they were given."""
    if sum(given is not None for given in (prior, uniform, source)) != 1:
        raise typer.BadParameter("give one of --prior, --uniform and --from", param_hint="--prior")
    if (source is None) != (column is None):
        raise typer.BadParameter("--from and --column go together", param_hint="--column")
    labels = None if categories is None else [label.strip() for label in categories.split(",")]
    if source is not None and column is not None:
        found = counted_shares(source, column, labels)
        messages().print(f"Warning: {LEAK.format(file=source.name)}", style="yellow")
        return found
    if uniform is not None:
        return [1 / uniform] * max(uniform, 0), labels
    return probabilities_in(prior or ""), labels


def probabilities_in(text: str) -> list[float]:
    """Return comma-separated numbers."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InvalidPrior(
            f"A prior must be numbers separated by commas, as 0.5,0.3,0.2; found {text!r}."
        ) from None


def counted_shares(
    source: Path, column: str, labels: list[str] | None
) -> tuple[list[float], list[Any] | None]:
    """Return the shares of the values of a column, and the labels; empty cells are left out."""
    known = {} if labels is None else {column: as_labels([*labels, None])}
    table = crosstab(open_records(source), [column], labels=known)
    counts = dict(zip(table.levels[0], table.array().tolist(), strict=True))
    counts.pop(None, None)
    total = sum(counts.values())
    if not total:
        raise InvalidData(f"Column {column!r} of {source.name!r} has no values.")
    return [count / total for count in counts.values()], list(counts)


def design_document(answer: Design) -> dict[str, Any]:
    """Return the answer as plain data."""
    labels = answer.mechanism.labels.values
    return {
        **{name: getattr(answer, name) for name in SHOWN},
        "certified_alpha": answer.certificate.alpha,
        "keep": {str(label): q for label, q in zip(labels, answer.keep.tolist(), strict=True)},
        "levels": [
            {
                "name": level.name,
                "probability": level.probability,
                "categories": [labels[i] for i in level.positions.tolist()],
            }
            for level in answer.levels
        ],
        "notes": list(answer.notes),
        "figures": {n: v for n, v in answer.details.items() if isinstance(v, int | float)},
        "mechanism": answer.mechanism.to_json(),
    }
