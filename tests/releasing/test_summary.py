"""The page to cite and the codebook: made from the folder alone, hostile words and all."""

import dataclasses
import json
import re
import shutil
import warnings
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import numpy as np
import pyarrow as pa
import pytest

import pramble

pytestmark = pytest.mark.xdist_group("summary")  # one worker makes what all need

EVIL = "</script><script>alert(1)</script><!-- ]]> & \" ' \u202e \x01 </title>"
DATASET = {
    "title": "Work and health, protected",
    "description": "Who works, and how well.",
    "producer": "Office of Statistics",
    "contact": "data@office.example",
    "licence": "CC BY 4.0",
    "version": "2.1",
    "date": "2026-01-31",
    "region": "Exampleland",
    "universe": "Residents aged 16 or more",
    "doi": "https://doi.org/10.1234/abc(5)",
}
DDI = "{ddi:codebook:2_5}"


def people(rows=4000, *, labels=("no", "yes")):
    random = np.random.default_rng(3)
    return pa.table(
        {
            "work": random.choice(labels, rows, p=[0.3, 0.7]).tolist(),
            "region": random.choice(["n", "e", "s", "w"], rows, p=[0.4, 0.3, 0.2, 0.1]).tolist(),
            "place": ["here"] * rows,
        }
    )


def made(folder, *, columns=("work", "region"), data=None, **settings):
    data = people() if data is None else data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pramble.release(
            data,
            folder,
            columns={name: {"categories": sorted(set(data[name].to_pylist()))} for name in columns},
            drop=[name for name in data.column_names if name not in (*columns, "place")],
            ledger=False,
            person=False,
            key=b"k" * 32,
            **settings,
        )


KINDS = {
    "tables": {"central": 1.0, "delta": 1e-6},
    "shuffled": {"central": 1.0, "delta": 1e-6, "design": "records"},
    "local": {"alpha": 2.0},
}


@pytest.fixture(scope="module")
def releases(tmp_path_factory):
    folder = tmp_path_factory.mktemp("summary")
    data = people().drop_columns(["place"])
    own = {"dataset": DATASET, "data": data}
    return {kind: made(folder / kind, **own, **how) for kind, how in KINDS.items()}


class Page(HTMLParser):
    """What a browser would make of a page: its scripts, what it fetches, its visible words."""

    def __init__(self, text):
        super().__init__()
        self.scripts, self.fetched, self.words, self.tags = [], [], [], []
        self.inside = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.inside.append(tag)
        if tag == "script":
            self.scripts.append([dict(attrs), ""])
        refers = [value for name, value in attrs if name in {"src", "xlink:href"}]
        self.fetched += [value for value in refers if not value.startswith("#")]
        self.fetched += [name for name, _ in attrs if name.startswith("on")]
        if tag in {"link", "iframe", "object", "embed", "img", "base"}:
            self.fetched.append(tag)

    def handle_endtag(self, tag):
        while self.inside and self.inside.pop() != tag:
            pass

    def handle_data(self, data):
        if "script" in self.inside:
            self.scripts[-1][1] += data
        elif not {"style", "svg"} & set(self.inside):
            self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())

    def data_of(self, **wanted):
        (found,) = [own for attrs, own in self.scripts if wanted.items() <= attrs.items()]
        return json.loads(found)


def page_of(release):
    return Page((release.folder / "summary.html").read_text(encoding="utf-8"))


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_says_who_is_protected_what_is_for_what_and_how_to_cite(releases, kind):
    release = releases[kind]
    text = page_of(release).text
    order = [
        *(DATASET["title"], DATASET["producer"], release.guarantee.sentence()),
        *(release.unit.sentence(), "Which file is for what", "open and count these"),
        *("What the data are good for", "Look into the tables", "Columns", "Open it"),
        *("How to cite", "https://doi.org/10.1234/abc(5)", "Technical certificate"),
        release.manifest["synthetic"]["sha256"],
    ]
    places = [text.index(words) for words in order]
    assert places == sorted(places), list(zip(order, places, strict=True))
    assert "Release of" not in text
    assert ("do not count them" in text) == (kind != "tables")
    assert "('" not in text.split("Open it")[0]


def test_the_local_promise_of_a_central_release_is_in_its_certificate_alone(releases):
    release = releases["shuffled"]
    above, below = page_of(release).text.split("Technical certificate")
    assert "α" not in above
    local = pramble.open_release(release.folder).manifest["promise"]["local"]
    assert f"(α = {pramble.numbers.alpha_text(local['alpha'])})" in below


def test_a_release_without_a_title_is_a_protected_data_set(tmp_path):
    release = made(tmp_path / "out", alpha=2.0, data=people(500))
    page = page_of(release)
    assert "Protected data set of 500 records" in page.text
    # What is released as it is is said before any number of it could be read.
    assert page.text.index("Not protected: place") < page.text.index("Which file is for what")
    assert release.manifest["data"]["sha256"][:16] in page.text.split("How to cite")[1]
    assert "dataset" not in release.manifest


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_shows_what_estimate_says_of_the_file(releases, kind):
    release = pramble.open_release(releases[kind].folder)
    data = page_of(release).data_of(id="tables")
    names = [column["name"] for column in data["columns"]]
    assert {tuple(sorted(names[c] for c in t["columns"])) for t in data["tables"]} == {
        ("work",), ("region",), ("region", "work"),
    }  # fmt: skip
    for table in data["tables"]:
        by = [names[c] for c in table["columns"]]
        asked = [(table["cells"], {"by": by})]
        asked += [
            (cells, {"by": [n for n in by if n != names[c]], "given": names[c]})
            for c, cells in table["within"]
        ]
        assert len(asked) == (3 if len(by) == 2 else 1)
        for cells, question in asked:
            answer = pramble.estimate(release, covers="randomisation", **question)
            known = {
                tuple(dict(zip(answer.cells, cell, strict=True))[n] for n in by): figures
                for *cell, figures in zip(
                    *answer.cells.values(),
                    zip(answer.values, answer.lower, answer.upper, strict=True),
                    strict=True,
                )
            }
            categories = [data["columns"][c]["categories"] for c in table["columns"]]
            labels = [()]
            for own in categories:
                labels = [(*label, one) for label in labels for one in own]
            for label, shown in zip(labels, cells, strict=True):
                assert shown == pytest.approx(np.clip(known[label], 0, 1), abs=1e-5)


def test_nothing_but_the_folder_reaches_the_page(releases, tmp_path):
    """The same folder, opened by a stranger on another day, gives the same page and codebook."""
    from pramble.releasing.write.published import codebook_text, read_published
    from pramble.releasing.write.summary import summary_page

    for kind, release in releases.items():
        copy = tmp_path / kind
        shutil.copytree(release.folder, copy)
        published = read_published(pramble.open_release(copy))
        assert summary_page(published) == (release.folder / "summary.html").read_text()
        assert codebook_text(published) == (release.folder / "codebook.xml").read_text()


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    data = people(600, labels=(EVIL, "yes")).rename_columns([EVIL, "region", "place"])
    dataset = {name: EVIL.replace("\x01", "").replace("\u202e", "") for name in DATASET}
    dataset |= {"date": "2026-01-31", "version": "</script>", "doi": '10.1234/"></script><b>'}
    folder = tmp_path_factory.mktemp("hostile") / "out"
    data = data.drop_columns(["place"])
    return made(folder, data=data, columns=(EVIL, "region"), dataset=dataset, alpha=2.0)


def test_hostile_words_stay_words(hostile):
    raw = (hostile.folder / "summary.html").read_text(encoding="utf-8")
    page = Page(raw)
    assert page.fetched == []
    assert len(page.scripts) == 3
    assert page.tags.count("title") == 1
    assert "alert(1)" not in page.scripts[-1][1]
    assert "\u202e" not in raw
    assert "\x01" not in raw
    linked = page.data_of(type="application/ld+json")
    assert linked["name"] == hostile.manifest["dataset"]["title"]
    assert "</script>" in page.data_of(id="tables")["columns"][0]["name"]


def test_hostile_words_leave_the_codebook_well_formed(hostile):
    book = ET.parse(hostile.folder / "codebook.xml").getroot()
    title = book.find(f".//{DDI}titl").text
    assert title == hostile.manifest["dataset"]["title"]
    (one, _) = book.iter(f"{DDI}var")
    assert one.get("name").startswith("</script>")
    assert "\\x01" in one.get("name")


@pytest.mark.parametrize("kind", KINDS)
def test_search_engines_read_the_data_set(releases, kind):
    release = releases[kind]
    linked = page_of(release).data_of(type="application/ld+json")
    assert linked["@context"] == "https://schema.org/"
    assert linked["@type"] == "Dataset"
    assert linked["name"] == DATASET["title"]
    assert linked["license"] == DATASET["licence"]
    assert linked["creator"] == {"@type": "Organization", "name": DATASET["producer"]}
    assert linked["identifier"] == "https://doi.org/10.1234/abc(5)"
    assert [one["name"] for one in linked["variableMeasured"]] == ["work", "region"]
    names = [one["name"] for one in linked["distribution"]]
    assert names[0] == "synthetic.parquet"
    assert len(names) == 2


# Of DDI Codebook 2.5: the children that each element may have, in their order; ! must be there.
ORDER = {
    "codeBook": "docDscr stdyDscr! fileDscr dataDscr otherMat",
    "stdyDscr": "citation! studyAuthorization stdyInfo studyDevelopment method dataAccs notes",
    "citation": "titlStmt! rspStmt prodStmt distStmt serStmt verStmt biblCit holdings notes",
    "titlStmt": "titl! subTitl altTitl parTitl IDNo",
    "rspStmt": "AuthEnty othId",
    "prodStmt": "producer copyright prodDate prodPlac software fundAg grantNo",
    "distStmt": "distrbtr contact depositr depDate distDate",
    "verStmt": "version verResp notes",
    "stdyInfo": "studyBudget subject abstract sumDscr qualityStatement notes exPostEvaluation",
    "sumDscr": "timePrd collDate nation geogCover geogUnit geoBndBox boundPoly anlyUnit universe "
    "dataKind",
    "dataAccs": "setAvail useStmt notes",
    "useStmt": "confDec specPerm restrctn contact citReq deposReq conditions disclaimer",
    "fileDscr": "fileTxt locMap notes",
    "fileTxt": "fileName fileCitation fileCont fileStrc dimensns fileType format filePlac",
    "dimensns": "caseQnty varQnty logRecL recPrCas recNumTot",
    "dataDscr": "varGrp nCubeGrp var nCube notes",
    "var": "location labl imputation security embargo respUnit anlysUnit qstn valrng invalrng "
    "undocCod universe TotlResp sumStat txt stdCatgry catgryGrp catgry codInstr verStmt concept "
    "derivation varFormat geoMap catLevel notes",
    "catgry": "catValu labl txt catStat mrow",
}
ONE_WORD = re.compile(r"[\w.\-:]+")
ATTRIBUTES = {
    "codeBook": {"version"},
    "IDNo": {"agency"},
    "prodDate": {"date"},
    "software": {"version"},
    "version": {"date"},
    "notes": {"type", "subject"},
    "fileDscr": {"ID", "URI"},
    "var": {"wgt", "ID", "name", "files", "intrvl"},
    "catgry": {"missing"},
    "catStat": {"type", "otherType", "wgtd"},
}


def check_structure(element):
    tag = element.tag.removeprefix(DDI)
    assert element.tag == DDI + tag
    assert set(element.attrib) <= ATTRIBUTES.get(tag, set()), (tag, element.attrib)
    children = [child.tag.removeprefix(DDI) for child in element]
    if tag not in ORDER:
        assert not children
        return
    order = [name.rstrip("!") for name in ORDER[tag].split()]
    places = [order.index(name) for name in children]
    assert places == sorted(places), (tag, children)
    assert {name[:-1] for name in ORDER[tag].split() if name.endswith("!")} <= set(children)
    for child in element:
        check_structure(child)


@pytest.mark.parametrize("kind", KINDS)
def test_the_codebook_has_the_structure_of_ddi(releases, kind):
    release = releases[kind]
    book = ET.parse(release.folder / "codebook.xml").getroot()
    check_structure(book)
    assert book.get("version") == "2.5"
    found = {
        name: book.find(f".//{DDI}{name}").text
        for name in (
            *("titl", "producer", "contact", "version", "conditions", "universe", "geogCover"),
            *("abstract", "IDNo", "biblCit", "prodDate"),
        )
    }
    assert found.pop("biblCit").startswith("Office of Statistics (2026). Work and health")
    assert found.pop("IDNo") == "10.1234/abc(5)"
    stated = "title producer contact version licence universe region description date"
    assert list(found.values()) == [DATASET[name] for name in stated.split()]
    files = {one.get("ID"): one.get("URI") for one in book.iter(f"{DDI}fileDscr")}
    assert next(iter(files.values())) == "synthetic.parquet"
    assert len(files) == 2
    variables = list(book.iter(f"{DDI}var"))
    assert [one.get("name") for one in variables] == ["work", "region"]
    identifiers = [*files, *(one.get("ID") for one in variables)]
    assert len(set(identifiers)) == len(identifiers)
    for one in variables:
        assert set(one.get("files").split()) == set(list(files)[: 1 if kind == "tables" else 2])
        answer = pramble.estimate(release, by=one.get("name"), covers="randomisation")
        categories = one.findall(f"{DDI}catgry")
        assert sorted(c.find(f"{DDI}labl").text for c in categories) == sorted(
            answer.cells[one.get("name")]
        )
        shares = dict(zip(answer.cells[one.get("name")], answer.values, strict=True))
        for category in categories:
            frequency, low, high = (float(s.text) for s in category.findall(f"{DDI}catStat"))
            label = category.find(f"{DDI}catValu").text
            assert frequency == pytest.approx(shares[label] * answer.n, abs=0.51)
            assert low <= frequency <= high
            types = [s.get("otherType", "") for s in category.findall(f"{DDI}catStat")]
            assert all(ONE_WORD.fullmatch(word) for word in types if word)


def test_codes_labels_and_missing_codes_are_listed(releases):
    """Columns of a manifest that state them have them on the page and in the codebook."""
    from pramble.releasing.write.published import codebook_text, read_published
    from pramble.releasing.write.summary import summary_page

    release = pramble.open_release(releases["tables"].folder)
    columns = [
        {
            **column,
            "label": f"Variable <{column['name']}>",
            "codes": [{"code": 7, "label": "no"}, {"code": 8, "label": "yes"}],
            "missing": [{"code": 9, "label": "no answer"}],
        }
        if column["name"] == "work"
        else column
        for column in release.manifest["columns"]
    ]
    told = dataclasses.replace(release, manifest={**release.manifest, "columns": columns})
    published = read_published(told)
    (work, region) = ET.fromstring(codebook_text(published).encode()).iter(f"{DDI}var")
    assert work.find(f"{DDI}labl").text == "Variable <work>"
    rows = [
        (c.find(f"{DDI}catValu").text, c.find(f"{DDI}labl").text, c.get("missing"))
        for c in work.findall(f"{DDI}catgry")
    ]
    assert rows == [("7", "no", None), ("8", "yes", None), ("9", "no answer", "Y")]
    assert region.find(f"{DDI}labl").text == "region"
    page = Page(summary_page(published))
    assert "Variable <work>" in page.text
    assert "7 no" in page.text


def test_a_changed_codebook_is_refused_where_scripts_are(releases, tmp_path):
    copy = tmp_path / "out"
    shutil.copytree(releases["local"].folder, copy)
    (copy / "codebook.xml").write_text("<codeBook/>")
    pramble.open_release(copy)
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.generate()
    form = serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    (tmp_path / "key.pem").write_bytes(key.public_key().public_bytes(*form))
    (copy / "manifest.sig").write_bytes(key.sign((copy / "manifest.json").read_bytes()))
    with pytest.raises(pramble.errors.InvalidData, match=r"codebook\.xml is not the file"):
        pramble.open_release(copy, verify=tmp_path / "key.pem")


@pytest.mark.parametrize(
    ("stated", "words"),
    [
        ({"titel": "x"}, r"has no 'titel' \(did you mean 'title'\?\)"),
        ({"title": ""}, "visible characters"),
        ({"title": 7}, "visible characters"),
        ({"title": "a\x1b[31m"}, "visible characters"),
        ({"title": "a" * 301}, "at most 300 fit"),
        ({"date": "31.1.2026"}, "2026-01-31"),
        ({"date": "2026-02-30"}, "2026-01-31"),
        ({"doi": "ten.1234"}, "10.1234/abc"),
        ({"doi": "10.1234/a b"}, "10.1234/abc"),
        ("title", "must be a table"),
    ],
)
def test_what_a_data_set_is_known_by_is_checked(stated, words, tmp_path):
    with pytest.raises(pramble.errors.InvalidPlan, match=words):
        made(tmp_path / "out", alpha=1.0, dataset=stated)


def test_a_changed_description_is_refused(releases, tmp_path):
    copy = tmp_path / "out"
    shutil.copytree(releases["local"].folder, copy)
    path = copy / "manifest.json"
    text = path.read_text()
    for own, other in {DATASET["date"]: "2026-13-31", DATASET["title"]: "x" * 400}.items():
        path.write_text(text.replace(json.dumps(own), json.dumps(other), 1))
        with pytest.raises(pramble.errors.InvalidData, match="damaged: its dataset has a"):
            pramble.open_release(copy)


def test_a_plan_keeps_its_data_set_and_a_call_changes_a_part(tmp_path):
    plan = 'alpha = 1\n[dataset]\ntitle = "A \\"survey\\""\ndate = 2026-01-31\n'
    plan += '[columns.work]\ncategories = ["no", "yes"]\n'
    (tmp_path / "plan.toml").write_text(plan)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = pramble.release(
            people(50),
            tmp_path / "out",
            plan=tmp_path / "plan.toml",
            dataset={"version": "2"},
            drop=["region", "place"],
            ledger=False,
            dry_run=True,
        )
    stated = {"title": 'A "survey"', "date": "2026-01-31", "version": "2"}
    assert found.manifest["dataset"] == stated
    assert '[dataset]\ntitle = "A \\"survey\\""' in found.outcome.plan


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_in_a_browser(releases, hostile, chromium, width, scheme):
    context = chromium.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True
    )
    problems = []
    for release in (*releases.values(), hostile):
        page = context.new_page()
        page.on("console", lambda message: problems.append(message.text))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("dialog", lambda dialog: problems.append(dialog.message))
        address = (release.folder / "summary.html").as_uri()
        page.on("request", lambda r, own=address: None if r.url == own else problems.append(r.url))
        page.goto(address)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.locator("#explorer").is_visible()
        assert page.locator("#cells tr").count() == 2
        # By the keyboard alone: the second column, and shares within its categories.
        page.locator("#second").focus()
        page.keyboard.press("ArrowDown")
        assert page.locator("#cells tr").count() == 4 + 4 * 2
        page.locator("#measure").focus()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowDown")
        shares = page.locator("#cells tr:not(.group) td:nth-child(3)").all_inner_texts()
        shares = [float(one.removesuffix(" %")) for one in shares]
        assert sum(shares) == pytest.approx(400, abs=0.5)
        page.close()
    context.close()
    assert problems == []


@pytest.mark.browser
def test_the_page_without_scripts_and_on_paper(releases, chromium, tmp_path):
    context = chromium.new_context(java_script_enabled=False)
    for release in releases.values():
        page = context.new_page()
        page.goto((release.folder / "summary.html").as_uri())
        assert not page.locator("#explorer").is_visible()
        assert page.locator(".columns table").count() == 2
        page.emulate_media(media="print")
        assert not page.locator(".certificate").is_visible()
        page.pdf(path=tmp_path / "page.pdf", prefer_css_page_size=True)
        content = (tmp_path / "page.pdf").read_bytes()
        assert len(re.findall(rb"/Type\s*/Page\b", content)) <= 2
        page.close()
    context.close()


def test_the_picture_of_tables_is_of_noise(releases):
    """Tables have no branches."""
    said = {kind: "Every row is a branch" in page_of(own).text for kind, own in releases.items()}
    assert said == {"tables": False, "shuffled": True, "local": True}


def test_no_error_is_larger_than_the_file(tmp_path):
    """Under a tiny α the noise of a cell is many times all records."""
    page = page_of(made(tmp_path / "out", data=people(500).drop_columns(["place"]), alpha=0.01))
    assert "± 500 or more" in page.text
    assert "No table is precise enough to be used, estimated or counted." in page.text
    assert "Good for" not in page.text
    numbers = re.findall(r"± ([\d,.]+)", page.text)
    assert numbers
    assert max(float(one.replace(",", "").rstrip(".")) for one in numbers) <= 500


def test_households_are_what_neighbouring_files_differ_in(tmp_path):
    data = people(600).drop_columns(["place"])
    data = data.append_column("home", pa.array([str(i // 2) for i in range(600)]))
    columns = {"work": {"categories": ["no", "yes"]}, "region": {"categories": list("nesw")}}
    release = pramble.release(
        data, tmp_path / "out", columns=columns, central=1.0, person={"household": "home"},
        rows_per_person=2, drop=["home"], ledger=False,
    )  # fmt: skip
    assert "replace one household, in at most 2 rows" in page_of(release).text
    assert pramble.open_release(release.folder).unit.of == "household"


def test_the_weight_of_complete_records_is_in_the_codebook(tmp_path):
    data = people(400).drop_columns(["place"])
    data = data.append_column("weighs", pa.array(np.linspace(1, 30, 400)))
    release = pramble.release(
        data, tmp_path / "out", columns={"work": {"categories": ["no", "yes"]},
        "region": {"categories": list("nesw")}}, central=1.0, person=False, weights="weighs",
        largest_weight=40, ledger=False, copies=["csv"],
    )  # fmt: skip
    book = ET.parse(release.folder / "codebook.xml").getroot()
    check_structure(book)
    names = [one.get("name") for one in book.iter(f"{DDI}var")]
    assert names == list(release.synthetic.column_names)
    last = list(book.iter(f"{DDI}var"))[-1]
    assert (last.get("wgt"), last.get("files")) == ("wgt", "F1 F2")
    e = pramble.estimate(release, by="work", weights="weighs", covers="randomisation").counts()
    found = list(next(book.iter(f"{DDI}var")).iter(f"{DDI}catStat"))
    assert {one.get("wgtd") for one in found} == {"wgtd"}
    stated = [float(one.text) for one in found if one.get("type") == "freq"]
    np.testing.assert_allclose(stated, e.values, atol=1)  # sums of weights, not of records
    assert sum(stated) > 10 * 400
