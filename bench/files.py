"""Files of ten text columns, all ten randomised, beside copying them unchanged.

Each job runs in a process of its own, which tells its processor time (without imports) and the
most memory it held. PRAMBLE_BENCH_ROWS sets the rows; ten million unless given.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

from bench._figures import Claim

COLUMNS, PART_ROWS = 10, 1_000_000
LABELS = [f"category {i}" for i in range(10)]

MEASURED = """
import json, sys, time
from bench._figures import peak_megabytes
source, target = sys.argv[1:]
{imports}
start, cpu = time.perf_counter(), time.process_time()
{work}
print(json.dumps([time.process_time() - cpu, time.perf_counter() - start,
                  peak_megabytes() / 1000]))
"""

ARROW_PARQUET = (
    "import pyarrow.parquet as pq",
    """
file = pq.ParquetFile(source)
with pq.ParquetWriter(target, file.schema_arrow) as writer:
    for batch in file.iter_batches(1 << 20):
        writer.write_batch(batch)
""",
)
ARROW_CSV = (
    "import pyarrow.csv as pc",
    """
reader = pc.open_csv(source)
with pc.CSVWriter(target, reader.schema) as writer:
    for batch in reader:
        writer.write_batch(batch)
""",
)
POLARS_CSV = (
    "import polars as pl",
    "pl.scan_csv(source).sink_csv(target)",
)
POLARS_PARQUET = (
    "import polars as pl",
    "pl.scan_parquet(source).sink_parquet(target)",
)
PRAMBLE = (
    "import pramble, pyarrow.parquet, pyarrow.csv",
    f"""
m = pramble.randomized_response({LABELS!r}, 1.0)
plan = {{f"c{{j}}": m for j in range({COLUMNS})}}
pramble.perturb_file(source, target, plan)
""",
)

TABLE = f"""
import numpy as np, pyarrow as pa, pyarrow.csv as pc, pramble
from pramble.data.encode import Encoder
from pramble.data.formats.delimited import DelimitedWriter
labels = {LABELS!r}
m = pramble.randomized_response(labels, 1.0)
encoder = Encoder(m.labels, "c", from_text=True, dtype=np.uint8)
table = pc.read_csv(source).combine_chunks()
batches = table.to_batches(max_chunksize=1 << 17)
codes = [encoder.codes(table.column(j)) for j in range({COLUMNS})]
many = pramble.randomized_response(len(labels), 1.0)
coded = pa.table([pa.DictionaryArray.from_arrays(c.astype(np.int8), labels) for c in codes],
                 names=table.column_names)
"""
PARTS = {
    "reading all cells as texts": (
        TABLE,
        """
names = dict.fromkeys(table.column_names, pa.string())
for batch in pc.open_csv(source, convert_options=pc.ConvertOptions(column_types=names)):
    pass
""",
    ),
    "looking texts up among the categories": (
        TABLE,
        "for batch in batches: [encoder.codes(column) for column in batch.columns]",
    ),
    "loading the compiled loops": ("import pramble", "import pramble.engine.kernels"),
    "drawing": (
        TABLE + "import pramble.engine.kernels\npramble.perturb(codes[0], many)",
        "for c in codes: pramble.perturb(c, many)",
    ),
    "writing": (
        TABLE,
        """
with open(target, "wb") as sink:
    writer = DelimitedWriter(sink, coded.schema, separator=",")
    for batch in coded.to_batches(max_chunksize=1 << 17):
        writer.write(batch)
""",
    ),
}
"""Parts of the way of a CSV file; what comes before the second text is not measured."""


def make_files(folder: Path, rows: int) -> None:
    """Write the table as Parquet and CSV, piece by piece."""
    rng = np.random.default_rng(0)
    labels = pa.array(LABELS)
    schema = pa.schema([(f"c{j}", pa.string()) for j in range(COLUMNS)])
    unquoted = pc.WriteOptions(quoting_style="none")
    with (
        pq.ParquetWriter(folder / "in.parquet", schema) as parquet,
        pc.CSVWriter(folder / "in.csv", schema, write_options=unquoted) as text,
    ):
        for start in range(0, rows, 1 << 20):
            n = min(1 << 20, rows - start)
            drawn = [labels.take(pa.array(rng.integers(0, 10, n))) for _ in range(COLUMNS)]
            batch = pa.RecordBatch.from_arrays(drawn, schema=schema)
            parquet.write_batch(batch)
            text.write_batch(batch)


def measured(job: tuple[str, str], source: Path, target: Path) -> list[float]:
    """Run a job twice in fresh processes and return the figures of the quicker."""
    code = MEASURED.format(imports=job[0], work=job[1])
    runs = []
    for _ in range(2):
        target.unlink(missing_ok=True)
        command = [sys.executable, "-c", code, str(source), str(target)]
        answer = subprocess.run(command, check=True, capture_output=True, text=True)
        runs.append(json.loads(answer.stdout))
    target.unlink(missing_ok=True)
    return min(runs)


def main() -> None:
    rows = int(os.environ.get("PRAMBLE_BENCH_ROWS", "10000000"))
    print(f"{rows:,} rows of {COLUMNS} text columns, all randomised")
    claim = Claim("files", "Files", "python -m bench files", ("pyarrow", "polars"))
    found: dict[str, dict[str, list[float]]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_files(folder, rows)
        for suffix, jobs in {
            ".parquet": {"pyarrow copy": ARROW_PARQUET, "polars copy": POLARS_PARQUET},
            ".csv": {"pyarrow copy": ARROW_CSV, "polars copy": POLARS_CSV},
        }.items():
            source, target = folder / f"in{suffix}", folder / f"out{suffix}"
            print(f"  {suffix[1:]}")
            kept = found.setdefault({".parquet": "Parquet", ".csv": "CSV"}[suffix], {})
            for label, job in {"pramble": PRAMBLE, **jobs}.items():
                kept[label] = cpu, wall, peak = measured(job, source, target)
                print(
                    f"    {label:<14} {cpu:>7.2f} CPU-s {wall:>7.2f} s {peak:>6.2f} GB"
                    f"   pramble takes {kept['pramble'][0] / cpu:.2f} times its CPU"
                )
        (folder / "part").mkdir()
        make_files(folder / "part", PART_ROWS)
        parts = where_it_goes(folder / "part" / "in.csv")
    note = f"{rows:,} rows of {COLUMNS} text columns. pramble randomises all of them; peers copy."
    for number, (title, unit) in enumerate(
        (("Processor time", "CPU seconds"), ("Time", "seconds"), ("Most memory", "GB"))
    ):
        claim.table(title, unit, "less", note)
        for case, kept in found.items():
            for who, figures in kept.items():
                claim.add(case, who, figures[number])
    claim.parts(f"Where the time of a CSV file of {PART_ROWS:,} rows goes", "CPU seconds", parts)
    claim.write()


def where_it_goes(source: Path) -> dict[str, float]:
    """Processor seconds of parts of the way of a CSV file, each alone in a fresh process."""
    found = {}
    for what, job in PARTS.items():
        cpu, _, _ = measured(job, source, source.with_name("part.csv"))
        found[what] = cpu
        print(f"    {what:<44} {cpu:>7.2f} CPU-s")
    return found


if __name__ == "__main__":
    main()
