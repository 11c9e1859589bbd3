"""Build the sample arXiv dump: LaTeX sources to zip files laid out as ar5iv's are.

Every ``sources/<paper id>.tex`` is converted by LaTeXML with the flags that ar5iv uses, sorted into a *split* by the
severity that LaTeXML itself reports, and packed as ``<split>/<yymm>/<paper id>.html``. Two builds with the same LaTeXML
give the same bytes: members are sorted and carry a fixed time, and the page footers a fixed date.

    python datasets/sample/arxiv/build.py                # writes ar5iv-sample-<split>.zip next to this file
    python datasets/sample/arxiv/build.py --work DIR     # keeps pages in DIR and converts only what changed
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCES = HERE / "sources"
SPLITS = ("no-problem", "warning", "error")  # the index is LaTeXML's status code
STAMP = "Mon Apr  1 00:00:00 2024"
ZIP_TIME = (2024, 4, 1, 0, 0, 0)
CSS = "https://cdn.jsdelivr.net/gh/dginev/ar5iv-css@0.7.9/css/"
FLAGS = [
    "--preload=[nobibtex,ids,localrawstyles,mathlexemes]latexml.sty",
    "--format=html5",
    "--pmml",
    "--cmml",
    "--mathtex",
    "--timeout=600",
    "--nodefaultresources",
    f"--css={CSS}ar5iv.min.css",
    f"--css={CSS}ar5iv-fonts.min.css",
    f"--timestamp={STAMP}",
]
MISSING = """latexmlc was not found: the sample pages cannot be rebuilt (the packed ones work without it).
On Debian or Ubuntu: apt-get install --no-install-recommends latexml texlive-science texlive-pictures
Elsewhere: see the installation page of LaTeXML, https://math.nist.gov/~BMiller/LaTeXML/get.html"""


def convert(source: Path, work: Path) -> str:
    """Convert one paper into ``work`` and return its split; pages newer than their source are kept."""
    page, log = work / f"{source.stem}.html", work / f"{source.stem}.log"
    fresh = page.exists() and log.exists() and page.stat().st_mtime > source.stat().st_mtime
    if not fresh:
        command = ["latexmlc", *FLAGS, f"--dest={page}", f"--log={log}", source.name]
        subprocess.run(
            command, cwd=source.parent, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
    found = (
        re.findall(r"^Status:conversion:(\d)", log.read_text(encoding="utf-8"), re.MULTILINE)
        if log.exists()
        else []
    )
    if not found or int(found[-1]) >= len(SPLITS) or not page.exists():
        raise SystemExit(f"{source.name}: LaTeXML gave no page; see {log}")
    return SPLITS[int(found[-1])]


def check(page: Path, work: Path) -> bytes:
    """Return the bytes of a page after making sure that it tells nothing about the machine it was made on."""
    text = page.read_text(encoding="utf-8")
    for place in (str(SOURCES), str(work), str(Path.home()) + "/"):
        if place in text:
            raise SystemExit(f"{page.name}: contains the local path {place}")
    if STAMP not in text:
        raise SystemExit(
            f"{page.name}: expected the fixed date {STAMP!r} in the footer; is this LaTeXML too old?"
        )
    return text.encode("utf-8")


def pack(members: dict[str, bytes], target: Path) -> None:
    """Write ``members`` (name to bytes) to a zip file whose bytes depend on nothing else."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(members):
            info = zipfile.ZipInfo(name, ZIP_TIME)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.create_system = 3
            info.external_attr = 0o644 << 16
            archive.writestr(info, members[name])


def build(work: Path, target: Path) -> dict[str, int]:
    """Convert all sources and pack them; return the number of papers per split."""
    splits: dict[str, dict[str, bytes]] = {split: {} for split in SPLITS}
    sources = sorted(SOURCES.glob("*.tex"))
    for number, source in enumerate(sources, 1):
        split = convert(source, work)
        print(f"[{number}/{len(sources)}] {source.stem}: {split}", flush=True)
        yymm = source.stem.split(".")[0]
        splits[split][f"{split}/{yymm}/{source.stem}.html"] = check(work / f"{source.stem}.html", work)
    for split, members in splits.items():
        path = target / f"ar5iv-sample-{split}.zip"
        if members:
            pack(members, path)
        else:
            path.unlink(missing_ok=True)
    return {split: len(members) for split, members in splits.items()}


def main(argv: list[str] | None = None) -> None:
    """Read the command line and build."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--work", type=Path, help="folder for pages and logs; kept, and reused by the next build"
    )
    parser.add_argument("--target", type=Path, default=HERE, help="folder that receives the zip files")
    arguments = parser.parse_args(argv)
    if shutil.which("latexmlc") is None:
        print(MISSING, file=sys.stderr)
        raise SystemExit(2)
    with tempfile.TemporaryDirectory() as scratch:
        work = (arguments.work or Path(scratch)).resolve()
        work.mkdir(parents=True, exist_ok=True)
        counts = build(work, arguments.target)
    print(", ".join(f"{count} {split}" for split, count in counts.items()))


if __name__ == "__main__":
    main()
