"""Table 1 of the first paper on data that is here: how far do the tags of photo, video and object collections diverge?

    VENNMF_DATA=... python benchmarks/divergence.py [--min-count 20]

Jensen–Shannon divergence in bits, between every two sources and between two random halves of each.
"""

from __future__ import annotations

import argparse
import warnings

import vennmf as vn

NAMES = ("mirflickr25k", "nuswide_10k5", "harrison_instagram", "coco_objects", "corel5k", "youtube_trending_2017")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--min-count", type=int, default=20)
    arguments = parser.parse_args()
    lists = {}
    for name in NAMES:
        data = vn.datasets.load(name, download=False)
        cells = data.tables[name][data.columns["tags"]]
        lists[name] = [[word for tag in tags for word in tag.replace("_", " ").split()] for tags in cells]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", vn.DataWarning)
        print(vn.load_sources(lists, min_count=arguments.min_count).describe())


if __name__ == "__main__":
    main()
