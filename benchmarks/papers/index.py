"""The first page of the evidence, from the reports that lie beside it: python benchmarks/papers/index.py."""

from __future__ import annotations

import json
from pathlib import Path

from report import DEFAULT_OUT, VERDICTS

MEANS = {
    "tag-search": "Another source's tags help where you have few items of your own (hundreds), and hurt where you have many or the source is unlike "
    "yours. `vn.choose_sharing` tells which from your own tags: it left no case worse off.",
    "rec-talk": "To cluster two newsgroup tasks, take spectral clustering, PCA or LSSMTC. Orthogonality does help joint factors: most of "
    "what JSNMF loses to NMF comes back.",
    "bbc-cnn": "Orthogonality lifts joint factors above NMF on the larger source; PCA and ASI, and LSSMTC on the smaller source, cluster better than "
    "any of them. Do not read commonness off the ratio of purities alone.",
    "convergence": "In 11 of 12 fits our solver ends no higher than the published rule: it is there after 15 to 38 iterations, with orthogonality after 2 to 16 "
    "and the twenty steps without it before. It never rises.",
    "faces": "With two labels a person of ORL N2S2L is ahead of NMF, LNMF, LDA and sMFA, level with MFA, and behind harmonic fields; on Yale sMFA and "
    "methods that spread labels lead. Its parts are sparse.",
    "occlusion": "Mask what you know to be covered: that is worth more than any method. Without a mask N2S2L is ahead of PCA on ORL, and of sMFA nowhere "
    "for certain.",
    "tagging": "PJMF ranks images for a tag well, and is level with the best at tagging new photos and emoji; TWTV, LRES and logistic regression "
    "refine better. Compare them on your data.",
    "multiview": "Labels help, most where they are few; several views help on two of three data sets. SULF and GNMF by labels classify best. "
    'MCL\'s published label term is weak; with `label_term="within"` it is within two points of the best, but for Reuters with few labels.',
    "toy": "MCL finds planted classes and most of which view has which factor, not all; its column maxima do what they are for.",
}
HEAD = """# Does it hold?

The experiments of the five papers, run again on data that can be had, with their baselines, on one engine. Each report says what differs from the
paper's set-up, and what made it. A claim *holds* where it does so in every case that was measured (differences: where the 95 % bootstrap
interval is above zero), *in part* where in some. Nothing was chosen by the labels that a result is measured on, unless a line says so, and then it is
in a baseline's favour. Many claims do not hold here: the data sets are others, the baselines are at their best, and every method has the same
preparation and the same solver quality.

All reports but that on convergence were made with five multiplicative steps at the start of a fit and thirty without orthogonality; now there are three and twenty, and a seed
begins elsewhere. Ends are alike on average ([the engine](../engine.md#one-loop)), single figures are not. `choose_sharing` judged by one start and one
standard error then, and now asks for more.

`vennmf reproduce --all` makes all of them, `--quick` in minutes; this page is made from them by `python benchmarks/papers/index.py`.

| experiment | what | holds | holds in part | does not hold here | what it means for you |
| --- | --- | ---: | ---: | ---: | --- |"""


def page(folder: Path = DEFAULT_OUT) -> str:
    """One row for each report in the order above."""
    rows = []
    for name, means in MEANS.items():
        path = folder / f"{name}.json"
        if not path.exists() or "setup" not in (data := json.loads(path.read_text(encoding="utf-8"))):
            continue
        verdicts = [claim["verdict"] for claim in data["claims"]]
        counts = " | ".join(str(verdicts.count(verdict)) for verdict in VERDICTS)
        rows.append(f"| [{name}]({name}.md) | {data['title']} | {counts} | {means} |")
    more = "How often the ranks of planted data are found: [planted-ranks.json](planted-ranks.json), told in [ranks](../ranks.md)."
    return "\n".join([HEAD, *rows, "", more, ""])


if __name__ == "__main__":
    (DEFAULT_OUT / "README.md").write_text(page(), encoding="utf-8")
