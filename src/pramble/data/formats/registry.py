"""Every format, and which file is of which. A new format is a reader and one line here."""

from pathlib import Path

from pramble.data.formats.arrow import ParquetWriter, read_arrow, read_parquet, write_arrow
from pramble.data.formats.base import PACKINGS, Format
from pramble.data.formats.delimited import delimited
from pramble.data.formats.programs import read_sheet, statistics
from pramble.errors import InvalidData

PARQUET = Format("parquet", (".parquet", ".pq"), read_parquet, ParquetWriter)
CSV = delimited("csv", (".csv", ".txt"), None)
TSV = delimited("tsv", (".tsv", ".tab"), "\t")
ARROW = Format("arrow", (".arrow", ".ipc", ".feather"), read_arrow, write_arrow)
STATA = statistics("stata", (".dta",), "read_dta")
SPSS = statistics("spss", (".sav", ".zsav"), "read_sav")
SPSS_PORTABLE = statistics("spss portable", (".por",), "read_por")
SAS = statistics("sas", (".sas7bdat",), "read_sas7bdat")
SAS_TRANSPORT = statistics("sas transport", (".xpt",), "read_xport")
EXCEL = Format("excel", (".xlsx", ".xlsm"), read_sheet)

FORMATS = (PARQUET, CSV, TSV, ARROW, STATA, SPSS, SPSS_PORTABLE, SAS, SAS_TRANSPORT, EXCEL)


def endings(*, written: bool = False, packed: bool = False) -> list[str]:
    """Return the endings of all formats, or of those that can be written; also of packed files."""
    return [
        end + packing
        for form in FORMATS
        if form.write or not written
        for end in form.endings
        for packing in ("", *(PACKINGS if packed and form.packed else ()))
    ]


def split_ending(path: Path) -> tuple[str, str]:
    """Return the ending that tells the format, and the one of a packed file, both may be empty.

    >>> split_ending(Path("people.CSV.gz")), split_ending(Path("readme"))
    (('.csv', '.gz'), ('', ''))
    """
    name = path.name.lower()
    packing = next((end for end in PACKINGS if name.endswith(end)), "")
    bare = name.removesuffix(packing)
    return next((end for end in endings() if bare.endswith(end)), ""), packing


def format_of(path: Path, name: str | None = None) -> Format:
    """Return the format of a file to read: by its name, or by the file's ending."""
    if name is not None:
        for form in FORMATS:
            if form.name == name:
                return form
        known = ", ".join(form.name for form in FORMATS)
        raise InvalidData(f"A format is one of {known}; found {name!r}.")
    ending, packing = split_ending(path)
    for form in FORMATS:
        if ending in form.endings:
            if packing and not form.packed:
                raise InvalidData(
                    f"A {form.name} file is not packed whole; unpack {path.name!r} first."
                )
            return form
    raise InvalidData(
        f"{str(path)!r} has no known ending; a data file ends in {', '.join(endings())}, "
        f"text files also in {', '.join(PACKINGS)} after that. Else say which format it is."
    )


def target_format(path: Path) -> Format:
    form = format_of(path)
    if form.write is None:
        raise InvalidData(
            f"{str(path)!r} cannot be written; an output ends in "
            f"{', '.join(endings(written=True))}."
        )
    return form
